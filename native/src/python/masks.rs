//! The Python face of `pads`.

use numpy::{
    IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::arrays::{Threads, ensure, ensure_last, flat, flat_mut, run, wrong};
use crate::masks::pads::{self, Hidden, Pads};

/// Secrets, which of their pads are taken, and what the request is.
#[derive(FromPyObject)]
pub(crate) struct PadArrays<'py>(PyReadonlyArray2<'py, u8>, PyReadonlyArray1<'py, bool>, PyBackedBytes);

impl PadArrays<'_> {
    pub(crate) fn view(&self) -> PyResult<Pads<'_>> {
        let PadArrays(secrets, subtract, info) = self;
        ensure_last(secrets.shape(), 32)?;
        let (secrets, subtract) = (flat!(secrets).as_chunks().0, flat!(subtract));
        ensure(secrets.len() == subtract.len(), "one secret for each pad to add or take is needed")?;
        Ok(Pads { secrets, subtract, info })
    }
}

#[pyfunction]
fn add_pads<'py>(
    py: Python<'py>,
    mut hidden: Vec<(PyReadwriteArrayDyn<'py, u64>, PadArrays<'py>)>,
    n_threads: Threads,
) -> PyResult<()> {
    let mut all = Vec::with_capacity(hidden.len());
    for (words, pads) in &mut hidden {
        let words = flat_mut!(words);
        ensure(words.len() <= pads::MOST_WORDS, "there are more words than one key can pad (256 GiB)")?;
        all.push(Hidden { words, pads: pads.view()? });
    }
    run(py, || pads::add_pads(all, n_threads.get()))
}

#[pyfunction]
fn pad_words<'py>(
    py: Python<'py>,
    n: usize,
    keys: PyReadonlyArray2<'py, u8>,
    subtract: PyReadonlyArray1<'py, bool>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    ensure_last(keys.shape(), 32)?;
    let (keys, subtract) = (flat!(keys).as_chunks().0, flat!(subtract));
    ensure(keys.len() == subtract.len(), "one key for each pad to add or take is needed")?;
    ensure(n <= pads::MOST_WORDS, "there are more words than one key can pad (256 GiB)")?;
    Ok(run(py, || pads::pad_words(n, keys, subtract))?.into_pyarray(py))
}

#[pyfunction]
fn sum_words<'py>(py: Python<'py>, parts: Vec<PyReadonlyArray1<'py, u64>>) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let mut all = Vec::with_capacity(parts.len());
    for part in &parts {
        ensure(part.is_c_contiguous(), "the array is not contiguous, row after row")?;
        ensure(part.len() == parts[0].len(), "parts of a sum differ in length")?;
        // SAFETY: so many words lie there one after the other while `parts` lives. They were read where a message has
        // them, perhaps at an odd address, and so are taken as bytes.
        all.push(unsafe { std::slice::from_raw_parts(part.data().cast::<[u8; 8]>(), part.len()) });
    }
    Ok(run(py, || pads::sum_words(&all))?.into_pyarray(py))
}

pub(crate) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(add_pads, m)?)?;
    m.add_function(wrap_pyfunction!(pad_words, m)?)?;
    m.add_function(wrap_pyfunction!(sum_words, m)?)
}
