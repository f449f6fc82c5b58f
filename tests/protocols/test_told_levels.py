"""Who is told which nodes are cut knows which of them a level may look at: by the schedule, whatever it is told."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from federated import Federation, labels, params_of, refuses, step, until, values
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.protocols.told_trees import ANYWHERE, ToldNodes, somewhere
from hedgerow.protocols.vertical.columns import OWNERS, levels_of
from hedgerow.protocols.vertical.passive_rows import WRONG
from hedgerow.trees.splits import Nodes

replace = msgspec.structs.replace
LOWEST = "not at the lowest level, or twice"


def named(*pairs):
    return Nodes(*np.array(sorted(pairs), np.int64).reshape(-1, 2).T.copy())


class Twin:
    """Of every node that was not cut, whose columns were tried at it."""

    def __init__(self, letters, n_trees):
        self.letters, self.depth, self.sizes = letters, 0, [1] * n_trees
        self.tried = {(tree, 0): frozenset() for tree in range(n_trees)}

    @property
    def open(self):
        here = OWNERS[self.letters[self.depth]]
        return sorted(node for node, tried in self.tried.items() if not here <= tried)

    def cut(self, chosen):
        """Cuts these; returns the first child of each."""
        for node in set(self.open) - set(chosen):
            self.tried[node] |= OWNERS[self.letters[self.depth]]
        child = []
        for node in sorted(chosen):
            tree = node[0]
            child.append(self.sizes[tree])
            self.sizes[tree] += 2
            del self.tried[node]
            self.tried |= {(tree, child[-1] + side): frozenset() for side in (0, 1)}
        self.depth += 1
        return np.array(child, np.int64)


@given(st.text("APJD", min_size=1, max_size=7), st.integers(1, 2), st.randoms(use_true_random=False))
def test_nodes_at_the_lowest_level_are_those_that_the_schedule_looks_at(letters, n_trees, rng):
    twin, told = Twin(letters, n_trees), ToldNodes.at_roots(n_trees, levels_of(letters))
    for _ in letters[1:]:
        chosen = [node for node in twin.open if rng.random() < 0.5]
        if rng.random() < 0.5 and twin.open:  # some are asked about first, which changes nothing
            told = told.step(None, ANYWHERE, named(*twin.open), WRONG)
        told = told.cut(somewhere(named(*chosen), twin.cut(chosen)), ANYWHERE, WRONG)
        every = [(tree, node) for tree, n in enumerate(twin.sizes) for node in range(n)]
        assert [node for node in every if told.has_lowest(named(node))] == twin.open
    assert told.depth == len(letters) - 1


def stopped(levels, here, gamma=1e3):
    """A run in which no column improves any node."""
    X, signal = values(120)
    parties = partition.columns(Table.of(X, labels("two", signal)), share=[[4], [0, 1, 2, 3]])
    params = params_of(n_estimators=2, max_depth=len(levels), gamma=gamma)
    fed = Federation(parties, params, method="vertical", protection="plain", active="party1", levels=levels)
    return fed.parties["party2"], until(fed, here)


def test_a_node_is_asked_about_again_where_other_columns_compete():
    party, request = stopped("PJ", step(m.AskSealedSums, 0, 1))
    assert [list(moves.node) for moves in request.moves] == [[]]
    assert request.nodes.node.tolist() == [0]
    assert party.answer(encode(request))


@pytest.mark.parametrize("levels", ["PJJ", "PJP", "JPP"])
def test_it_is_not_where_its_columns_were_tried(levels):
    """The request of the second level, made again for a third that looks at nothing new."""
    first = 1 if levels[0] == "P" else 0
    party, request = stopped(levels, step(m.AskSealedSums, 0, first))
    party.answer(encode(request))
    none = np.empty(0, np.int64)
    more = replace(request, level=first + 1, moves=(m.Moves(none, none, none, none.astype(np.uint8)),))
    refuses(party, replace(more, public_key=b"", sealed_gradients=b""), LOWEST)


def test_a_node_that_was_cut_is_not_asked_about_again():
    party, request = stopped("PAJ", step(m.AskSealedSums, 0, 1), gamma=0.5)
    assert 0 in request.moves[0].node
    nodes = m.NodeList(np.zeros(1, np.int64), np.zeros(1, np.int64))
    refuses(party, replace(request, nodes=nodes), LOWEST)
