"""Trees that a party is shown and did not finish itself: believed where a run goes on after a loss, once, if at all."""

from dataclasses import replace as with_

import msgspec
import numpy as np
import pytest

from federated import TINY, Federation, MemoryLog, params_of, refuses, step, two_class, until
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.data.table import Column
from hedgerow.errors import PrivacyError
from hedgerow.model.file import decoded, encoded
from hedgerow.protocols.horizontal.prepare import trees_of
from hedgerow.trees.forest import Forest, join

replace = msgspec.structs.replace
MADE_UP = "other trees of round 0"


def federation(on_loss="continue", params=None):
    logs = {f"party{i}": MemoryLog() for i in range(1, 5)}
    return Federation(two_class(4), params or params_of(n_estimators=3, max_depth=1), logs=logs, on_loss=on_loss)


def at(fed, here):
    """A party of a run that has come so far, and the cut points of the first column."""
    until(fed, here)
    begin = fed.of("Begin")[0].message
    return fed.parties["party1"], begin.cuts[: begin.cut_starts[1]]


def begin_with(fed, forest):
    return replace(fed.of("Begin")[0].message, forest=trees_of(forest))


def tree(places, value=1.0):
    """A tree that cuts the first column at these places, each cut being the right child of the one before."""
    cut = np.zeros(2 * len(places) + 1, bool)
    cut[[0, *range(2, 2 * len(places), 2)]] = True
    nodes, none = np.arange(len(cut)), np.zeros(len(cut))
    thresholds = none.astype(np.float32)
    thresholds[cut] = places
    return Forest(
        np.where(cut, 0, -1).astype(np.int32),
        thresholds,
        np.zeros(len(cut), bool),
        np.where(cut, nodes + 1, -1).astype(np.int32),
        np.full(len(cut), -1, np.int32),
        np.empty((0, 4), np.uint64),
        np.where(cut, 0, value).astype(np.float32),
        none,
        none.astype(np.float32),
        np.array([0, len(cut)]),
    )


@pytest.mark.parametrize("on_loss", ["wait", "continue"])
@pytest.mark.parametrize("here", [step(m.AskHistograms, 0, 0), step(m.AskLeafSums, 1)], ids=["not begun", "finished"])
def test_a_made_up_tree_is_not_believed(on_loss, here):
    """Its values would choose whose gradients the next sums show."""
    fed = federation(on_loss)
    party, places = at(fed, here)
    refuses(party, begin_with(fed, tree(places[:1])), MADE_UP, PrivacyError)


def test_where_runs_wait_no_tree_is_believed_that_was_not_finished():
    fed = federation("wait")
    party, places = at(fed, step(m.AskLeafSums))
    refuses(party, begin_with(fed, tree(places[:1])), MADE_UP, PrivacyError)


def test_the_last_tree_of_a_run_that_goes_on_is_believed_once():
    """It may have been closed when another party was lost. A second one would be for other gradients."""
    fed = federation()
    party, places = at(fed, step(m.AskLeafSums))
    for _ in range(2):
        party.answer(encode(begin_with(fed, tree(places[:1]))))
    refuses(party, begin_with(fed, tree(places[:1], value=2.0)), MADE_UP, PrivacyError)
    finished = [line["round"] for line in fed.logs["party1"].lines() if line["event"] == "finished"]
    assert finished == [0], "the next process knows, too"


def test_two_trees_that_were_not_finished_are_too_many():
    fed = federation()
    party, places = at(fed, step(m.AskLeafSums))
    refuses(party, begin_with(fed, join([tree(places[:1])] * 2)), MADE_UP, PrivacyError)


def test_a_tree_beside_the_agreed_cut_points_is_refused():
    fed = federation()
    party, places = at(fed, step(m.AskLeafSums))
    refuses(party, begin_with(fed, tree(np.nextafter(places[:1], np.float32(np.inf)))), "agreed cut points")


def test_a_tree_deeper_than_the_plans_is_refused():
    fed = federation()
    party, places = at(fed, step(m.AskLeafSums))
    refuses(party, begin_with(fed, tree(places[:2])), "deeper than the 1 levels")


def test_the_same_step_is_not_answered_for_other_trees_before_it():
    """What a step is known by holds the trees before it: else one request would open sums of any gradients."""
    fed = federation()
    party, places = at(fed, step(m.AskLeafSums))
    first = m.AskHistograms(1, 0, (0, 1, 2, 3), EMPTY, m.NodeList(np.zeros(1, np.int64), np.zeros(1, np.int64)))
    for value in (1.0, 2.0):
        party.journal.finished.pop(0, None)  # the sabotage: another tree is believed
        party.answer(encode(begin_with(fed, tree(places[:1], value))))
        if value == 1.0:
            party.answer(encode(first))
    refuses(party, first, "answered before", PrivacyError)


EMPTY = m.CutList(*(np.empty(0, kind) for kind in ("i8", "i8", "i8", "i4", "i4", "?", "u8")))


# The finished model


def farewell(here=lambda r: isinstance(r, m.Farewell)):
    fed = federation("wait", TINY)
    request = until(fed, here)
    return fed.parties["party1"], request


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda model: with_(model, forest=join([model.forest] * 2)), "than this party helped to grow"),
        (lambda model: with_(model, base_score=40.0), "columns, classes or first score"),
        (lambda model: with_(model, classes=(0, 2)), "columns, classes or first score"),
        (lambda model: with_(model, columns=(*model.columns, Column("more"))), "columns, classes or first score"),
    ],
    ids=["trees", "score", "classes", "columns"],
)
def test_a_party_keeps_no_model_but_the_one_it_helped_to_grow(change, said):
    party, request = farewell()
    model = decoded(request.model, "the model")
    refuses(party, m.Farewell(encoded(change(model))), said, PrivacyError)
    party.answer(encode(request))


def test_a_party_keeps_no_model_before_the_trees_have_begun():
    _, request = farewell()
    party, _ = farewell(lambda r: isinstance(r, m.Begin))
    refuses(party, request, "before the trees have begun")
