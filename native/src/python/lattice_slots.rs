//! The Python face of the slot kernels: bytes and arrays in, bytes and arrays out, sizes checked, the GIL released.
//!
//! Sealed tables stay in their wire form, so that nothing is copied between what is computed and what is sent.

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::arrays::{Threads, ensure, run, wrong};
use crate::lattice::ring::PRIMES;
use crate::lattice::slots::{self, BYTES, Layout, Leaving, MOST_MODULI, N, Public, Sealed};

type Seed = [u8; 32];

fn seed_of(bytes: &[u8]) -> PyResult<Seed> {
    bytes.try_into().map_err(|_| wrong("a seed has 32 bytes"))
}

fn ensure_primes(n: usize) -> PyResult<()> {
    ensure((1..=PRIMES.len()).contains(&n), "a modulus has 1 to 8 primes")
}

/// Where integers lie; the attributes of the Python class of this name.
#[derive(FromPyObject)]
struct SlotTable {
    rows: usize,
    entries: usize,
    block_rows: usize,
    lanes: usize,
    moduli: Vec<u32>,
}

impl SlotTable {
    fn layout(self) -> PyResult<Layout> {
        let sizes = self.rows > 0 && self.entries > 0 && self.block_rows > 0 && self.lanes > 0;
        let known = |t: &u32| *t < 1 << 27 && *t % (2 * N as u32) == 1 && !PRIMES.contains(t);
        ensure(sizes && self.block_rows.checked_mul(self.lanes).is_some_and(|n| n <= N), "slots do not fit")?;
        ensure((1..=MOST_MODULI).contains(&self.moduli.len()), "a table has one to three plaintext primes")?;
        ensure(self.moduli.iter().all(known), "no such plaintext prime")?;
        let SlotTable { rows, entries, block_rows, lanes, moduli } = self;
        Ok(Layout { rows, entries, block_rows, lanes, moduli })
    }
}

/// A sealed table; the attributes of the Python class of this name.
#[derive(FromPyObject)]
struct SealedTable {
    data: PyBackedBytes,
    start: usize,
    primes: usize,
    seed: Option<PyBackedBytes>,
    transformed: bool,
}

impl SealedTable {
    fn seed(&self) -> PyResult<Option<Seed>> {
        self.seed.as_ref().map(|seed| seed_of(seed)).transpose()
    }

    fn view<'a>(&'a self, seed: &'a Option<Seed>, layout: &Layout) -> PyResult<Sealed<'a>> {
        ensure_primes(self.primes)?;
        let bytes = self.data.get(self.start..).ok_or_else(|| wrong("the sealed table is too short"))?;
        let sealed = Sealed { bytes, primes: self.primes, seed: seed.as_ref(), transformed: self.transformed };
        ensure(bytes.len() == layout.total() * sealed.bytes_each(), "the sealed table has another size")?;
        Ok(sealed)
    }
}

fn public_of(data: &[u8], seed: &[u8], primes: usize) -> PyResult<Public> {
    ensure_primes(primes)?;
    ensure(data.len() >= primes * BYTES && data.len().is_multiple_of(BYTES), "the public key has another size")?;
    Ok(Public::read(data, &seed_of(seed)?, primes))
}

/// New bytes: a head, and what a kernel fills in behind it.
fn filled<'py>(
    py: Python<'py>,
    head: &[u8],
    len: usize,
    kernel: impl FnOnce(&mut [u8]) + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, head.len() + len, |bytes| {
        let (front, body) = bytes.split_at_mut(head.len());
        front.copy_from_slice(head);
        run(py, || kernel(body))
    })
}

#[pyfunction]
fn slots_new_key<'py>(py: Python<'py>, seed: &[u8]) -> PyResult<(Bound<'py, PyArray1<i8>>, Bound<'py, PyBytes>)> {
    let seed = seed_of(seed)?;
    let (own_secret, public) = run(py, || slots::new_key(&seed, PRIMES.len()))?;
    Ok((own_secret.into_pyarray(py), PyBytes::new(py, &public)))
}

/// A proof that the public half is well formed.
#[pyfunction]
fn slots_prove_key<'py>(
    py: Python<'py>,
    own_secret: PyReadonlyArray1<'py, i8>,
    half: &[u8],
    seed: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let (own_secret, seed) = (own_secret.as_slice().map_err(wrong)?, seed_of(seed)?);
    ensure(own_secret.len() == N && half.len() == PRIMES.len() * BYTES, "a key has another size")?;
    Ok(PyBytes::new(py, &run(py, || slots::prove(own_secret, half, &seed, n_threads.get()))?))
}

/// Whether a public half is proven well formed.
#[pyfunction]
fn slots_is_proven(py: Python<'_>, half: &[u8], seed: &[u8], proof: &[u8], n_threads: Threads) -> PyResult<bool> {
    let seed = seed_of(seed)?;
    ensure(half.len() == PRIMES.len() * BYTES, "a key has another size")?;
    run(py, || slots::is_proven(half, &seed, proof, n_threads.get()))
}

#[pyfunction]
fn slots_seal<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, i64>,
    table: SlotTable,
    own_secret: PyReadonlyArray1<'py, i8>,
    seed: &[u8],
    primes: usize,
    head: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let layout = table.layout()?;
    ensure_primes(primes)?;
    ensure(values.shape() == [layout.rows, layout.entries], "the table has another shape")?;
    ensure(own_secret.len() == N, "the secret key has another size")?;
    let (values, own_secret, seed) = (flat(&values)?, own_secret.as_slice().map_err(wrong)?, seed_of(seed)?);
    let kernel = |out: &mut [u8]| slots::seal(values, &layout, own_secret, &seed, primes, out, n_threads.get());
    filled(py, head, layout.total() * primes * BYTES, kernel)
}

fn flat<'a, T: numpy::Element>(array: &'a PyReadonlyArray2<'_, T>) -> PyResult<&'a [T]> {
    ensure(array.is_c_contiguous(), "the array is not contiguous, row after row")?;
    array.as_slice().map_err(wrong)
}

#[pyfunction]
fn slots_seal_public<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, i64>,
    table: SlotTable,
    public: PyBackedBytes,
    seed: &[u8],
    primes: usize,
    head: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let layout = table.layout()?;
    ensure(values.shape() == [layout.rows, layout.entries], "the table has another shape")?;
    let (values, public) = (flat(&values)?, public_of(&public, seed, primes)?);
    let kernel = |out: &mut [u8]| slots::seal_public(values, &layout, &public, primes, out, n_threads.get());
    filled(py, head, layout.total() * 2 * primes * BYTES, kernel)
}

/// What is done to an answer before it leaves; the attributes of the Python class of this name.
#[derive(FromPyObject)]
struct SlotsLeaving {
    flood_bits: u32,
    primes: usize,
}

impl SlotsLeaving {
    fn leaving(&self, before: usize) -> PyResult<Leaving> {
        ensure(self.primes >= 1 && self.primes <= before, "an answer cannot have more primes than were sealed")?;
        ensure((1..=192).contains(&self.flood_bits), "a flood has 1 to 192 bits")?;
        Ok(Leaving { flood_bits: self.flood_bits, primes: self.primes })
    }
}

#[pyfunction]
fn slots_sums<'py>(
    py: Python<'py>,
    sealed: SealedTable,
    table: SlotTable,
    own_choice: PyReadonlyArray2<'py, bool>,
    plus: PyReadonlyArray1<'py, i64>,
    public: PyBackedBytes,
    public_seed: &[u8],
    leaving: SlotsLeaving,
    head: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let (layout, seed) = (table.layout()?, sealed.seed()?);
    let sealed = sealed.view(&seed, &layout)?;
    let leaving = leaving.leaving(sealed.primes)?;
    ensure(own_choice.shape() == [layout.rows, layout.entries], "the choices have another shape")?;
    ensure(plus.len() == 0 || plus.len() == layout.rows, "one summand a row is needed, or none")?;
    let (choice, plus) = (flat(&own_choice)?, plus.as_slice().map_err(wrong)?);
    let public = public_of(&public, public_seed, sealed.primes)?;
    let kernel = |out: &mut [u8]| slots::sums(sealed, choice, plus, &layout, &public, leaving, out, n_threads.get());
    filled(py, head, layout.summed().total() * leaving.bytes_each(), kernel)
}

#[pyfunction]
fn slots_filter<'py>(
    py: Python<'py>,
    sealed: SealedTable,
    table: SlotTable,
    own_choice: PyReadonlyArray2<'py, bool>,
    summed: bool,
    public: PyBackedBytes,
    public_seed: &[u8],
    leaving: SlotsLeaving,
    head: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let (layout, seed) = (table.layout()?, sealed.seed()?);
    let sealed = sealed.view(&seed, &layout)?;
    let leaving = leaving.leaving(sealed.primes)?;
    ensure(own_choice.shape() == [layout.rows, layout.entries], "the choices have another shape")?;
    let choice = flat(&own_choice)?;
    let public = public_of(&public, public_seed, sealed.primes)?;
    let kernel =
        |out: &mut [u8]| slots::filter(sealed, choice, &layout, summed, &public, leaving, out, n_threads.get());
    filled(py, head, layout.total() * leaving.bytes_each(), kernel)
}

#[pyfunction]
fn slots_combine<'py>(
    py: Python<'py>,
    a: SealedTable,
    b: SealedTable,
    table: SlotTable,
    subtract: bool,
    head: &[u8],
    n_threads: Threads,
) -> PyResult<Bound<'py, PyBytes>> {
    let layout = table.layout()?;
    let (a_seed, b_seed) = (a.seed()?, b.seed()?);
    let (a, b) = (a.view(&a_seed, &layout)?, b.view(&b_seed, &layout)?);
    ensure(a.primes == b.primes && a.transformed == b.transformed, "the two tables are sealed in different forms")?;
    let kernel = |out: &mut [u8]| slots::combine(a, b, subtract, out, n_threads.get());
    filled(py, head, layout.total() * 2 * a.primes * BYTES, kernel)
}

#[pyfunction]
fn slots_open<'py>(
    py: Python<'py>,
    sealed: SealedTable,
    table: SlotTable,
    summed: bool,
    own_secret: PyReadonlyArray1<'py, i8>,
    n_threads: Threads,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let (layout, seed) = (table.layout()?, sealed.seed()?);
    let sealed = sealed.view(&seed, &layout)?;
    ensure(own_secret.len() == N, "the secret key has another size")?;
    let own_secret = own_secret.as_slice().map_err(wrong)?;
    let width = if summed { 1 } else { layout.entries };
    let mut opened = vec![0; layout.rows * width];
    run(py, || slots::open(sealed, &layout, summed, own_secret, &mut opened, n_threads.get()))?;
    opened.into_pyarray(py).reshape([layout.rows, width])
}

#[pyfunction]
fn slots_well_formed(
    py: Python<'_>,
    data: PyBackedBytes,
    start: usize,
    end: usize,
    primes: usize,
    n_threads: Threads,
) -> PyResult<bool> {
    ensure_primes(primes)?;
    let bytes = data.get(start..end).ok_or_else(|| wrong("the bytes are too short"))?;
    ensure(bytes.len().is_multiple_of(primes * BYTES), "the bytes are not whole polynomials")?;
    run(py, || slots::well_formed(bytes, primes, n_threads.get()))
}

/// One half of a ciphertext by its coefficients, a row a prime: for tests against a reference.
#[pyfunction]
fn slots_coefficients<'py>(
    py: Python<'py>,
    sealed: SealedTable,
    table: SlotTable,
    ciphertext: usize,
    half: usize,
) -> PyResult<Bound<'py, PyArray2<u32>>> {
    let (layout, seed) = (table.layout()?, sealed.seed()?);
    let sealed = sealed.view(&seed, &layout)?;
    ensure(ciphertext < layout.total() && half < 2, "there is no such ciphertext")?;
    let rows = run(py, || slots::coefficients(sealed, ciphertext, half))?;
    rows.into_pyarray(py).reshape([sealed.primes, N])
}

/// Both halves of a public key by their coefficients, primes x 2 rows: for tests against a reference.
#[pyfunction]
fn slots_key_coefficients<'py>(
    py: Python<'py>,
    public: PyBackedBytes,
    seed: &[u8],
) -> PyResult<Bound<'py, PyArray2<u32>>> {
    let public = public_of(&public, seed, PRIMES.len())?;
    let rows = run(py, || public.coefficients())?;
    rows.into_pyarray(py).reshape([2 * PRIMES.len(), N])
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(slots_new_key, m)?)?;
    m.add_function(wrap_pyfunction!(slots_prove_key, m)?)?;
    m.add_function(wrap_pyfunction!(slots_is_proven, m)?)?;
    m.add_function(wrap_pyfunction!(slots_seal, m)?)?;
    m.add_function(wrap_pyfunction!(slots_seal_public, m)?)?;
    m.add_function(wrap_pyfunction!(slots_sums, m)?)?;
    m.add_function(wrap_pyfunction!(slots_filter, m)?)?;
    m.add_function(wrap_pyfunction!(slots_combine, m)?)?;
    m.add_function(wrap_pyfunction!(slots_open, m)?)?;
    m.add_function(wrap_pyfunction!(slots_coefficients, m)?)?;
    m.add_function(wrap_pyfunction!(slots_key_coefficients, m)?)?;
    m.add_function(wrap_pyfunction!(slots_well_formed, m)?)
}
