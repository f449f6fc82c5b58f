"""The hybrid benchmark on a tiny network: what is measured is what a run would give, and figures beside figures."""

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.hybrid_runs import Trial, recovered
from benchmarks.hybrid_separate import separate_scores
from benchmarks.hybrid_sets import HybridSet, Pair, Whole, first_rows
from benchmarks.rows import all_ok
from benchmarks.settings import Request, Settings

from benchmarks import hybrid_figures, hybrid_gap, hybrid_plots, hybrid_runs, hybrid_tables
from hedgerow.agreement.options import Hybrid, NoPrivacy
from hedgerow.data.hybrid_partition import HybridTables, merged
from hedgerow.data.table import Table
from hedgerow.run.file.hybrid_tables import joined
from hedgerow.trees.grow import Grown

REQUEST = Request(Settings(threads=1), ("adult-20",), quick=True)


def whole(seed, few, n=1200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(1).astype(np.float32)
    y = (X[:, 0] + 2 * X[:, 3] + X[:, 4] * X[:, 1] + rng.normal(size=n) / 2 > 0).astype(int)
    return Whole(Table.of(X[:900], y[:900]), Table.of(X[900:], y[900:]), (3, 4))


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """In the place of a published set, whose figures stand beside it."""
    data = HybridSet("adult-20", whole)
    for part in (hybrid_gap, hybrid_tables, hybrid_figures):
        monkeypatch.setattr(part, "SETS", {"adult-20": data})
    monkeypatch.setattr(hybrid_runs, "TREES", 4)
    monkeypatch.setattr(hybrid_runs, "DEPTH", 4)
    return data


def test_the_gap_is_recovered_and_what_is_measured_is_a_run(tiny):
    equal, gap = hybrid_gap.run(REQUEST)
    assert equal.ok
    assert gap.figures["recovered"] == gap.ours > gap.figures["5+2 recovered"] > 0
    assert gap.figures["alone"] < gap.figures["shared"] < 1


def test_a_table_that_is_not_the_runs_is_not_ok(monkeypatch):
    """The sabotage: rows go down by another schedule than that of the run."""
    honest = hybrid_runs.train_by
    monkeypatch.setattr(hybrid_runs, "train_by", lambda *told: honest(*told[:3], "JJJJ", told[4]))
    equal, _ = hybrid_gap.run(REQUEST)
    assert equal.ok is False


def test_separate_subtrees_of_one_party_are_the_schedule_over_its_table(tiny):
    made = tiny.pair(0)
    pair = Pair(*(some._replace(passive={"one": merged(some.passive)}) for some in made))
    trial = Trial.of(tiny, pair, REQUEST)
    assert np.allclose(trial.separate_scores(), trial.by_scores("AAPP"), atol=1e-5)


def of_a_run(trial):
    """Scores of the test rows by a run with separate subtrees."""
    method = Hybrid(NoPrivacy(i_accept_disclosure=True), active="active", align="given", levels="AAPP", separate=True)
    model, test = trial.federated(method), trial.pair.test
    units = [(name,) for name in test.passive]
    table = joined({"active": test.active, **test.passive}, "active", units=units)
    return model.scores(table.aligned(model.columns))[:, 0]


def test_a_run_with_separate_subtrees_gives_the_scores_that_are_measured(tiny, monkeypatch):
    """The sabotage: a leaf without rows has the value of a node that deals rows, with some other parties' rows."""
    made = tiny.pair(0, parties=7)
    trial = Trial.of(tiny, Pair(first_rows(made.train, 200), made.test), REQUEST)
    assert np.allclose(of_a_run(trial), trial.separate_scores(), atol=1e-5)
    honest = Grown.sums_above
    monkeypatch.setattr(Grown, "sums_above", lambda self, sums, _dealing: honest(self, sums))
    assert not np.allclose(of_a_run(trial), trial.separate_scores(), atol=1e-5)


def test_rows_that_no_party_holds_keep_the_value_of_their_leaf(tiny):
    made = tiny.pair(0)
    none = [HybridTables(some.active, {name: own.take([]) for name, own in some.passive.items()}) for some in made]
    train = HybridTables(made.train.active, made.train.passive)
    trial = Trial.of(tiny, Pair(train, none[1]), REQUEST)
    scores = separate_scores(*trial.pair, trial.params, trial.task, 2)
    assert len(np.unique(scores)) > 1
    assert len(np.unique(trial.separate_scores())) < len(np.unique(Trial.of(tiny, made, REQUEST).separate_scores()))


def test_a_row_of_several_parties_has_the_mean_of_what_they_give_it(tiny):
    """Two parties with the same rows and columns give what one of them gives."""
    made = [first_rows(some, 600) for some in tiny.pair(0, parties=1)]
    ((name, _),) = made[0].passive.items()
    twice = [some._replace(passive={"a": some.passive[name], "b": some.passive[name]}) for some in made]
    one, two = (Trial.of(tiny, Pair(*pair), REQUEST).separate_scores() for pair in (made, twice))
    assert np.allclose(one, two, atol=1e-6)


def test_every_table_has_ours_and_theirs_and_pictures_are_drawn(tmp_path):
    rows = [*hybrid_tables.run(REQUEST), *hybrid_figures.run(REQUEST)]
    sheets = dict.fromkeys(row.sheet.partition(",")[0] for row in rows)
    assert list(sheets) == [
        "table 1",
        "table 3",
        "table 6",
        "table 10",
        "table 12",
        "figures 6 and 9",
        "figures 8 and 9",
    ]
    assert all_ok(rows)
    for row in rows:
        assert all(np.isfinite(value) for value in row.figures.values() if isinstance(value, float))
    pictures = hybrid_plots.draw(json.loads(json.dumps([row.as_json() for row in rows])), tmp_path)
    assert [path.name for path in pictures] == ["hybrid-parties.png", "hybrid-skew.png"]
    assert all(path.stat().st_size > 5000 for path in pictures)


def test_random_cuts_are_those_of_a_run(tiny):
    pair = Pair(*(first_rows(some, 600) for some in tiny.pair(0)))
    trial = Trial.of(tiny, pair, REQUEST)
    method = Hybrid(
        NoPrivacy(i_accept_disclosure=True), active="active", align="given", shared=True, passive_cuts="random"
    )
    whole, n_own = trial.pooled_tables[0], pair.train.active.n_columns
    found = hybrid_runs.train_by(whole, trial.params, trial.task, "AAPP", n_own, ((n_own, whole.n_columns),))
    assert trial.federated(method.scheduled(4)).forest == found.forest
    assert 0.5 < trial.random() < 1


def test_what_is_kept_is_not_measured_again(tmp_path):
    request, measured = replace(REQUEST, keep=tmp_path / "kept"), []

    def measure(seed):
        measured.append(seed)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return {"shared": float(seed)}

    whole = replace(request, quick=False)
    with pytest.raises(KeyboardInterrupt):
        hybrid_tables.mean_of("table 3", "a set", whole, measure)
    assert hybrid_tables.mean_of("table 3", "a set", whole, measure) == {"shared": 1.0}
    assert measured == [0, 1, 1, 2], "the first seed is taken from the folder"


def test_scores_of_shared_columns_do_not_depend_on_how_many_parties_there_are(tiny):
    few, many = (Trial.of(tiny, tiny.pair(0, parties=n), REQUEST) for n in (3, 9))
    assert np.array_equal(few.shared_scores(), many.shared_scores())
    assert few.separate() != many.separate()


def test_the_default_levels_are_those_of_a_run(tiny):
    trial = Trial.of(tiny, tiny.pair(0), REQUEST)
    assert Hybrid().scheduled(4).levels == "AAJJ"
    assert np.array_equal(trial.shared_scores(), trial.by_scores("AAJJ"))
    assert recovered(0.7, 0.5, 0.9) == pytest.approx(0.5)
