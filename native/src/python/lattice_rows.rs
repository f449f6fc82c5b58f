//! The Python face of the lattice's rows: bytes and arrays in, bytes and arrays out, sizes checked, the GIL released.

use numpy::{
    IntoPyArray, PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::arrays::{Threads, ensure, run, wrong};
use crate::lattice::merge::{self, SWITCH, SWITCH_PACKED};
use crate::lattice::proof;
use crate::lattice::seal::{self, KEY, N, Opener, PACKED, PRIMES, Sealed};
use crate::lattice::sums::{self, APART, Asked, AskedEntries, Keys, Layout};

type Seed = [u8; 32];
pub(super) type Words<'py> = PyReadonlyArray1<'py, u32>;

fn seed_of(bytes: &[u8]) -> PyResult<Seed> {
    bytes.try_into().map_err(|_| wrong("a seed has 32 bytes"))
}

fn words<'a>(array: &'a Words<'_>, multiple: usize) -> PyResult<&'a [u32]> {
    let words = array.as_slice().map_err(wrong)?;
    ensure(words.len().is_multiple_of(multiple), "keys or sealed rows have a wrong size")?;
    Ok(words)
}

pub(super) fn key<'a>(array: &'a Words<'_>) -> PyResult<&'a [u32]> {
    ensure(array.len() == KEY, "a key has a wrong size")?;
    words(array, KEY)
}

pub(super) fn scale_of(scale: &[u32]) -> PyResult<()> {
    ensure(scale.len() == PRIMES, "a scale has a residue for each prime")
}

/// How sums lie in ciphertexts; the attributes of the Python class of this name.
#[derive(FromPyObject)]
struct RowsLayout {
    step: usize,
    merges: usize,
    lanes: usize,
    flood_bits: u32,
    filling: u128,
}

impl RowsLayout {
    fn checked(&self) -> PyResult<Layout> {
        let &Self { step, merges, lanes, flood_bits, filling } = self;
        let fits = step.is_power_of_two() && step <= N && merges <= step.trailing_zeros() as usize && lanes > 0;
        let drawn = (1..100).contains(&flood_bits) && filling < 1 << 107;
        ensure(fits && drawn, "a layout has a step, merges, lanes or flood that cannot be")?;
        Ok(Layout { step, merges, lanes, flood_bits, filling })
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

/// Bytes of a proof that a key of this ring is well formed.
#[pyfunction]
fn lattice_proof_bytes(n: usize) -> PyResult<usize> {
    ensure(n == N || n == 2 * N, "a ring has 4096 or 8192 coefficients")?;
    Ok(proof::proof_len(n))
}

/// A proof that the public key is well formed.
#[pyfunction]
fn lattice_prove_key<'py>(
    py: Python<'py>,
    own_secret: Words<'py>,
    packed: &[u8],
    seed: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let (secret, seed) = (key(&own_secret)?, seed_of(seed)?);
    ensure(packed.len() == PRIMES * PACKED, "a public key has a wrong size")?;
    let proof = run(py, || {
        let public = seal::read_public(packed, &seed)?;
        Some(seal::statement(&[&seed, packed], &public).prove(&secret[..N], n_threads.get()))
    })?;
    proof.map(|proof| PyBytes::new(py, &proof)).ok_or_else(|| wrong("a public key holds a number that is too large"))
}

/// Whether a public key as `lattice_read_public` gives it is proven well formed.
#[pyfunction]
fn lattice_is_proven<'py>(
    py: Python<'py>,
    public: Words<'py>,
    packed: &[u8],
    seed: &[u8],
    proof: &[u8],
    n_threads: Threads,
) -> PyResult<bool> {
    let (public, seed) = (key(&public)?, seed_of(seed)?);
    run(py, || seal::statement(&[&seed, packed], public).holds(proof, n_threads.get()))
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

/// Bytes that begin with `front`; a kernel fills the rest without the GIL.
fn filled<'py>(
    py: Python<'py>,
    front: &[u8],
    length: usize,
    kernel: impl FnOnce(&mut [u8]) + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, front.len() + length, |bytes| {
        let (head, rest) = bytes.split_at_mut(front.len());
        head.copy_from_slice(front);
        run(py, || kernel(rest))
    })
}

/// Sealed rows in their wire form; the attributes of the Python class of this name.
#[derive(FromPyObject)]
pub(super) struct SealedData {
    data: PyBackedBytes,
    start: usize,
    seed: Option<PyBackedBytes>,
    lanes: usize,
}

impl SealedData {
    pub(super) fn checked(&self) -> PyResult<Sealed<'_>> {
        ensure(self.lanes > 0 && self.start <= self.data.len(), "sealed rows have a wrong size")?;
        let seed = self.seed.as_ref().map(|seed| seed_of(seed)).transpose()?;
        let sealed = Sealed { payload: &self.data[self.start..], seed, lanes: self.lanes };
        ensure(sealed.payload.len().is_multiple_of(self.lanes * sealed.one()), "sealed rows have a wrong size")?;
        Ok(sealed)
    }
}

#[pyfunction]
fn lattice_seal_rows<'py>(
    py: Python<'py>,
    own_secret: Words<'py>,
    seed: &[u8],
    values: PyReadonlyArray2<'py, i64>,
    step: usize,
    scale: Vec<u32>,
    front: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    ensure_values(&values, step)?;
    scale_of(&scale)?;
    let (secret, seed, lanes) = (key(&own_secret)?, seed_of(seed)?, values.shape()[0]);
    let length = values.shape()[1].div_ceil(step) * lanes * PRIMES * PACKED;
    let values = values.as_slice().map_err(wrong)?;
    filled(py, front, length, |payload| {
        seal::seal_rows(secret, &seed, values, lanes, step, &scale, payload, n_threads.get());
    })
}

#[pyfunction]
fn lattice_seal_rows_publicly<'py>(
    py: Python<'py>,
    public: Words<'py>,
    values: PyReadonlyArray2<'py, i64>,
    step: usize,
    scale: Vec<u32>,
    front: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    ensure_values(&values, step)?;
    scale_of(&scale)?;
    let (public, lanes) = (key(&public)?, values.shape()[0]);
    let length = values.shape()[1].div_ceil(step) * lanes * 2 * PRIMES * PACKED;
    let values = values.as_slice().map_err(wrong)?;
    filled(py, front, length, |payload| {
        seal::seal_rows_publicly(public, values, lanes, step, &scale, payload, n_threads.get());
    })
}

#[pyfunction]
fn lattice_check_rows(py: Python<'_>, sealed: SealedData, n_threads: Threads) -> PyResult<bool> {
    let sealed = sealed.checked()?;
    run(py, || sealed.is_well_formed(n_threads.get()))
}

#[pyfunction]
fn lattice_add_rows<'py>(
    py: Python<'py>,
    sealed: SealedData,
    other: SealedData,
    subtract: bool,
    front: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let (sealed, other) = (sealed.checked()?, other.checked()?);
    let same = sealed.count() == other.count() && sealed.lanes == other.lanes;
    ensure(same, "sealed rows that are added have one size")?;
    let length = sealed.count() * 2 * PRIMES * PACKED;
    filled(py, front, length, |payload| seal::add_rows(sealed, other, subtract, payload, n_threads.get()))
}

/// The answering side's choice; the attributes of the Python class of this name.
#[derive(FromPyObject)]
pub(crate) struct Selection<'py> {
    own_codes: PyReadonlyArray2<'py, u8>,
    widths: PyReadonlyArray1<'py, i64>,
}

impl Selection<'_> {
    /// Columns x rows, and how many rows there are.
    pub(crate) fn codes(&self) -> PyResult<(&[u8], usize)> {
        let codes = &self.own_codes;
        ensure(codes.is_c_contiguous() && codes.shape()[0] == self.widths.len(), "codes are columns x rows")?;
        Ok((codes.as_slice().map_err(wrong)?, codes.shape()[1]))
    }

    /// Groups of each column.
    pub(crate) fn widths(&self) -> PyResult<&[i64]> {
        let widths = self.widths.as_slice().map_err(wrong)?;
        ensure(widths.iter().all(|w| (1..=256).contains(w)), "a column has 1 to 256 groups")?;
        Ok(widths)
    }
}

/// Sets of rows; the attributes of the Python class of this name.
#[derive(FromPyObject)]
pub(crate) struct Nodes<'py> {
    pub(crate) rows: PyReadonlyArray1<'py, i64>,
    pub(crate) starts: PyReadonlyArray1<'py, i64>,
}

impl Nodes<'_> {
    pub(crate) fn ensure(&self, sealed: usize) -> PyResult<()> {
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
    sealed: SealedData,
    selection: Selection<'py>,
    nodes: Nodes<'py>,
    plus: PyReadonlyArray1<'py, i64>,
    layout: RowsLayout,
    scale: Vec<u32>,
    front: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let layout = layout.checked()?;
    scale_of(&scale)?;
    let keys = Keys { public: key(&keys.0)?, switch: words(&keys.1, SWITCH)? };
    ensure(keys.switch.len() == layout.merges * SWITCH, "each merge needs a switching key")?;
    let ((codes, rows), sealed) = (selection.codes()?, sealed.checked()?);
    nodes.ensure(rows)?;
    let asked = Asked {
        rows: &[],
        codes,
        widths: selection.widths()?,
        node_rows: nodes.rows.as_slice().map_err(wrong)?,
        starts: nodes.starts.as_slice().map_err(wrong)?,
        plus: plus.as_slice().map_err(wrong)?,
    };
    let fits = sealed.lanes == layout.lanes && sealed.count() >= rows.div_ceil(layout.step) * layout.lanes;
    ensure(fits, "there are fewer sealed rows")?;
    let (nodes, groups) = (asked.starts.len() - 1, asked.widths.iter().sum::<i64>() as usize);
    let plain = asked.plus.is_empty() || asked.plus.len() == nodes * groups * layout.lanes;
    ensure(plain, "one summand a sum is needed, or none")?;
    filled(py, front, sums::payload_len(&layout, nodes, groups), |payload| {
        seal::with_room(sealed.count() * PRIMES * APART, |rows| {
            sealed.read(rows, APART, n_threads.get());
            let asked = Asked { rows, ..asked };
            sums::group_sums(layout, &asked, &keys, &scale, payload, n_threads.get());
        });
    })
}

#[pyfunction]
fn lattice_entry_sums<'py>(
    py: Python<'py>,
    keys: (Words<'py>, Words<'py>),
    sealed: SealedData,
    own_choice: PyReadonlyArray2<'py, bool>,
    shared: usize,
    plus: PyReadonlyArray1<'py, i64>,
    layout: RowsLayout,
    scale: Vec<u32>,
    front: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let layout = layout.checked()?;
    scale_of(&scale)?;
    let keys = Keys { public: key(&keys.0)?, switch: words(&keys.1, SWITCH)? };
    ensure(keys.switch.len() == layout.merges * SWITCH, "each merge needs a switching key")?;
    let (table_rows, width) = (own_choice.shape()[0], own_choice.shape()[1]);
    ensure(table_rows > 0 && width > 0 && shared <= width, "choices are rows x entries")?;
    ensure(own_choice.is_c_contiguous(), "choices are rows x entries, row after row")?;
    let choice = own_choice.as_slice().map_err(wrong)?;
    let plus = plus.as_slice().map_err(wrong)?;
    ensure(plus.is_empty() || plus.len() == table_rows, "one summand a row is needed, or none")?;
    let asked = AskedEntries { rows: &[], choice, own: width - shared, shared, plus };
    let sealed = sealed.checked()?;
    let fits = sealed.lanes == 1 && layout.lanes == 1 && sealed.count() == asked.sealed().div_ceil(layout.step);
    ensure(fits, "there are other sealed entries")?;
    filled(py, front, sums::payload_len(&layout, table_rows, 1), |payload| {
        seal::with_room(sealed.count() * PRIMES * APART, |rows| {
            sealed.read(rows, APART, n_threads.get());
            let asked = AskedEntries { rows, ..asked };
            sums::entry_sums(layout, &asked, &keys, &scale, payload, n_threads.get());
        });
    })
}

/// Returned sums in their wire form, and their layout; the attributes of the Python class of this name.
#[derive(FromPyObject)]
struct ReturnedData {
    data: PyBackedBytes,
    start: usize,
    layout: RowsLayout,
    nodes: usize,
    groups: usize,
}

impl ReturnedData {
    fn checked(&self) -> PyResult<(&[u8], Layout)> {
        let layout = self.layout.checked()?;
        ensure(self.start <= self.data.len() && self.groups > 0, "returned sums have a wrong size")?;
        let payload = &self.data[self.start..];
        let length = sums::payload_len(&layout, self.nodes, self.groups);
        ensure(payload.len() == length, "returned sums have a wrong size")?;
        Ok((payload, layout))
    }
}

#[pyfunction]
fn lattice_returned_bytes(layout: RowsLayout, nodes: usize, groups: usize) -> PyResult<usize> {
    Ok(sums::payload_len(&layout.checked()?, nodes, groups))
}

#[pyfunction]
fn lattice_check_sums(py: Python<'_>, sums: ReturnedData, n_threads: Threads) -> PyResult<bool> {
    let (payload, layout) = sums.checked()?;
    run(py, || sums::are_residues(payload, &layout, sums.nodes, sums.groups, n_threads.get()))
}

#[pyfunction]
fn lattice_add_sums<'py>(
    py: Python<'py>,
    sums: ReturnedData,
    other: ReturnedData,
    subtract: bool,
    front: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let ((payload, layout), (others, _)) = (sums.checked()?, other.checked()?);
    ensure(payload.len() == others.len(), "returned sums that are added have one size")?;
    filled(py, front, payload.len(), |out| {
        sums::add(payload, others, &layout, sums.nodes, sums.groups, subtract, out);
    })
}

#[pyfunction]
fn lattice_open_sums<'py>(
    py: Python<'py>,
    own_secret: Words<'py>,
    sums: ReturnedData,
    factor: (u64, u32),
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray3<i64>>> {
    let ((payload, layout), secret) = (sums.checked()?, key(&own_secret)?);
    ensure((1..126).contains(&factor.1), "a scale cannot be")?;
    let opener = Opener { step: layout.step >> layout.merges, factor: factor.0, shift: factor.1 };
    let (nodes, groups) = (sums.nodes, sums.groups);
    let opened = run(py, || sums::open(secret, payload, &layout, nodes, groups, &opener, n_threads.get()))?;
    opened.into_pyarray(py).reshape([nodes, groups, layout.lanes])
}

pub(crate) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(lattice_new_secret, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_public_half, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_read_public, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_proof_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_prove_key, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_is_proven, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_switch_halves, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_read_switch, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_seal_rows, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_seal_rows_publicly, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_check_rows, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_add_rows, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_group_sums, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_entry_sums, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_returned_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_check_sums, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_add_sums, m)?)?;
    m.add_function(wrap_pyfunction!(lattice_open_sums, m)?)?;
    Ok(())
}
