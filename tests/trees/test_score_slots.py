"""Slots of sealed predictions: offset, chosen weights and relays of all parties add up to the score of the leaf."""

from dataclasses import replace

import numpy as np
import strategies
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.model.candidates import candidates, ends_of, leaves_of, reached
from hedgerow.model.model import Model
from hedgerow.model.part import part_of
from hedgerow.model.score_slots import FRESH, NEVER, ClassSlots, known_part
from hedgerow.trees.losses import Loss
from trees.test_candidates import owned
from trees.test_predict import FINITE, forests, table_of


def sides_of(model: Model, values, names):
    """Where rows come out of each party's own cuts."""
    spans = {name: model.ownership.span(name) for name in names}
    return {name: reached(part_of(model, name), values[:, a:b], 1) for name, (a, b) in spans.items()}


def scored(slots: ClassSlots, filled, sides) -> np.ndarray:
    """The scores if every party chooses and relays as it is told; nothing is sealed."""
    total, gone = filled.offset.copy(), {}
    for number, own in enumerate(sides):
        told = slots.parties[number]
        known = np.concatenate([own, np.zeros((len(own), 2), np.bool_)], axis=1)  # -2, NEVER, is in none
        came = {source: sums[number] for source, sums in gone.items() if number in sums}
        total += (filled.entries(number, came) * known[:, told.entries]).sum(axis=1)
        total += (filled.shared(number) * known[:, told.shared]).sum(axis=1)
        sums = (filled.relays(number, came) * known[:, told.relays]).sum(axis=2)
        gone[number] = {to: sums[:, told.targets == to] for to in set(told.targets.tolist())}
    return total


@given(st.data(), strategies.generators, st.integers(1, 12), st.lists(st.integers(1, 3), min_size=2, max_size=5))
def test_slots_give_the_score_of_the_leaf(data, rng, n, shares):
    model = owned(data.draw(forests(sum(shares))), rng, shares)
    values = table_of(rng, n, sum(shares), FINITE)
    weights = np.where(model.forest.columns < 0, rng.integers(-3000, 3000, len(model.forest.columns)), 0)
    names = model.ownership.parties
    sides = sides_of(model, values, names)
    left = np.logical_and.reduce([candidates(ends_of(model, name), sides[name]) for name in names])
    slots = ClassSlots(model, 0, names[1:])
    filled = slots.filled(sides[names[0]], weights)
    got = scored(slots, filled, [sides[name] for name in names[1:]])
    assert (got == left @ weights[leaves_of(model)]).all()


@given(st.data(), strategies.generators, st.integers(1, 8))
def test_an_absent_party_counts_as_missing_values(data, rng, n):
    shares = [2, 2, 2]
    model = owned(data.draw(forests(6)), rng, shares)
    values = table_of(rng, n, 6, FINITE)
    weights = np.where(model.forest.columns < 0, rng.integers(-3000, 3000, len(model.forest.columns)), 0)
    known = known_part(model, ["party1"])
    own = np.concatenate([values[:, :2], np.full((n, 1), np.nan, np.float32)], axis=1)
    slots = ClassSlots(model, 0, ["party1"])
    got = scored(slots, slots.filled(reached(known, own, 1), weights), [sides_of(model, values, ["party1"])["party1"]])
    gone = values.copy()
    gone[:, 4:] = np.nan
    sides = sides_of(model, gone, model.ownership.parties)
    left = np.logical_and.reduce([candidates(ends_of(model, name), of) for name, of in sides.items()])
    assert (got == left @ weights[leaves_of(model)]).all()


@given(st.data(), strategies.generators, st.integers(2, 3))
def test_each_class_has_the_slots_of_its_own_trees(data, rng, classes):
    model = owned(data.draw(forests(4)), rng, [2, 2])
    n_trees = model.forest.n_trees // classes * classes
    model = replace(model, forest=model.forest.first(n_trees), loss=Loss("softmax", n_classes=classes))
    values = table_of(rng, 5, 4, FINITE)
    weights = np.where(model.forest.columns < 0, rng.integers(-99, 99, len(model.forest.columns)), 0)
    sides = sides_of(model, values, ["party0", "party1"])
    left = candidates(ends_of(model, "party0"), sides["party0"]) & candidates(ends_of(model, "party1"), sides["party1"])
    tree = np.searchsorted(model.forest.roots, leaves_of(model), side="right") - 1
    for number in range(classes):
        slots = ClassSlots(model, number, ["party1"])
        got = scored(slots, slots.filled(sides["party0"], weights), [sides["party1"]])
        mine = tree % classes == number
        assert (got == left[:, mine] @ weights[leaves_of(model)[mine]]).all()


@given(st.data(), strategies.generators)
def test_a_party_has_one_slot_for_each_of_its_cuts(data, rng):
    model = owned(data.draw(forests(4)), rng, [2, 2])
    told = ClassSlots(model, 0, ["party1"]).parties[0]
    ends = np.concatenate([told.entries, told.shared])
    assert sorted((ends // 2).tolist()) == list(range(len(part_of(model, "party1").tree)))
    assert not len(told.targets)
    assert (told.sources == FRESH).all()
    assert (told.relays != NEVER).all()
