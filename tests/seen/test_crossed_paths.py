"""A prediction by asking: no leaf value, threshold or cell in the frames, and nothing that depends on them."""

from dataclasses import replace

import numpy as np
import pytest

from asked import Prediction, trained
from federated import labels, params_of, values
from hedgerow.corridor.messages import Sides
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ProtocolError
from hedgerow.protocols.predict.passive import Answering
from hedgerow.protocols.predict.runs import ToldWays

CONVERSATION = ("AskKnown", "Known", "AskWays", "Sides")


def parties_of(n, seed, scale=1.0):
    X, signal = values(n, seed=seed)
    X[:, :4] *= np.float32(scale)
    table = Table.of(X, labels("two", signal), ids=[f"p{i}" for i in range(n)])
    return partition.columns(table, share=[[4], [0, 1], [2, 3]])


@pytest.fixture(scope="module")
def made():
    return trained(parties_of(200, 0), params_of())


def said(asked):
    """Everything but the signatures and keys of the beginning, which are fresh in every run."""
    return [(h.sender, h.receiver, h.frame) for h in asked.heard if h.kind in CONVERSATION]


def asked_by(model, own, tables):
    asked = Prediction(model, own, tables)
    asked.leaves()
    return asked


def holds(asked, numbers):
    """Which of the numbers are in the frames, as bytes of any kind or as text."""
    whole = b"".join(frame for *_, frame in said(asked))
    found = [n for n in numbers for kind in ("<f4", "<f8") if np.array(n, kind).tobytes() in whole]
    return found + [n for n in numbers if str(n).encode() in whole]


def test_no_leaf_value_threshold_or_cell_is_in_the_frames(made):
    model, own = made
    tables = parties_of(60, 1)
    asked = asked_by(model, own, tables)
    forest = model.forest
    thresholds = np.concatenate([part.thresholds for part in own.values()])
    own_cuts = forest.thresholds[forest.columns == 0]
    cells = np.concatenate([table.values.reshape(-1) for table in tables.values()])
    assert min(len(thresholds), len(own_cuts)) > 0
    assert not holds(asked, forest.values[forest.columns < 0])
    assert not holds(asked, [*thresholds, *own_cuts])
    assert not holds(asked, [cell for cell in cells if cell % 1])
    names = [column.name.encode() for table in tables.values() for column in table.columns]
    assert not [name for name in names if any(name in frame for *_, frame in said(asked))]


def test_a_party_that_tells_its_thresholds_is_noticed(made, monkeypatch):
    """The sabotage: thresholds behind the sides; whoever asked would not mind."""
    real = Answering._ways

    def leaking(self, *asked):
        return Sides(np.concatenate([real(self, *asked).left, self.part.thresholds.view(np.uint8)]))

    monkeypatch.setattr(Answering, "_ways", leaking)
    monkeypatch.setattr(ToldWays, "end", lambda _: None)
    asked = asked_by(*made, parties_of(60, 1))
    assert holds(asked, np.concatenate([part.thresholds for part in made[1].values()]))


def test_without_that_tolerance_the_active_party_refuses_it(made, monkeypatch):
    real = Answering._ways
    more = np.zeros(1, np.uint8)
    monkeypatch.setattr(Answering, "_ways", lambda self, *asked: Sides(np.concatenate([real(self, *asked).left, more])))
    with pytest.raises(ProtocolError, match="did not tell which way the rows go"):
        Prediction(*made, parties_of(60, 1)).leaves()


def test_other_leaf_values_change_nothing_that_is_said(made):
    model, own = made
    tables = parties_of(60, 1)
    other = replace(model, forest=replace(model.forest, values=model.forest.values * np.float32(-2)))
    assert said(asked_by(model, own, tables)) == said(asked_by(other, own, tables))


def test_only_sides_of_own_cuts_depend_on_a_passive_partys_values(made):
    """Values and thresholds four times as large: every frame is the same."""
    model, own = made
    larger = {name: replace(part, thresholds=part.thresholds * np.float32(4)) for name, part in own.items()}
    one, other = (asked_by(model, parts, parties_of(60, 1, scale)) for parts, scale in ((own, 1.0), (larger, 4.0)))
    assert said(one) == said(other)


def test_other_values_do_show_in_the_sides(made):
    """The sabotage: the comparison above sees values that go another way."""
    tables = parties_of(60, 1)
    other = {**tables, "party2": replace(tables["party2"], values=-tables["party2"].values)}
    assert said(asked_by(*made, tables)) != said(asked_by(*made, other))


def test_a_passive_party_hears_of_its_own_cuts_only(made):
    model, own = made
    asked = asked_by(model, own, parties_of(60, 1))
    for heard in asked.of("AskWays"):
        part = own[heard.receiver]
        places = set(zip(part.tree.tolist(), part.node.tolist(), strict=True))
        assert set(zip(heard.message.tree.tolist(), heard.message.node.tolist(), strict=True)) <= places
    assert {heard.message.ids for heard in asked.of("AskKnown")} == {tuple(f"p{i}" for i in range(60))}


def test_a_row_is_asked_about_on_its_path_only(made):
    """For every row and tree, the cuts asked about are ancestors of the leaf at which it ends."""
    model, own = made
    asked = Prediction(model, own, parties_of(60, 1))
    leaves, forest = asked.leaves(), model.forest
    parent = np.full(len(forest.columns), -1)
    cuts = np.flatnonzero(forest.columns >= 0)
    parent[forest.children[cuts]] = parent[forest.children[cuts] + 1] = cuts
    for heard in asked.of("AskWays"):
        r = heard.message
        for tree, node, row in zip(*(np.repeat(a, r.n_rows) for a in (r.tree, r.node)), r.rows, strict=True):
            at = forest.roots[tree] + leaves[row, tree]
            while at >= 0 and at != forest.roots[tree] + node:
                at = parent[at]
            assert at >= 0
