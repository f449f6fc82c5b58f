//! Prediction, and what columns add to it.

use numpy::{
    PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, PyReadwriteArray3, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::arrays::*;
use super::bins::SparseArrays;
use crate::trees::candidates::{self, OwnCuts};
use crate::trees::contributions;
use crate::trees::matrix::SparseTable;
use crate::trees::predict::{self, DenseBlocks, Forest, SparseBlocks};

#[derive(FromPyObject)]
struct ForestArrays<'py> {
    columns: PyReadonlyArray1<'py, i32>,
    thresholds: PyReadonlyArray1<'py, f32>,
    missing_left: PyReadonlyArray1<'py, bool>,
    children: PyReadonlyArray1<'py, i32>,
    sets: PyReadonlyArray1<'py, i32>,
    category_sets: PyReadonlyArray2<'py, u64>,
    values: PyReadonlyArray1<'py, f32>,
    roots: PyReadonlyArray1<'py, i64>,
}

impl ForestArrays<'_> {
    fn view(&self, n_columns: usize) -> PyResult<Forest<'_>> {
        ensure_last(self.category_sets.shape(), 4)?;
        let forest = Forest {
            columns: flat!(self.columns),
            thresholds: flat!(self.thresholds),
            missing_left: flat!(self.missing_left),
            children: flat!(self.children),
            sets: flat!(self.sets),
            category_sets: flat!(self.category_sets).as_chunks().0,
            values: flat!(self.values),
            roots: flat!(self.roots),
        };
        forest.check(n_columns).map_err(wrong)?;
        Ok(forest)
    }
}

#[derive(FromPyObject)]
enum TableArrays<'py> {
    Dense(PyReadonlyArray2<'py, f32>),
    Sparse(SparseArrays<'py>),
}

#[pyfunction]
fn add_scores<'py>(
    py: Python<'py>,
    forest: ForestArrays<'py>,
    table: TableArrays<'py>,
    n_columns: usize,
    absent: f32,
    mut scores: PyReadwriteArray2<'py, f32>,
    n_threads: Threads,
) -> PyResult<()> {
    let n_threads = n_threads.get();
    let forest = forest.view(n_columns)?;
    let (rows, classes) = (scores.shape()[0], scores.shape()[1]);
    let scores = flat_mut!(scores);
    ensure(classes > 0, "no scores a row")?;
    match &table {
        TableArrays::Dense(values) => {
            ensure(values.shape() == [rows, n_columns], "the table has another shape")?;
            let blocks = DenseBlocks { values: flat!(values), n_columns };
            run(py, || predict::add_scores(forest, &blocks, classes, scores, n_threads))?;
        }
        TableArrays::Sparse(table) => {
            let table = table.view(n_columns)?;
            ensure(table.starts.len() == rows + 1, "the table has another number of rows")?;
            let SparseTable { starts, columns, values } = table;
            let blocks = SparseBlocks { starts, columns, values, n_columns, absent };
            run(py, || predict::add_scores(forest, &blocks, classes, scores, n_threads))?;
        }
    }
    Ok(())
}

#[pyfunction]
fn add_contributions<'py>(
    py: Python<'py>,
    forest: ForestArrays<'py>,
    covers: PyReadonlyArray1<'py, f32>,
    known: PyReadonlyArray1<'py, bool>,
    table: TableArrays<'py>,
    absent: f32,
    mut out: PyReadwriteArray3<'py, f64>,
    n_threads: Threads,
) -> PyResult<()> {
    let n_threads = n_threads.get();
    let (known, covers) = (flat!(known), flat!(covers));
    let n_columns = known.len();
    let forest = forest.view(n_columns)?;
    ensure(covers.len() == forest.columns.len(), "the arrays of the forest differ in length")?;
    ensure(covers.iter().all(|cover| cover.is_finite() && *cover >= 0.0), "a cover is below zero or not finite")?;
    let (rows, classes) = (out.shape()[0], out.shape()[1]);
    ensure(classes > 0 && n_columns > 0, "no scores a row, or no column")?;
    ensure(out.shape()[2] == n_columns + 1, "the contributions have another shape")?;
    let out = flat_mut!(out);
    match &table {
        TableArrays::Dense(values) => {
            ensure(values.shape() == [rows, n_columns], "the table has another shape")?;
            let blocks = DenseBlocks { values: flat!(values), n_columns };
            run(py, || contributions::add_contributions(forest, covers, known, &blocks, classes, out, n_threads))?;
        }
        TableArrays::Sparse(table) => {
            let table = table.view(n_columns)?;
            ensure(table.starts.len() == rows + 1, "the table has another number of rows")?;
            let SparseTable { starts, columns, values } = table;
            let blocks = SparseBlocks { starts, columns, values, n_columns, absent };
            run(py, || contributions::add_contributions(forest, covers, known, &blocks, classes, out, n_threads))?;
        }
    }
    Ok(())
}

#[pyfunction]
fn leaf_places<'py>(
    py: Python<'py>,
    forest: ForestArrays<'py>,
    values: PyReadonlyArray2<'py, f32>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let n_threads = n_threads.get();
    let (rows, n_columns) = (values.shape()[0], values.shape()[1]);
    let forest = forest.view(n_columns)?;
    let trees = forest.roots.len() - 1;
    ensure(trees > 0 && n_columns > 0, "the forest has no tree, or the table no column")?;
    let blocks = DenseBlocks { values: flat!(values), n_columns };
    let mut out = vec![0i32; rows * trees];
    run(py, || predict::leaf_places(forest, &blocks, &mut out, n_threads))?;
    shaped(py, out, rows, trees)
}

#[derive(FromPyObject)]
struct CutArrays<'py>(
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray1<'py, f32>,
    PyReadonlyArray1<'py, bool>,
    PyReadonlyArray2<'py, u64>,
    PyReadonlyArray1<'py, i64>,
);

#[pyfunction]
fn reached_sides<'py>(
    py: Python<'py>,
    cuts: CutArrays<'py>,
    categorical: PyReadonlyArray1<'py, bool>,
    values: PyReadonlyArray2<'py, f32>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<bool>>> {
    let n_threads = n_threads.get();
    let (rows, n_columns) = (values.shape()[0], values.shape()[1]);
    let CutArrays(columns, thresholds, missing_left, sets, after) = &cuts;
    ensure_last(sets.shape(), 4)?;
    let cuts = OwnCuts {
        columns: flat!(columns),
        thresholds: flat!(thresholds),
        missing_left: flat!(missing_left),
        sets: flat!(sets).as_chunks().0,
        categorical: flat!(categorical),
        after: flat!(after),
    };
    cuts.check(n_columns).map_err(wrong)?;
    let n_cuts = cuts.columns.len();
    ensure(n_cuts > 0, "there is no cut")?;
    let values = flat!(values);
    let mut out = vec![false; rows * 2 * n_cuts];
    run(py, || candidates::reached(cuts, values, n_columns, &mut out, n_threads))?;
    shaped(py, out, rows, 2 * n_cuts)
}

pub(super) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(add_scores, m)?)?;
    m.add_function(wrap_pyfunction!(add_contributions, m)?)?;
    m.add_function(wrap_pyfunction!(leaf_places, m)?)?;
    m.add_function(wrap_pyfunction!(reached_sides, m)?)
}
