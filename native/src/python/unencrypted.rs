//! The Python face of `plain_sums`.

use numpy::{IntoPyArray, PyArray3, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::arrays::{Threads, ensure, run, wrong};
use super::lattice_rows::{Nodes, Selection};
use crate::unencrypted;

#[pyfunction]
fn plain_group_sums<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, i64>,
    selection: Selection<'py>,
    nodes: Nodes<'py>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray3<i64>>> {
    let (n_rows, channels) = (values.shape()[0], values.shape()[1]);
    ensure(
        values.is_c_contiguous() && selection.codes()?.1 == n_rows,
        "values are rows x channels, a code for each row",
    )?;
    nodes.ensure(n_rows)?;
    let groups = unencrypted::Groups { codes: selection.codes()?.0, n_rows, widths: selection.widths()? };
    let sets = unencrypted::Nodes {
        rows: nodes.rows.as_slice().map_err(wrong)?,
        starts: nodes.starts.as_slice().map_err(wrong)?,
    };
    let values = values.as_slice().map_err(wrong)?;
    let (n_nodes, n_groups) = (sets.starts.len() - 1, groups.widths.iter().sum::<i64>() as usize);
    let sums = run(py, || unencrypted::sums(groups, sets, values, channels, n_threads.get()))?;
    sums.into_pyarray(py).reshape([n_nodes, n_groups, channels])
}

/// Adds this function to the module.
pub(crate) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(plain_group_sums, m)?)
}
