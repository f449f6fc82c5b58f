"""Steps of several tables in one call: each table is divided and summed as if it were alone."""

import numpy as np
import pytest

from federated import params_of, values
from hedgerow import _native
from hedgerow.data.table import Table
from hedgerow.model.train import Task, prepare
from hedgerow.trees.losses import Loss
from hedgerow.trees.splits import Cuts, Nodes

SIZES = {"alike": [6000, 5500, 5800], "unlike": [9000, 40, 3000, 2500], "one": [12000], "few": [30, 20]}
ROOT = Nodes(np.zeros(1, np.int64), np.zeros(1, np.int64))
CHILDREN = Nodes(np.zeros(2, np.int64), np.array([1, 2]))


def tables(sizes):
    """Rows of tables with their own cut points; every second one has rows that only follow."""
    made = []
    for i, n in enumerate(sizes):
        X, signal = values(n, seed=i)
        held_out = Table.of(X[: n // 3], signal[: n // 3].astype(np.float32)) if i % 2 else None
        task = Task(Loss("squared"), (), held_out=held_out)
        made.append(prepare(Table.of(X, signal.astype(np.float32)), params_of(), task).rows)
    return made


def cut():
    """The root, at the third bin of the first column."""
    one = np.zeros(1, np.int32)
    return Cuts(ROOT, np.ones(1, np.int64), one, one + 2, one == 1, np.array([[7, 0, 0, 0]], np.uint64))


def step_of(rows, *told, **how):
    """The one step of rows that lie in a table here."""
    (step,) = rows.steps(*told, **how)
    return step


def taken(rows, steps, threads):
    found = _native.take_steps(steps, threads)
    return [one.taken([step], [words]).tolist() for one, step, words in zip(rows, steps, found, strict=True)]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_each_table_is_divided_and_summed_as_if_it_were_alone(sizes, threads):
    together, alone = tables(sizes), tables(sizes)
    for rows in alone:
        rows.start_round(0)
    first = [step_of(rows, rows.put_at_roots(0), None, ROOT, leaves=False, counted=True) for rows in together]
    expected = [[*rows.histograms(ROOT).reshape(-1), *rows.counts(ROOT).reshape(-1)] for rows in alone]
    assert taken(together, first, threads) == expected
    for rows in alone:
        rows.divide(cut())
    second = [step_of(rows, None, cut(), CHILDREN, leaves=False, counted=False) for rows in together]
    assert taken(together, second, threads) == [rows.histograms(CHILDREN).reshape(-1).tolist() for rows in alone]
    last = [step_of(rows, None, None, CHILDREN, leaves=True, counted=False) for rows in together]
    assert taken(together, last, threads) == [rows.leaf_sums(CHILDREN).reshape(-1).tolist() for rows in alone]
    for one, other in zip(together, alone, strict=True):
        assert one.clipped == other.clipped
        assert (one.pairs == other.pairs).all()
        for part, same in zip(one.parts, other.parts, strict=True):
            assert (part.orders == same.orders).all()
            assert (part.spans == same.spans).all()


def test_steps_may_be_of_different_kinds():
    together, alone = tables([5000, 5000]), tables([5000, 5000])
    for rows in (*together, *alone):
        rows.start_round(0)
    steps = [step_of(rows, None, None, ROOT, leaves=i == 0, counted=False) for i, rows in enumerate(together)]
    expected = [alone[0].leaf_sums(ROOT), alone[1].histograms(ROOT)]
    assert taken(together, steps, 2) == [words.reshape(-1).tolist() for words in expected]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda step: step._replace(nodes=Nodes(ROOT.tree, ROOT.node + 99)), "no such node"),
        (lambda step: step._replace(pairs=step.pairs[:, :-1].copy()), "gradients do not fit"),
        (lambda step: step._replace(parts=[]), "needs rows"),
        (lambda step: step._replace(gradient_bits=1), "gradient_bits"),
        (lambda step: step._replace(cuts=cut()._replace(child=np.array([63]))), "no room"),
        (lambda step: step._replace(cuts=cut()._replace(column=np.array([9], np.int32))), "no such column"),
    ],
)
def test_a_step_that_does_not_fit_its_table_is_refused(spoil, said):
    (rows,) = tables([50])
    rows.start_round(0)
    with pytest.raises(ValueError, match=said):
        _native.take_steps([spoil(step_of(rows, None, None, ROOT, leaves=False, counted=False))], 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_values_are_added_to_every_table_as_if_it_were_alone(threads):
    together, alone = tables([12000, 500, 3000]), tables([12000, 500, 3000])
    for rows in (*together, *alone):
        rows.start_round(0)
        rows.divide(cut())
    values = np.array([0.25, -1.5], np.float32)
    _native.add_values([add for rows in together for add in rows.adding(CHILDREN, values)], threads)
    for rows, other in zip(together, alone, strict=True):
        before = other.own.scores.copy()
        other.finish_round(CHILDREN, values)
        assert (rows.own.scores == other.own.scores).all()
        assert set((other.own.scores - before).ravel().tolist()) == {0.25, -1.5}
        assert other.held_out is None or (rows.held_out.scores == other.held_out.scores).all()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda scores, parts, nodes, values: (scores, parts, nodes, values[1:]), "one value a span"),
        (lambda scores, parts, nodes, values: (np.repeat(scores, 2, axis=0), parts, nodes, values), "do not fit"),
        (lambda scores, parts, nodes, values: (scores, parts, Nodes(nodes.tree, nodes.node + 99), values), "no such"),
    ],
)
def test_values_that_do_not_fit_their_table_are_refused(spoil, said):
    (rows,) = tables([50])
    rows.start_round(0)
    rows.divide(cut())
    (adding,) = rows.adding(CHILDREN, np.zeros(2, np.float32))
    with pytest.raises(ValueError, match=said):
        _native.add_values([spoil(*adding)], 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_words_that_leave_are_under_the_pads_that_any_words_are_under(threads):
    sizes, beside = [6000, 5800, 40], np.array([7, -8])
    hidden, bare = tables(sizes), tables(sizes)
    for rows in (*hidden, *bare):
        rows.start_round(0)
    secrets = np.arange(64, dtype=np.uint8).reshape(2, 32)
    pads = (secrets, np.array([False, True]), b"what was said")
    leaving = [(beside, pads, None), None, (beside[:0], pads, None)]
    steps = [[step_of(rows, None, None, ROOT, leaves=False, counted=True) for rows in some] for some in (hidden, bare)]
    found = [words for words, _ in _native.take_steps(steps[0], threads, leaving)]
    own = [words for words, _ in _native.take_steps(steps[1], threads)]
    expected = [np.append(own[0], beside).view(np.uint64), own[2].view(np.uint64)]
    _native.add_pads([(words, pads) for words in expected], 1)
    assert [words.dtype for words in found] == [np.uint64, np.int64, np.uint64]
    assert [words.tolist() for words in found] == [expected[0].tolist(), own[1].tolist(), expected[1].tolist()]


def test_it_must_be_said_of_every_step_how_its_words_leave():
    (rows,) = tables([50])
    rows.start_round(0)
    with pytest.raises(ValueError, match="said of each step"):
        _native.take_steps([step_of(rows, None, None, ROOT, leaves=False, counted=False)], 1, [])


def leaving_sums(leaving):
    """The words of one table's root, as they leave."""
    (rows,) = tables([3000])
    rows.start_round(0)
    step = step_of(rows, None, None, ROOT, leaves=False, counted=True)
    return _native.take_steps([step], 1, [leaving])[0][0]


def test_noise_lies_under_the_pads():
    beside, secrets = np.array([7, -8]), np.arange(32, dtype=np.uint8).reshape(1, 32)
    pads = (secrets, np.array([False]), b"what was said")
    own = np.append(leaving_sums(None), beside)
    noise = np.random.default_rng(0).integers(-(2**63), 2**63, own.size)
    masked = leaving_sums((beside, pads, noise))
    expected = (own + noise).view(np.uint64)
    assert leaving_sums((beside, None, noise)).tolist() == expected.tolist()
    _native.add_pads([(expected, pads)], 1)
    assert masked.tolist() == expected.tolist()
    assert leaving_sums((beside, pads, 0 * noise)).tolist() == leaving_sums((beside, pads, None)).tolist()


@pytest.mark.parametrize("more", [-1, 1, -2])
def test_noise_for_fewer_or_more_words_than_leave_is_refused(more):
    beside = np.array([7, -8])
    n_words = leaving_sums(None).size + len(beside)
    with pytest.raises(ValueError, match="noise is needed for every word"):
        leaving_sums((beside, None, np.zeros(n_words + more, np.int64)))


def test_words_leave_under_pads_or_with_noise():
    with pytest.raises(ValueError, match="under pads, with noise, or both"):
        leaving_sums((np.empty(0, np.int64), None, None))
