//! The Python face of `ristretto`: points are rows of 32 bytes.

use std::num::NonZeroUsize;

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::intersection::{self, Bytes, Secret};

fn wrong(what: &'static str) -> PyErr {
    PyValueError::new_err(what)
}

fn secret_of(scalar: [u8; 32]) -> PyResult<Secret> {
    Secret::of(scalar).ok_or_else(|| wrong("the scalar is 0 or not reduced"))
}

fn shaped(py: Python<'_>, points: Vec<Bytes>) -> PyResult<Bound<'_, PyArray2<u8>>> {
    let n = points.len();
    points.into_flattened().into_pyarray(py).reshape([n, 32])
}

#[pyfunction]
fn reduce_scalar(wide: [u8; 64]) -> [u8; 32] {
    intersection::reduced(&wide)
}

#[pyfunction]
fn blind_ids<'py>(
    py: Python<'py>,
    text: &[u8],
    ends: PyReadonlyArray1<'py, i64>,
    tag: &[u8],
    scalar: [u8; 32],
    n_threads: NonZeroUsize,
) -> PyResult<Bound<'py, PyArray2<u8>>> {
    let ends: Vec<usize> = ends.as_array().iter().map(|&end| usize::try_from(end).unwrap_or(usize::MAX)).collect();
    if !ends.is_sorted() || ends.last().is_some_and(|&last| last > text.len()) {
        return Err(wrong("the ids do not end within the text, one after the other"));
    }
    if tag.len() > intersection::LONGEST_TAG {
        return Err(wrong("the tag is longer than 255 bytes"));
    }
    let secret = secret_of(scalar)?;
    shaped(py, py.detach(|| intersection::blind_ids(text, &ends, tag, &secret, n_threads.get())))
}

#[pyfunction]
fn blind_points<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, u8>,
    scalar: [u8; 32],
    n_threads: NonZeroUsize,
) -> PyResult<Bound<'py, PyArray2<u8>>> {
    if points.shape()[1] != 32 || !points.is_c_contiguous() {
        return Err(wrong("points are contiguous rows of 32 bytes"));
    }
    let bytes = points.as_slice().map_err(|_| wrong("points are contiguous rows of 32 bytes"))?.as_chunks().0;
    let secret = secret_of(scalar)?;
    let blinded = py.detach(|| intersection::blind_points(bytes, &secret, n_threads.get()));
    shaped(py, blinded.ok_or_else(|| wrong("a point is not one of the group, or is its identity"))?)
}

/// Adds these functions to the module.
pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(reduce_scalar, m)?)?;
    m.add_function(wrap_pyfunction!(blind_ids, m)?)?;
    m.add_function(wrap_pyfunction!(blind_points, m)?)?;
    Ok(())
}
