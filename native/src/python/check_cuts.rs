//! Checks of cuts that a party is told.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::arrays::*;
use crate::trees::check_cuts;
use crate::trees::divide::{self};

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
    fn view(&self) -> PyResult<check_cuts::Told<'_>> {
        let divide::Cuts { nodes, child, column, left_bins } = self.cuts()?;
        let (bin, missing_left) = (flat!(self.bin), flat!(self.missing_left));
        let lengths = [nodes.node.len(), child.len(), column.len(), left_bins.len(), bin.len(), missing_left.len()];
        ensure(lengths.iter().all(|&n| n == nodes.tree.len()), "the parts of the cuts differ in length")?;
        Ok(check_cuts::Told { nodes, child, column, bin, missing_left, left_bins })
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
    fn view(&self) -> PyResult<check_cuts::Agreed<'_>> {
        let agreed = check_cuts::Agreed {
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
    let followed = check_cuts::follow(status, width, sizes, &cuts.view()?, &grid.view()?);
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
    let followed = check_cuts::follow_step(status, width, sizes, told.as_ref(), &agreed, nodes, leaves);
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
    Ok(check_cuts::name(flat_mut!(status), width, named, &wanted, becomes))
}

pub(super) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(follow_cuts, m)?)?;
    m.add_function(wrap_pyfunction!(follow_step, m)?)?;
    m.add_function(wrap_pyfunction!(name_nodes, m)?)
}
