//! Sides of rows by their numbers.

use numpy::{
    IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3, PyReadwriteArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::arrays::*;
use crate::trees::divide::orders_of;
use crate::trees::sides::{self, Followed};

#[pyfunction]
fn put_sides<'py>(
    py: Python<'py>,
    orders: PyReadonlyArray2<'py, u32>,
    spans: PyReadonlyArray3<'py, i64>,
    nodes: NodeArrays<'py>,
    numbers: PyReadonlyArray1<'py, u32>,
    left: PyReadonlyArray1<'py, bool>,
    mut by_row: PyReadwriteArray2<'py, bool>,
    n_threads: Threads,
) -> PyResult<()> {
    let (trees, n_rows) = (orders.shape()[0], by_row.shape()[1]);
    ensure(by_row.shape()[0] == trees, "sides by row are of another number of trees than the orders")?;
    let orders = orders_of(flat!(orders), trees);
    let spans = nodes.spans(flat!(spans), spans.shape(), &orders)?;
    let followed = Followed { orders: &orders, spans: &spans, numbers: flat!(numbers), n_rows };
    let (left, by_row) = (flat!(left), flat_mut!(by_row));
    ensure(left.len() == followed.n_sides(), "one side a row is needed")?;
    run(py, || sides::put(&followed, left, by_row, n_threads.get()))
}

#[pyfunction]
fn take_sides<'py>(
    py: Python<'py>,
    orders: PyReadonlyArray2<'py, u32>,
    spans: PyReadonlyArray3<'py, i64>,
    nodes: NodeArrays<'py>,
    numbers: PyReadonlyArray1<'py, u32>,
    by_row: PyReadonlyArray2<'py, bool>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let (trees, n_rows) = (orders.shape()[0], by_row.shape()[1]);
    ensure(by_row.shape()[0] == trees, "sides by row are of another number of trees than the orders")?;
    let orders = orders_of(flat!(orders), trees);
    let spans = nodes.spans(flat!(spans), spans.shape(), &orders)?;
    let followed = Followed { orders: &orders, spans: &spans, numbers: flat!(numbers), n_rows };
    let by_row = flat!(by_row);
    Ok(run(py, || sides::take(&followed, by_row, n_threads.get()))?.into_pyarray(py))
}

pub(super) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(put_sides, m)?)?;
    m.add_function(wrap_pyfunction!(take_sides, m)?)
}
