//! Whole steps of rows down the trees: gradients where a round begins, rows divided, rows summed; of several tables at
//! once, so that many small tables keep all threads as busy as one large table does.

use crate::masks::pads::{self, Hidden, Pads};
use crate::math::threads;
use crate::trees::check_cuts::Named;
use crate::trees::divide::{self, Cuts, Leaves, Part, orders_of};
use crate::trees::gradients::{self, Rows};
use crate::trees::histogram::{self, Gradients, Span, Sums};
use crate::trees::matrix::Matrix;

/// What the rows of one table do next.
pub struct Step<'a> {
    /// Rows whose gradients are computed first.
    pub begins: Option<Rows<'a>>,
    /// The rows that count, then those that only follow.
    pub parts: Vec<Part<'a>>,
    pub cuts: Option<Cuts<'a>>,
    pub nodes: Named<'a>,
    /// Whether the nodes are leaves, whose wide pairs are summed; else narrow ones per bin.
    pub leaves: bool,
    /// Whose bins are summed; none: those of the rows that count.
    pub summed: Option<Matrix<'a>>,
    /// Whether numbers of rows follow the sums.
    pub counted: bool,
    /// Of every tree and row.
    pub pairs: &'a mut [[i32; 2]],
    pub bits: u32,
}

/// The words of a step, and how many gradients were clipped.
pub type Taken = (Vec<i64>, u64);

/// How the words of a step leave: with some behind them, and all under pads.
pub struct Leaving<'a> {
    pub beside: &'a [i64],
    pub pads: Pads<'a>,
}

/// Words as they lie here, or hidden.
pub enum Left {
    Own(Vec<i64>),
    Hidden(Vec<u64>),
}

/// Rows in all below which one thread does everything.
const FEW: usize = 10_000;

impl Step<'_> {
    fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.orders.len()).sum()
    }

    fn matrix(&self) -> Matrix<'_> {
        self.summed.unwrap_or(self.parts[0].matrix)
    }

    fn check(&self) -> Result<(), &'static str> {
        let trees = self.parts.first().ok_or("a step needs rows")?.shape[0];
        let rows = self.pairs.len() / trees.max(1);
        if rows * trees != self.pairs.len() || self.matrix().rows != rows {
            return Err("gradients do not fit the table");
        }
        Ok(())
    }
}

/// Takes all steps. As many as there are threads, if alike in size, are taken side by side, each with its table in the
/// cache of one thread; what is left over is shared out piece by piece.
pub fn take(steps: Vec<Step>, n_threads: usize) -> Result<Vec<Taken>, &'static str> {
    steps.iter().try_for_each(Step::check)?;
    let n_threads = if steps.iter().map(Step::rows).sum::<usize>() < FEW { 1 } else { n_threads };
    let mut ordered: Vec<(usize, Step)> = steps.into_iter().enumerate().collect();
    ordered.sort_by_key(|(_, step)| std::cmp::Reverse(step.rows()));
    let (mut alone, mut shared) = (Vec::new(), Vec::new());
    let mut rest = ordered.into_iter().peekable();
    while rest.peek().is_some() {
        let group: Vec<(usize, Step)> = rest.by_ref().take(n_threads).collect();
        let alike = group.len() == n_threads && 5 * group[n_threads - 1].1.rows() >= 4 * group[0].1.rows();
        if alike { &mut alone } else { &mut shared }.extend(group);
    }
    let mut taken = threads::map(n_threads, alone, |(i, step)| take_together(vec![step], 1).map(|t| (i, t)))
        .into_iter()
        .map(|found| found.map(|(i, mut one)| (i, one.remove(0))))
        .collect::<Result<Vec<_>, _>>()?;
    let (which, shared): (Vec<usize>, Vec<Step>) = shared.into_iter().unzip();
    taken.extend(which.into_iter().zip(take_together(shared, n_threads)?));
    taken.sort_by_key(|&(i, _)| i);
    Ok(taken.into_iter().map(|(_, one)| one).collect())
}

/// Takes all steps; the words of those that leave are hidden before anybody sees them.
pub fn take_hidden(
    steps: Vec<Step>,
    leaving: Vec<Option<Leaving>>,
    n_threads: usize,
) -> Result<Vec<(Left, u64)>, &'static str> {
    let leave = |((mut words, clipped), leaving): (Taken, &Option<Leaving>)| match leaving {
        None => (Left::Own(words), clipped),
        Some(leaving) => {
            words.extend(leaving.beside);
            (Left::Hidden(words.into_iter().map(i64::cast_unsigned).collect()), clipped)
        }
    };
    let mut left: Vec<_> = take(steps, n_threads)?.into_iter().zip(&leaving).map(leave).collect();
    let hidden = left.iter_mut().zip(&leaving).filter_map(|((left, _), leaving)| match (left, leaving) {
        (Left::Hidden(words), Some(leaving)) => Some(Hidden { words, pads: leaving.pads }),
        _ => None,
    });
    pads::add_pads(hidden.collect(), n_threads);
    Ok(left)
}

/// Takes all steps in stages, each stage of all steps on all threads.
fn take_together(mut steps: Vec<Step>, n_threads: usize) -> Result<Vec<Taken>, &'static str> {
    let clipped = begin(&mut steps, n_threads);
    let mut parts = Vec::new();
    for step in &mut steps {
        if let Some(cuts) = step.cuts {
            parts.extend(step.parts.iter_mut().map(|part| (part, cuts)));
        }
    }
    divide::divide_parts(parts, n_threads)?;
    Ok(sum(&steps, n_threads)?.into_iter().zip(clipped).collect())
}

fn begin(steps: &mut [Step], n_threads: usize) -> Vec<u64> {
    let mut clipped = vec![0; steps.len()];
    let (mut tables, mut which) = (Vec::new(), Vec::new());
    for (i, step) in steps.iter_mut().enumerate() {
        if let Some(rows) = step.begins {
            tables.push((rows, &mut *step.pairs));
            which.push(i);
        }
    }
    which.into_iter().zip(gradients::gradients(tables, n_threads)).for_each(|(i, n)| clipped[i] = n);
    clipped
}

/// What a step sums, and the sums.
struct Summing<'a> {
    orders: Vec<&'a [u32]>,
    spans: Vec<Span>,
    sums: Vec<[i64; 2]>,
}

/// The words of every step: pairs per node and bin and, where rows are counted, their numbers; or pairs per leaf.
fn sum(steps: &[Step], n_threads: usize) -> Result<Vec<Vec<i64>>, &'static str> {
    let mut own = Vec::with_capacity(steps.len());
    for step in steps {
        let part = &step.parts[0];
        let orders = orders_of(part.orders, part.shape[0]);
        let spans = divide::spans(step.nodes, part.spans, part.shape, &orders)?;
        let room = if step.leaves { 0 } else { spans.len() * (step.matrix().n_bins() + 1) };
        own.push(Summing { orders, spans, sums: vec![[0; 2]; room] });
    }
    let (mut tables, mut leaves) = (Vec::new(), Vec::new());
    for (step, Summing { orders, spans, sums: out }) in steps.iter().zip(&mut own) {
        let (orders, spans, rows) = (&orders[..], &spans[..], step.pairs.len() / orders.len().max(1));
        if step.leaves {
            leaves.push((Leaves { pairs: step.pairs, rows, orders, spans }, out));
        } else {
            let addends = Gradients { pairs: step.pairs, rows, bits: step.bits };
            tables.push(Sums { matrix: step.matrix(), addends, orders, spans, out });
        }
    }
    histogram::build(tables, n_threads);
    let (asked, places): (Vec<Leaves>, Vec<_>) = leaves.into_iter().unzip();
    let found = divide::leaf_sums(&asked, n_threads);
    places.into_iter().zip(found).for_each(|(place, sums)| *place = sums);
    let words = |(step, Summing { orders, spans, sums }): (&Step, Summing)| {
        let mut words = sums.into_flattened();
        if step.counted {
            words.extend(histogram::count(&step.matrix(), &orders, &spans, n_threads));
        }
        words
    };
    Ok(steps.iter().zip(own).map(words).collect())
}
