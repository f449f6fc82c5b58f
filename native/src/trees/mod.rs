//! Growing trees: cut points, binned tables, histograms, gradients, splits, dividing rows, prediction and what columns add to it.

pub mod candidates;
pub mod check_cuts;
pub mod clipping;
pub mod contributions;
pub mod cuts;
pub mod divide;

pub mod gradients;
pub mod histogram;
pub mod matrix;
pub mod predict;
pub mod public_trees;
pub mod sampling;
pub mod sides;
pub mod splits;
