"""Sealed scores of hybrid models: those of one table with gaps, whether banks share columns or have their own."""

from dataclasses import replace

import numpy as np
import pytest
from test_hybrid import accounts, banks_of, hybrid, network

from federated import identity, params_of
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.messages import AskKnown
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.data.holders import holder_of
from hedgerow.errors import PolicyError, ProtocolError
from hedgerow.model import commitment
from hedgerow.model import part as parts
from hedgerow.model.fixed_scores import fixed_scores
from hedgerow.protocols.scores.opening_checks import Evidence, check
from hedgerow.protocols.scores.scoring import SealedScores
from hedgerow.protocols.scores.sealing import SealedBatch
from hedgerow.protocols.scores.speakers import Speakers
from hedgerow.run.folder.openings_file import OpeningsFolder, read_opening
from hedgerow.run.simulation.predict import predict_parties
from hedgerow.run.simulation.score import sealed_scores
from hedgerow.storage.audit import AuditLog
from sealed import Sealed, sums_at

PARAMS = params_of(max_depth=4, n_estimators=8)
TRAIN, REST = np.arange(400), np.arange(400, 520)


def parties_of(covered=0.8, kind="two"):
    return banks_of(n=520, n_banks=3, kind=kind, covered=covered)[0]


def with_shop(parties):
    """And one with columns of its own, which some of the rows are known to."""
    rng = np.random.default_rng(5)
    shop = accounts(rng, 50, 2)
    own = parties["network"]
    place = {one: row for row, one in enumerate(shop.ids.tolist())}
    at = np.array([place.get(one, -1) for one in own.ids])
    shown = np.where(at >= 0, np.nan_to_num(np.asarray(shop.values)[at, 1]), 0)
    return {**parties, "network": replace(own, labels=((own.labels > 0) ^ (shown > 0.4)).astype(int)), "shop": shop}


def overlapping(parties):
    """Some accounts of the first bank are at the second too, with other values."""
    rng = np.random.default_rng(1)
    twice = parties["bank0"].take(np.arange(12))
    other = replace(twice, values=np.asarray(twice.values) + rng.normal(size=(12, 3)).astype(np.float32))
    both = partition.pooled({"a": parties["bank1"], "b": other.aligned(parties["bank1"].columns)})
    return {**parties, "bank1": both}


SHARING = {"shared": True, "levels": "AJJJ"}
BANKS = ("bank0", "bank1", "bank2")


def two_groups():
    """Three banks that share their columns, two that share others, and one with its own."""
    rng = np.random.default_rng(2)
    parties = parties_of()
    more, alone = accounts(rng, 60, 2, 20), accounts(rng, 50, 1, 10)
    risky = {one: row[0] > 0 for one, row in zip(more.ids.tolist(), np.asarray(more.values), strict=True)}
    own = parties["network"]
    labels = np.array([risky.get(i, old) for i, old in zip(own.ids, own.labels, strict=True)], int)
    halves = {"bank3": more.take(np.arange(25)), "bank4": more.take(np.arange(25, 60))}
    return {**parties, "network": replace(own, labels=labels), **halves, "bank5": alone}


FORMS = {
    "shared": (parties_of, SHARING),
    "shared by several that have some rows": (lambda: overlapping(parties_of()), SHARING),
    "shared, passive first": (parties_of, {"shared": True, "levels": "PPAA"}),
    "shared, and one beside them": (lambda: with_shop(parties_of()), {"shared": (BANKS,), "levels": "AJJJ"}),
    "two groups": (two_groups, {"shared": (BANKS, ("bank3", "bank4")), "levels": "AJJJ", "allow_two": True}),
    "columns of their own": (lambda: network(n=520)[0], {"levels": "JJJJ"}),
}


def made(form, goal=Goal()):  # noqa: B008
    """The model, the parts, and the parties with rows to be predicted."""
    make, options = FORMS[form]
    parties = make()
    fed = hybrid({**parties, "network": parties["network"].take(TRAIN)}, PARAMS, goal, **options)
    model = fed.model()
    kept = {name: parts.decoded(content, name) for name, content in fed.kept.items()}
    return model, kept, {**parties, "network": parties["network"].take(REST)}


def expected(model, kept, parties, fixed):
    """The sums at the leaves at which rows end when the parties are asked."""
    return sums_at(model, fixed, predict_parties(parts.joined(model, kept), parties))


@pytest.mark.parametrize("form", FORMS)
def test_sealed_scores_are_those_of_asking_to_the_last_step(form):
    model, kept, parties = made(form)
    world = Sealed.of(model, kept, parties)
    scores = world.scoring().scores(parties["network"])
    wanted = expected(model, kept, parties, world.fixed)
    assert np.array_equal(scores, world.fixed.scores(wanted))
    assert len(np.unique(scores)) > 10
    whole = parts.joined(model, kept)
    asked = whole.scores_at(predict_parties(whole, parties))
    assert np.abs(scores - asked).max() <= world.fixed.error * (1 + 1e-5) + 1e-6
    assert np.array_equal(sealed_scores(whole, parties), scores)


def test_classes_too():
    parties = parties_of(kind="many")
    model = hybrid({**parties, "network": parties["network"].take(TRAIN)}, PARAMS, **SHARING).whole()
    new = {**parties, "network": parties["network"].take(REST)}
    wanted = sums_at(model, fixed_scores(model), predict_parties(model, new))
    assert np.array_equal(sealed_scores(model, new), fixed_scores(model).scores(wanted))


def speakers_of(parties):
    own = parties["network"]
    held = {name: np.isin(own.ids, parties[name].ids) for name in BANKS}
    return holder_of(own.row_keys(), held)


def test_each_row_is_asked_of_its_speaker_and_counted_there_alone():
    model, kept, parties = made("shared by several that have some rows")
    world = Sealed.of(model, kept, parties)
    world.scoring().scores(parties["network"])
    speaker, ids = speakers_of(parties), parties["network"].ids
    assert {(np.array(speaker) == number).any() for number in (-1, 0, 1, 2)} == {True}
    for number, name in enumerate(BANKS):
        [heard] = [h for h in world.of_kind("AskScores") if h.receiver == name]
        assert heard.message.ids == tuple(ids[speaker == number].tolist())
        [(_, counted, answers, _)] = world.counts[name].charged
        assert (counted, answers) == (heard.message.ids, 1)
    kinds = [(h.sender == "driver", h.kind) for h in world.heard if h.kind not in ("Propose", "Consent")]
    steps = [kind for kind, before in zip(kinds, [None, *kinds[:-1]], strict=True) if kind != before]
    assert [kind for asked, kind in steps if asked] == ["AskKnown", "BeginScores", "AskScores"]  # an exchange each


def test_if_all_that_have_a_row_answered_the_score_would_be_another(monkeypatch):
    """The sabotage: one session with all, as if their columns were their own."""
    model, kept, parties = made("shared by several that have some rows")
    monkeypatch.setattr(Speakers, "routes", lambda self, table: {self.names: np.arange(table.n_rows)})
    world = Sealed.of(model, kept, parties)
    scores = world.scoring().scores(parties["network"])
    assert not np.array_equal(scores, world.fixed.scores(expected(model, kept, parties, world.fixed)))


def test_what_one_party_answers_beside_another_opens_to_noise(monkeypatch):
    """A row's answers open together, its speaker's and that of the party with columns of its own: only sums repeat."""
    opened, real = [], SealedBatch.open

    def noting(batch, *more):
        before = batch.scores.copy()
        real(batch, *more)
        opened.append(batch.scores - before)

    monkeypatch.setattr(SealedBatch, "open", noting)
    model, kept, parties = made("shared, and one beside them")
    world = Sealed.of(model, kept, parties)
    scoring = world.scoring()
    routes = scoring.speakers.routes(parties["network"])
    assert {len(route) for route in routes} == {1, 2}
    assert all("shop" in route for route in routes)
    once = scoring.scores(parties["network"])
    first = [*opened]
    opened.clear()
    assert np.array_equal(scoring.scores(parties["network"]), once)
    modulus, sizes = world.plan.method.modulus, [len(rows) for route, rows in routes.items() for _ in route]
    assert [len(sums) for sums in first] == sizes
    beside = [len(route) > 1 for route in routes for _ in route]
    for one, other, padded in zip(first, opened, beside, strict=True):
        assert ((one - other) % modulus != 0).mean() > 0.9 if padded else np.array_equal(one % modulus, other % modulus)


def test_a_party_in_one_session_after_another_is_told_anew_each_time():
    model, kept, parties = made("shared, and one beside them")
    world = Sealed.of(model, kept, parties)
    scoring = world.scoring()
    n = len(scoring.speakers.routes(parties["network"]))
    scoring.scores(parties["network"])
    sessions = [h.message.session for h in world.of_kind("BeginScores") if h.receiver == "shop"]
    assert len(sessions) == len(set(sessions)) == n > 2


def test_sessions_with_different_parties_stay_for_the_next_table():
    model, kept, parties = made("shared")
    world = Sealed.of(model, kept, parties)
    scoring = world.scoring()
    one = [scoring.scores(parties["network"].take(rows)) for rows in (np.arange(60), np.arange(60, 120))]
    assert len(world.of_kind("BeginScores")) == 3
    assert np.array_equal(np.concatenate(one), Sealed.of(model, kept, parties).scoring().scores(parties["network"]))


def test_reasons_are_those_of_the_speaker():
    model, kept, parties = made("shared")
    names = [column.name for column in parties["bank0"].columns]
    world = Sealed.of(model, kept, parties, policy=replace(ALLOW_ALL, disclose=dict.fromkeys(names, "a column")))
    scores, reasons = world.scoring().explained(parties["network"], ["p0"])
    speaker = speakers_of(parties)
    whole = parts.joined(model, kept)
    for number, bank in enumerate(BANKS):
        for name in names:
            [told] = [one.contributions[:, 0] for one in reasons if (one.party, one.label) == (bank, name)] or [None]
            if told is None:
                continue
            gone = np.asarray(parties[bank].values).copy()
            gone[:, names.index(name)] = np.nan
            without = predict_parties(whole, {**parties, bank: replace(parties[bank], values=gone)})
            lost = scores[:, 0] - world.fixed.scores(sums_at(model, world.fixed, without))[:, 0]
            assert np.allclose(told, lost, atol=1e-6)
            assert not told[speaker != number].any()
    assert {one.party for one in reasons} == {"network", *BANKS}


def test_which_rows_it_has_a_party_tells_only_where_the_plan_says_that_it_shares_columns():
    model, kept, parties = made("shared, and one beside them")
    world = Sealed.of(model, kept, parties)
    world.keys()
    question = encode(AskKnown(("account 1",)))
    assert world.choosing["bank0"].answer(question)
    with pytest.raises(ProtocolError, match="does not allow AskKnown"):
        world.choosing["shop"].answer(question)


def test_a_plan_with_other_sharing_than_the_owner_knows_is_refused():
    model, kept, parties = made("shared")
    world = Sealed.of(model, kept, parties)
    for party in world.choosing.values():
        party.expected = replace(world.plan, method=replace_sharing(world.plan.method))
    with pytest.raises(PolicyError, match="not the one this party knows"):
        world.keys()


def replace_sharing(method):
    return type(method)(method.active, method.model, method.modulus, method.scores, method.privacy)


def test_rows_that_a_party_tells_whether_it_has_are_counted():
    model, kept, parties = made("shared")
    world = Sealed.of(model, kept, parties, policy=replace(ALLOW_ALL, most_predicted_rows=119))
    with pytest.raises(PolicyError, match="most_predicted_rows"):
        world.scoring().scores(parties["network"])


@pytest.mark.parametrize("form", ["shared", "shared, and one beside them"])
def test_sessions_whose_openings_are_kept_are_held_one_after_another_and_hold(form, tmp_path):
    model, kept, parties = made(form)
    logs = {name: AuditLog(None, "a run", name) for name in kept}
    world = Sealed.of(model, kept, parties, logs=logs)
    keys, me = world.keys(), identity("network")
    scoring = SealedScores(world.group, model, world.fixed, keys, me, 1, openings=OpeningsFolder(tmp_path))
    scores = scoring.scores(parties["network"])
    scoring.close()
    assert np.array_equal(scores, Sealed.of(model, kept, parties).scoring().scores(parties["network"]))
    salt = bytes(32)
    leaves = commitment.opening(model, salt)
    promised = replace(kept["bank0"], commitment=commitment.commit(model, salt))
    checked = 0
    for file in tmp_path.glob("*.opening"):
        opened = read_opening(file)
        if "bank0" in opened.head.names:
            found = check(opened, Evidence(model, leaves, promised, list(logs["bank0"].lines())))
            checked += found.rows
    assert checked == (speakers_of(parties) == 0).sum()
