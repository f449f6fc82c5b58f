"""A sealed prediction, as its frames show it: who knew what, line by line, and what the frames do not depend on.

The lines are those of Table II of Fed-EINI's paper, of what a guest (here the active party) and a host (a passive one)
know of the model and of the data in a prediction. Where ours tells a host less than the paper does, the test says so.
"""

from dataclasses import replace
from functools import cache

import msgspec
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from asked import trained
from federated import labels, params_of, values
from hedgerow.agreement.options import Lattice, Paillier
from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model.part import part_of
from hedgerow.model.score_slots import NEVER
from hedgerow.privacy.unencrypted.cipher import Unencrypted
from hedgerow.protocols.scores import active as active_side
from hedgerow.protocols.scores import choices as passive_side
from hedgerow.protocols.scores.passive import Choosing
from hedgerow.protocols.scores.sealing import SealedBatch
from hedgerow.trees.params import TreeParams
from sealed import Sealed, weights_of

SHARES = {2: [[0, 4], [1, 2, 3]], 3: [[4], [0, 1], [2, 3]]}
ROUND = ("BeginScores", "ScoresReady", "AskScores", "Scores")
FRESH = {"session", "keys", "public_key", "signature"}
"""Clear fields that are random in every session."""
ALMOST_SURE = 1e-6


def parties_of(n, rows, seed=1):
    X, signal = values(rows, seed=seed)
    named = pd.DataFrame(X, columns=[f"column number {j}" for j in range(X.shape[1])])
    table = Table.of(named, labels("two", signal), ids=[f"p{i}" for i in range(rows)])
    return partition.columns(table, share=SHARES[n])


@cache
def made(n):
    return trained(parties_of(n, 250, seed=0), params_of(n_estimators=8))


def asked(n=3, rows=40, tables=None, model=None, **more):
    """A world after one batch."""
    own_model, own = made(n)
    world = Sealed.of(model or own_model, own, tables or parties_of(n, rows), **more)
    world.opened = world.scores()
    return world


def frames(world, to=None):
    """What the passive parties are sent, and what they send, but for the joining."""
    return [h for h in world.heard if h.kind in ROUND and to in (None, h.receiver)]


def pieces(numbers):
    """What is searched for: fractions of eight bytes or four, and whole numbers, each with its neighbour.

    One small whole number, or a short fraction, is mostly zeros in eight bytes, and stands in ciphertexts by chance: of
    numbers below 2048 that are no weights two in three did, where the last bits of a coefficient are followed by zeros
    that fill its pack.
    """
    numbers = np.asarray(numbers).reshape(-1)
    if numbers.dtype.kind == "i":
        large = np.abs(numbers) > 0xFF
        return {numbers[i : i + 2].astype("<i8").tobytes() for i in np.flatnonzero(large[:-1] & large[1:])}
    return {numbers[i : i + 2].astype(kind).tobytes() for i in range(len(numbers) - 1) for kind in ("<f4", "<f8")}


def holds(heard, numbers):
    """How many of the pieces of these numbers stand in frames."""
    whole = b"".join(h.frame for h in heard)
    return sum(piece in whole for piece in pieces(numbers))


def telling(numbers):
    """Those that are no whole numbers."""
    numbers = np.asarray(numbers).reshape(-1)
    return numbers[np.isfinite(numbers) & (numbers % 1 != 0)]


def clear(world):
    """Every clear field that crossed, but for those that are random."""
    found = []
    for one in frames(world):
        for field, (how, _) in m.travels(type(one.message)).items():
            if how == "clear" and field not in FRESH:
                found.append((one.sender, one.receiver, one.kind, field, msgspec.msgpack.encode(_plain(one, field))))
    return found


def _plain(one, field):
    value = getattr(one.message, field)
    if field == "slots":
        return [[getattr(told, name).tolist() for name in told.__struct_fields__] for told in value]
    return value


def sizes(world):
    """The length of every frame, but for signatures of an elliptic curve, which differ by a byte or two."""
    found = []
    for one in frames(world):
        signed = [getattr(one.message, "signature", b""), *(key.signature for key in getattr(one.message, "keys", ()))]
        found.append((one.sender, one.receiver, one.kind, len(one.frame) - sum(map(len, signed))))
    return found


# Table II


def test_structure_a_passive_party_is_told_of_its_own_cuts_and_of_no_others():
    """The paper: both know the trees' structure. Here a passive party knows its own cuts' slots, and no more."""
    world = asked()
    parts = {name: part_of(world.model, name) for name in world.present}
    for heard in world.of_kind("BeginScores"):
        for told in heard.message.slots:
            ends = np.concatenate([told.entries, told.shared, told.relays])
            assert set((ends[ends != NEVER] // 2).tolist()) <= set(range(len(parts[heard.receiver].tree)))
    # Its slots are the same in whatever order the trees stand that it does not cut, and have no number of a tree.
    assert {field.name for field in msgspec.structs.fields(m.SlotsTold)} == {
        "entries", "sources", "shared", "relays", "relay_sources", "targets",
    }  # fmt: skip


def test_weights_the_active_party_has_them_and_no_frame_does():
    world = asked()
    leaves = world.model.forest.values[world.model.forest.columns < 0]
    for secret in (telling(leaves), world.fixed.weights):
        assert len(pieces(secret)) > 10
        assert not holds(frames(world), secret)


def test_weights_that_are_not_sealed_are_found(monkeypatch):
    """The sabotage: a cipher that seals nothing. Searched for are slots' weights as the active party has them."""
    given = []
    real = SealedBatch._sealed

    def noting(self, values, shared, plan):
        given.append(plan.centred(values).reshape(-1))
        return real(self, values, shared, plan)

    monkeypatch.setattr(SealedBatch, "_sealed", noting)
    world = asked(n=2)
    wanted = np.concatenate(given)
    assert len(pieces(wanted)) > 10
    assert not holds(frames(world), wanted)
    monkeypatch.setattr(active_side, "cipher_of", lambda plan: Unencrypted())
    monkeypatch.setattr(passive_side, "cipher_of", lambda plan: Unencrypted())
    assert holds(frames(asked(n=2)), wanted) == len(pieces(wanted))


def test_parameters_the_plan_of_a_prediction_has_none_of_the_trees():
    """The paper: both know them, from training. The prediction's plan says the model's id, the prime and the cipher."""
    world = asked()
    for heard in (h for h in world.heard if h.kind == "Propose"):
        plan = Plan.read(heard.message.plan)
        assert plan.params == TreeParams()
        assert plan.method.model == world.model.ownership.model


def test_splitting_rules_stay_with_their_owner():
    world = asked()
    model, own = made(3)
    thresholds = np.concatenate([part.thresholds for part in own.values()])
    mine = part_of(model, world.plan.active).thresholds
    assert min(len(telling(thresholds)), len(telling(mine))) > 1
    assert not holds(frames(world), telling([*thresholds, *mine]))
    first, last = model.ownership.span(world.plan.active)
    others = (model.forest.columns >= 0) & ((model.forest.columns < first) | (model.forest.columns >= last))
    assert not model.forest.thresholds[others].any()


def test_local_data_stay_with_their_owner():
    world = asked()
    cells = np.concatenate([table.values.reshape(-1) for table in world.tables.values()])
    assert len(telling(cells)) > 50
    assert not holds(frames(world), telling(cells))


def test_a_party_that_tells_its_cells_is_found(monkeypatch):
    """The sabotage: values of the asked rows in the answer, behind its first table."""
    real = Choosing._scores

    def leaking(self, request, frame):
        answer = real(self, request, frame)
        return msgspec.structs.replace(answer, sealed_reasons=(self.rows.own_values[:40].tobytes(),))

    monkeypatch.setattr(Choosing, "_scores", leaking)
    monkeypatch.setattr(SealedBatch, "open", lambda *_: None)
    world = Sealed.of(*made(2), parties_of(2, 40))
    world.scores()
    assert holds(frames(world), world.tables["party2"].values) > 50


def test_number_of_features_the_active_party_knows_it_from_training():
    world = asked()
    told = dict(world.model.ownership.columns)
    assert told == {name: table.n_columns for name, table in world.tables.items()}
    names = [column.name.encode() for table in world.tables.values() for column in table.columns]
    assert not any(name in h.frame for name in names for h in frames(world))


def test_meaning_of_features_is_told_by_consent_of_their_owner_and_of_no_other():
    """The paper: the guest knows all features. Here, those that a policy discloses."""
    tables = parties_of(3, 10)
    shown = tables["party2"].columns[0].name
    for disclose in (None, {shown: "a column"}):
        world = asked(tables=tables, policy=replace(ALLOW_ALL, disclose=disclose))
        told = {h.sender: h.message.reasons for h in world.of_kind("ScoresReady")}
        assert told["party3"] == ()
        assert set(told["party2"]) <= {shown, "other columns"}
        assert bool(told["party2"]) == (disclose is not None)
        hidden = [c.name for name, t in tables.items() for c in t.columns if c.name != shown]
        assert not any(name.encode() in h.frame for name in hidden for h in frames(world))


def flipped(tables, *names):
    """Other values of these parties, whose rows go other ways."""
    return {name: replace(t, values=-t.values) if name in names else t for name, t in tables.items()}


@pytest.mark.parametrize("privacy", [Lattice(), Paillier(2048)])
def test_decision_path_rows_with_equal_scores_and_other_ways_open_alike(privacy):
    """All leaves weigh the same, so that every way has the same score: the active party opens the same numbers."""
    model, own = made(2)
    rows = 40 if isinstance(privacy, Lattice) else 3
    tables, weights = parties_of(2, rows), np.where(model.forest.columns < 0, 77, 0)
    found = []
    for values_of in (tables, flipped(tables, "party2")):
        world = Sealed(model, own, values_of, weights, 77 * 8, privacy=privacy)
        opened = world.scores()
        ways = world.choosing["party2"]._sides(world.choosing["party2"].rows.own_values)
        found.append((opened.scores.tolist(), clear(world), sizes(world), ways))
    (one, *shown, ways), (other, *shown_too, ways_too) = found
    assert not np.array_equal(ways, ways_too)
    assert set(np.array(one).reshape(-1).tolist()) == {77 * 8}
    assert one == other
    assert shown == shown_too


def test_decision_path_answers_of_several_parties_are_uniform_one_by_one(monkeypatch):
    """What the active party opens of each party, before it adds them up."""
    opened = []
    real = SealedBatch._opened

    def noting(self, sealed, plan):
        opened.append(real(self, sealed, plan) % self.modulus)
        return opened[-1]

    monkeypatch.setattr(SealedBatch, "_opened", noting)
    world = asked(rows=2000)
    modulus = world.plan.method.modulus
    assert len(opened) > 2
    for sums in opened:
        counts = np.bincount(sums.reshape(-1) * 32 // modulus, minlength=32)
        assert stats.chisquare(counts).pvalue > ALMOST_SURE
    assert len(np.unique(world.opened.scores)) < 1000


# One round


@pytest.mark.parametrize("n", [2, 3])
def test_one_request_and_one_reply_for_each_passive_party_and_batch(n):
    world = Sealed.of(*made(n), parties_of(n, 30))
    asking = world.asking()
    before = len(world.heard)
    for _ in range(3):
        world.scores(asking)
    crossed = [(h.kind, h.receiver if h.sender == "driver" else h.sender) for h in world.heard[before:]]
    assert sorted(crossed) == sorted([(kind, name) for kind in ("AskScores", "Scores") for name in world.present] * 3)
    begun = [(h.kind, h.receiver if h.sender == "driver" else h.sender) for h in world.heard[:before]]
    assert sorted(begun) == sorted(
        [(kind, name) for kind in ("Propose", "Consent", "BeginScores", "ScoresReady") for name in world.present]
    )


# What does not show


def shown(world):
    return clear(world), sizes(world)


@pytest.mark.parametrize("n", [2, 3])
def test_passive_values_change_no_clear_field_and_no_size(n):
    tables = parties_of(n, 40)
    names = [name for name in tables if name != "party1"]
    one, other = (asked(n, tables=t) for t in (tables, flipped(tables, *names)))
    assert shown(one) == shown(other)
    assert not np.array_equal(one.opened.scores, other.opened.scores)


@pytest.mark.parametrize("n", [2, 3])
def test_which_rows_a_party_has_changes_no_clear_field_and_no_size(n):
    tables = parties_of(n, 40)
    lacking = {name: t if name == "party1" else t.take(np.arange(0, 40, 3)) for name, t in tables.items()}
    one, other = asked(n, tables=tables), asked(n, tables=lacking)
    assert shown(one) == shown(other)
    charged = [[(ids, answers, bits) for _, ids, answers, bits in w.counts["party2"].charged] for w in (one, other)]
    assert charged[0] == charged[1]


@pytest.mark.parametrize("n", [2, 3])
def test_labels_and_leaf_values_change_no_clear_field_and_no_size(n):
    """Leaves of other values, that the same prime has room for: as other labels would have given the same trees."""
    model, own = made(n)
    tables = parties_of(n, 40)
    mirrored = replace(model, forest=replace(model.forest, values=-model.forest.values))
    rng = np.random.default_rng(0)
    leaves = model.forest.columns < 0
    mixed = weights_of(model, Sealed.of(model, own, tables).fixed)
    mixed[leaves] = rng.permutation(mixed[leaves]) // 4
    one = asked(n, tables=tables)
    worlds = [asked(n, tables=tables, model=mirrored)]
    other = Sealed(model, own, tables, mixed, one.fixed.reach)
    other.opened = other.scores()
    relabelled = {name: replace(t, labels=None if t.labels is None else 1 - t.labels) for name, t in tables.items()}
    for world in (*worlds, other, asked(n, tables=relabelled)):
        assert shown(world) == shown(one)
    assert not np.array_equal(other.opened.scores, one.opened.scores)


@pytest.mark.parametrize("n", [2, 3])
def test_the_active_party_s_values_change_no_clear_field_and_no_size(n):
    tables = parties_of(n, 40)
    assert shown(asked(n, tables=tables)) == shown(asked(n, tables=flipped(tables, "party1")))


def test_bytes_of_answers_have_one_distribution_whatever_is_chosen():
    """Of equal scores: every byte value is as frequent in the answers to the one table as in those to the other."""
    model, own = made(2)
    tables, weights = parties_of(2, 400), np.zeros(len(model.forest.columns), np.int64)
    counts = []
    for values_of in (tables, flipped(tables, "party2")):
        world = Sealed(model, own, values_of, weights, 77 * 8)
        world.scores()
        (answer,) = world.of_kind("Scores")
        (ask,) = world.of_kind("AskScores")
        counts.append(np.bincount(np.frombuffer(answer.message.sealed_scores[0][200:], np.uint8), minlength=256))
        assert answer.message.sealed_scores[0] not in ask.frame
    assert counts[0].sum() == counts[1].sum() > 10_000
    assert stats.chi2_contingency(np.array(counts)).pvalue > ALMOST_SURE


def test_a_party_that_answers_less_for_rows_that_it_lacks_is_noticed(monkeypatch):
    """The sabotage: the comparison of sizes sees who is in a table."""
    real = Choosing._scores

    def leaking(self, request, frame):
        answer, known = real(self, request, frame), int((self.rows.places(request.ids) >= 0).sum())
        return msgspec.structs.replace(answer, sealed_reasons=(bytes(known),))

    monkeypatch.setattr(Choosing, "_scores", leaking)
    monkeypatch.setattr(SealedBatch, "open", lambda *_: None)
    tables = parties_of(2, 40)
    lacking = {name: t if name == "party1" else t.take(np.arange(0, 40, 3)) for name, t in tables.items()}
    assert sizes(asked(2, tables=tables)) != sizes(asked(2, tables=lacking))
