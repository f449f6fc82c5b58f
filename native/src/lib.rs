//! Kernels of hedgerow: arrays in, arrays out. Nothing here knows a party, or keeps a key or a file.

pub mod intersection;
pub mod lattice;
pub mod masks;
pub mod math;
pub mod noise;
pub mod paillier;
pub mod rounds;
pub mod trees;
pub mod unencrypted;

#[cfg(feature = "python")]
mod python;
