//! The Python face of the lattice's rows: bytes and arrays in, bytes and arrays out, sizes checked, the GIL released.

use numpy::{
    IntoPyArray, PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::lattice::merge::{self, SWITCH, SWITCH_PACKED};
use crate::lattice::seal::{self, KEY, N, Opener, PACKED, PRIMES};
use crate::lattice::sums::{self, Asked, Keys, Layout};
use crate::python::{Threads, ensure, run, wrong};

type Seed = [u8; 32];
type Words<'py> = PyReadonlyArray1<'py, u32>;

fn seed_of(bytes: &[u8]) -> PyResult<Seed> {
    bytes.try_into().map_err(|_| wrong("a seed has 32 bytes"))
}

fn words<'a>(array: &'a Words<'_>, multiple: usize) -> PyResult<&'a [u32]> {
    let words = array.as_slice().map_err(wrong)?;
    ensure(words.len().is_multiple_of(multiple), "keys or sealed rows have a wrong size")?;
    Ok(words)
}

fn key<'a>(array: &'a Words<'_>) -> PyResult<&'a [u32]> {
    ensure(array.len() == KEY, "a key has a wrong size")?;
    words(array, KEY)
}

fn scale_of(scale: &[u32]) -> PyResult<()> {
    ensure(scale.len() == PRIMES, "a scale has a residue for each prime")
}

/// How sums lie in ciphertexts; the attributes of the Python class of this name.
#[derive(FromPyObject)]
struct RowsLayout {
    step: usize,
    merges: usize,
    lanes: usize,
    flood_bits: u32,
}

impl RowsLayout {
    fn checked(self) -> PyResult<Layout> {
        let Self { step, merges, lanes, flood_bits } = self;
        let fits = step.is_power_of_two() && step <= N && merges <= step.trailing_zeros() as usize && lanes > 0;
        ensure(fits && (1..100).contains(&flood_bits), "a layout has a step, merges, lanes or flood that cannot be")?;
        Ok(Layout { step, merges, lanes, flood_bits })
    }
}

#[pyfunction]
fn lattice_new_secret(py: Python<'_>) -> PyResult<Bound<'_, PyArray1<u32>>> {
    Ok(run(py, seal::new_secret)?.into_pyarray(py))
}

#[pyfunction]
fn lattice_public_half<'py>(py: Python<'py>, own_secret: Words<'py>, seed: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let (secret, seed) = (key(&own_secret)?, seed_of(seed)?);
    Ok(PyBytes::new(py, &run(py, || seal::public_half(secret, &seed))?))
}

#[pyfunction]
fn lattice_read_public<'py>(
    py: Python<'py>,
    packed: &[u8],
    seed: &[u8],
) -> PyResult<Option<Bound<'py, PyArray1<u32>>>> {
    let seed = seed_of(seed)?;
    ensure(packed.len() == PRIMES * PACKED, "a public key has a wrong size")?;
    Ok(run(py, || seal::read_public(packed, &seed))?.map(|key| key.into_pyarray(py)))
}

fn ensure_steps(steps: &[usize]) -> PyResult<()> {
    let known = |s: &usize| s.is_power_of_two() && (2..=N).contains(s);
    ensure(steps.iter().all(known), "a step of merging is a power of two")
}

#[pyfunction]
fn lattice_switch_halves<'py>(
    py: Python<'py>,
    own_secret: Words<'py>,
    seed: &[u8],
    steps: Vec<usize>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    ensure_steps(&steps)?;
    let (secret, seed) = (key(&own_secret)?, seed_of(seed)?);
    let packed = run(py, || merge::switch_halves(secret, &seed, &steps, n_threads.get()))?;
    Ok(PyBytes::new(py, &packed))
}

#[pyfunction]
fn lattice_read_switch<'py>(
    py: Python<'py>,
    packed: &[u8],
    seed: &[u8],
    steps: Vec<usize>,
    n_threads: Threads,
) -> PyResult<Option<Bound<'py, PyArray1<u32>>>> {
    ensure_steps(&steps)?;
    let seed = seed_of(seed)?;
    ensure(packed.len() == steps.len() * SWITCH_PACKED, "switching keys have a wrong size")?;
    let keys = run(py, || merge::read_switch(packed, &seed, &steps, n_threads.get()))?;
    Ok(keys.map(|keys| keys.into_pyarray(py)))
}

fn ensure_values(values: &PyReadonlyArray2<'_, i64>, step: usize) -> PyResult<()> {
    let shape = values.shape();
    ensure(shape[0] > 0 && shape[1] > 0 && values.is_c_contiguous(), "values are lanes x rows, row after row")?;
    ensure(step.is_power_of_two() && step <= N, "a block has at most 4096 rows")
}

#[pyfunction]
fn lattice_seal_rows<'py>(
    py: Python<'py>,
    own_secret: Words<'py>,
    seed: &[u8],
    values: PyReadonlyArray2<'py, i64>,
    step: usize,
    scale: Vec<u32>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    ensure_values(&values, step)?;
    scale_of(&scale)?;
    let (secret, seed, lanes) = (key(&own_secret)?, seed_of(seed)?, values.shape()[0]);
    let values = values.as_slice().map_err(wrong)?;
    let sealed = run(py, || seal::seal_rows(secret, &seed, values, lanes, step, &scale, n_threads.get()))?;
    Ok(PyBytes::new(py, &sealed))
}

#[pyfunction]
fn lattice_seal_rows_publicly<'py>(
    py: Python<'py>,
    public: Words<'py>,
    values: PyReadonlyArray2<'py, i64>,
    step: usize,
    scale: Vec<u32>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    ensure_values(&values, step)?;
    scale_of(&scale)?;
    let (public, lanes) = (key(&public)?, values.shape()[0]);
    let values = values.as_slice().map_err(wrong)?;
    let sealed = run(py, || seal::seal_rows_publicly(public, values, lanes, step, &scale, n_threads.get()))?;
    Ok(PyBytes::new(py, &sealed))
}

#[pyfunction]
fn lattice_read_rows<'py>(
    py: Python<'py>,
    payload: &[u8],
    seed: Option<&[u8]>,
    lanes: usize,
    n_threads: Threads,
) -> PyResult<Option<Bound<'py, PyArray1<u32>>>> {
    let one = PRIMES * PACKED * if seed.is_some() { 1 } else { 2 };
    ensure(lanes > 0 && payload.len().is_multiple_of(lanes * one), "sealed rows have a wrong size")?;
    let seed = seed.map(seed_of).transpose()?;
    let rows = run(py, || seal::read_rows(payload, seed.as_ref(), lanes, n_threads.get()))?;
    Ok(rows.map(|rows| rows.into_pyarray(py)))
}

#[pyfunction]
fn lattice_pack_rows<'py>(
    py: Python<'py>,
    rows: Words<'py>,
    lanes: usize,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    ensure(lanes > 0, "there is at least one lane")?;
    let rows = words(&rows, lanes * KEY)?;
    Ok(PyBytes::new(py, &run(py, || seal::pack_rows(rows, lanes, n_threads.get()))?))
}

#[pyfunction]
fn lattice_add_rows<'py>(
    py: Python<'py>,
    rows: Words<'py>,
    others: Words<'py>,
    lanes: usize,
    subtract: bool,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    ensure(lanes > 0 && rows.len() == others.len(), "sealed rows that are added have one size")?;
    let (rows, others) = (words(&rows, lanes * KEY)?, words(&others, lanes * KEY)?);
    Ok(run(py, || seal::add_rows(rows, others, lanes, subtract))?.into_pyarray(py))
}

/// The answering side's choice; the attributes of the Python class of this name.
#[derive(FromPyObject)]
struct Selection<'py> {
    own_codes: PyReadonlyArray2<'py, u8>,
    widths: PyReadonlyArray1<'py, i64>,
}

/// Sets of rows; the attributes of the Python class of this name.
#[derive(FromPyObject)]
struct Nodes<'py> {
    rows: PyReadonlyArray1<'py, i64>,
    starts: PyReadonlyArray1<'py, i64>,
}

impl Nodes<'_> {
    fn ensure(&self, sealed: usize) -> PyResult<()> {
        let (rows, starts) = (self.rows.as_slice().map_err(wrong)?, self.starts.as_slice().map_err(wrong)?);
        ensure(rows.iter().all(|&r| (0..sealed as i64).contains(&r)), "a node names a row that was not sealed")?;
        let ascends = starts.first() == Some(&0) && starts.is_sorted() && starts.last() == Some(&(rows.len() as i64));
        ensure(ascends, "nodes do not lie one after the other")
    }
}

#[pyfunction]
fn lattice_group_sums<'py>(
    py: Python<'py>,
    keys: (Words<'py>, Words<'py>),
    rows: Words<'py>,
    selection: Selection<'py>,
    nodes: Nodes<'py>,
    plus: PyReadonlyArray1<'py, i64>,
    layout: RowsLayout,
    scale: Vec<u32>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let layout = layout.checked()?;
    scale_of(&scale)?;
    let keys = Keys { public: key(&keys.0)?, switch: words(&keys.1, SWITCH)? };
    ensure(keys.switch.len() == layout.merges * SWITCH, "each merge needs a switching key")?;
    let codes = &selection.own_codes;
    ensure(codes.is_c_contiguous() && codes.shape()[0] == selection.widths.len(), "codes are columns x rows")?;
    let sealed = codes.shape()[1];
    nodes.ensure(sealed)?;
    let asked = Asked {
        rows: words(&rows, layout.lanes * KEY)?,
        codes: codes.as_slice().map_err(wrong)?,
        widths: selection.widths.as_slice().map_err(wrong)?,
        node_rows: nodes.rows.as_slice().map_err(wrong)?,
        starts: nodes.starts.as_slice().map_err(wrong)?,
        plus: plus.as_slice().map_err(wrong)?,
    };
    ensure(asked.rows.len() >= sealed.div_ceil(layout.step) * layout.lanes * KEY, "there are fewer sealed rows")?;
    ensure(asked.widths.iter().all(|w| (1..=256).contains(w)), "a column has 1 to 256 groups")?;
    let sums = (asked.starts.len() - 1) * asked.widths.iter().sum::<i64>() as usize * layout.lanes;
    ensure(asked.plus.is_empty() || asked.plus.len() == sums, "one summand a sum is needed, or none")?;
    let sums = run(py, || sums::group_sums(layout, &asked, &keys, &scale, n_threads.get()))?;
    Ok(PyBytes::new(py, &sums))
}

#[pyfunction]
fn lattice_returned_bytes(layout: RowsLayout, nodes: usize, groups: usize) -> PyResult<usize> {
    Ok(sums::payload_len(&layout.checked()?, nodes, groups))
}

#[pyfunction]
fn lattice_check_sums(
    py: Python<'_>,
    payload: &[u8],
    layout: RowsLayout,
    nodes: usize,
    groups: usize,
    n_threads: Threads,
) -> PyResult<bool> {
    let layout = layout.checked()?;
    ensure(payload.len() == sums::payload_len(&layout, nodes, groups), "returned sums have a wrong size")?;
    run(py, || sums::are_residues(payload, &layout, nodes, groups, n_threads.get()))
}

#[pyfunction]
fn lattice_add_sums<'py>(
    py: Python<'py>,
    payload: &[u8],
    other: &[u8],
    layout: RowsLayout,
    sizes: (usize, usize),
    subtract: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let layout = layout.checked()?;
    let length = sums::payload_len(&layout, sizes.0, sizes.1);
    ensure(payload.len() == length && other.len() == length, "returned sums have a wrong size")?;
    let sum = run(py, || sums::added(payload, other, &layout, sizes.0, sizes.1, subtract))?;
    Ok(PyBytes::new(py, &sum))
}

#[pyfunction]
fn lattice_open_sums<'py>(
    py: Python<'py>,
    own_secret: Words<'py>,
    payload: &[u8],
    layout: RowsLayout,
    sizes: (usize, usize),
    factor: (u64, u32),
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray3<i64>>> {
    let (layout, secret) = (layout.checked()?, key(&own_secret)?);
    ensure(payload.len() == sums::payload_len(&layout, sizes.0, sizes.1), "returned sums have a wrong size")?;
    ensure((1..126).contains(&factor.1), "a scale cannot be")?;
    let opener = Opener { step: layout.step >> layout.merges, factor: factor.0, shift: factor.1 };
    let opened = run(py, || sums::open(secret, payload, &layout, sizes.0, sizes.1, &opener, n_threads.get()))?;
    opened.into_pyarray(py).reshape([sizes.0, sizes.1, layout.lanes])
}

pub(crate) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(lattice_new_secret, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_public_half, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_read_public, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_switch_halves, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_read_switch, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_seal_rows, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_seal_rows_publicly, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_read_rows, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_pack_rows, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_add_rows, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_group_sums, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_returned_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_check_sums, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_add_sums, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_open_sums, m)?)?;
    Ok(())
}
