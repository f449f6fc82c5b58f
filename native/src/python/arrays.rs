//! NumPy arrays to slices: sizes checked, the GIL released while kernels run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use numpy::{
    Element, IntoPyArray, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::trees::check_cuts;
use crate::trees::divide::{self};
use crate::trees::histogram::Span;
use crate::trees::matrix::{Entries, Grid, Matrix};
use crate::trees::splits::Pair;

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
pub(super) fn shaped<'py, T: Element>(
    py: Python<'py>,
    data: Vec<T>,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    data.into_pyarray(py).reshape([rows, columns])
}

pub(super) fn pairs3<'py>(
    py: Python<'py>,
    data: Vec<Pair>,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'py, PyArray3<i64>>> {
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
pub(super) struct GridArrays<'py> {
    cuts: PyReadonlyArray1<'py, f32>,
    cut_starts: PyReadonlyArray1<'py, i64>,
    missing_bins: PyReadonlyArray1<'py, u8>,
}

impl GridArrays<'_> {
    pub(super) fn view(&self) -> PyResult<Grid<'_>> {
        let grid =
            Grid { cuts: flat!(self.cuts), cut_starts: flat!(self.cut_starts), missing: flat!(self.missing_bins) };
        grid.check().map_err(wrong)?;
        Ok(grid)
    }
}

/// Nodes of a round: tree and node of each.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub(crate) struct NodeArrays<'py>((PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>));

impl NodeArrays<'_> {
    pub(super) fn len(&self) -> usize {
        self.0.0.len()
    }

    pub(crate) fn view(&self) -> PyResult<check_cuts::Named<'_>> {
        Ok(check_cuts::Named { tree: flat!(self.0.0), node: flat!(self.0.1) })
    }

    /// Where each node lies in a table of (tree, node).
    pub(super) fn places(&self, shape: &[usize]) -> PyResult<Vec<usize>> {
        divide::places(self.view()?, [shape[0], shape[1]]).map_err(wrong)
    }

    /// Their spans, from a table of (tree, node, begin and end), checked against the orders.
    pub(super) fn spans(&self, table: &[i64], shape: &[usize], orders: &[&[u32]]) -> PyResult<Vec<Span>> {
        ensure_last(shape, 2)?;
        divide::spans(self.view()?, table, [shape[0], shape[1]], orders).map_err(wrong)
    }
}
