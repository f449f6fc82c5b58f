//! The Python face of revealed lattice keys: what an auditor is given, and what it opens.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrays::{Threads, run};
use super::lattice_rows::{SealedData, Words, key, scale_of};
use crate::lattice::reveal;

#[pyfunction]
fn lattice_reveal<'py>(py: Python<'py>, own_secret: Words<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let secret = key(&own_secret)?;
    let small: Vec<u8> = run(py, || reveal::coefficients(secret))?.into_iter().map(|x| x as u8).collect();
    Ok(PyBytes::new(py, &small))
}

#[pyfunction]
fn lattice_secret_of<'py>(py: Python<'py>, told: &[u8]) -> PyResult<Option<Bound<'py, PyArray1<u32>>>> {
    let small: Vec<i8> = told.iter().map(|&x| x as i8).collect();
    Ok(run(py, || reveal::secret_of(&small))?.map(|secret| secret.into_pyarray(py)))
}

#[pyfunction]
fn lattice_belongs<'py>(py: Python<'py>, secret: Words<'py>, public: Words<'py>) -> PyResult<bool> {
    let (secret, public) = (key(&secret)?, key(&public)?);
    run(py, || reveal::belongs(secret, public))
}

#[pyfunction]
fn lattice_open_rows<'py>(
    py: Python<'py>,
    secret: Words<'py>,
    sealed: SealedData,
    scale: Vec<u32>,
    modulus: u32,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    scale_of(&scale)?;
    let (secret, sealed) = (key(&secret)?, sealed.checked()?);
    Ok(run(py, || reveal::open_rows(secret, sealed, &scale, modulus, n_threads.get()))?.into_pyarray(py))
}

pub(super) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(lattice_reveal, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_secret_of, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_belongs, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_open_rows, m)?)
}
