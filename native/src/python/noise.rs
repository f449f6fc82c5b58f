//! The Python face of `noise`.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use super::arrays::{run, wrong};
use crate::noise::gaussian::{self, Variance};
use crate::noise::laplace::{self, Scale};

#[pyfunction]
#[pyo3(signature = (n, variance_num, variance_den = 1))]
fn discrete_gaussian(
    py: Python<'_>,
    n: usize,
    variance_num: u64,
    variance_den: u64,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    let variance = Variance::of(variance_num, variance_den).map_err(wrong)?;
    Ok(run(py, || gaussian::sample(n, variance))?.into_pyarray(py))
}

#[pyfunction]
#[pyo3(signature = (n, scale_num, scale_den = 1))]
fn discrete_laplace(py: Python<'_>, n: usize, scale_num: u64, scale_den: u64) -> PyResult<Bound<'_, PyArray1<i64>>> {
    let scale = Scale::of(scale_num, scale_den).map_err(wrong)?;
    Ok(run(py, || laplace::sample(n, scale))?.into_pyarray(py))
}

pub(super) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(discrete_gaussian, m)?)?;
    m.add_function(wrap_pyfunction!(discrete_laplace, m)?)
}
