//! Pads of secure aggregation.

pub mod pads;
