//! Kernels of hedgerow: arrays in, arrays out. Nothing here knows a party, or keeps a key or a file.

pub mod cuts;
pub mod divide;
pub mod follow;
pub mod gradients;
pub mod histogram;
pub mod lattice;
pub mod matrix;
pub mod pads;
pub mod paillier;
pub mod plain_sums;
pub mod portable;
pub mod predict;
pub mod ristretto;
pub mod sample;
pub mod splits;
pub mod steps;
pub mod threads;

#[cfg(feature = "python")]
mod lattice_face;
#[cfg(feature = "python")]
mod lattice_slots_face;
#[cfg(feature = "python")]
mod pads_face;
#[cfg(feature = "python")]
mod paillier_face;
#[cfg(feature = "python")]
mod plain_sums_face;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python")]
mod ristretto_face;
#[cfg(feature = "python")]
mod steps_face;
