//! Histograms, splits, the division of rows, gradients and draws.

use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArray3, PyReadwriteArray2, PyReadwriteArray3, PyReadwriteArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::arrays::*;
use crate::trees::divide::{self, Division, Leaves, orders_of};
use crate::trees::gradients::{self, Loss, Scales};
use crate::trees::histogram::{self, Gradients, Span, Sums};
use crate::trees::sampling;
use crate::trees::splits::{self, BinSet, Cut, Layout, Node, Pair, Rules};

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
    ensure(divide::apart(&spans), "spans must not overlap")?;
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
fn draws<'py>(
    py: Python<'py>,
    keys: PyReadonlyArray1<'py, u64>,
    seed: u64,
    stream: u64,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let keys = flat!(keys);
    Ok(run(py, || sampling::draws(keys, seed, stream))?.into_pyarray(py))
}

pub(super) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(gradient_pairs, m)?)?;
    m.add_function(wrap_pyfunction!(narrow, m)?)?;
    m.add_function(wrap_pyfunction!(histograms, m)?)?;
    m.add_function(wrap_pyfunction!(count_rows, m)?)?;
    m.add_function(wrap_pyfunction!(subtract, m)?)?;
    m.add_function(wrap_pyfunction!(best_cuts, m)?)?;
    m.add_function(wrap_pyfunction!(divide_rows, m)?)?;
    m.add_function(wrap_pyfunction!(row_sides, m)?)?;
    m.add_function(wrap_pyfunction!(divide_by_sides, m)?)?;
    m.add_function(wrap_pyfunction!(leaf_sums, m)?)?;
    m.add_function(wrap_pyfunction!(add_values, m)?)?;
    m.add_function(wrap_pyfunction!(draws, m)?)
}
