//! A party's steps down the trees of a round: its rows are divided, summed, and the sums masked before they leave here.

pub mod steps;
