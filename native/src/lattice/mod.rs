//! Exact sums under a lattice cipher (BFV over rings of 4096 or 8192 coefficients, primes of 27 bits).
//!
//! `ring` has the primes and transforms, and every other file here stands on it.

pub mod ring;
#[cfg(target_arch = "x86_64")]
mod ring_avx2;
