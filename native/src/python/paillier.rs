//! The Python face of Paillier's kernels. Numbers are rows of words, the lowest first; see `paillier`.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::paillier::own::{self, Own};
use crate::paillier::sealed::{self, Choice};
use crate::paillier::{monty, random, roots};

type Words<'py> = Bound<'py, PyArray2<u64>>;

fn ensure(holds: bool, what: &'static str) -> PyResult<()> {
    if holds { Ok(()) } else { Err(PyValueError::new_err(what)) }
}

fn flat<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| PyValueError::new_err("the array is not contiguous"))
}

fn rows<'a, T: Element>(array: &'a PyReadonlyArray2<'_, T>) -> PyResult<&'a [T]> {
    ensure(array.is_c_contiguous(), "the array is not contiguous, row after row")?;
    array.as_slice().map_err(|_| PyValueError::new_err("the array is not contiguous"))
}

/// Runs a kernel without the GIL; what only the kernel can notice is an error like any other.
fn run<R: Send>(py: Python<'_>, kernel: impl FnOnce() -> R + Send) -> PyResult<R> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(kernel)));
    done.map_err(|_| PyValueError::new_err("the numbers do not belong together"))
}

fn shaped(py: Python<'_>, words: Vec<u64>, len: usize) -> PyResult<Words<'_>> {
    let count = words.len() / len;
    words.into_pyarray(py).reshape([count, len])
}

/// An odd modulus whose square is not too long.
fn modulus<'a>(n: &'a PyReadonlyArray1<'_, u64>) -> PyResult<&'a [u64]> {
    let n = flat(n)?;
    let fits = (1..=monty::MOST_WORDS / 2).contains(&n.len()) && n[0] % 2 == 1 && n[n.len() - 1] != 0;
    ensure(fits, "the modulus is even or has a wrong length")?;
    Ok(n)
}

/// Ciphertexts under a modulus of so many words.
fn sealed_of<'a>(array: &'a PyReadonlyArray2<'_, u64>, n: &[u64]) -> PyResult<&'a [u64]> {
    ensure(array.shape()[1] == 2 * n.len(), "ciphertexts are twice as long as the modulus")?;
    rows(array)
}

/// Both primes, equally long.
fn own_key<'a>(primes: &'a PyReadonlyArray2<'_, u64>) -> PyResult<&'a [u64]> {
    let len = primes.shape()[1];
    let words = rows(primes)?;
    let fits = primes.shape()[0] == 2 && (1..=monty::MOST_WORDS / 4).contains(&len);
    ensure(fits && words[0] % 2 == 1 && words[len] % 2 == 1, "two odd primes of equal length are needed")?;
    Ok(words)
}

/// Widths of fields that fit a modulus of so many words.
fn widths_of(widths: Vec<u32>, words: usize) -> PyResult<Vec<u32>> {
    let fits = !widths.is_empty() && widths.iter().all(|w| (1..=64).contains(w));
    ensure(fits && widths.iter().sum::<u32>() as usize <= 64 * words - 2, "the fields do not fit a plaintext")?;
    Ok(widths)
}

/// Integers for so many ciphertexts, one a field.
fn values_of<'a>(values: &'a PyReadonlyArray2<'_, i64>, count: usize, widths: &[u32]) -> PyResult<&'a [i64]> {
    ensure(values.shape() == [count, widths.len()], "one integer a field of each ciphertext is needed")?;
    rows(values)
}

/// How many bits a digit of a table has.
fn window_of(entries: usize) -> PyResult<u32> {
    ensure(entries.is_power_of_two() && entries <= 256, "a digit has a power of two of entries")?;
    Ok(entries.trailing_zeros())
}

fn window_fits(window: u32) -> PyResult<()> {
    ensure((1..=8).contains(&window), "a digit has 1 to 8 bits")
}

#[pyfunction]
fn paillier_primes(
    py: Python<'_>,
    bits: u32,
    n_threads: NonZeroUsize,
) -> PyResult<(Words<'_>, Bound<'_, PyArray1<u64>>)> {
    ensure((256..=4096).contains(&bits) && bits.is_multiple_of(128), "no keys of this length are made")?;
    let (primes, n) = run(py, || own::primes(bits, n_threads.get()))?;
    Ok((shaped(py, primes, bits as usize / 128)?, n.into_pyarray(py)))
}

/// Numbers as long as the modulus.
fn numbers_of<'a>(numbers: &'a PyReadonlyArray2<'_, u64>, len: usize) -> PyResult<&'a [u64]> {
    ensure(numbers.shape()[1] == len, "numbers are as long as the modulus")?;
    rows(numbers)
}

#[pyfunction]
fn paillier_roots<'py>(
    py: Python<'py>,
    primes: PyReadonlyArray2<'py, u64>,
    numbers: PyReadonlyArray2<'py, u64>,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let primes = own_key(&primes)?;
    let numbers = numbers_of(&numbers, primes.len())?;
    shaped(py, run(py, || Own::new(primes).roots(numbers, n_threads.get()))?, primes.len())
}

#[pyfunction]
fn paillier_raised<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    numbers: PyReadonlyArray2<'py, u64>,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let n = modulus(&n)?;
    let numbers = numbers_of(&numbers, n.len())?;
    shaped(py, run(py, || roots::raised(n, numbers, n_threads.get()))?, n.len())
}

#[pyfunction]
fn paillier_table<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    bases: NonZeroUsize,
    digits: usize,
    window: u32,
    even: bool,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let n = modulus(&n)?;
    window_fits(window)?;
    ensure(digits >= bases.get(), "every base needs a digit")?;
    let table = run(py, || random::table(n, bases.get(), digits, window, even, n_threads.get()))?;
    shaped(py, table, (2 * n.len()) << window)
}

#[pyfunction]
fn paillier_own_tables<'py>(
    py: Python<'py>,
    primes: PyReadonlyArray2<'py, u64>,
    digits: NonZeroUsize,
    window: u32,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let primes = own_key(&primes)?;
    window_fits(window)?;
    let tables = run(py, || Own::new(primes).tables(digits.get(), window, n_threads.get()))?;
    shaped(py, tables, primes.len() << window)
}

#[pyfunction]
fn paillier_own_seal<'py>(
    py: Python<'py>,
    primes: PyReadonlyArray2<'py, u64>,
    tables: PyReadonlyArray2<'py, u64>,
    values: PyReadonlyArray2<'py, i64>,
    widths: Vec<u32>,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let primes = own_key(&primes)?;
    let len = primes.len();
    let widths = widths_of(widths, len)?;
    let values = values_of(&values, values.shape()[0], &widths)?;
    ensure(tables.shape()[0] > 0 && tables.shape()[0].is_multiple_of(2), "one table a prime is needed")?;
    ensure(tables.shape()[1].is_multiple_of(len), "the tables do not fit the primes")?;
    let window = window_of(tables.shape()[1] / len)?;
    let tables = rows(&tables)?;
    let sealed = run(py, || Own::new(primes).seal(tables, window, values, &widths, n_threads.get()))?;
    shaped(py, sealed, 2 * len)
}

#[pyfunction]
fn paillier_open<'py>(
    py: Python<'py>,
    primes: PyReadonlyArray2<'py, u64>,
    sealed: PyReadonlyArray2<'py, u64>,
    widths: Vec<u32>,
    n_threads: NonZeroUsize,
) -> PyResult<Option<Bound<'py, PyArray2<i64>>>> {
    let primes = own_key(&primes)?;
    let widths = widths_of(widths, primes.len())?;
    let count = sealed.shape()[0];
    let sealed = sealed_of(&sealed, primes)?;
    let opened = run(py, || Own::new(primes).open(sealed, &widths, n_threads.get()))?;
    opened.map(|values| values.into_pyarray(py).reshape([count, widths.len()])).transpose()
}

#[pyfunction]
fn paillier_open_numbers<'py>(
    py: Python<'py>,
    primes: PyReadonlyArray2<'py, u64>,
    sealed: PyReadonlyArray2<'py, u64>,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let primes = own_key(&primes)?;
    let sealed = sealed_of(&sealed, primes)?;
    shaped(py, run(py, || Own::new(primes).open_numbers(sealed, n_threads.get()))?, primes.len())
}

#[pyfunction]
fn paillier_read<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    plain: PyReadonlyArray2<'py, u64>,
    n_threads: NonZeroUsize,
) -> PyResult<(u8, Words<'py>)> {
    let n = modulus(&n)?;
    let plain = sealed_of(&plain, n)?;
    let (wrong, words) = match run(py, || sealed::entered(n, plain, n_threads.get()))? {
        Ok(words) => (0, words),
        Err(wrong) => (wrong as u8, Vec::new()),
    };
    Ok((wrong, shaped(py, words, 2 * n.len())?))
}

#[pyfunction]
fn paillier_write<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    sealed: PyReadonlyArray2<'py, u64>,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let n = modulus(&n)?;
    let sealed = sealed_of(&sealed, n)?;
    shaped(py, run(py, || sealed::left(n, sealed, n_threads.get()))?, 2 * n.len())
}

/// A kernel that changes ciphertexts, on a copy of them.
fn changed<'py>(
    py: Python<'py>,
    n: &[u64],
    sealed: PyReadonlyArray2<'py, u64>,
    kernel: impl FnOnce(&mut [u64]) + Send,
) -> PyResult<Words<'py>> {
    let mut words = sealed_of(&sealed, n)?.to_vec();
    run(py, || kernel(&mut words))?;
    shaped(py, words, 2 * n.len())
}

#[pyfunction]
fn paillier_add_plain<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    sealed: PyReadonlyArray2<'py, u64>,
    values: PyReadonlyArray2<'py, i64>,
    widths: Vec<u32>,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let n = modulus(&n)?;
    let widths = widths_of(widths, n.len())?;
    let values = values_of(&values, sealed.shape()[0], &widths)?;
    changed(py, n, sealed, |words| sealed::add_plain(n, words, values, &widths, n_threads.get()))
}

#[pyfunction]
fn paillier_add_numbers<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    sealed: PyReadonlyArray2<'py, u64>,
    numbers: PyReadonlyArray2<'py, u64>,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let n = modulus(&n)?;
    ensure(numbers.shape()[0] == sealed.shape()[0], "one number a ciphertext is needed")?;
    let numbers = numbers_of(&numbers, n.len())?;
    ensure(
        numbers.chunks_exact(n.len()).all(|x| x.iter().rev().lt(n.iter().rev())),
        "a number is not below the modulus",
    )?;
    changed(py, n, sealed, |words| sealed::add_numbers(n, words, numbers, n_threads.get()))
}

#[pyfunction]
fn paillier_randomise<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    table: PyReadonlyArray2<'py, u64>,
    blind: bool,
    sealed: PyReadonlyArray2<'py, u64>,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let n = modulus(&n)?;
    ensure(table.shape()[1].is_multiple_of(2 * n.len()), "the table does not fit the modulus")?;
    let window = window_of(table.shape()[1] / (2 * n.len()))?;
    let table = rows(&table)?;
    changed(py, n, sealed, |words| random::randomise(n, table, window, blind, words, n_threads.get()))
}

#[pyfunction]
fn paillier_add<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    sealed: PyReadonlyArray2<'py, u64>,
    others: PyReadonlyArray2<'py, u64>,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let n = modulus(&n)?;
    ensure(sealed.shape() == others.shape(), "as many ciphertexts are needed on both sides")?;
    let others = sealed_of(&others, n)?;
    changed(py, n, sealed, |words| sealed::multiply(n, words, others, n_threads.get()))
}

#[pyfunction]
fn paillier_negate<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    sealed: PyReadonlyArray2<'py, u64>,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let n = modulus(&n)?;
    changed(py, n, sealed, |words| sealed::invert(n, words, n_threads.get()))
}

/// Places that are not negative; whether they lie inside, the kernel notices.
fn places(array: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let places = flat(array)?.iter().map(|&at| usize::try_from(at));
    places.collect::<Result<_, _>>().map_err(|_| PyValueError::new_err("a row, width or start is negative"))
}

#[pyfunction]
fn paillier_group_sums<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    sealed: PyReadonlyArray2<'py, u64>,
    parts: NonZeroUsize,
    codes: PyReadonlyArray2<'py, u8>,
    widths: PyReadonlyArray1<'py, i64>,
    nodes: (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>),
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let (n, parts) = (modulus(&n)?, parts.get());
    let fits = sealed.shape()[0] == codes.shape()[1] * parts && widths.shape()[0] == codes.shape()[0];
    ensure(fits, "one code a row and column is needed, and one width a column")?;
    let (rows_of_nodes, starts, widths) = (places(&nodes.0)?, places(&nodes.1)?, places(&widths)?);
    let (codes, words) = (rows(&codes)?, sealed_of(&sealed, n)?);
    let choice = Choice { codes, widths: &widths, rows: &rows_of_nodes, starts: &starts };
    let sums = run(py, || sealed::group_sums(n, words, parts, &choice, n_threads.get()))?;
    shaped(py, sums, 2 * n.len())
}

#[pyfunction]
fn paillier_pack<'py>(
    py: Python<'py>,
    n: PyReadonlyArray1<'py, u64>,
    sealed: PyReadonlyArray2<'py, u64>,
    per: NonZeroUsize,
    distance: u32,
    n_threads: NonZeroUsize,
) -> PyResult<Words<'py>> {
    let n = modulus(&n)?;
    let words = sealed_of(&sealed, n)?;
    shaped(py, run(py, || sealed::pack(n, words, per.get(), distance, n_threads.get()))?, 2 * n.len())
}

/// Adds these functions to the module.
pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(paillier_primes, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_roots, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_raised, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_table, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_own_tables, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_own_seal, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_open, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_open_numbers, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_read, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_write, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_add_plain, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_add_numbers, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_randomise, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_add, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_negate, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_group_sums, m)?)?;
    m.add_function(wrap_pyfunction!(paillier_pack, m)?)?;
    Ok(())
}
