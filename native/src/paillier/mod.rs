//! Paillier's cipher: what is done with many ciphertexts at a time. Keys, tables and ciphertexts are arrays of words, the
//! lowest first; ciphertexts and tables are in Montgomery form, everything else is plain.
//!
//! The generator is n + 1, so that a plaintext m is sealed as (1 + n m) times a random n-th power, modulo n squared.

#[cfg(target_arch = "x86_64")]
pub mod adx;
pub mod fields;
pub mod monty;
pub mod own;
pub mod random;
pub mod roots;
pub mod sealed;
