//! Functions that are the same on every CPU.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::arrays::*;
use crate::math::portable;
use crate::trees::gradients::{self};

#[pyfunction]
fn logistic<'py>(py: Python<'py>, scores: PyReadonlyArray1<'py, f32>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let scores = flat!(scores);
    let mut out = vec![0.0; scores.len()];
    run(py, || gradients::logistic(scores, &mut out))?;
    Ok(out.into_pyarray(py))
}

#[pyfunction]
fn softmax<'py>(py: Python<'py>, scores: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (classes, rows) = (scores.shape()[0], scores.shape()[1]);
    let scores = flat!(scores);
    let mut out = vec![0.0; scores.len()];
    run(py, || gradients::softmax(scores, rows, &mut out))?;
    shaped(py, out, rows, classes)
}

#[pyfunction]
fn exp<'py>(py: Python<'py>, values: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let mut out = flat!(values).to_vec();
    portable::exp_all(&mut out);
    Ok(out.into_pyarray(py))
}

#[pyfunction]
fn log<'py>(py: Python<'py>, values: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let mut out = flat!(values).to_vec();
    portable::log_all(&mut out);
    Ok(out.into_pyarray(py))
}

#[pyfunction]
fn set_portable_only(on: bool) {
    portable::set_portable_only(on);
}

pub(super) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(logistic, m)?)?;
    m.add_function(wrap_pyfunction!(softmax, m)?)?;
    m.add_function(wrap_pyfunction!(exp, m)?)?;
    m.add_function(wrap_pyfunction!(log, m)?)?;
    m.add_function(wrap_pyfunction!(set_portable_only, m)?)
}
