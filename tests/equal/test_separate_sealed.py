"""Sealed scores of models with subtrees of single parties: those of asking, each row's from the unit that holds it."""

from dataclasses import replace

import numpy as np
import pytest
from test_hybrid import banks_of, network
from test_hybrid_sealed import BANKS, overlapping, with_shop
from test_separate import separate, with_idle

from federated import params_of
from hedgerow.agreement.options import Paillier
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.data.holders import HOLDER, NOBODY, holder_of, with_holder
from hedgerow.errors import PolicyError
from hedgerow.model import part as parts
from hedgerow.model.fixed_scores import fixed_scores
from hedgerow.model.score_paths import path_figures
from hedgerow.protocols.scores import scoring as sealed_side
from hedgerow.run.file.hybrid_tables import joined
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.simulation.predict import predict_parties
from hedgerow.run.simulation.score import sealed_scores
from sealed import Sealed, sums_at

PARAMS = params_of(max_depth=4, n_estimators=8)
TRAIN, REST = np.arange(400), np.arange(400, 520)


def lone():
    return network(n=520)[0]


def sharing():
    """Three banks that share their columns, and a shop with others, which has some of the same rows."""
    return named(with_shop(banks_of(n=520, n_banks=3, covered=0.5)[0]))


def named(parties):
    """The shop's columns have names of their own."""
    shop = parties["shop"]
    columns = tuple(replace(column, name=f"shop {j}") for j, column in enumerate(shop.columns))
    return {**parties, "shop": replace(shop, columns=columns)}


def twice():
    return overlapping(banks_of(n=520, n_banks=3, covered=0.8)[0])


def uncut():
    return with_idle(lone())


FORMS = {
    "lone parties": (lone, {}),
    "passive first": (lone, {"levels": "PPAA"}),
    "a group and a lone party": (sharing, {"shared": (BANKS,)}),
    "rows of several, and of nobody": (twice, {"shared": False}),
    "one group of all": (twice, {"shared": True}),
    "a party that no tree cuts": (uncut, {}),
}


def made(form, goal=Goal(), **more):  # noqa: B008
    """The model, the parts, and the parties with rows to be predicted."""
    make, options = FORMS[form]
    parties = make()
    training = {**parties, "network": parties["network"].take(TRAIN)}
    fed = separate(training, PARAMS, goal, **{"levels": "AAJJ", **options, **more})
    model = fed.model()
    kept = {name: parts.decoded(content, name) for name, content in fed.kept.items()}
    return model, kept, {**parties, "network": parties["network"].take(REST)}


def passive_of(parties):
    return [name for name in parties if name != "network"]


def speaker_of(parties):
    """The number of the passive party that speaks for each row."""
    own = parties["network"]
    held = {name: np.isin(own.ids, parties[name].ids) for name in passive_of(parties)}
    return np.asarray(holder_of(own.row_keys(), held))


@pytest.mark.parametrize("form", FORMS)
def test_sealed_scores_are_those_of_asking_to_the_last_step(form):
    model, kept, parties = made(form)
    world = Sealed.of(model, kept, parties)
    assert {*world.present} == {*passive_of(parties)}
    scores = world.scoring().scores(parties["network"])
    whole = parts.joined(model, kept)
    own, leaves = model.ownership, predict_parties(whole, parties)
    table = joined(parties, "network", own.groups, own.units)
    assert np.array_equal(leaves, whole.leaves(table.aligned(whole.columns)))
    assert np.array_equal(scores, world.fixed.scores(sums_at(model, world.fixed, leaves)))
    assert np.abs(scores - whole.scores_at(leaves)).max() <= world.fixed.error * (1 + 1e-5) + 1e-6
    assert np.array_equal(sealed_scores(whole, parties), scores)
    assert len(np.unique(scores)) > 10
    assert {*speaker_of(parties).tolist()} == {NOBODY, *range(len(parties) - 1)}
    asked = {heard.receiver for heard in world.of_kind("AskScores")}
    assert asked == {name for name, part in kept.items() if len(part.tree)}
    assert len(asked) >= 2


def test_classes_and_models_that_were_grown_encrypted_and_scores_under_paillier_too():
    parties = network("many", n=260)[0]
    training = {**parties, "network": parties["network"].take(np.arange(200))}
    model = separate(training, params_of(max_depth=3, n_estimators=2), levels="AJP", protection="lattice").whole()
    new = {**parties, "network": parties["network"].take(np.arange(200, 260))}
    wanted = fixed_scores(model).scores(sums_at(model, fixed_scores(model), predict_parties(model, new)))
    assert np.array_equal(sealed_scores(model, new), wanted)
    assert np.array_equal(sealed_scores(model, new, Paillier(bits=2048)), wanted)


@pytest.mark.parametrize("form", ["a group and a lone party", "one group of all"])
def test_each_row_is_asked_of_its_speaker_and_counted_there_alone(form):
    model, kept, parties = made(form)
    world = Sealed.of(model, kept, parties)
    world.scoring().scores(parties["network"])
    speaker, ids = speaker_of(parties), parties["network"].ids
    for number, name in enumerate(passive_of(parties)):
        [heard] = [h for h in world.of_kind("AskScores") if h.receiver == name]
        assert heard.message.ids == tuple(ids[speaker == number].tolist())
        [(_, counted, answers, _)] = world.counts[name].charged
        assert (counted, answers) == (heard.message.ids, 1)
    kinds = [(h.sender == "driver", h.kind) for h in world.heard if h.kind not in ("Propose", "Consent")]
    steps = [kind for kind, before in zip(kinds, [None, *kinds[:-1]], strict=True) if kind != before]
    assert [kind for asked, kind in steps if asked] == ["AskKnown", "BeginScores", "AskScores"]  # an exchange each


def test_if_the_own_cuts_did_not_know_the_unit_the_scores_would_be_others(monkeypatch):
    """The sabotage: every row is taken for one that nobody holds."""
    model, kept, parties = made("lone parties")

    def blind(own_table, units, routes):
        return with_holder(own_table, units, np.full(own_table.n_rows, NOBODY))

    monkeypatch.setattr(sealed_side, "with_units", blind)
    world = Sealed.of(model, kept, parties)
    scores = world.scoring().scores(parties["network"])
    wanted = sums_at(model, world.fixed, predict_parties(parts.joined(model, kept), parties))
    held = speaker_of(parties) != NOBODY
    assert not np.array_equal(scores[held], world.fixed.scores(wanted)[held])
    assert np.array_equal(scores[~held], world.fixed.scores(wanted)[~held])


def test_without_a_party_its_rows_are_scored_as_if_it_did_not_hold_them():
    model, kept, parties = made("rows of several, and of nobody")
    whole, without = parts.joined(model, kept), {**parties, "bank1": None}
    wanted = sums_at(model, fixed_scores(model), predict_parties(whole, without))
    assert np.array_equal(sealed_scores(whole, without), fixed_scores(model).scores(wanted))


def test_reasons_are_those_of_the_unit_and_of_own_columns():
    model, kept, parties = made("lone parties")
    names = {name: [column.name for column in parties[name].columns] for name in BANKS}
    every = [column for columns in names.values() for column in columns]
    world = Sealed.of(model, kept, parties, policy=replace(ALLOW_ALL, disclose=dict.fromkeys(every, "a column")))
    scores, reasons = world.scoring().explained(parties["network"], ["p0"])
    speaker, whole = speaker_of(parties), parts.joined(model, kept)
    assert {one.party for one in reasons} == {"network", *BANKS}
    for one in reasons:
        table = parties[one.party]
        gone = np.asarray(table.values).copy()
        gone[:, [column.name for column in table.columns].index(one.label)] = np.nan
        without = predict_parties(whole, {**parties, one.party: replace(table, values=gone)})
        lost = scores[:, 0] - world.fixed.scores(sums_at(model, world.fixed, without))[:, 0]
        assert np.allclose(one.contributions[:, 0], lost, atol=1e-6)
        if one.party != "network":
            assert not one.contributions[speaker != BANKS.index(one.party), 0].any()


def test_the_plan_says_that_membership_is_told_and_an_owner_knows_the_plan():
    model, kept, parties = made("lone parties")
    world = Sealed.of(model, kept, parties)
    assert any("which of the rows each of bank0, bank1, bank2 has, which have subtrees" in s for s in leaks(world.plan))
    one = world.choosing["bank0"]
    one.expected = replace(world.plan, method=type(world.plan.method)("network", world.plan.method.model, 65537))
    with pytest.raises(PolicyError, match="not the one this party knows"):
        world.keys()


def test_rows_that_a_party_tells_whether_it_has_are_counted():
    model, kept, parties = made("lone parties")
    world = Sealed.of(model, kept, parties, policy=replace(ALLOW_ALL, most_predicted_rows=len(REST) - 1))
    with pytest.raises(PolicyError, match="most_predicted_rows"):
        world.scoring().scores(parties["network"])


def test_what_a_score_tells_of_a_party_is_figured_over_rows_that_come_to_its_subtrees():
    """A row of its unit meets the party's cuts in every tree that has some; one of nobody's, in none."""
    model, _, _ = made("lone parties", levels="PPAA")
    figures = path_figures(model, "bank0")
    assert figures.blind < 1e-3
    holder = [column.name for column in model.columns].index(HOLDER)
    cut = model.forest.columns == holder
    nobody = np.zeros_like(model.forest.category_sets)
    forest = replace(model.forest, category_sets=nobody)
    assert cut.sum() >= model.forest.n_trees
    assert path_figures(replace(model, forest=forest), "bank0").blind == 1.0
