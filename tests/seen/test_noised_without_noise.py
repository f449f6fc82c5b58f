"""Under differential privacy nothing that crosses depends on rows but noised sums: labels, gaps, how many rows, errors.

If all sums are the same, two federations over quite different rows must say the same, message by message.
"""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from federated import Federation
from hedgerow import DP, GBDTClassifier, Horizontal
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, HedgerowError, ProtocolError
from hedgerow.model import labels as ground
from hedgerow.privacy import noise
from hedgerow.protocols.columns import MOST_CELLS, check_agreed
from hedgerow.trees.noised import clipped_rows, growing, sums
from noised import noised

COLUMNS = {"categories": {"job": ["clerk", "other"]}}
CLASSES = DP(8, classes=[0, 1], **COLUMNS)
NUMBERS = DP(8, method="additive", label_range=(0, 1), **COLUMNS)
DRAWN = DP(8, method="random", classes=["no", "yes"], **COLUMNS)
GREEDY = DP(8, method="greedy", classes=[0, 1], **COLUMNS)


def table(n, seed, labels, gaps=0.0, jobs=("clerk", "other"), constant=False):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n) ** 3, "job": rng.choice(jobs, n)})
    frame.loc[rng.random(n) < gaps, "x"] = np.nan
    if constant:
        frame["z"] = 7.0
    return Table.of(frame, np.resize(np.array(labels), n))


def parties(first, labels):
    """Two usual parties behind the first, about which something is to be hidden."""
    return {"party1": first, "party2": table(40, 8, labels), "party3": table(50, 9, labels)}


USUAL = {CLASSES: [0, 1], GREEDY: [0, 1], NUMBERS: [0.0, 0.5, 1.0], DRAWN: ["no", "yes"]}
ODD = {
    "a class that is not declared": {CLASSES: [0, 1, 7], GREEDY: [0, 1, 7], DRAWN: ["no", "yes", "perhaps"]},
    "no class that is declared": {CLASSES: [3, 4], DRAWN: ["a", "b"]},
    "one class only": {CLASSES: [1], DRAWN: ["yes"]},
    "numbers beyond all bounds": {NUMBERS: [0.0, 1e300, -1e39]},
    "numbers out of range": {NUMBERS: [5.0, -3.0]},
}
CASES = [(dp, labels[dp], what) for what, labels in ODD.items() for dp in labels]


@pytest.fixture
def without_sums(monkeypatch):
    """Exact sums that are all 0, and no noise: what is said then cannot come from sums."""
    of_one_table = [(sums.OwnSums, name) for name in ("rows", "counts", "bin_counts", "additive", "leaves")]
    of_nodes = [(clipped_rows.ClippedRows, name) for name in ("histograms", "leaf_sums")]
    for owner, name in [*of_one_table, *of_nodes, (growing.GreedyTrees, "root_words")]:
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, real=real: np.zeros_like(real(*given)))
    monkeypatch.setattr(noise, "gaussian", lambda n, _: np.zeros(n, np.int64))


def said(fed):
    """Every message once the parties have met, but for what is under masks, of which only the length is seen."""
    try:
        fed.run()
    except HedgerowError as error:
        yield type(error).__name__
    for one in fed.heard:
        if isinstance(one.message, m.NoisedSums):
            yield one.sender, len(one.frame)
        elif not isinstance(one.message, m.Propose | m.Consent | m.Introduce):  # fresh keys
            yield one.sender, one.receiver, one.kind, bytes(one.frame)


def two(dp, first, other):
    goal = Goal("squared") if dp.label_range else Goal()
    return [list(said(noised(parties(one, USUAL[dp]), dp=dp, goal=goal))) for one in (first, other)]


@pytest.mark.parametrize(("dp", "labels", "_what"), CASES)
def test_labels_change_nothing_that_is_said(dp, labels, _what, without_sums):
    usual, odd = two(dp, table(60, 1, USUAL[dp]), table(60, 1, labels))
    assert usual == odd


@pytest.mark.parametrize("dp", USUAL)
def test_gaps_categories_constants_and_numbers_of_rows_change_nothing_that_is_said(dp, without_sums):
    odd = table(7, 2, USUAL[dp], gaps=0.5, jobs=("clerk", "judge", "thief"), constant=True)
    usual, other = two(dp, table(60, 1, USUAL[dp]), odd)
    assert usual == other


def test_a_label_that_stops_a_run_would_be_seen(monkeypatch, without_sums):
    """The sabotage: a row of a class that is not declared is refused, which tells that there is one."""
    monkeypatch.setattr(ground, "left_out", lambda table, _: np.zeros(table.n_rows, np.bool_))
    usual, odd = two(CLASSES, table(60, 1, [0, 1]), table(60, 1, [0, 1, 7]))
    assert usual != odd


def test_rows_that_are_left_out_are_told_to_who_has_them_and_to_nobody_else():
    notes = []
    fed = noised(parties(table(60, 1, [0, 1, 7]), [0, 1]), dp=CLASSES)
    monkey = fed.parties["party1"].owner
    object.__setattr__(monkey, "tell", notes.append)
    fed.run()
    assert notes == [
        "20 rows have labels that are none of the declared classes, or no number of 32 bits, and so left out (nobody "
        "else is told)."
    ]


def test_one_table_leaves_them_out_too_and_a_simulation_says_so():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.resize([0, 1, 7], 60)
    model = GBDTClassifier(dp=DP(5, classes=[0, 1])).fit(X, y)
    assert list(model.classes_) == [0, 1]
    assert any("20 rows have labels that are none" in note for note in model.notes_)
    odd = parties(table(60, 1, [0, 1, 7]), [0, 1])
    model = GBDTClassifier(federation=Horizontal(dp=CLASSES)).fit(odd)
    assert any("Party 'party1': 20 rows have labels" in note for note in model.notes_)


def test_labels_of_another_kind_are_known_of_all_rows_and_refused():
    with pytest.raises(DataError, match="belong to none"):
        noised(parties(table(60, 1, ["0", "1"]), [0, 1]), dp=CLASSES).run()


@pytest.mark.parametrize(("n", "refused"), [(100, False), (400, True)])
def test_how_many_columns_a_party_takes_does_not_depend_on_its_rows(n, refused):
    """A driver that makes up columns until a party refuses would learn how many rows it has."""
    fed, own = noised(parties(table(60, 1, [0, 1]), [0, 1]), dp=CLASSES, columns="all"), table(60, 1, [0, 1])
    facts = m.Facts(own.columns, (0, 1), weighted=False, absent="", validated=False)
    agreed = m.Agree((*own.columns, *(Column(f"made up {i}") for i in range(n))), (0, 1), "")
    for n_rows in (30, MOST_CELLS):
        with pytest.raises(ProtocolError, match="more classes or columns") if refused else nullcontext():
            check_agreed(fed.plan, agreed, facts, n_rows, 10)


def test_without_noise_it_does():
    fed, own = Federation(parties(table(60, 1, [0, 1]), [0, 1])), table(60, 1, [0, 1])
    facts, agreed = m.Facts(own.columns, (0, 1), False, "", False), m.Agree(own.columns, (0, 1), "")
    check_agreed(fed.plan, agreed, facts, 30, 10)
    with pytest.raises(ProtocolError, match="more classes or columns"):
        check_agreed(fed.plan, agreed, facts, MOST_CELLS, 10)
