"""Prediction by asking: rows that a party lacks, what a passive party refuses, parts that do not belong together."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from asked import Prediction, trained
from federated import Federation, changed, labels, method_of, params_of, refuses, values
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor.messages import AskKnown, AskWays, Done, EndRound, Farewell, Known, Propose, Sides
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ModelError, ParameterError, PolicyError, ProtocolError
from hedgerow.model import part as parts
from hedgerow.protocols.predict import active as predict
from hedgerow.protocols.predict.active import MOST_ROWS, asked
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.predict.passive import Answering
from hedgerow.storage.audit import AuditLog
from hedgerow.trees.params import TreeParams

N = 150


def parties_of(seed=0, n=N):
    X, signal = values(n, seed=seed)
    table = Table.of(X, labels("two", signal), ids=[f"p{seed}-{i}" for i in range(n)])
    return partition.columns(table, share=[[4], [0, 1], [2, 3]])


@pytest.fixture(scope="module")
def made():
    return trained(parties_of(), params_of(n_estimators=4))


@pytest.fixture
def rows():
    return parties_of(seed=1, n=60)


def depth_of(forest):
    level, depth = forest.roots[:-1], -1
    while len(level):
        depth += 1
        cuts = level[forest.columns[level] >= 0]
        level = np.concatenate([forest.children[cuts], forest.children[cuts] + 1])
    return depth


def without(table, lost):
    """The values of a table, missing in the rows that are lost."""
    gone = table.values.copy()
    gone[lost] = np.nan
    return replace(table, values=gone)


# Exchanges


def test_there_is_at_most_one_exchange_a_level_for_all_rows_and_trees(made, rows):
    asked = Prediction(*made, rows)
    asked.leaves()
    exchanges = {name: sum(h.receiver == name for h in asked.of("AskWays")) for name in asked.present}
    assert len(asked.of("AskKnown")) == len(asked.present) == 2
    assert min(exchanges.values()) >= 1
    assert max(exchanges.values()) <= depth_of(made[0].forest) == 3
    trees = {int(tree) for h in asked.of("AskWays") for tree in h.message.tree}
    assert trees == set(range(made[0].forest.n_trees))


def test_one_question_after_the_other_would_be_an_exchange_for_each_tree(made, rows):
    """The sabotage: the count above tells serial asking from asking together."""
    asked = Prediction(*made, rows)
    asked.leaves(together=1)
    exchanges = {name: sum(h.receiver == name for h in asked.of("AskWays")) for name in asked.present}
    assert max(exchanges.values()) > depth_of(made[0].forest)


def test_many_rows_go_in_batches_to_the_same_leaves(made, rows, monkeypatch):
    whole = Prediction(*made, rows).leaves()
    monkeypatch.setattr(predict, "MOST_PLACES", 4 * 7)
    in_batches = Prediction(*made, rows)
    assert np.array_equal(in_batches.leaves(), whole)
    assert {len(h.message.ids) for h in in_batches.of("AskKnown")} == {7, 60 % 7}


def test_a_row_may_be_asked_about_twice(made, rows):
    twice = {"party1": rows["party1"].take([5, 5, 7]), **{name: rows[name] for name in ("party2", "party3")}}
    whole = Prediction(*made, rows).leaves()
    assert np.array_equal(Prediction(*made, twice).leaves(), whole[[5, 5, 7]])


def test_a_model_whose_trees_cut_own_columns_only_asks_nobody(made, rows):
    model = made[0]
    own = replace(model.ownership, columns=(("party1", 5), ("party2", 0)))
    alone = replace(model, ownership=replace(own, whole=True))
    assert asked(alone) == ()
    assert asked(model) == ("party2", "party3")


# Rows that a party lacks


def test_rows_that_a_party_lacks_go_the_default_way_as_missing_values_do(made, rows):
    lost = np.arange(60) % 3 == 0
    fewer = {**rows, "party2": rows["party2"].take(~lost)}
    asking = Prediction(*made, fewer).asking()
    leaves = asking.leaves(rows["party1"])
    assert asking.unknown == {"party1": 0, "party2": 20, "party3": 0}
    assert np.array_equal(leaves, Prediction(*made, {**rows, "party2": without(rows["party2"], lost)}).leaves())
    assert not np.array_equal(leaves, Prediction(*made, rows).leaves())


def test_where_no_direction_was_learnt_unknown_rows_go_left():
    X, signal = values(N, missing=0)
    parties = partition.columns(Table.of(X, labels("two", signal), ids=np.arange(N)), share=[[4], [0, 1, 2, 3]])
    model, own = trained(parties, params_of(n_estimators=1))
    assert model.forest.missing_left[model.forest.columns > 0].all()
    leaves = Prediction(model, own, {**parties, "party2": replace(parties["party2"], ids=np.arange(N) + N)}).leaves()
    forest, at = model.forest, 0
    while forest.columns[at] > 0:
        at = forest.children[at]
    assert at > 0, "the first cut is the passive party's"
    assert forest.columns[at] == -1, "and so are those on the way left"
    assert (leaves == at).all()


def test_an_absent_party_counts_as_having_no_row(made, rows):
    absent = Prediction(*made, rows, absent=("party3",))
    gone = {**rows, "party3": without(rows["party3"], np.ones(60, bool))}
    assert np.array_equal(absent.leaves(), Prediction(*made, gone).leaves())
    assert {h.receiver for h in absent.heard} == {"party2", "driver"}
    with pytest.raises(ModelError, match="'party1' is no passive party of the model"):
        Prediction(*made, rows, absent=("party1",))
    with pytest.raises(ModelError, match="'nobody' is no passive party of the model"):
        Prediction(*made, rows, absent=("nobody",))


def test_ids_that_repeat_are_refused_with_a_count(made, rows):
    table = rows["party2"]
    with pytest.raises(DataError, match="3 of the 63 ids repeat an earlier one"):
        Prediction(*made, {**rows, "party2": table.take([*range(60), 0, 1, 1])})


# Parts


def test_parts_of_different_models_are_not_mixed(made, rows):
    """Two runs over the same rows give the same trees, and still two models."""
    model, own = made
    other, others = trained(parties_of(), params_of(n_estimators=4))
    assert other.forest == model.forest
    assert other.ownership.model != model.ownership.model
    assert {part.model for part in own.values()} == {model.ownership.model}
    with pytest.raises(ProtocolError, match="another model than the one that this party has a part of"):
        Prediction(model, {**own, "party3": others["party3"]}, rows).consented()
    with pytest.raises(ModelError, match="different models and cannot be mixed"):
        parts.joined(model, others)
    with pytest.raises(ModelError, match="different models and cannot be mixed"):
        parts.joined(model, {**own, "party3": others["party3"]})


def test_another_partys_part_is_refused(made, rows):
    with pytest.raises(ModelError, match="The part is that of 'party3', not of 'party2'"):
        Prediction(made[0], {**made[1], "party2": made[1]["party3"]}, rows)


def test_a_part_comes_back_to_the_last_bit_and_a_damaged_one_does_not(made):
    part = made[1]["party2"]
    again = parts.decoded(parts.encoded(part), "it")
    for name in ("tree", "node", "column", "thresholds", "missing_left", "sets", "after"):
        assert np.array_equal(getattr(again, name), getattr(part, name))
        assert getattr(again, name).dtype == getattr(part, name).dtype
    double = replace(part, tree=part.tree * 0, node=part.node * 0)
    with pytest.raises(ModelError, match="cuts a node twice"):
        parts.decoded(parts.encoded(double), "it")
    with pytest.raises(ModelError, match="its hash does not fit"):
        parts.decoded(parts.encoded(part).replace(b"true", b"false"), "it")
    with pytest.raises(ModelError, match="is of version 1; this hedgerow reads versions 2 to 4"):
        parts.decoded(parts.encoded(part).replace(b'"hedgerow part":4', b'"hedgerow part":1'), "it")


def test_the_parts_of_trees_that_were_left_off_are_not_kept():
    X, signal = values(300)
    table = Table.of(X, labels("two", signal), ids=np.arange(300))
    share = [[4], [0, 1], [2, 3]]
    train, valid = (partition.columns(table.take(rows), share=share) for rows in (np.arange(200), np.arange(200, 300)))
    goal = Goal(follow=True, early_stopping_rounds=2)
    fed = Federation(train, params_of(n_estimators=12, learning_rate=0.9), goal, valid, method="vertical",
                     protection="plain", active="party1")  # fmt: skip
    model = fed.model()
    assert model.forest.n_trees < 12
    assert max(int(parts.decoded(part, "it").tree.max()) for part in fed.kept.values()) < model.forest.n_trees


def test_the_active_partys_model_alone_predicts_nothing(made, rows):
    table = rows["party1"]
    with pytest.raises(ModelError, match="columns of 'party2', 'party3' are cut is not in this model"):
        made[0].predict(table)
    whole = parts.joined(*made)
    assert whole.ownership.whole
    assert not parts.joined(made[0], {"party2": made[1]["party2"]}).ownership.whole


# Refusals of a passive party


@pytest.fixture
def party(made, rows):
    """A passive party that was told the rows, and the first question it would hear next."""
    asked = Prediction(*made, rows)
    asked.leaves()
    fresh = Prediction(*made, {**rows, "party2": rows["party2"].take(np.arange(50))}).consented()
    own = fresh.answering["party2"]
    own.answer(encode(AskKnown(tuple(rows["party1"].ids.tolist()))))
    question = next(h.message for h in asked.of("AskWays") if h.receiver == "party2")
    known = np.flatnonzero(question.rows < 50)
    first = AskWays(question.tree[:1], question.node[:1], np.array([2], np.int32), question.rows[known[:2]])
    return own, first


def with_(request, **more):
    return msgspec.structs.replace(request, **more)


ILL_FORMED = {
    "no cut": {"tree": np.empty(0, np.int32), "node": np.empty(0, np.int32), "n_rows": np.empty(0, np.int32)},
    "lists of different sizes": {"node": np.array([0, 1], np.int32)},
    "too few rows": {"n_rows": np.array([3], np.int32)},
    "a cut without rows": {"n_rows": np.array([0], np.int32), "rows": np.empty(0, np.uint16)},
    "fewer than no rows": {"n_rows": np.array([-1], np.int32)},
}


@pytest.mark.parametrize("what", ILL_FORMED)
def test_a_list_of_cuts_that_is_not_well_formed_is_refused(party, what):
    refuses(party[0], with_(party[1], **ILL_FORMED[what]), "list of cuts is not well formed")


@pytest.mark.parametrize("change", [{"tree": np.array([99], np.int32)}, {"node": np.array([-1], np.int32)}])
def test_a_cut_that_is_not_in_the_part_is_refused(party, change):
    refuses(party[0], with_(party[1], **change), "a cut that is not in this party's part")


def test_another_partys_cut_is_refused(party, made):
    other = made[1]["party3"]
    request = with_(party[1], tree=other.tree[:1].astype(np.int32), node=other.node[:1].astype(np.int32))
    refuses(party[0], request, "a cut that is not in this party's part")


@pytest.mark.parametrize("row", [60, 2**16 - 1, 55])
def test_a_row_that_was_not_named_or_is_not_here_is_refused(party, row):
    refuses(party[0], with_(party[1], rows=changed(party[1].rows, 0, row)), "a row that it did not name")


def test_a_row_goes_down_a_tree_and_is_at_one_node_of_it(party):
    own, first = party
    refuses(own, with_(first, rows=first.rows[[0, 0]]), "not the next on its path")
    own.answer(encode(first))
    refuses(own, first, "not the next on its path")


def test_rows_are_named_before_they_are_asked_about(made, rows, party):
    fresh = Prediction(*made, rows)
    refuses(fresh.answering["party2"], party[1], "before this party has consented")
    refuses(fresh.consented().answering["party2"], party[1], "a row that it did not name")


def test_no_batch_is_larger_than_agreed_and_none_is_empty(made, rows):
    own = Prediction(*made, rows).consented().answering["party2"]
    refuses(own, AskKnown(()), "asks about 0 rows at once")
    refuses(own, AskKnown(("x",) * (MOST_ROWS + 1)), "rows at once, which no batch has")


@pytest.mark.parametrize("training", [Farewell(b""), EndRound(0)], ids=lambda request: type(request).__name__)
def test_what_belongs_to_training_is_refused(made, rows, training):
    own = Prediction(*made, rows).consented().answering["party2"]
    refuses(own, training, f"to predict, does not allow {type(training).__name__}")


def test_a_plan_of_training_is_refused(made, rows):
    fresh = Prediction(*made, rows)
    more = {"method": "vertical", "protection": "plain", "active": "party1"}
    plan = Plan("a test", fresh.plan.members, Goal(), TreeParams(), method_of(**more))
    fresh.group.plan = plan
    with pytest.raises(ProtocolError, match="another model"):
        fresh.consented()


def test_a_party_that_trains_does_not_consent_to_a_prediction(made, rows):
    """Its policy says what a training may show, and a prediction's rules are others."""
    fed = Federation(parties_of(), params_of(), method="vertical", protection="plain", active="party1")
    plan = Prediction(*made, rows).plan
    refuses(fed.parties["party2"], Propose(plan.text, b"", b""), "this party is here to train")


def test_a_plan_of_a_prediction_names_the_active_party_and_the_model():
    members = (Member("a", "1"), Member("b", "2"))
    for active, model in (("c", "id"), ("a", "")):
        with pytest.raises(ParameterError, match="has an active party among them, and a model's id"):
            predict.plan_of("x", members, active, model)


# Policies and logs


def test_a_policy_refuses_predictions_or_limits_their_rows(made, rows):
    with pytest.raises(PolicyError, match=r"policy refuses \(allow_prediction\)"):
        Prediction(*made, rows, Policy(allow_prediction=False)).consented()
    assert Prediction(*made, rows, Policy(most_predicted_rows=60)).leaves().shape == (60, 4)
    with pytest.raises(PolicyError, match="most_predicted_rows"):
        Prediction(*made, rows, Policy(most_predicted_rows=59)).leaves()


def test_the_limit_is_over_all_batches(made, rows, monkeypatch):
    monkeypatch.setattr(predict, "MOST_PLACES", 4 * 20)
    with pytest.raises(PolicyError, match="most_predicted_rows"):
        Prediction(*made, rows, Policy(most_predicted_rows=59)).leaves()


def test_a_policy_that_keeps_a_cut_column_back_refuses(made, rows):
    name = rows["party2"].names[0]
    own = PartOwner("party2", made[1]["party2"], rows["party2"], Policy(columns=("another",)), None)
    with pytest.raises(PolicyError, match=r"does not give \(columns\)"):
        Answering(own)
    assert name in {made[1]["party2"].columns[j].name for j in made[1]["party2"].column}


def test_the_owners_log_counts_what_was_asked_and_told(made, rows):
    log = AuditLog(None, "run", "party2")
    asked = Prediction(*made, rows, ALLOW_ALL, logs={"party2": log})
    asked.leaves()
    lines = list(log.lines())
    assert [(line["rows"], line["known"]) for line in lines if line["event"] == "rows asked about"] == [(60, 60)]
    told = sum(line["ways"] for line in lines if line["event"] == "ways told")
    cut_by_cut = Prediction(made[0], {name: replace(part, after=None) for name, part in made[1].items()}, rows)
    cut_by_cut.leaves()
    assert told == sum(len(h.message.rows) for h in cut_by_cut.of("AskWays") if h.receiver == "party2") > 0
    assert [line["type"] for line in lines if line["event"] == "sent"][:2] == ["Consent", "Known"]
    assert not [line for line in lines if "p1-" in str(line)], "no id is written down"
    with pytest.raises(ProtocolError, match="rows at once"):
        asked.answering["party2"].answer(encode(AskKnown(())))
    assert list(log.lines())[-1]["event"] == "refused"


# Answers that cannot be


def test_answers_of_a_wrong_size_or_kind_are_refused_by_name(made, rows, monkeypatch):
    monkeypatch.setattr(Answering, "_ways", lambda *_: Sides(np.empty(0, np.uint8)))
    with pytest.raises(ProtocolError, match=r"Party 'party[23]' did not tell which way the rows go"):
        Prediction(*made, rows).leaves()
    monkeypatch.setattr(Answering, "_ways", lambda *_: Done())
    with pytest.raises(ProtocolError, match=r"Party 'party[23]' answered Done where Sides was asked for"):
        Prediction(*made, rows).leaves()
    monkeypatch.setattr(Answering, "_known", lambda *_: Known(np.zeros(1, np.uint8)))
    with pytest.raises(ProtocolError, match=r"Party 'party[23]' did not tell which of the rows it has"):
        Prediction(*made, rows).leaves()
