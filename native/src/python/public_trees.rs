//! The Python face of `clipping`, `public_trees` and the sums of all bins.

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::arrays::*;
use crate::trees::clipping::{self, Bounded, Clip, MOST_UNITS};
use crate::trees::histogram;
use crate::trees::public_trees::{self, MOST_VALUE, Tree};

fn bounded(name: &str, low: f64, high: f64) -> PyResult<Bounded> {
    match name {
        "logistic" => Ok(Bounded::Logistic),
        "squared" if low < high && (high - low).is_finite() => Ok(Bounded::Squared { low, high }),
        "squared" => Err(wrong("the range of labels must go from a smaller to a greater finite number")),
        _ => Err(wrong("no such loss")),
    }
}

#[pyfunction]
fn clipped_pairs<'py>(
    py: Python<'py>,
    loss: (String, f64, f64),
    units: (u32, u32),
    radius: u32,
    scores: PyReadonlyArray1<'py, f32>,
    labels: PyReadonlyArray1<'py, f32>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let loss = bounded(&loss.0, loss.1, loss.2)?;
    let (scores, labels) = (flat!(scores), flat!(labels));
    ensure(scores.len() == labels.len(), "one label and score a row is needed")?;
    let inside = |x| (1..=MOST_UNITS).contains(&x);
    ensure(inside(units.0) && units.1 <= MOST_UNITS && inside(radius), "units and the radius must be 1 to 2^30")?;
    let clip = Clip { units: [units.0, units.1], radius };
    let mut out = vec![[0; 2]; scores.len()];
    run(py, || clipping::clipped_pairs(loss, clip, scores, labels, &mut out, n_threads.get()))?;
    shaped(py, out.into_flattened(), scores.len(), 2)
}

#[pyfunction]
fn bin_sums<'py>(
    py: Python<'py>,
    matrix: MatrixArrays<'py>,
    pairs: PyReadonlyArray2<'py, i32>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let matrix = matrix.view()?;
    ensure(pairs.shape() == [matrix.rows, 2], "gradients do not fit the table")?;
    let pairs = as_pairs(flat!(pairs));
    ensure(pairs.iter().all(|p| p[1] >= 0), "a hessian is below 0")?;
    let sums = run(py, || histogram::bin_sums(&matrix, pairs, n_threads.get()))?;
    shaped(py, sums.into_flattened(), matrix.n_bins(), 2)
}

#[pyfunction]
fn add_bin_values<'py>(
    py: Python<'py>,
    matrix: MatrixArrays<'py>,
    values: PyReadonlyArray1<'py, f64>,
    mut scores: PyReadwriteArray1<'py, f32>,
    n_threads: Threads,
) -> PyResult<()> {
    let matrix = matrix.view()?;
    let (values, scores) = (flat!(values), flat_mut!(scores));
    ensure(
        scores.len() == matrix.rows && values.len() == matrix.n_bins(),
        "a value a bin and a score a row is needed",
    )?;
    ensure(values.iter().all(|v| v.abs() <= MOST_VALUE), "a bin's value is beyond 1024, or not a number")?;
    run(py, || public_trees::add_bin_values(&matrix, values, scores, n_threads.get()))
}

#[pyfunction]
fn leaf_numbers<'py>(
    py: Python<'py>,
    matrix: MatrixArrays<'py>,
    columns: PyReadonlyArray1<'py, i32>,
    children: PyReadonlyArray1<'py, i32>,
    left_bins: PyReadonlyArray2<'py, u64>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let matrix = matrix.view()?;
    ensure_last(left_bins.shape(), 4)?;
    let (columns, children) = (flat!(columns), flat!(children));
    let tree = Tree { columns, children, left_bins: flat!(left_bins).as_chunks().0 };
    tree.check(matrix.n_columns()).map_err(wrong)?;
    Ok(run(py, || public_trees::leaf_numbers(&matrix, tree, n_threads.get()))?.into_pyarray(py))
}

#[pyfunction]
fn sums_by_number<'py>(
    py: Python<'py>,
    pairs: PyReadonlyArray2<'py, i32>,
    numbers: PyReadonlyArray1<'py, i32>,
    n: usize,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    ensure(pairs.shape() == [numbers.len(), 2], "one pair and number a row is needed")?;
    let (pairs, numbers) = (as_pairs(flat!(pairs)), flat!(numbers));
    let sums = run(py, || public_trees::sums_by_number(pairs, numbers, n, n_threads.get()))?;
    let sums = sums.ok_or_else(|| wrong("a row's number is not below the number of sums"))?;
    shaped(py, sums.into_flattened(), n, 2)
}

pub(super) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(clipped_pairs, m)?)?;
    m.add_function(wrap_pyfunction!(bin_sums, m)?)?;
    m.add_function(wrap_pyfunction!(add_bin_values, m)?)?;
    m.add_function(wrap_pyfunction!(leaf_numbers, m)?)?;
    m.add_function(wrap_pyfunction!(sums_by_number, m)?)
}
