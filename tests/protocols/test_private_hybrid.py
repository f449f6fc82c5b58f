"""A hybrid model that is promised to tell little of a linked row, or of an id: made of noised sums alone."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from test_private_model import AskedEverywhere, AskedRows, Told, content

from federated import Federation, MemoryLog, params_of, same
from hedgerow import DP, GBDTClassifier, Hybrid
from hedgerow.agreement.active_parties import Bagged, one_of
from hedgerow.agreement.options import NoPrivacy
from hedgerow.agreement.plan import Goal
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError, PolicyError
from hedgerow.privacy.lifetime import LifetimeLimit
from hedgerow.privacy.noised_words import NoisedWords
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.vertical import cut_releases
from hedgerow.run.file.read import open_run
from hedgerow.run.forecast.disclosures import leaks
from injected_noise import leave_out

PARAMS = params_of(n_estimators=3, max_depth=3, max_bin=6, learning_rate=0.3)
PRIVATE = DP(2, protects="model", classes=(0, 1))
PERSON = DP(2, protects="model", classes=(0, 1), rows_per_id=4)
N_IDS = 30


def parties(n=70, seed=0, known=(20, 12)):
    """Payments of some accounts, at most four each and some of nobody's, and two banks with some of the accounts."""
    rng = np.random.default_rng(seed)
    accounts = rng.permutation(np.repeat(np.arange(N_IDS), 4))[:n]
    ids = np.array([f"a{one}" if i % 9 else "" for i, one in enumerate(accounts)])
    X = np.round(rng.normal(size=(n, 2)), 1).astype(np.float32)
    tables = {"network": Table.of(X, (X[:, 0] > 0).astype(int), names=["p0", "p1"], ids=ids, repeated_ids=True)}
    for number, size in enumerate(known):
        some = np.array([f"a{one}" for one in rng.permutation(N_IDS)[:size]] + [f"elsewhere {number}"])
        values = np.round(rng.normal(size=(len(some), 2)), 1).astype(np.float32)
        tables[f"bank{number}"] = Table.of(values, names=[f"b{number} c0", f"b{number} c1"], ids=some)
    return tables


def federation(tables=None, dp=PRIVATE, goal=Goal(), params=PARAMS, **more):  # noqa: B008
    options = {"method": "hybrid", "active": "network", "levels": "J" * params.max_depth, "dp": dp, **more}
    return Federation(parties() if tables is None else tables, params, goal, **options)


OTHERS = {
    "other rows": {"seed": 8},
    "more rows": {"n": 90, "seed": 9},
    "other accounts known": {"known": (3, 29)},
    "nobody known to a bank": {"known": (20, 0)},
}


@pytest.mark.parametrize("others", OTHERS)
def test_the_model_follows_from_what_was_released_and_from_no_row(monkeypatch, others):
    """Other rows, and other accounts that banks know, under which the same is released: the very same model."""
    told = Told(monkeypatch)
    one = content(federation())
    monkeypatch.undo()
    Told(monkeypatch, told.words)
    assert content(federation(parties(**OTHERS[others]))) == one


def test_where_nodes_without_rows_are_leaves_it_depends_on_rows(monkeypatch):
    """The sabotage."""
    told = Told(monkeypatch)
    one = content(federation())
    monkeypatch.undo()
    monkeypatch.setattr(AskedEverywhere, "divide", AskedRows.divide)
    Told(monkeypatch, told.words)
    try:
        found = content(federation(parties(n=2)))
    except Exception as error:  # that the words do not fit is a difference, too
        found = repr(error)
    assert found != one


class Neighbours:
    """Runs in which the same is released, whatever the tables are, and the exact words beneath."""

    def __init__(self, monkeypatch, tables, dp):
        self.monkeypatch, self.dp = monkeypatch, dp
        leave_out(monkeypatch)
        self.real, self.told = NoisedWords.words, Told(monkeypatch)
        model = federation(tables, dp).model()
        self.left = [np.copy(words) for words in self.told.words]
        self.planned = {(r.what, r.sensitivity) for r in model.promise.releases}
        self.first = self.exact(tables)

    def exact(self, tables):
        """Of each release, its kind with the planned sensitivity, and its words before noise."""
        found, left, real = [], iter(self.left), self.real

        def words(own, key, release, request, draw, **more):
            found.append((release.what, release.sensitivity, real(own, key, release, request, draw, **more)))
            return next(left)

        self.monkeypatch.setattr(NoisedWords, "words", words)
        federation(tables, self.dp).model()
        return found

    def farthest(self, others):
        """Of each kind of release, how far its words are moved at most, in sensitivities that were planned."""
        out = Counter()
        for tables in others:
            for (what, reach, one), (_, _, other) in zip(self.first, self.exact(tables), strict=True):
                out[what] = max(out[what], np.linalg.norm(one - other) / reach)
        return out


def without_row(tables, row):
    own = tables["network"]
    return {**tables, "network": own.take(np.arange(own.n_rows) != row)}


def without_id(tables, one):
    return {name: table.take(np.asarray(table.ids) != one) for name, table in tables.items()}


def test_one_row_of_the_active_party_moves_no_release_farther_than_is_accounted_for(monkeypatch):
    """By brute force: rows left out, of accounts with several rows and of nobody."""
    tables = parties()
    farthest = Neighbours(monkeypatch, tables, PRIVATE).farthest(without_row(tables, row) for row in range(0, 70, 6))
    assert all(0.9 < far <= 1 for far in farthest.values()), farthest
    assert set(farthest) == {"row count", "cut points", "first score", "sums of leaves"}


def test_nor_do_all_rows_of_an_id_with_what_all_parties_have_of_it(monkeypatch):
    tables = parties(seed=2)
    often = Counter(i for i in tables["network"].ids.tolist() if i)
    ids = [one for one, _ in often.most_common(5)]
    assert often[ids[0]] == PERSON.rows_per_id
    farthest = Neighbours(monkeypatch, tables, PERSON).farthest(without_id(tables, one) for one in ids)
    assert all(0.3 < far <= 1 for far in farthest.values()), farthest


def test_counting_a_banks_row_as_often_as_it_is_linked_moves_counts_too_far(monkeypatch):
    """The sabotage: a bank's row counts once for each row of the active party."""
    tables = parties(seed=2)
    often = Counter(i for i in tables["network"].ids.tolist() if i and i in tables["bank0"].ids.tolist())
    monkeypatch.setattr(cut_releases, "each_once", lambda plan, table: table)
    others = [without_id(tables, one) for one, _ in often.most_common(2)]
    assert Neighbours(monkeypatch, tables, PERSON).farthest(others)["cut points"] > 1.5


def filled(tables):
    """The same as parties that have all rows, in one order, with gaps where a bank lacks the id."""
    own = tables["network"]
    out = {"network": replace(own, ids=None)}
    for name, table in tables.items():
        if name != "network":
            place = {one: row for row, one in enumerate(table.ids.tolist())}
            rows = np.array([place.get(one, -1) for one in own.ids.tolist()])
            values = np.where(rows[:, None] >= 0, np.asarray(table.values)[rows], np.nan).astype(np.float32)
            out[name] = Table.of(values, names=table.names)
    return out


@pytest.mark.parametrize("protection", ["plain", "lattice"])
def test_it_is_the_model_of_one_table_with_gaps(monkeypatch, protection):
    """With the cut points that were told and no noise on what is summed by them."""
    told = Told(monkeypatch)
    federation().model()
    monkeypatch.undo()
    leave_out(monkeypatch)
    real, runs = NoisedWords.words, []
    for tables, method in ((parties(), "hybrid"), (filled(parties()), "vertical")):
        left = iter(told.words)

        def words(own, key, release, *asked, left=left, **more):
            of_cuts, exact = next(left), real(own, key, release, *asked, **more)
            return of_cuts if release.what in ("row count", "cut points") else exact

        monkeypatch.setattr(NoisedWords, "words", words)
        runs.append(federation(tables, method=method, protection=protection, align="given").whole())
    assert same(*runs)
    assert (runs[0].forest.columns >= 2).any()


def test_the_promise_says_what_a_row_and_a_person_are():
    row, person = (federation(dp=dp).model().promise for dp in (PRIVATE, PERSON))
    assert (row.unit, person.unit) == ("linked row", "person")
    assert "with what others have of its id, not all rows of an id" in row.scope
    assert "an id with all that any party has of it, at most 4 rows at the active party" in person.scope
    said = " ".join(leaks(federation(dp=PERSON).plan))
    assert "for one person (add or remove one), against whoever has the finished model and was no party" in said
    assert 1.9 < person.composed <= 2


def test_an_id_with_more_rows_than_declared_is_refused():
    dp = DP(2, protects="model", classes=(0, 1), rows_per_id=3)
    with pytest.raises(DataError, match="At most 3 rows of an id are declared"):
        federation(dp=dp).model()


REFUSED = {
    "may stand in many rows of the active one": {"dp": DP(1, protects="labels")},
    "whose sides are told row by row": {"dp": DP(1)},
    "leave passive_cuts out": {"passive_cuts": "random"},
    "who holds a row would decide": {"separate": True},
    "cut points of shared columns have no noise": {"shared": True, "allow_two": True},
    "all cuts are drawn, of all columns alike": {"levels": "AJJ"},
    "everybody knows who is drawn": {"party_share": 0.5},
    "the noise on leaves is for classes": {"goal": Goal(objective="squared"), "dp": DP(1, protects="model")},
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_would_be_told_without_noise_is_refused(why):
    with pytest.raises(ParameterError, match=why):
        federation(**REFUSED[why])


def test_of_several_active_parties_nothing_is_promised_together():
    of = Hybrid(dp=PRIVATE)
    with pytest.raises(ParameterError, match="of several tell together of a row is not added up"):
        Bagged(("network", "other"), of)
    with pytest.raises(ParameterError, match="Train each in a run of its own"):
        one_of(of, "network", ["bank0"])


def test_in_a_run_file_trees_are_as_small_as_in_python(tmp_path):
    (tmp_path / "run.toml").write_text(
        '[run]\nname = "small"\nmethod = "hybrid"\n[data]\ntask = "classify"\n[partition]\npassive = 2\nparties = 2\n'
        'data = "builtin:breast_cancer"\n[privacy]\nepsilon = 1\nprotects = "model"\n'
    )
    run = open_run(tmp_path / "run.toml")
    assert (run.params.max_depth, run.params.max_bin, run.method.levels) == (4, 16, "JJJJ")


def test_a_run_beyond_the_limit_ends_before_rows_are_linked():
    ledger, limit = MemoryLog(), LifetimeLimit(epsilon=2.5)
    own = Active(parties()["network"], ledger=ledger, lifetime=limit)
    federation().model(own=own, log=MemoryLog())
    second = federation(run="another")
    with pytest.raises(PolicyError, match="over 2 runs, to an epsilon of"):
        second.model(own=own, log=MemoryLog())
    assert not second.of("BeginLink", "LinkIds")


def test_an_estimator_grows_such_a_model_and_shares_no_columns_for_it():
    tables = parties()
    private = NoPrivacy(i_accept_disclosure=True)
    of = Hybrid(private, active="network", allow_two=True, dp=DP(2, protects="model", classes=(0, 1)))
    fit = GBDTClassifier(n_estimators=3, federation=of).fit(tables)
    assert fit.model_.params.max_depth == 4
    assert fit.model_.promise.epsilon == 2
    assert fit.model_.forest.gains.max() == 0
    assert not same(fit.model_, GBDTClassifier(n_estimators=3, federation=of).fit(tables).model_)
