//! The Python face of the kernels: NumPy arrays to slices, sizes checked, the GIL released while they run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArray3, PyReadwriteArray1, PyReadwriteArray2, PyReadwriteArray3, PyReadwriteArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::cuts::{self, ColumnCuts};
use crate::divide::{self, Division, Leaves, orders_of};
use crate::gradients::{self, Loss, Scales};
use crate::histogram::{self, Gradients, Span, Sums};
use crate::matrix::{self, Entries, Grid, Matrix, SparseTable};
use crate::predict::{self, DenseBlocks, Forest, SparseBlocks};
use crate::splits::{self, BinSet, Cut, Layout, Node, Pair, Rules};
use crate::{follow, portable, sample, threads};

/// At least one.
pub(crate) type Threads = std::num::NonZeroUsize;

pub(crate) fn wrong(what: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(what.to_string())
}

pub(crate) fn ensure(holds: bool, what: &'static str) -> PyResult<()> {
    if holds { Ok(()) } else { Err(wrong(what)) }
}

/// The elements of an array whose rows lie one after the other.
macro_rules! flat {
    ($array:expr) => {{
        ensure($array.is_c_contiguous(), "the array is not contiguous, row after row")?;
        $array.as_slice().map_err(wrong)?
    }};
}

/// The elements of such an array, to be written to.
macro_rules! flat_mut {
    ($array:expr) => {{
        ensure($array.is_c_contiguous(), "the array is not contiguous, row after row")?;
        $array.as_slice_mut().map_err(wrong)?
    }};
}
pub(crate) use {flat, flat_mut};

/// Runs a kernel without the GIL. Sizes are checked beforehand; what only the kernel can notice (a row, entry or node
/// that is not there) stops it by a panic and is an error like any other.
pub(crate) fn run<R: Send>(py: Python<'_>, kernel: impl FnOnce() -> R + Send) -> PyResult<R> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(kernel)));
    done.map_err(|_| wrong("the arrays do not belong together: a row, entry, node, column or bound lies outside"))
}

/// Whether the last axis of an array has this size.
pub(crate) fn ensure_last(shape: &[usize], size: usize) -> PyResult<()> {
    ensure(
        shape.last() == Some(&size),
        "the last axis of spans, pairs, places, bounds, nodes, sets or keys has a wrong size",
    )
}

/// A dense, row-major array made from a vector.
fn shaped<'py, T: Element>(
    py: Python<'py>,
    data: Vec<T>,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    data.into_pyarray(py).reshape([rows, columns])
}

fn pairs3<'py>(py: Python<'py>, data: Vec<Pair>, rows: usize, columns: usize) -> PyResult<Bound<'py, PyArray3<i64>>> {
    data.into_flattened().into_pyarray(py).reshape([rows, columns, 2])
}

pub(crate) fn as_pairs<T>(flat: &[T]) -> &[[T; 2]] {
    flat.as_chunks().0
}

#[derive(FromPyObject)]
pub(crate) struct MatrixArrays<'py> {
    dense: PyReadonlyArray2<'py, u8>,
    dense_columns: PyReadonlyArray1<'py, u32>,
    starts: PyReadonlyArray1<'py, i64>,
    entries: EntryArray<'py>,
    offsets: PyReadonlyArray1<'py, u32>,
    defaults: PyReadonlyArray1<'py, i32>,
    by_column: PyReadonlyArray2<'py, u8>,
}

#[derive(FromPyObject)]
enum EntryArray<'py> {
    Short(PyReadonlyArray1<'py, u16>),
    Long(PyReadonlyArray1<'py, u32>),
}

impl MatrixArrays<'_> {
    pub(crate) fn view(&self) -> PyResult<Matrix<'_>> {
        let view = Matrix {
            rows: self.dense.shape()[0],
            dense: flat!(self.dense),
            dense_columns: flat!(self.dense_columns),
            starts: flat!(self.starts),
            entries: match &self.entries {
                EntryArray::Short(e) => Entries::Short(flat!(e)),
                EntryArray::Long(e) => Entries::Long(flat!(e)),
            },
            offsets: flat!(self.offsets),
            defaults: flat!(self.defaults),
            by_column: flat!(self.by_column),
        };
        view.check().map_err(wrong)?;
        Ok(view)
    }
}

#[derive(FromPyObject)]
struct GridArrays<'py> {
    cuts: PyReadonlyArray1<'py, f32>,
    cut_starts: PyReadonlyArray1<'py, i64>,
    missing_bins: PyReadonlyArray1<'py, u8>,
}

impl GridArrays<'_> {
    fn view(&self) -> PyResult<Grid<'_>> {
        let grid =
            Grid { cuts: flat!(self.cuts), cut_starts: flat!(self.cut_starts), missing: flat!(self.missing_bins) };
        grid.check().map_err(wrong)?;
        Ok(grid)
    }
}

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
struct SparseArrays<'py> {
    indptr: PyReadonlyArray1<'py, i64>,
    indices: PyReadonlyArray1<'py, i32>,
    data: PyReadonlyArray1<'py, f32>,
}

impl SparseArrays<'_> {
    fn view(&self, n_columns: usize) -> PyResult<SparseTable<'_>> {
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

/// Nodes of a round: tree and node of each.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub(crate) struct NodeArrays<'py>((PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>));

impl NodeArrays<'_> {
    fn len(&self) -> usize {
        self.0.0.len()
    }

    pub(crate) fn view(&self) -> PyResult<follow::Named<'_>> {
        Ok(follow::Named { tree: flat!(self.0.0), node: flat!(self.0.1) })
    }

    /// Where each node lies in a table of (tree, node).
    fn places(&self, shape: &[usize]) -> PyResult<Vec<usize>> {
        divide::places(self.view()?, [shape[0], shape[1]]).map_err(wrong)
    }

    /// Their spans, from a table of (tree, node, begin and end), checked against the orders.
    fn spans(&self, table: &[i64], shape: &[usize], orders: &[&[u32]]) -> PyResult<Vec<Span>> {
        ensure_last(shape, 2)?;
        divide::spans(self.view()?, table, [shape[0], shape[1]], orders).map_err(wrong)
    }
}

#[pyfunction]
fn histograms<'py>(
    py: Python<'py>,
    matrix: MatrixArrays<'py>,
    pairs: PyReadonlyArray3<'py, i32>,
    gradient_bits: u32,
    orders: PyReadonlyArray2<'py, u32>,
    spans: PyReadonlyArray3<'py, i64>,
    nodes: NodeArrays<'py>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray3<i64>>> {
    let n_threads = n_threads.get();
    let matrix = matrix.view()?;
    ensure((2..=31).contains(&gradient_bits), "gradient_bits must be 2 to 31")?;
    ensure(pairs.shape()[1] == matrix.rows && pairs.shape()[0] == orders.shape()[0], "gradients do not fit the table")?;
    let orders = orders_of(flat!(orders), orders.shape()[0]);
    let spans = nodes.spans(flat!(spans), spans.shape(), &orders)?;
    ensure_last(pairs.shape(), 2)?;
    let gradients = Gradients { pairs: as_pairs(flat!(pairs)), rows: matrix.rows, bits: gradient_bits };
    let width = matrix.n_bins() + 1;
    let mut out = vec![[0i64; 2]; spans.len() * width];
    let sums = Sums { matrix, addends: gradients, orders: &orders, spans: &spans, out: &mut out };
    run(py, || histogram::build(vec![sums], n_threads))?;
    pairs3(py, out, spans.len(), width)
}

#[pyfunction]
fn narrow<'py>(
    py: Python<'py>,
    pairs: PyReadonlyArray3<'py, i32>,
    gradient_bits: u32,
) -> PyResult<Bound<'py, PyArray3<i32>>> {
    ensure((2..=31).contains(&gradient_bits), "gradient_bits must be 2 to 31")?;
    let (trees, rows) = (pairs.shape()[0], pairs.shape()[1]);
    ensure_last(pairs.shape(), 2)?;
    let wide = as_pairs(flat!(pairs));
    let mut out = vec![[0i32; 2]; wide.len()];
    histogram::narrow_all(Gradients { pairs: wide, rows, bits: gradient_bits }, &mut out);
    out.into_flattened().into_pyarray(py).reshape([trees, rows, 2])
}

#[pyfunction]
fn count_rows<'py>(
    py: Python<'py>,
    matrix: MatrixArrays<'py>,
    orders: PyReadonlyArray2<'py, u32>,
    spans: PyReadonlyArray3<'py, i64>,
    nodes: NodeArrays<'py>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let n_threads = n_threads.get();
    let matrix = matrix.view()?;
    let orders = orders_of(flat!(orders), orders.shape()[0]);
    let spans = nodes.spans(flat!(spans), spans.shape(), &orders)?;
    let counts = run(py, || histogram::count(&matrix, &orders, &spans, n_threads))?;
    shaped(py, counts, spans.len(), matrix.n_bins() + 1)
}

/// Histograms lie in slabs; a place is (slab, row).
struct Slabs<'a> {
    slabs: Vec<&'a mut [i64]>,
    width: usize,
}

impl<'a> Slabs<'a> {
    /// Slabs whose rows have this shape.
    fn of(arrays: &'a mut [PyReadwriteArrayDyn<'_, i64>], shape: &[usize]) -> PyResult<Self> {
        let fits = arrays.iter().all(|a| a.shape().get(1..) == Some(shape));
        ensure(fits, "a histogram has another number of bins than the layout")?;
        let slabs = arrays.iter_mut().map(|a| Ok(flat_mut!(a)));
        Ok(Self { slabs: slabs.collect::<PyResult<_>>()?, width: shape.iter().product::<usize>().max(1) })
    }

    fn range(&self, place: &[i32; 2]) -> PyResult<(usize, std::ops::Range<usize>)> {
        let [slab, row] = place.map(|v| v as usize);
        let fits = slab < self.slabs.len() && row < self.slabs[slab].len() / self.width;
        ensure(fits, "a histogram's place is outside its slab")?;
        Ok((slab, row * self.width..(row + 1) * self.width))
    }

    fn get(&self, place: &[i32; 2]) -> PyResult<&[i64]> {
        let (slab, range) = self.range(place)?;
        Ok(&self.slabs[slab][range])
    }
}

#[pyfunction]
fn subtract<'py>(
    py: Python<'py>,
    mut slabs: Vec<PyReadwriteArrayDyn<'py, i64>>,
    parents: PyReadonlyArray2<'py, i32>,
    children: PyReadonlyArray2<'py, i32>,
) -> PyResult<()> {
    let shape = slabs.first().and_then(|s| s.shape().get(1..)).unwrap_or_default().to_vec();
    let mut slabs = Slabs::of(&mut slabs, &shape)?;
    ensure_last(parents.shape(), 2)?;
    ensure_last(children.shape(), 2)?;
    let (parents, children) = (as_pairs(flat!(parents)), as_pairs(flat!(children)));
    ensure(parents.len() == children.len(), "as many parents as children are needed")?;
    let mut work = Vec::new();
    for (parent, child) in parents.iter().zip(children) {
        work.push((slabs.range(parent)?, slabs.range(child)?));
        ensure(parent[0] != child[0], "a parent and its child must lie in different slabs")?;
    }
    run(py, || {
        for ((parent_slab, parent), (child_slab, child)) in work {
            let [a, b] = slabs.slabs.get_disjoint_mut([parent_slab, child_slab]).expect("different slabs");
            splits::subtract(&mut a[parent], &b[child]);
        }
    })
}

#[derive(FromPyObject)]
struct LayoutArrays<'py> {
    offsets: PyReadonlyArray1<'py, u32>,
    has_missing: PyReadonlyArray1<'py, bool>,
    categorical: PyReadonlyArray1<'py, bool>,
}

#[derive(FromPyObject)]
struct RulesObject<'py> {
    gradient_unit: f64,
    hessian_unit: f64,
    reg_lambda: f64,
    reg_alpha: f64,
    gamma: f64,
    min_child_weight: f64,
    min_child_rows: i64,
    monotone: PyReadonlyArray1<'py, i8>,
}

type CutArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<i64>>,
    Bound<'py, PyArray2<i64>>,
    Bound<'py, PyArray2<u64>>,
);

#[pyfunction]
fn best_cuts<'py>(
    py: Python<'py>,
    mut slabs: Vec<PyReadwriteArrayDyn<'py, i64>>,
    mut counts: Vec<PyReadwriteArrayDyn<'py, i64>>,
    places: PyReadonlyArray2<'py, i32>,
    layout: LayoutArrays<'py>,
    rules: RulesObject<'py>,
    allowed: PyReadonlyArray2<'py, bool>,
    bounds: PyReadonlyArray2<'py, f64>,
    n_threads: Threads,
) -> PyResult<CutArrays<'py>> {
    let n_threads = n_threads.get();
    let offsets = flat!(layout.offsets);
    let layout = Layout { offsets, has_missing: flat!(layout.has_missing), categorical: flat!(layout.categorical) };
    let n_columns = layout.categorical.len();
    ensure(
        offsets.len() == n_columns + 1 && layout.has_missing.len() == n_columns && offsets.is_sorted(),
        "bad layout",
    )?;
    let fits =
        |c: usize| (1 + usize::from(layout.has_missing[c])..=256).contains(&((offsets[c + 1] - offsets[c]) as usize));
    ensure((0..n_columns).all(fits), "a column of the layout has no bins or too many")?;
    let monotone = flat!(rules.monotone);
    ensure(monotone.is_empty() || monotone.len() == n_columns, "one monotone constraint a column is needed")?;
    let rules = Rules {
        gradient_unit: rules.gradient_unit,
        hessian_unit: rules.hessian_unit,
        lambda: rules.reg_lambda,
        alpha: rules.reg_alpha,
        gamma: rules.gamma,
        min_child_weight: rules.min_child_weight,
        min_child_rows: rules.min_child_rows,
        monotone,
    };
    let width = offsets[n_columns] as usize + 1;
    let slabs = Slabs::of(&mut slabs, &[width, 2])?;
    let counts = Slabs::of(&mut counts, &[width])?;
    ensure(
        !counts.slabs.is_empty() || rules.min_child_rows <= 1,
        "the least rows of a child need histograms of counts",
    )?;
    ensure_last(places.shape(), 2)?;
    ensure_last(bounds.shape(), 2)?;
    let places = as_pairs(flat!(places));
    let (allowed_rows, allowed) = (allowed.shape()[0], flat!(allowed));
    ensure(
        allowed_rows == 0 || allowed.len() == places.len() * n_columns,
        "one row of allowed columns a node is needed",
    )?;
    let bounds = as_pairs(flat!(bounds));
    ensure(bounds.is_empty() || bounds.len() == places.len(), "one pair of bounds a node is needed")?;
    ensure(bounds.iter().all(|b| b[0] <= b[1]), "a lower bound is above its upper one")?;
    ensure(n_columns > 0, "there is no column to cut")?;
    let node = |(i, place): (usize, &[i32; 2])| {
        let allowed = if allowed_rows == 0 { &[] } else { &allowed[i * n_columns..(i + 1) * n_columns] };
        let bounds = bounds.get(i).copied().unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        let counts = if counts.slabs.is_empty() { &[] } else { counts.get(place)? };
        Ok(Node { sums: as_pairs(slabs.get(place)?), counts, allowed, bounds })
    };
    let nodes = places.iter().enumerate().map(node).collect::<PyResult<Vec<_>>>()?;
    let cuts = run(py, || splits::best(rules, layout, &nodes, n_threads))?;
    let (which, cuts): (Vec<i64>, Vec<Cut>) = (0..).zip(cuts).filter(|(_, c)| c.column >= 0).unzip();
    cut_arrays(py, which, &cuts)
}

fn cut_arrays<'py>(py: Python<'py>, which: Vec<i64>, cuts: &[Cut]) -> PyResult<CutArrays<'py>> {
    fn column<'py, T: Element>(py: Python<'py>, cuts: &[Cut], of: impl Fn(&Cut) -> T) -> Bound<'py, PyArray1<T>> {
        cuts.iter().map(of).collect::<Vec<_>>().into_pyarray(py)
    }
    let flat_pairs = |of: fn(&Cut) -> Pair| shaped(py, cuts.iter().flat_map(of).collect(), cuts.len(), 2);
    Ok((
        which.into_pyarray(py),
        column(py, cuts, |c| c.column),
        column(py, cuts, |c| c.bin),
        column(py, cuts, |c| c.missing_left),
        column(py, cuts, |c| c.gain),
        flat_pairs(|c| c.left)?,
        flat_pairs(|c| c.right)?,
        shaped(py, cuts.iter().flat_map(|c| c.left_bins).collect(), cuts.len(), 4)?,
    ))
}

#[pyfunction]
fn divide_rows<'py>(
    py: Python<'py>,
    matrix: MatrixArrays<'py>,
    mut orders: PyReadwriteArray2<'py, u32>,
    mut spans: PyReadwriteArray3<'py, i64>,
    nodes: NodeArrays<'py>,
    children: PyReadonlyArray1<'py, i64>,
    columns: PyReadonlyArray1<'py, i32>,
    left_bins: PyReadonlyArray2<'py, u64>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let mut part = part_of(&matrix, &mut orders, &mut spans)?;
    ensure_last(left_bins.shape(), 4)?;
    let cuts = divide::Cuts {
        nodes: nodes.view()?,
        child: flat!(children),
        column: flat!(columns),
        left_bins: flat!(left_bins).as_chunks().0,
    };
    let sizes = run(py, || divide::divide_parts(vec![(&mut part, cuts)], n_threads.get()))?.map_err(wrong)?;
    shaped(py, sizes, nodes.len(), 2)
}

pub(crate) fn part_of<'a>(
    matrix: &'a MatrixArrays,
    orders: &'a mut PyReadwriteArray2<'_, u32>,
    spans: &'a mut PyReadwriteArray3<'_, i64>,
) -> PyResult<divide::Part<'a>> {
    ensure_last(spans.shape(), 2)?;
    let (trees, shape) = (orders.shape()[0], [spans.shape()[0], spans.shape()[1]]);
    let part = divide::Part { matrix: matrix.view()?, orders: flat_mut!(orders), spans: flat_mut!(spans), shape };
    ensure(trees == shape[0], "the spans are of another number of trees than the orders")?;
    Ok(part)
}

#[pyfunction]
fn row_sides<'py>(
    py: Python<'py>,
    matrix: MatrixArrays<'py>,
    orders: PyReadonlyArray2<'py, u32>,
    spans: PyReadonlyArray3<'py, i64>,
    nodes: NodeArrays<'py>,
    columns: PyReadonlyArray1<'py, i32>,
    left_bins: PyReadonlyArray2<'py, u64>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let n_threads = n_threads.get();
    let matrix = matrix.view()?;
    let orders = orders_of(flat!(orders), orders.shape()[0]);
    let spans = nodes.spans(flat!(spans), spans.shape(), &orders)?;
    ensure_last(left_bins.shape(), 4)?;
    let (columns, sets) = (flat!(columns), flat!(left_bins).as_chunks::<4>().0);
    ensure(columns.len() == nodes.len() && sets.len() == nodes.len(), "one column and set a node is needed")?;
    ensure(columns.iter().all(|&c| (0..matrix.n_columns() as i32).contains(&c)), "no such column")?;
    let one = |((&span, &column), &left_bins): ((&Span, &i32), &BinSet)| Division {
        span,
        column: column as usize,
        left_bins,
    };
    let divisions: Vec<Division> = spans.iter().zip(columns).zip(sets).map(one).collect();
    Ok(run(py, || divide::sides(&matrix, &orders, &divisions, n_threads))?.into_pyarray(py))
}

#[pyfunction]
fn divide_by_sides<'py>(
    py: Python<'py>,
    mut orders: PyReadwriteArray2<'py, u32>,
    mut spans: PyReadwriteArray3<'py, i64>,
    nodes: NodeArrays<'py>,
    children: PyReadonlyArray1<'py, i64>,
    left: PyReadonlyArray1<'py, bool>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let n_threads = n_threads.get();
    let (trees, width) = (orders.shape()[0], orders.shape()[1]);
    let shape = [spans.shape()[0], spans.shape()[1], spans.shape()[2]];
    let order_flat = flat_mut!(orders);
    let table = flat_mut!(spans);
    let places = nodes.places(&shape)?;
    let spans = nodes.spans(table, &shape, &orders_of(order_flat, trees))?;
    let (children, left) = (flat!(children), flat!(left));
    ensure(children.len() == nodes.len(), "one child a node is needed")?;
    ensure(children.iter().all(|&c| c >= 0 && (c as usize) + 1 < shape[1]), "no room for a child's span")?;
    ensure(divide::in_order(&spans), "spans must come in order and not overlap")?;
    let rows: usize = spans.iter().map(|s| s.end - s.begin).sum();
    ensure(left.len() == rows, "one side a row is needed")?;
    let orders: Vec<&mut [u32]> = match width {
        0 => (0..trees).map(|_| Default::default()).collect(),
        _ => order_flat.chunks_mut(width).collect(),
    };
    let lefts = run(py, || divide::divide_by(orders, &spans, left, n_threads))?;
    shaped(py, divide::child_spans(table, &places, shape[1], children, &spans, &lefts), lefts.len(), 2)
}

#[pyfunction]
fn leaf_sums<'py>(
    py: Python<'py>,
    pairs: PyReadonlyArray3<'py, i32>,
    orders: PyReadonlyArray2<'py, u32>,
    spans: PyReadonlyArray3<'py, i64>,
    nodes: NodeArrays<'py>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let n_threads = n_threads.get();
    let rows = pairs.shape()[1];
    ensure(pairs.shape()[0] == orders.shape()[0], "gradients do not fit the orders")?;
    let orders = orders_of(flat!(orders), orders.shape()[0]);
    let spans = nodes.spans(flat!(spans), spans.shape(), &orders)?;
    ensure_last(pairs.shape(), 2)?;
    let pairs = as_pairs(flat!(pairs));
    let leaves = Leaves { pairs, rows, orders: &orders, spans: &spans };
    let sums = run(py, || divide::leaf_sums(&[leaves], n_threads))?.concat();
    shaped(py, sums.into_flattened(), spans.len(), 2)
}

/// Scores, the order and spans of each part of their rows, the leaves, and their values.
#[derive(FromPyObject)]
struct AddingArrays<'py>(
    PyReadwriteArray2<'py, f32>,
    Vec<(PyReadonlyArray2<'py, u32>, PyReadonlyArray3<'py, i64>)>,
    NodeArrays<'py>,
    PyReadonlyArray1<'py, f32>,
);

impl AddingArrays<'_> {
    fn view(&mut self) -> PyResult<divide::Adding<'_>> {
        let AddingArrays(scores, parts, nodes, values) = self;
        let shape = [scores.shape()[0], scores.shape()[1]];
        let mut placed = Vec::with_capacity(parts.len());
        for (orders, spans) in parts.iter() {
            ensure(shape[0] == orders.shape()[0], "scores do not fit the orders")?;
            let orders = orders_of(flat!(orders), shape[0]);
            let spans = nodes.spans(flat!(spans), spans.shape(), &orders)?;
            placed.push((orders, spans));
        }
        let values = flat!(values);
        ensure(values.len() == nodes.len(), "one value a span is needed")?;
        Ok(divide::Adding { scores: flat_mut!(scores), rows: shape[1], parts: placed, values })
    }
}

#[pyfunction]
fn add_values<'py>(py: Python<'py>, mut tables: Vec<AddingArrays<'py>>, n_threads: Threads) -> PyResult<()> {
    let tables = tables.iter_mut().map(AddingArrays::view).collect::<PyResult<Vec<_>>>()?;
    run(py, || divide::add_values(tables, n_threads.get()))
}

fn loss_of(name: &str, parameter: f64) -> PyResult<Loss> {
    Ok(match name {
        "squared" => Loss::Squared,
        "logistic" => Loss::Logistic,
        "softmax" => Loss::Softmax,
        "shares" => Loss::Shares,
        "poisson" => Loss::Poisson,
        "tweedie" => Loss::Tweedie(parameter),
        "huber" => Loss::Huber(parameter),
        _ => return Err(wrong("no such loss")),
    })
}

#[pyfunction]
fn gradient_pairs<'py>(
    py: Python<'py>,
    loss: (String, f64),
    scales: (f64, f64, bool),
    scores: PyReadonlyArray2<'py, f32>,
    labels: PyReadonlyArray1<'py, f32>,
    weights: PyReadonlyArray1<'py, f32>,
    mut out: PyReadwriteArray3<'py, i32>,
    n_threads: Threads,
) -> PyResult<u64> {
    let (rows, out) = (deriving(&loss, scales, &scores, &labels, &weights)?, pairs_to_fill(&mut out, scores.shape())?);
    Ok(run(py, || gradients::gradients(vec![(rows, out)], n_threads.get()))?[0])
}

/// Rows whose gradients are wanted.
pub(crate) fn deriving<'a>(
    loss: &(String, f64),
    scales: (f64, f64, bool),
    scores: &'a PyReadonlyArray2<'_, f32>,
    labels: &'a PyReadonlyArray1<'_, f32>,
    weights: &'a PyReadonlyArray1<'_, f32>,
) -> PyResult<gradients::Rows<'a>> {
    let (trees, rows) = (scores.shape()[0], scores.shape()[1]);
    let loss = loss_of(&loss.0, loss.1)?;
    let scales = Scales { gradient: scales.0, hessian: scales.1, constant_hessian: scales.2 };
    ensure(
        matches!(loss, Loss::Softmax | Loss::Shares) || trees == 1,
        "scores and gradients differ in shape: the loss has one tree a round",
    )?;
    let (scores, labels, weights) = (flat!(scores), flat!(labels), flat!(weights));
    ensure(
        labels.len() == rows && (weights.is_empty() || weights.len() == rows),
        "one label and weight a row is needed",
    )?;
    Ok(gradients::Rows { loss, scales, scores, labels, weights })
}

/// The pairs of all trees and rows of scores of this shape.
pub(crate) fn pairs_to_fill<'a>(
    pairs: &'a mut PyReadwriteArray3<'_, i32>,
    scores: &[usize],
) -> PyResult<&'a mut [[i32; 2]]> {
    ensure(pairs.shape() == [scores[0], scores[1], 2], "scores and gradients differ in shape")?;
    Ok(flat_mut!(pairs).as_chunks_mut().0)
}

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
fn draws<'py>(
    py: Python<'py>,
    keys: PyReadonlyArray1<'py, u64>,
    seed: u64,
    stream: u64,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let keys = flat!(keys);
    Ok(run(py, || sample::draws(keys, seed, stream))?.into_pyarray(py))
}

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
pub(crate) struct ToldArrays<'py> {
    nodes: NodeArrays<'py>,
    child: PyReadonlyArray1<'py, i64>,
    column: PyReadonlyArray1<'py, i32>,
    bin: PyReadonlyArray1<'py, i32>,
    missing_left: PyReadonlyArray1<'py, bool>,
    left_bins: PyReadonlyArray2<'py, u64>,
}

#[derive(FromPyObject)]
struct AgreedArrays<'py> {
    n_values: PyReadonlyArray1<'py, i64>,
    has_missing: PyReadonlyArray1<'py, bool>,
    categorical: PyReadonlyArray1<'py, bool>,
}

impl ToldArrays<'_> {
    fn view(&self) -> PyResult<follow::Told<'_>> {
        let divide::Cuts { nodes, child, column, left_bins } = self.cuts()?;
        let (bin, missing_left) = (flat!(self.bin), flat!(self.missing_left));
        let lengths = [nodes.node.len(), child.len(), column.len(), left_bins.len(), bin.len(), missing_left.len()];
        ensure(lengths.iter().all(|&n| n == nodes.tree.len()), "the parts of the cuts differ in length")?;
        Ok(follow::Told { nodes, child, column, bin, missing_left, left_bins })
    }

    pub(crate) fn cuts(&self) -> PyResult<divide::Cuts<'_>> {
        ensure_last(self.left_bins.shape(), 4)?;
        Ok(divide::Cuts {
            nodes: self.nodes.view()?,
            child: flat!(self.child),
            column: flat!(self.column),
            left_bins: flat!(self.left_bins).as_chunks().0,
        })
    }
}

impl AgreedArrays<'_> {
    fn view(&self) -> PyResult<follow::Agreed<'_>> {
        let agreed = follow::Agreed {
            n_values: flat!(self.n_values),
            has_missing: flat!(self.has_missing),
            categorical: flat!(self.categorical),
        };
        let columns = agreed.n_values.len();
        ensure(agreed.has_missing.len() == columns && agreed.categorical.len() == columns, "the columns do not fit")?;
        ensure(agreed.n_values.iter().all(|n| (1..256).contains(n)), "a column has too many bins")?;
        Ok(agreed)
    }
}

#[pyfunction]
fn follow_cuts<'py>(
    mut status: PyReadwriteArray2<'py, u8>,
    mut sizes: PyReadwriteArray1<'py, i64>,
    cuts: ToldArrays<'py>,
    grid: AgreedArrays<'py>,
) -> PyResult<u8> {
    let (trees, width) = (status.shape()[0], status.shape()[1]);
    let (status, sizes) = (flat_mut!(status), flat_mut!(sizes));
    ensure(sizes.len() == trees && width > 0, "one size a tree is needed")?;
    let followed = follow::follow(status, width, sizes, &cuts.view()?, &grid.view()?);
    Ok(followed.map_or_else(|wrong| wrong as u8, |()| 0))
}

#[pyfunction]
fn follow_step<'py>(
    mut status: PyReadwriteArray2<'py, u8>,
    mut sizes: PyReadwriteArray1<'py, i64>,
    cuts: Option<ToldArrays<'py>>,
    grid: AgreedArrays<'py>,
    nodes: NodeArrays<'py>,
    leaves: bool,
) -> PyResult<u8> {
    let (trees, width) = (status.shape()[0], status.shape()[1]);
    let (status, sizes) = (flat_mut!(status), flat_mut!(sizes));
    ensure(sizes.len() == trees && width > 0, "one size a tree is needed")?;
    let (told, agreed, nodes) = (cuts.as_ref().map(ToldArrays::view).transpose()?, grid.view()?, nodes.view()?);
    ensure(nodes.tree.len() == nodes.node.len(), "one tree a node is needed")?;
    let followed = follow::follow_step(status, width, sizes, told.as_ref(), &agreed, nodes, leaves);
    Ok(followed.map_or_else(|wrong| wrong as u8, |()| 0))
}

#[pyfunction]
fn name_nodes<'py>(
    mut status: PyReadwriteArray2<'py, u8>,
    nodes: NodeArrays<'py>,
    wanted: Vec<u8>,
    becomes: u8,
) -> PyResult<bool> {
    let width = status.shape()[1];
    let named = nodes.view()?;
    ensure(named.tree.len() == named.node.len() && width > 0, "one tree a node is needed")?;
    Ok(follow::name(flat_mut!(status), width, named, &wanted, becomes))
}

#[pyfunction]
fn set_portable_only(on: bool) {
    portable::set_portable_only(on);
}

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(find_cuts_dense, m)?)?;
    m.add_function(wrap_pyfunction!(find_cuts_sparse, m)?)?;
    m.add_function(wrap_pyfunction!(sorted_keys, m)?)?;
    m.add_function(wrap_pyfunction!(key_values, m)?)?;
    m.add_function(wrap_pyfunction!(count_prefixes, m)?)?;
    m.add_function(wrap_pyfunction!(wanted_cells, m)?)?;
    m.add_function(wrap_pyfunction!(cut_cells, m)?)?;
    m.add_function(wrap_pyfunction!(bin_dense, m)?)?;
    m.add_function(wrap_pyfunction!(bin_sparse, m)?)?;
    m.add_function(wrap_pyfunction!(columns_of, m)?)?;
    m.add_function(wrap_pyfunction!(gradient_pairs, m)?)?;
    m.add_function(wrap_pyfunction!(narrow, m)?)?;
    m.add_function(wrap_pyfunction!(follow_cuts, m)?)?;
    m.add_function(wrap_pyfunction!(follow_step, m)?)?;
    m.add_function(wrap_pyfunction!(name_nodes, m)?)?;
    m.add_function(wrap_pyfunction!(histograms, m)?)?;
    m.add_function(wrap_pyfunction!(count_rows, m)?)?;
    m.add_function(wrap_pyfunction!(subtract, m)?)?;
    m.add_function(wrap_pyfunction!(best_cuts, m)?)?;
    m.add_function(wrap_pyfunction!(divide_rows, m)?)?;
    m.add_function(wrap_pyfunction!(row_sides, m)?)?;
    m.add_function(wrap_pyfunction!(divide_by_sides, m)?)?;
    m.add_function(wrap_pyfunction!(leaf_sums, m)?)?;
    m.add_function(wrap_pyfunction!(add_values, m)?)?;
    m.add_function(wrap_pyfunction!(logistic, m)?)?;
    m.add_function(wrap_pyfunction!(softmax, m)?)?;
    m.add_function(wrap_pyfunction!(exp, m)?)?;
    m.add_function(wrap_pyfunction!(log, m)?)?;
    m.add_function(wrap_pyfunction!(draws, m)?)?;
    m.add_function(wrap_pyfunction!(add_scores, m)?)?;
    m.add_function(wrap_pyfunction!(leaf_places, m)?)?;
    m.add_function(wrap_pyfunction!(set_portable_only, m)?)?;
    crate::steps_face::add_to(m)?;
    crate::pads_face::add_to(m)?;
    crate::ristretto_face::add_to(m)?;
    crate::paillier_face::add_to(m)?;
    crate::lattice_face::add_to(m)?;
    crate::plain_sums_face::add_to(m)?;
    crate::lattice_slots_face::add_to(m)?;
    Ok(())
}
