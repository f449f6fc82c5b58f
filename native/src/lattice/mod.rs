//! Exact sums under a lattice cipher (BFV over rings of 4096 or 8192 coefficients, primes of 26 and 27 bits).
//!
//! `ring` has the primes and transforms, `products` sums of products, `random` and `gaussian` every sampler, `proof` the
//! proof that a key is well formed (with `low_bits` and `rice`, which make it short), `pack` the wire form of
//! residues, `reveal` what an auditor does with a key that its holder gave up. Nothing here knows a plan: sizes, scales and widths of floods come from the caller.

pub mod gaussian;
pub mod low_bits;
pub mod merge;
pub mod pack;
pub mod products;
pub mod proof;
pub mod random;
pub mod reveal;
pub mod rice;
pub mod ring;
#[cfg(target_arch = "x86_64")]
mod ring_avx2;
pub mod seal;
pub mod slots;
mod slots_words;
pub mod sums;
