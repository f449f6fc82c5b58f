//! Cut points and binned tables.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::arrays::*;
use crate::math::threads;
use crate::trees::cuts::{self, ColumnCuts};
use crate::trees::matrix::{self, SparseTable};

type Found<'py> = (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

fn found(py: Python<'_>, columns: Vec<ColumnCuts>) -> Found<'_> {
    let mut starts = vec![0];
    let (mut all_cuts, mut counts) = (Vec::new(), Vec::new());
    for column in columns {
        all_cuts.extend(column.cuts);
        counts.extend(column.counts.iter().map(|&c| c as i64));
        starts.push(all_cuts.len() as i64);
    }
    (all_cuts.into_pyarray(py), starts.into_pyarray(py), counts.into_pyarray(py))
}

#[pyfunction]
fn find_cuts_dense<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f32>,
    max_bin: u64,
    min_rows: u64,
    n_threads: Threads,
) -> PyResult<Found<'py>> {
    let n_threads = n_threads.get();
    let n_columns = values.shape()[1];
    let values = flat!(values);
    ensure((2..=255).contains(&max_bin) && n_columns > 0, "max_bin must be 2 to 255")?;
    let columns = run(py, || cuts::cut_dense(values, n_columns, max_bin, min_rows, n_threads))?;
    Ok(found(py, columns))
}

#[pyfunction]
fn find_cuts_sparse<'py>(
    py: Python<'py>,
    starts: PyReadonlyArray1<'py, i64>,
    stored: PyReadonlyArray1<'py, f32>,
    rows: u64,
    absent_is_zero: bool,
    max_bin: u64,
    min_rows: u64,
    n_threads: Threads,
) -> PyResult<Found<'py>> {
    let n_threads = n_threads.get();
    let (starts, stored) = (flat!(starts), flat!(stored));
    ensure((2..=255).contains(&max_bin), "max_bin must be 2 to 255")?;
    ensure(
        starts.first() == Some(&0) && starts.is_sorted() && starts.last() == Some(&(stored.len() as i64)),
        "the sparse table is damaged",
    )?;
    ensure(starts.windows(2).all(|w| (w[1] - w[0]) as u64 <= rows), "a column has more entries than rows")?;
    let work = || cuts::cut_sparse(starts, stored, rows, absent_is_zero, max_bin, min_rows, n_threads);
    let columns = run(py, work)?;
    Ok(found(py, columns))
}

#[pyfunction]
fn sorted_keys<'py>(
    py: Python<'py>,
    columns: Vec<PyReadonlyArray1<'py, f32>>,
    n_threads: Threads,
) -> PyResult<Vec<Bound<'py, PyArray1<u32>>>> {
    let columns = columns.iter().map(|values| values.as_array()).collect();
    let keys = run(py, || cuts::sorted_keys(columns, n_threads.get()))?;
    Ok(keys.into_iter().map(|keys| keys.into_pyarray(py)).collect())
}

#[pyfunction]
fn key_values<'py>(py: Python<'py>, keys: PyReadonlyArray1<'py, u32>) -> PyResult<Bound<'py, PyArray1<f32>>> {
    Ok(flat!(keys).iter().map(|&k| cuts::value(k)).collect::<Vec<_>>().into_pyarray(py))
}

/// Cells of all columns: where each column's begin, their rows, and which can be refined.
#[derive(FromPyObject)]
struct CellArrays<'py>(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, bool>);

impl CellArrays<'_> {
    fn view(&self) -> PyResult<cuts::Known<'_>> {
        let (starts, rows, open) = (flat!(self.0), flat!(self.1), flat!(self.2));
        let n = rows.len();
        let fits = open.len() == n && starts.first() == Some(&0) && starts.last() == Some(&(n as i64));
        ensure(fits && starts.is_sorted(), "cells and their columns do not belong together")?;
        ensure(rows.iter().all(|&n| (1..=i64::from(u32::MAX)).contains(&n)), "a cell has no rows, or too many")?;
        Ok(cuts::Known { starts, rows, open })
    }
}

#[pyfunction]
fn wanted_cells<'py>(py: Python<'py>, cells: CellArrays<'py>, max_bin: u64) -> PyResult<Bound<'py, PyArray1<bool>>> {
    ensure((1..=255).contains(&max_bin), "max_bin must be 1 to 255")?;
    Ok(cells.view()?.wanted(max_bin).into_pyarray(py))
}

#[pyfunction]
fn cut_cells<'py>(py: Python<'py>, cells: CellArrays<'py>, max_bin: u64) -> PyResult<Bound<'py, PyArray1<bool>>> {
    ensure((1..=255).contains(&max_bin), "max_bin must be 1 to 255")?;
    Ok(cells.view()?.cuts(max_bin).into_pyarray(py))
}

#[pyfunction]
fn count_prefixes<'py>(
    py: Python<'py>,
    columns: Vec<(PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u32>, u32)>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let mut asked = Vec::with_capacity(columns.len());
    for (keys, prefixes, shift) in &columns {
        ensure(*shift < 32, "shift must be below 32")?;
        asked.push((flat!(keys), flat!(prefixes), *shift));
    }
    let count = |(keys, prefixes, shift)| cuts::count_prefixes(keys, prefixes, shift);
    Ok(run(py, || threads::map(n_threads.get(), asked, count))?.concat().into_pyarray(py))
}

type Blocks<'py> = (Bound<'py, PyArray2<u8>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyAny>);

fn check_plan(offsets: &[u32], defaults: &[i32], columns: &[u32], n_columns: usize) -> PyResult<()> {
    let sizes = offsets.len() == n_columns + 1 && defaults.len() == n_columns && offsets.is_sorted();
    ensure(sizes && columns.iter().all(|&c| (c as usize) < n_columns), "the layout does not fit the table")
}

#[pyfunction]
fn bin_dense<'py>(
    py: Python<'py>,
    grid: GridArrays<'py>,
    values: PyReadonlyArray2<'py, f32>,
    dense_columns: PyReadonlyArray1<'py, u32>,
    offsets: PyReadonlyArray1<'py, u32>,
    defaults: PyReadonlyArray1<'py, i32>,
    n_threads: Threads,
) -> PyResult<Blocks<'py>> {
    let n_threads = n_threads.get();
    let grid = grid.view()?;
    let rows = values.shape()[0];
    ensure(values.shape()[1] == grid.n_columns(), "the table has another number of columns than the cuts")?;
    let (values, columns, offsets, defaults) = (flat!(values), flat!(dense_columns), flat!(offsets), flat!(defaults));
    check_plan(offsets, defaults, columns, grid.n_columns())?;
    let mut dense = vec![0u8; rows * columns.len()];
    run(py, || matrix::dense_from_dense(grid, values, columns, &mut dense, n_threads))?;
    let dense = shaped(py, dense, rows, columns.len())?;
    if columns.len() == grid.n_columns() {
        return Ok((dense, Vec::new().into_pyarray(py), Vec::<u16>::new().into_pyarray(py).into_any()));
    }
    if short(offsets) {
        let work = || matrix::sparse_from_dense::<u16>(grid, values, offsets, defaults, n_threads);
        let (starts, entries) = run(py, work)?;
        return Ok((dense, starts.into_pyarray(py), entries.into_pyarray(py).into_any()));
    }
    let work = || matrix::sparse_from_dense::<u32>(grid, values, offsets, defaults, n_threads);
    let (starts, entries) = run(py, work)?;
    Ok((dense, starts.into_pyarray(py), entries.into_pyarray(py).into_any()))
}

fn short(offsets: &[u32]) -> bool {
    offsets.last().is_some_and(|&n| n <= 1 << 16)
}

#[derive(FromPyObject)]
pub(super) struct SparseArrays<'py> {
    indptr: PyReadonlyArray1<'py, i64>,
    indices: PyReadonlyArray1<'py, i32>,
    data: PyReadonlyArray1<'py, f32>,
}

impl SparseArrays<'_> {
    pub(super) fn view(&self, n_columns: usize) -> PyResult<SparseTable<'_>> {
        let view = SparseTable { starts: flat!(self.indptr), columns: flat!(self.indices), values: flat!(self.data) };
        view.check(n_columns).map_err(wrong)?;
        Ok(view)
    }
}

#[pyfunction]
fn bin_sparse<'py>(
    py: Python<'py>,
    grid: GridArrays<'py>,
    table: SparseArrays<'py>,
    absent_bins: PyReadonlyArray1<'py, u8>,
    dense_columns: PyReadonlyArray1<'py, u32>,
    offsets: PyReadonlyArray1<'py, u32>,
    defaults: PyReadonlyArray1<'py, i32>,
    n_threads: Threads,
) -> PyResult<Blocks<'py>> {
    let n_threads = n_threads.get();
    let grid = grid.view()?;
    let table = table.view(grid.n_columns())?;
    let (absent, columns, offsets, defaults) =
        (flat!(absent_bins), flat!(dense_columns), flat!(offsets), flat!(defaults));
    check_plan(offsets, defaults, columns, grid.n_columns())?;
    ensure(absent.len() == grid.n_columns(), "the layout does not fit the table")?;
    let rows = table.starts.len() - 1;
    let mut dense = vec![0u8; rows * columns.len()];
    let (starts, entries) = if short(offsets) {
        let work =
            || matrix::both_from_sparse::<u16>(grid, table, absent, columns, offsets, defaults, &mut dense, n_threads);
        let (starts, entries) = run(py, work)?;
        (starts, entries.into_pyarray(py).into_any())
    } else {
        let work =
            || matrix::both_from_sparse::<u32>(grid, table, absent, columns, offsets, defaults, &mut dense, n_threads);
        let (starts, entries) = run(py, work)?;
        (starts, entries.into_pyarray(py).into_any())
    };
    Ok((shaped(py, dense, rows, columns.len())?, starts.into_pyarray(py), entries))
}

#[pyfunction]
fn columns_of<'py>(
    py: Python<'py>,
    matrix: MatrixArrays<'py>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<u8>>> {
    let n_threads = n_threads.get();
    let matrix = matrix.view()?;
    matrix.check_entries().map_err(wrong)?;
    let mut out = vec![0u8; matrix.rows * matrix.n_columns()];
    run(py, || matrix.columns(&mut out, n_threads))?;
    shaped(py, out, matrix.n_columns(), matrix.rows)
}

pub(super) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(find_cuts_dense, m)?)?;
    m.add_function(wrap_pyfunction!(find_cuts_sparse, m)?)?;
    m.add_function(wrap_pyfunction!(sorted_keys, m)?)?;
    m.add_function(wrap_pyfunction!(key_values, m)?)?;
    m.add_function(wrap_pyfunction!(count_prefixes, m)?)?;
    m.add_function(wrap_pyfunction!(wanted_cells, m)?)?;
    m.add_function(wrap_pyfunction!(cut_cells, m)?)?;
    m.add_function(wrap_pyfunction!(bin_dense, m)?)?;
    m.add_function(wrap_pyfunction!(bin_sparse, m)?)?;
    m.add_function(wrap_pyfunction!(columns_of, m)?)
}
