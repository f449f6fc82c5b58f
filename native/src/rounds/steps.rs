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

/// How the words of a step leave: with some behind them, then all with noise and under pads, as far as there are any.
pub struct Leaving<'a> {
    pub beside: &'a [i64],
    /// Noise of a differentially private release: one word for each that leaves.
    pub noise: Option<&'a [i64]>,
    /// None where plain words were agreed on.
    pub pads: Option<Pads<'a>>,
}

/// Words that stay here, or that leave.
#[derive(Debug, PartialEq)]
pub enum Left {
    Own(Vec<i64>),
    Leaving(Vec<u64>),
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
    hide(take(steps, n_threads)?, &leaving, n_threads)
}

/// Own sums, then noise, then pads: noise lies under the pads, so that it is in what all parties' words add up to.
fn hide(taken: Vec<Taken>, leaving: &[Option<Leaving>], n_threads: usize) -> Result<Vec<(Left, u64)>, &'static str> {
    let mut left = Vec::with_capacity(taken.len());
    for ((words, clipped), leaving) in taken.into_iter().zip(leaving) {
        let words = match leaving {
            None => Left::Own(words),
            Some(leaving) => Left::Leaving(leaving.noised(words)?),
        };
        left.push((words, clipped));
    }
    let hidden = left.iter_mut().zip(leaving).filter_map(|((left, _), leaving)| match (left, leaving) {
        (Left::Leaving(words), Some(Leaving { pads: Some(pads), .. })) => Some(Hidden { words, pads: *pads }),
        _ => None,
    });
    pads::add_pads(hidden.collect(), n_threads);
    Ok(left)
}

impl Leaving<'_> {
    /// The words with those behind them and the noise, modulo 2^64.
    fn noised(&self, mut words: Vec<i64>) -> Result<Vec<u64>, &'static str> {
        words.extend(self.beside);
        if let Some(noise) = self.noise {
            if noise.len() != words.len() {
                return Err("noise is needed for every word that leaves, and for no others");
            }
            words.iter_mut().zip(noise).for_each(|(word, more)| *word = word.wrapping_add(*more));
        }
        Ok(words.into_iter().map(i64::cast_unsigned).collect())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: [[u8; 32]; 1] = [[9; 32]];
    const WORDS: [[i64; 3]; 2] = [[5, -7, i64::MAX], [1, 2, 3]];
    const BESIDE: [i64; 1] = [40];

    /// Two parties with one pad, which the first adds and the second takes.
    fn left(noise: [Option<&[i64]>; 2], masked: bool) -> Result<Vec<Vec<u64>>, &'static str> {
        let pads = [&[false], &[true]].map(|subtract| Pads { secrets: &SECRET, subtract, info: b"one request" });
        let leaving = |i: usize| Some(Leaving { beside: &BESIDE, noise: noise[i], pads: masked.then_some(pads[i]) });
        let taken = WORDS.map(|words| (words.to_vec(), 0)).to_vec();
        let words = |(left, _)| match left {
            Left::Leaving(words) => words,
            Left::Own(_) => panic!("these words leave"),
        };
        Ok(hide(taken, &[leaving(0), leaving(1)], 2)?.into_iter().map(words).collect())
    }

    fn total(parts: &[Vec<u64>]) -> Vec<u64> {
        (0..parts[0].len()).map(|i| parts.iter().fold(0, |sum: u64, part| sum.wrapping_add(part[i]))).collect()
    }

    fn sum(parts: [&[i64]; 2]) -> Vec<u64> {
        parts[0].iter().zip(parts[1]).map(|(a, b)| a.wrapping_add(*b).cast_unsigned()).collect()
    }

    const OWN: [[i64; 4]; 2] = [[5, -7, i64::MAX, 40], [1, 2, 3, 40]];
    const NOISE: [[i64; 4]; 2] = [[100, -200, 300, i64::MIN], [-1, 1, i64::MAX, 8]];

    #[test]
    fn noise_of_all_parties_is_in_the_sum_of_their_masked_words() {
        let parts = left([Some(&NOISE[0]), Some(&NOISE[1])], true).unwrap();
        let expected = total(&[sum([&OWN[0], &OWN[1]]), sum([&NOISE[0], &NOISE[1]])]);
        assert_eq!(total(&parts), expected);
        assert!(parts[0].iter().zip(sum([&OWN[0], &NOISE[0]])).all(|(hidden, noised)| *hidden != noised));
    }

    #[test]
    fn without_noise_words_are_as_before() {
        let parts = left([None, None], true).unwrap();
        assert_eq!(total(&parts), sum([&OWN[0], &OWN[1]]));
        assert_eq!(parts, left([Some(&[0; 4]), Some(&[0; 4])], true).unwrap());
    }

    #[test]
    fn plain_words_leave_with_their_noise_alone() {
        let parts = left([Some(&NOISE[0]), None], false).unwrap();
        assert_eq!(parts, [sum([&OWN[0], &NOISE[0]]), sum([&OWN[1], &[0; 4]])]);
    }

    #[test]
    fn noise_for_fewer_or_more_words_is_refused() {
        for wrong in [&[1; 3][..], &[1; 5]] {
            assert!(left([Some(wrong), None], true).unwrap_err().starts_with("noise is needed"));
        }
    }

    #[test]
    fn words_that_stay_are_left_as_they_are() {
        let left = hide(vec![(vec![1, 2], 3)], &[None], 1).unwrap();
        assert_eq!(left, [(Left::Own(vec![1, 2]), 3)]);
    }
}
