//! The Python face of the kernels, a file for each kind.

mod arrays;
mod bins;
mod check_cuts;
mod forest;
mod functions;
mod growing;
mod intersection;
mod lattice_reveal;
mod lattice_rows;
mod lattice_slots;
mod masks;
mod noise;
mod paillier;
mod public_trees;
mod rounds;
mod sides;
mod unencrypted;

use pyo3::prelude::*;

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    bins::add_to(m)?;
    growing::add_to(m)?;
    functions::add_to(m)?;
    forest::add_to(m)?;
    check_cuts::add_to(m)?;
    rounds::add_to(m)?;
    sides::add_to(m)?;
    masks::add_to(m)?;
    noise::add_to(m)?;
    public_trees::add_to(m)?;
    intersection::add_to(m)?;
    paillier::add_to(m)?;
    lattice_rows::add_to(m)?;
    lattice_reveal::add_to(m)?;
    unencrypted::add_to(m)?;
    lattice_slots::add_to(m)
}
