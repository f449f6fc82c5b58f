"""Weights of slots that some way through the active party's cuts gives, and those that none gives."""

import numpy as np
import strategies
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.model.score_slots import NEVER, ClassSlots
from hedgerow.model.score_ways import PossibleWeights
from trees.test_candidates import owned
from trees.test_predict import FINITE, forests, table_of
from trees.test_score_slots import sides_of

PRIME = 1_000_003


def observed(slots, filled, party):
    """The cuts of a party's entries, and rows x weights; what others relay is left out."""
    nodes, came = slots.nodes(party), [{p: np.zeros((len(filled.offset), 99), np.int64) for p in range(9)}] * 2
    tables = (filled.entries(party, came[0]), filled.shared(party), filled.relays(party, came[1]))
    n = len(filled.offset)
    values = np.concatenate([tables[0], np.tile(tables[1], (n, 1)), tables[2].reshape(n, -1)], axis=1)
    at = np.concatenate([nodes.entries, nodes.shared, nodes.relays.reshape(-1)])
    assert not values[:, at == NEVER].any()
    return at[at >= 0], values[:, at >= 0]


@given(st.data(), strategies.generators, st.integers(1, 6), st.lists(st.integers(1, 3), min_size=2, max_size=4))
def test_what_an_honest_party_seals_is_possible(data, rng, n, shares):
    model = owned(data.draw(forests(sum(shares))), rng, shares)
    weights = np.where(model.forest.columns < 0, rng.integers(-3000, 3000, len(model.forest.columns)), 0)
    names = model.ownership.parties
    sides = sides_of(model, table_of(rng, n, sum(shares), FINITE), names)
    slots = ClassSlots(model, 0, names[1:])
    filled, possible = slots.filled(sides[names[0]], weights), PossibleWeights(slots, weights, PRIME)
    for party in range(len(names) - 1):
        assert not possible.impossible(*observed(slots, filled, party)).any()


@given(st.data(), strategies.generators, st.integers(1, 6))
def test_a_weight_that_no_way_gives_is_found_in_its_row_alone(data, rng, n):
    model = owned(data.draw(forests(4)), rng, [2, 2])
    weights = np.where(model.forest.columns < 0, rng.integers(-3000, 3000, len(model.forest.columns)), 0)
    sides = sides_of(model, table_of(rng, n, 4, FINITE), model.ownership.parties)
    slots = ClassSlots(model, 0, ["party1"])
    nodes, values = observed(slots, slots.filled(sides["party0"], weights), 0)
    if not len(nodes):
        return
    row, at = rng.integers(n), rng.integers(len(nodes))
    values[row, at] = 20_000  # further apart than two leaves
    wrong = PossibleWeights(slots, weights, PRIME).impossible(nodes, values)
    assert np.flatnonzero(wrong).tolist() == [row]


@given(st.data(), strategies.generators)
def test_a_row_cannot_leave_out_a_cut_to_which_every_way_comes(data, rng):
    """One weight alone, and zeros for all others, would ask about one cut of a row."""
    model = owned(data.draw(forests(4)), rng, [2, 2])
    weights = np.where(model.forest.columns < 0, 2 ** rng.permutation(len(model.forest.columns)), 0) % PRIME
    slots = ClassSlots(model, 0, ["party1"])
    sides = sides_of(model, table_of(rng, 1, 4, FINITE), model.ownership.parties)
    nodes, values = observed(slots, slots.filled(sides["party0"], weights), 0)
    at = np.flatnonzero(~slots.trees.known[nodes] & (nodes < slots.trees.n))  # roots
    if not len(at) or not values[0, at[0]]:
        return
    values[0, at[0]] = 0
    assert PossibleWeights(slots, weights, PRIME).impossible(nodes, values).all()
