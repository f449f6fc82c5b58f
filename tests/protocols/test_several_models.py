"""Asking about several models at once: as few exchanges as one needs, and what a passive party refuses."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from federated import Heard, identity
from hedgerow import Bagged, GBDTClassifier, Hybrid, NoPrivacy, Table
from hedgerow.agreement.options import BaggedModel, Prediction, SealedPrediction
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor.messages import AskKnown, AskWays, Propose
from hedgerow.corridor.wire import encode
from hedgerow.data.table import Column
from hedgerow.errors import ModelError, ParameterError, PolicyError, ProtocolError
from hedgerow.model.bag import Bag
from hedgerow.model.bagged_part import bagged_part, joined_columns
from hedgerow.model.model_for_others import for_others
from hedgerow.model.part import active_part_of, ownership_of, part_of
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.predict.passive import Answering
from hedgerow.protocols.predict.several_models import bagged_plan, present_in
from hedgerow.protocols.predict.several_parts import AnsweringAll
from hedgerow.run.simulation.predict import predict_parties
from hedgerow.run.simulation.predict_several import predict_each
from hedgerow.storage.audit import AuditLog
from hedgerow.trees.params import TreeParams
from several_active import BANKS, NETWORKS, parties

PLAIN = NoPrivacy(i_accept_disclosure=True)


@pytest.fixture(scope="module")
def made():
    tables = parties()
    model = GBDTClassifier(5, max_depth=4, min_cut_rows=5, federation=Bagged(NETWORKS, Hybrid(PLAIN, levels="JJJJ")))
    return tables, model.fit(tables).model_


def heard_in(bag, tables, asker="net1"):
    heard = []
    each = predict_each(
        bag,
        {asker: tables[asker], **{b: tables[b] for b in BANKS if b in tables}},
        (lambda *what: heard.append(Heard(*what)),),
    )
    return each, heard


def exchanges(heard, bank):
    return sum(one.kind == "AskWays" and one.receiver == bank for one in heard)


def test_there_is_at_most_one_exchange_a_level_for_all_trees_of_all_models(made):
    tables, bag = made
    _, heard = heard_in(bag, tables)
    for bank in BANKS:
        assert sum(one.kind == "AskKnown" and one.receiver == bank for one in heard) == 1
    for bank in ("bank1", "bank2"):  # the third has none of the rows
        assert 0 < exchanges(heard, bank) <= 4
    trees = {int(tree) for one in heard if one.kind == "AskWays" for tree in one.message.tree}
    assert max(trees) >= 5, "bank2 is asked about trees of the second model"


def test_one_model_after_the_other_would_take_more(made):
    """The sabotage: the count above tells asking about models in turn from asking about them together."""
    tables, bag = made
    n = 0
    for name, model in bag.models.items():
        beside = {bank: tables[bank] for bank in ownership_of(model).parties if bank in BANKS}
        _, heard = heard_in(Bag({name: model}), {name: tables["net1"], **beside}, name)
        n += exchanges(heard, "bank2")
    _, together = heard_in(bag, tables)
    assert n > exchanges(together, "bank2")


def test_each_model_is_told_what_it_would_be_told_alone(made):
    """Ways down cuts that follow each other come model by model in each step, and are taken apart again."""
    tables, bag = made
    each, _ = heard_in(bag, tables)
    for (name, model), together in zip(bag.models.items(), each, strict=True):
        beside = {bank: tables[bank] for bank in ownership_of(model).parties if bank in BANKS}
        leaves = predict_parties(model, {name: tables["net1"], **beside})
        assert np.array_equal(together, model.means(model.scores_at(leaves)))


def test_thresholds_of_passive_parties_are_not_needed_to_ask(made):
    """What an active party gives to another is its own part; the passive parties' thresholds are not in it."""
    tables, bag = made
    each, _ = heard_in(bag, tables)
    for model in bag.models.values():
        own = active_part_of(model)
        first, last = ownership_of(own).span(ownership_of(own).active)
        others = (own.forest.columns >= last) | ((own.forest.columns >= 0) & (own.forest.columns < first))
        assert others.any()
        assert not own.forest.thresholds[others].any()
    assert len(each) == 2


# What a passive party refuses


def answering(bag, tables, bank="bank2", names=NETWORKS, policy=ALLOW_ALL, expected=None, log=None):
    first, *more = [part_of(bag.models[name], bank) for name in names]
    own = PartOwner(bank, first, tables[bank], policy, identity(bank), log)
    return AnsweringAll(own, tuple(more), expected)


def members():
    return tuple(Member(name, identity(name).fingerprint) for name in ("net1", *BANKS))


def plan_of(bag):
    return bagged_plan("a test", members(), "net1", list(bag.models.values()))


def proposed(party, plan):
    return party.answer(encode(Propose(plan.text, b"", b"")))


def test_a_party_that_gave_no_part_of_a_model_refuses_and_says_which(made):
    tables, bag = made
    with pytest.raises(ProtocolError, match="predicts by the model of 'net2' too, of which no part was given here"):
        proposed(answering(bag, tables, names=("net1",)), plan_of(bag))
    proposed(answering(bag, tables), plan_of(bag))


def test_a_party_refuses_a_number_of_trees_that_its_part_exceeds(made):
    tables, bag = made
    plan = plan_of(bag)
    few = tuple(msgspec.structs.replace(one, trees=1) for one in plan.method.bagged)
    false = Plan("a test", plan.members, Goal(), TreeParams(), msgspec.structs.replace(plan.method, bagged=few))
    with pytest.raises(ModelError, match="has 1 trees; this party's part has cuts of later ones"):
        proposed(answering(bag, tables), false)


def test_an_owner_holds_the_active_party_to_the_run_file_but_for_the_models(made):
    tables, bag = made
    own = part_of(bag.models["net1"], "bank2")
    known = Plan("a test", members(), Goal(), TreeParams(), Prediction("net1", own.model))
    proposed(answering(bag, tables, expected=known), plan_of(bag))
    proposed(answering(bag, tables, expected=known), known)
    sealed = Plan("a test", members(), Goal(), TreeParams(), SealedPrediction("net1", own.model, 65537))
    other_run = bagged_plan("another", members(), "net1", list(bag.models.values()))
    for strange in (sealed, other_run):
        with pytest.raises(PolicyError, match="is not the one this party knows"):
            proposed(answering(bag, tables, expected=known), strange)


def test_rows_are_counted_for_every_model_that_they_are_predicted_by(made):
    tables, bag = made
    log = AuditLog(None, "", "")
    party = answering(bag, tables, policy=Policy(most_predicted_rows=50), log=log)
    plan = plan_of(bag)
    proposed(party, plan)

    def ask(n):
        return party.answer(encode(AskKnown(tuple(f"x{i}" for i in range(n)))))

    ask(40)
    assert set(party.own_rows.ledger.predicted.values()) == {40}
    assert len(party.own_rows.ledger.predicted) == 2
    with pytest.raises(PolicyError, match="most_predicted_rows"):
        ask(40)


def switched(tables, bag):
    """Two parts, and the other model proposed once rows were named by the first; which rows are counted for it."""
    own, other = (part_of(bag.models[name], "bank2") for name in NETWORKS)
    party = answering(bag, tables)
    proposed(party, Plan("a test", members(), Goal(), TreeParams(), Prediction("net1", own.model)))
    party.answer(encode(AskKnown(tuple(texts_of(tables["bank2"])[:40]))))
    with pytest.raises(ProtocolError, match=r"another (plan|model) than"):
        proposed(party, Plan("a test", members(), Goal(), TreeParams(), Prediction("net1", other.model)))
    top = np.array([part_top(other)])
    ask = AskWays(*(name[top].astype(np.int32) for name in (other.tree, other.node)), np.ones(1, np.int32), FIRST)
    return party, encode(ask), other


FIRST = np.zeros(1, np.uint16)


def part_top(part):
    """A cut with no other of the party above it, which no other part has by the same name."""
    return next(i for i in np.lexsort((part.node, -part.tree)).tolist() if part.after[i] < 0)


def test_a_model_that_is_proposed_too_late_is_not_answered_by(made):
    """Rows are counted for the models of the plan when they are named; another model would be asked uncounted."""
    tables, bag = made
    party, _, other = switched(tables, bag)
    assert party.models == (part_of(bag.models["net1"], "bank2").model,)
    assert party.part.model != other.model
    assert len(party.own_rows.ledger.predicted) == 1


def test_a_party_that_took_the_other_model_first_would_answer_uncounted(made, monkeypatch):
    """The sabotage: its part is chosen before the plan is refused."""
    monkeypatch.setattr(
        AnsweringAll,
        "_consent",
        lambda self, request, frame: (self._choose(Plan.read(request.plan)), Answering._consent(self, request, frame))[
            1
        ],
    )
    tables, bag = made
    party, ask, other = switched(tables, bag)
    assert party.answer(ask)
    assert party.part.model == other.model
    assert not party.own_rows.ledger.predicted


def test_trees_that_the_active_party_makes_up_take_no_memory(made):
    tables, bag = made
    plan = plan_of(bag)
    first, second = plan.method.bagged
    many = (msgspec.structs.replace(first, trees=(1 << 31) - 1 - second.trees), second)
    party = answering(bag, tables)
    proposed(
        party, Plan("a test", plan.members, Goal(), TreeParams(), msgspec.structs.replace(plan.method, bagged=many))
    )
    party.answer(encode(AskKnown(("x",))))
    assert len(party.last) <= first.trees + second.trees
    more = (msgspec.structs.replace(first, trees=1 << 31), second)
    with pytest.raises(ParameterError, match=r"2\^31 trees or more"):
        Plan("a test", plan.members, Goal(), TreeParams(), msgspec.structs.replace(plan.method, bagged=more))


def test_a_part_that_knows_no_paths_does_not_open_the_others(made):
    """Else all cuts of a newer part could be asked about, by predicting with an older one beside it."""
    tables, bag = made
    first, second = (part_of(bag.models[name], "bank2") for name in NETWORKS)
    own = PartOwner("bank2", first, tables["bank2"], ALLOW_ALL, identity("bank2"))
    older = AnsweringAll(own, (replace(second, after=None),))
    with pytest.raises(ModelError, match="does not say how its splits lie below each other"):
        proposed(older, plan_of(bag))
    party = AnsweringAll(own, (second,))
    proposed(party, plan_of(bag))
    assert party.part.after is not None


def test_what_is_given_to_others_has_no_categories_of_passive_parties(made):
    _, bag = made
    model = bag.models["net1"]
    first, last = ownership_of(model).span("net1")
    theirs = int(np.flatnonzero((model.forest.columns >= last) & (model.forest.columns >= 0))[0])
    own = int(np.flatnonzero((model.forest.columns >= first) & (model.forest.columns < last))[0])
    sets = np.full(len(model.forest.columns), -1, np.int32)
    sets[[theirs, own]] = 0, 1
    words = np.array([[5, 0, 0, 0], [9, 0, 0, 0]], np.uint64)
    given = for_others(replace(model, forest=replace(model.forest, sets=sets, category_sets=words))).forest
    assert given.category_sets[given.sets[own]].tolist() == [9, 0, 0, 0]
    assert not (given.category_sets == 5).any()
    assert given.sets[theirs] == 0
    assert ((given.sets >= 0) == (sets >= 0)).all()


def test_a_plan_names_each_model_once_and_only_passive_parties_that_it_has():
    def plan(*models):
        return Plan("a test", members(), Goal(), TreeParams(), Prediction("net1", "00", models))

    with pytest.raises(ParameterError, match="The model of 'net2' needs 'bank9', which is no passive party"):
        plan(BaggedModel("aa", "net2", 3, ("bank9",)))
    with pytest.raises(ParameterError, match="has one of them twice"):
        plan(BaggedModel("aa", "net1", 3, ("bank1",)), BaggedModel("aa", "net2", 3, ("bank1",)))
    assert Plan.read((own := plan(BaggedModel("aa", "net1", 3, ("bank1",)))).text) == own


def test_one_part_of_each_model_is_given(made):
    tables, bag = made
    part = part_of(bag.models["net1"], "bank2")
    with pytest.raises(ModelError, match="Two of the parts are of one model"):
        AnsweringAll(PartOwner("bank2", part, tables["bank2"], ALLOW_ALL, identity("bank2")), (part,))


def test_whoever_is_left_out_must_be_a_passive_party_of_some_model(made):
    _, bag = made
    models = list(bag.models.values())
    assert present_in(models, "net1", ["bank3"]) == ("bank1", "bank2")
    with pytest.raises(ModelError, match="'net2' is no passive party of the models"):
        present_in(models, "net1", ["net2"])
    with pytest.raises(ModelError, match="'bank1' is a passive party of one of the models, and cannot predict by it"):
        present_in(models, "bank1", [])


# Parts with categories of their own


def test_each_model_keeps_the_categories_that_it_was_trained_with(made):
    _, bag = made
    first, second = (part_of(bag.models[name], "bank2") for name in NETWORKS)
    kinds = [Column("kind", "categorical", ("a", "b")), Column("kind", "categorical", ("b", "c"))]
    own = [with_column(part, column) for part, column in zip((first, second), kinds, strict=True)]
    listed = [BaggedModel(part.model, name, 5, ("bank2",)) for part, name in zip(own, NETWORKS, strict=True)]
    both = bagged_part(own, listed)
    assert [column.categories for column in both.columns if column.name == "kind"] == [("a", "b"), ("b", "c")]
    read_as = joined_columns([part.columns for part in own])
    table = Table(read_as, np.array([[i, 0.0] for i in range(3)], np.float32))
    codes = table.aligned(both.columns).values
    where = [j for j, column in enumerate(both.columns) if column.name == "kind"]
    assert codes[:2, where[0]].tolist() == [0, 1]
    assert np.isnan(codes[2, where[0]])
    assert codes[1:, where[1]].tolist() == [0, 1]
    assert np.isnan(codes[0, where[1]])


def with_column(part, column):
    """A part whose first column is this one."""
    return replace(part, columns=(column, *part.columns[1:]))
