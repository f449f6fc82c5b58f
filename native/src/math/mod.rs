//! What all kernels share: threads, and mathematics that is the same on every CPU.

pub mod portable;
pub mod threads;
