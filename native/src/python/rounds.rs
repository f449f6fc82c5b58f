//! The Python face of `steps`.

use numpy::{
    IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, PyReadwriteArray3, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::arrays::{MatrixArrays, NodeArrays, Threads, ensure, flat, run, wrong};
use super::check_cuts::ToldArrays;
use super::growing::{deriving, pairs_to_fill, part_of};
use super::masks::PadArrays;
use crate::rounds::steps::{self, Leaving, Left, Step};

/// Loss, scales, scores, labels and weights of rows whose gradients are wanted.
#[derive(FromPyObject)]
struct BeginArrays<'py>(
    (String, f64),
    (f64, f64, bool),
    PyReadonlyArray2<'py, f32>,
    PyReadonlyArray1<'py, f32>,
    PyReadonlyArray1<'py, f32>,
);

/// Bins, order and spans of rows that go the same way.
#[derive(FromPyObject)]
struct PartArrays<'py>(MatrixArrays<'py>, PyReadwriteArray2<'py, u32>, PyReadwriteArray3<'py, i64>);

#[derive(FromPyObject)]
struct StepArrays<'py> {
    begins: Option<BeginArrays<'py>>,
    parts: Vec<PartArrays<'py>>,
    cuts: Bound<'py, PyAny>,
    nodes: Bound<'py, PyAny>,
    leaves: bool,
    summed: Option<MatrixArrays<'py>>,
    counted: bool,
    pairs: PyReadwriteArray3<'py, i32>,
    gradient_bits: u32,
}

/// Cuts and nodes of steps: the same objects for all tables that were told the same, so that they are read once.
struct StepTold<'py> {
    objects: [Bound<'py, PyAny>; 2],
    cuts: Option<ToldArrays<'py>>,
    nodes: NodeArrays<'py>,
}

impl<'py> StepTold<'py> {
    fn of(step: &StepArrays<'py>) -> PyResult<Self> {
        let objects = [step.cuts.clone(), step.nodes.clone()];
        Ok(StepTold { objects, cuts: step.cuts.extract()?, nodes: step.nodes.extract()? })
    }

    fn is_of(&self, step: &StepArrays<'py>) -> bool {
        self.objects[0].is(&step.cuts) && self.objects[1].is(&step.nodes)
    }
}

impl<'py> StepArrays<'py> {
    fn view<'a>(&'a mut self, told: &'a [StepTold<'py>]) -> PyResult<Step<'a>> {
        let told = told.iter().find(|told| told.is_of(self)).expect("every step's was read");
        ensure((2..=31).contains(&self.gradient_bits), "gradient_bits must be 2 to 31")?;
        let shape = [self.pairs.shape()[0], self.pairs.shape()[1]];
        let begins = match &self.begins {
            Some(BeginArrays(loss, scales, scores, labels, weights)) => {
                ensure(scores.shape() == shape, "scores and gradients differ in shape")?;
                Some(deriving(loss, *scales, scores, labels, weights)?)
            }
            None => None,
        };
        let parts = self.parts.iter_mut().map(|PartArrays(matrix, orders, spans)| part_of(matrix, orders, spans));
        let parts = parts.collect::<PyResult<Vec<_>>>()?;
        ensure(parts.iter().all(|part| part.shape[0] == shape[0]), "gradients do not fit the orders")?;
        Ok(Step {
            begins,
            parts,
            cuts: told.cuts.as_ref().map(ToldArrays::cuts).transpose()?,
            nodes: told.nodes.view()?,
            leaves: self.leaves,
            summed: self.summed.as_ref().map(MatrixArrays::view).transpose()?,
            counted: self.counted,
            pairs: pairs_to_fill(&mut self.pairs, &shape)?,
            bits: self.gradient_bits,
        })
    }
}

/// Words that leave behind those of a step, the pads of all and the noise of all: pads, noise or both.
#[derive(FromPyObject)]
struct LeavingArrays<'py>(PyReadonlyArray1<'py, i64>, Option<PadArrays<'py>>, Option<PyReadonlyArray1<'py, i64>>);

impl LeavingArrays<'_> {
    fn view(&self) -> PyResult<Leaving<'_>> {
        let LeavingArrays(beside, pads, noise) = self;
        ensure(pads.is_some() || noise.is_some(), "words leave a step under pads, with noise, or both")?;
        let noise = match noise {
            Some(noise) => Some(flat!(noise)),
            None => None,
        };
        Ok(Leaving { beside: flat!(beside), noise, pads: pads.as_ref().map(PadArrays::view).transpose()? })
    }
}

#[pyfunction]
#[pyo3(signature = (steps, n_threads, leaving = None))]
fn take_steps<'py>(
    py: Python<'py>,
    mut steps: Vec<StepArrays<'py>>,
    n_threads: Threads,
    leaving: Option<Vec<Option<LeavingArrays<'py>>>>,
) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
    let mut told: Vec<StepTold<'py>> = Vec::new();
    for step in &steps {
        if !told.iter().any(|known| known.is_of(step)) {
            told.push(StepTold::of(step)?);
        }
    }
    let leaving = leaving.unwrap_or_else(|| steps.iter().map(|_| None).collect());
    ensure(leaving.len() == steps.len(), "it must be said of each step how its words leave")?;
    let leaving = leaving.iter().map(|one| one.as_ref().map(LeavingArrays::view).transpose());
    let leaving = leaving.collect::<PyResult<Vec<_>>>()?;
    let steps = steps.iter_mut().map(|step| step.view(&told)).collect::<PyResult<Vec<Step>>>()?;
    let taken = run(py, || steps::take_hidden(steps, leaving, n_threads.get()))?.map_err(wrong)?;
    let array = |left| match left {
        Left::Own(words) => words.into_pyarray(py).into_any(),
        Left::Leaving(words) => words.into_pyarray(py).into_any(),
    };
    Ok(taken.into_iter().map(|(words, clipped)| (array(words), clipped)).collect())
}

pub(crate) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(take_steps, m)?)
}
