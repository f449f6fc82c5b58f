"""Sums of the same rows are never opened for two sets of parties, whatever the driver does or suffers."""

import dataclasses

import msgspec
import numpy as np
import pytest

from federated import SMALL, Federation, Lossy, Stopped, params_of, refuses, same, step, two_class, until
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_answer, decode_request, encode
from hedgerow.data import partition
from hedgerow.errors import ParameterError, PartyLost, PolicyError, PrivacyError, ProtocolError
from hedgerow.protocols.horizontal.driver import drawn
from hedgerow.protocols.session.journal import Journal
from hedgerow.protocols.told_trees import cut_list
from hedgerow.storage.audit import AuditLog
from hedgerow.trees.splits import NO_CUTS

replace = msgspec.structs.replace
SEALED = {"protection": "lattice", "opener": "party2"}


def sets_by_step(fed):
    """For every step of every round, the sets of parties it was asked for."""
    found: dict[tuple, set] = {}
    for heard in fed.of("AskHistograms", "AskLeafSums"):
        found.setdefault((heard.message.round, heard.message.level), set()).add(heard.message.parties)
    return found


def lost_at_the_root(fed):
    """A transport that loses the first drawn party at the first request of round 1, and the draw."""
    draw = drawn(fed.plan, 1, range(7))
    name = fed.plan.names[draw[0]]
    lossy = Lossy(fed, lambda party, r: party == name and step(m.AskHistograms, 1, 0)(r))
    lossy.returning = False
    return lossy, draw


def drawn_federation(logs=None):
    return Federation(two_class(7, n=400), params_of(n_estimators=4), on_loss="continue", party_share=0.6, logs=logs)


def test_counts_are_not_given_for_fewer_parties_than_the_plan_has():
    fed = Federation(two_class(4), on_loss="continue")
    count = until(fed, lambda r: isinstance(r, m.AskCounts))
    introduce = fed.of("Introduce")[0].message
    party = fed.parties["party1"]
    party.answer(encode(replace(introduce, attempt=7, keys=introduce.keys[:3])))
    party.answer(fed.of("Agree")[0].frame)
    with pytest.raises(PrivacyError, match="over all parties of the plan or not at all"):
        party.answer(encode(replace(count, step=1)))


def test_the_loss_of_a_party_that_was_not_drawn_does_not_open_a_sum_twice():
    fed = drawn_federation()
    outside = next(i for i in range(7) if i not in drawn(fed.plan, 1, range(7)))
    name = fed.plan.names[outside]
    lossy = Lossy(fed, lambda party, r: party == name and step(m.AskHistograms, 1, 0)(r))
    lossy.returning = False
    _, state = fed.run(transport=lossy)
    assert state.losses == ((1, (name,)),)
    assert {len(sets) for sets in sets_by_step(fed).values()} == {1}


def test_the_loss_of_a_drawn_party_leaves_the_others_of_its_draw():
    fed = drawn_federation()
    lossy, draw = lost_at_the_root(fed)
    fed.run(transport=lossy)
    assert sets_by_step(fed)[1, 0] == {draw, draw[1:]}


def test_a_party_that_is_merely_late_is_waited_for_even_where_a_lost_one_is_not():
    fed = Federation(two_class(5), on_loss="continue")
    late = []

    class Late(Lossy):
        def here(self):
            return frozenset(fed.tables)

    def lose(party, request):
        first = party == "party5" and step(m.AskHistograms, 1, 0)(request) and not late
        late.extend(["once"] if first else [])
        return first

    model, state = fed.run(transport=Late(fed, lose))
    assert (state.losses, state.attempt) == ((), 2)
    assert same(model, Federation(two_class(5)).model())


@pytest.mark.parametrize("how", [{"party_share": 0.75}, {"on_loss": "continue"}])
def test_a_random_forest_of_masked_parties_keeps_one_set(how):
    """Its gradients never change, so sums over two sets would differ by one party's own."""
    with pytest.raises(ParameterError, match="same gradients"):
        Federation(two_class(4), params_of(average=True), **how)
    Federation(two_class(4), params_of(average=True), protection="plain", **how)


def test_an_owners_fewest_parties_hold_for_every_sum():
    policy = Policy(fewest_parties=5, allow_continue=True, min_cut_rows=1, allow_two=False)
    fed = Federation(two_class(5), policy=policy, on_loss="continue")
    lossy = Lossy(fed, lambda party, r: party == "party5" and step(m.AskHistograms, 1, 0)(r))
    lossy.returning = False
    with pytest.raises(PrivacyError, match="at least 5 must take part"):
        fed.run(transport=lossy)


def test_two_parties_consented_to_in_the_plan_alone_are_not_enough():
    policy = Policy(fewest_parties=2, min_cut_rows=1)
    with pytest.raises(PolicyError, match="fewest_parties"):
        Federation(two_class(2), policy=policy, allow_two=True).run()


@pytest.mark.parametrize("what", ["low", "base", "cuts"])
def test_what_was_fixed_before_the_first_tree_cannot_be_changed(what):
    fed = Federation(two_class(3))
    until(fed, step(m.NextRound))
    begin = fed.of("Begin")[0].message
    changed = replace(begin, **{what: np.sort(begin.cuts + 1) if what == "cuts" else getattr(begin, what) - 0.5})
    with pytest.raises(PrivacyError, match="changes cut points and ranges in the middle"):
        fed.parties["party1"].answer(encode(changed))


def test_the_agreement_cannot_be_changed():
    fed = Federation(two_class(3))
    until(fed, lambda r: isinstance(r, m.Begin))
    agree = fed.of("Agree")[0].message
    with pytest.raises(PrivacyError, match="changes columns and classes"):
        fed.parties["party1"].answer(encode(replace(agree, columns=agree.columns[:-1])))


@pytest.mark.parametrize("classes", [(0,), (1,), (), (0, 2)])
def test_an_agreement_that_leaves_out_a_class_is_refused_without_a_number(classes):
    fed = Federation(two_class(3))
    agree = until(fed, lambda r: isinstance(r, m.Agree))
    with pytest.raises(ProtocolError, match="not those of all parties") as refusal:
        fed.parties["party1"].answer(encode(replace(agree, classes=classes)))
    assert not any(letter.isdigit() for letter in str(refusal.value))


def test_a_party_that_was_left_out_stays_out_after_a_restart():
    logs = {f"party{i}": AuditLog(None, "a test", f"party{i}") for i in range(1, 6)}
    fed = Federation(two_class(5), on_loss="continue", logs=logs)
    request = until(fed, lambda r: isinstance(r, m.Introduce))
    fed.parties["party1"].answer(encode(replace(request, keys=request.keys[:4])))
    fed.restart("party1")
    fresh = fed.parties["party1"]
    consent = decode_answer(fresh.answer(fed.of("Propose")[0].frame), 1 << 20)
    own = replace(request.keys[0], public_key=consent.public_key, signature=consent.signature)
    with pytest.raises(PrivacyError, match="brings back a party"):
        fresh.answer(encode(replace(request, attempt=9, keys=(own, *request.keys[1:]))))


def test_an_introduction_that_is_refused_changes_nothing():
    fed = Federation(two_class(5), on_loss="continue")
    request = until(fed, step(m.AskHistograms, 1, 0))
    introduce, party = fed.of("Introduce")[0].message, fed.parties["party1"]
    for fewer in (replace(introduce, keys=introduce.keys[:4]), introduce):
        refuses(party, fewer, "repeats an attempt", PrivacyError)
    assert party.steps.alive == (0, 1, 2, 3, 4)
    assert request.parties == party.steps.alive
    party.answer(encode(request))


def test_a_driver_that_dies_when_a_tree_was_closed_goes_on_after_it():
    fed, states = Federation(two_class(5), on_loss="continue"), []
    lossy = Lossy(fed, lambda party, r: party == "party5" and step(m.AskHistograms, 1, 1)(r))
    lossy.returning = False

    def keep(state):
        states.append(state)
        if len(state.parts) == 2 and state.losses:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fed.run(transport=lossy, keep=keep)
    model, state = fed.run(states[-1], transport=lossy)
    assert model.n_rounds == SMALL.n_estimators
    assert state.present == ("party1", "party2", "party3", "party4")
    assert max(len(sets) for sets in sets_by_step(fed).values()) == 1


@pytest.mark.parametrize("how", [{}, SEALED], ids=["masked", "sealed"])
@pytest.mark.parametrize("metric", ["logloss", "auc"])
def test_a_first_tree_that_was_closed_when_the_driver_died_counts_among_the_rounds(how, metric):
    training, validation = partition.hold_out(two_class(5, n=400), 0.25)
    goal = Goal(follow=True, eval_metric=metric, early_stopping_rounds=2)
    fed, states = Federation(training, params_of(), goal, validation, on_loss="continue", **how), []

    def lose(party, request):
        asked = decode_request(request.request) if isinstance(request, m.FromOpener) else request
        return party == "party5" and step(m.AskHistograms, 0, 1)(asked)

    def keep(state):
        states.append(state)
        if len(state.parts) == 1:
            raise KeyboardInterrupt

    lossy = Lossy(fed, lose)
    lossy.returning = False
    with pytest.raises(KeyboardInterrupt):
        fed.run(transport=lossy, keep=keep)
    model, state = fed.run(states[-1], transport=lossy)
    best = (max if metric == "auc" else min)(state.history[1:])
    assert len(state.history) == 3
    assert model.history == state.history
    assert model.n_rounds == state.history.index(best) + 1
    assert state.history[0] == pytest.approx(state.history[1])


LOST = {
    "root": (step(m.AskHistograms, 1, 0), step(m.AskHistograms, 1, 1)),
    "root, before anybody hears of it": (step(m.AskHistograms, 1, 0), lambda r: r.parties == (0, 1, 2, 3)),
    "finish": (step(m.FinishRound, 1), step(m.AskHistograms, 2, 0)),
    "finish, before anybody hears of it": (step(m.FinishRound, 1), step(m.FinishRound, 1)),
}


class Dying(Lossy):
    """Loses the fifth party at a request, and stops the driver at a later one."""

    def __init__(self, fed, lost, dies) -> None:
        super().__init__(fed, lambda party, r: party == "party5" and self.asks(lost, r))
        self.dies, self.returning, self.alive = dies, False, True

    def asks(self, here, request):
        asked = decode_request(request.request) if isinstance(request, m.FromOpener) else request
        return hasattr(asked, "level") and here(asked)

    def carry(self, frames, deadline, most_bytes):
        if self.alive and self.gone and self.asks(self.dies, decode_request(next(iter(frames.values())))):
            self.alive = False
            raise Stopped
        return super().carry(frames, deadline, most_bytes)


@pytest.mark.parametrize("how", [{}, SEALED], ids=["masked", "sealed"])
@pytest.mark.parametrize("stage", LOST)
def test_a_driver_that_dies_after_it_went_on_without_a_party_is_resumed_without_it(stage, how):
    logs = {f"party{i}": AuditLog(None, "a test", f"party{i}") for i in range(1, 6)}
    fed, states = Federation(two_class(5), on_loss="continue", logs=logs, **how), []
    transport = Dying(fed, *LOST[stage])
    with pytest.raises(Stopped):
        fed.run(transport=transport, keep=states.append)
    model, state = fed.run(states[-1], transport=transport)
    assert model.n_rounds == SMALL.n_estimators
    assert (state.present, state.losses) == (("party1", "party2", "party3", "party4"), ((1, ("party5",)),))
    undisturbed = Federation(two_class(5), on_loss="continue", **how)
    assert same(model, undisturbed.model(transport=Dying(undisturbed, LOST[stage][0], lambda _: False)))


def test_a_party_that_the_run_went_on_without_is_not_brought_back():
    logs = {f"party{i}": AuditLog(None, "a test", f"party{i}") for i in range(1, 6)}
    fed = Federation(two_class(5), on_loss="continue", logs=logs)
    with pytest.raises(Stopped):
        fed.run(transport=Dying(fed, *LOST["root"]))
    introduce = fed.of("Introduce")[0].message
    with pytest.raises(PrivacyError, match="brings back a party"):
        fed.parties["party1"].answer(encode(replace(introduce, attempt=9)))
    assert Journal(logs["party1"], fed.plan.digest.hex()).members == {"party1", "party2", "party3", "party4"}


def test_attempts_that_lead_nowhere_end():
    fed = Federation(two_class(3))
    with pytest.raises(PartyLost, match="10 attempts in a row ended without a new tree"):
        fed.run(transport=Lossy(fed, lambda party, r: party == "party2" and isinstance(r, m.AskLeafSums)))


def test_every_refusal_is_noted_in_the_log():
    logs = {f"party{i}": AuditLog(None, "a test", f"party{i}") for i in range(1, 4)}
    fed = Federation(two_class(3), logs=logs, policy=ALLOW_ALL)
    agree = until(fed, lambda r: isinstance(r, m.Agree))
    with pytest.raises(ProtocolError, match="not those of all parties"):
        fed.parties["party1"].answer(encode(replace(agree, classes=(1,))))
    assert [line["error"] for line in logs["party1"].lines() if line["event"] == "refused"] == ["ProtocolError"]


# Drawn parties, of which one is lost


@pytest.mark.parametrize("killed", [step(m.AskHistograms, 1, 0), step(m.AskHistograms, 1, 2), step(m.FinishRound, 1)])
def test_a_driver_killed_in_the_tree_that_lost_a_drawn_party_is_resumed_without_it(killed):
    logs = {f"party{i}": AuditLog(None, "a test", f"party{i}") for i in range(1, 8)}
    expected, fed, kept = drawn_federation(), drawn_federation(logs), []
    whole = expected.model(transport=lost_at_the_root(expected)[0])
    lossy, draw = lost_at_the_root(fed)

    def dies(party, request):
        if killed(request) and request.parties != draw:
            raise Stopped
        return party == fed.plan.names[draw[0]] and step(m.AskHistograms, 1, 0)(request)

    lossy.lose = dies
    with pytest.raises(Stopped):
        fed.run(transport=lossy, keep=kept.append)
    assert kept[-1].present == tuple(name for name in fed.plan.names if name != fed.plan.names[draw[0]])
    assert same(fed.model(state=kept[-1]), whole)
    assert sets_by_step(fed)[1, 1] == {draw[1:]}


def test_a_late_party_in_a_tree_that_lost_a_drawn_one_is_waited_for():
    expected, fed, times = drawn_federation(), drawn_federation(), []
    whole = expected.model(transport=lost_at_the_root(expected)[0])
    draw = drawn(fed.plan, 1, range(7))
    gone, late = fed.plan.names[draw[0]], fed.plan.names[draw[1]]

    class Late(Lossy):
        def here(self):
            return frozenset(fed.tables) - (self.gone & {gone})

        def wait(self, parties, deadline):
            self.gone -= {late}
            return parties & frozenset(self.gone)

    def lose(party, request):
        first = party == late and step(m.AskHistograms, 1, 1)(request) and not times
        times.extend(["late"] if first else [])
        return first or (party == gone and step(m.AskHistograms, 1, 0)(request))

    model, state = fed.run(transport=Late(fed, lose))
    assert (state.attempt, state.losses) == (2, ((1, (gone,)),))
    assert same(model, whole)


def test_others_join_a_draw_only_where_too_few_of_it_are_left():
    plan = Federation(two_class(7, n=400), party_share=0.6).plan
    for round_ in range(30):
        whole = drawn(plan, round_, range(7))
        assert len(whole) == 4
        for out in range(7):
            left = [p for p in range(7) if p != out]
            assert drawn(plan, round_, left) == tuple(p for p in whole if p != out)
        two = [p for p in range(7) if p not in whole[:2]]
        assert len(drawn(plan, round_, two)) == 3
        assert set(whole[2:]) < set(drawn(plan, round_, two)) <= set(two)


# A driver that feigns losses

ROOT = m.NodeList(np.zeros(1, np.int64), np.zeros(1, np.int64))
CAREFUL = Policy(allow_continue=True, allow_party_sampling=True, min_cut_rows=1)


@pytest.mark.parametrize("finishes", [False, True])
@pytest.mark.parametrize("parties", [(), (1, 2, 3)])
def test_nobody_is_asked_as_if_it_or_everybody_were_lost(parties, finishes):
    """Who would write down that nobody is left could be told afterwards that everybody is back."""
    fed = Federation(two_class(5), on_loss="continue", policy=CAREFUL)
    kind = step(m.FinishRound, 1) if finishes else step(m.AskHistograms, 1, 0)
    request, party = until(fed, kind), fed.parties["party1"]
    error, match = (ProtocolError, "not as the plan says") if not parties else (PrivacyError, "as if it were lost")
    refuses(party, replace(request, parties=parties), match, error)
    assert party.journal.members == frozenset(fed.plan.names)
    assert party.steps.alive == (0, 1, 2, 3, 4)


def test_a_journal_that_lists_nobody_lets_nobody_back_in():
    log = AuditLog(None, "a test", "party1")
    journal = Journal(log, "run")
    journal.introduce(1, ["party1", "party2"])
    journal.leave_out([])
    for again in (journal, Journal(log, "run")):
        with pytest.raises(PrivacyError, match="brings back a party"):
            again.introduce(2, ["party1", "party2"])


def test_a_draw_is_not_forced_on_three_parties_by_introducing_no_others():
    """A driver and two parties would read the sums of the third in every tree."""
    fed = Federation(two_class(8, n=640), on_loss="continue", party_share=0.5, policy=CAREFUL)
    until(fed, step(m.AskHistograms, 0, 0))
    introduce, agree, begin = (fed.of(kind)[0] for kind in ("Introduce", "Agree", "Begin"))
    three = ["party1", "party2", "party3"]
    fewer = replace(introduce.message, attempt=2, keys=tuple(k for k in introduce.message.keys if k.name in three))
    for frame in (encode(fewer), agree.frame, begin.frame):
        fed.parties["party1"].answer(frame)
    assert drawn(fed.plan, 0, range(3)) == (0, 1, 2)
    request = m.AskHistograms(0, 0, (0, 1, 2), cut_list(NO_CUTS), ROOT)
    refuses(fed.parties["party1"], request, "Only 3 parties are left, too few", PrivacyError)


def test_a_driver_does_not_go_on_with_fewer_parties_than_a_draw_of_three_needs():
    fed = Federation(two_class(8, n=640), params_of(n_estimators=3), on_loss="continue", party_share=0.5)
    gone = {"party1", "party2", "party3"}
    lossy = Lossy(fed, lambda party, r: party in gone and step(m.AskHistograms, 1, 1)(r))
    lossy.returning, told = False, []
    with pytest.raises(PartyLost, match="did not come back"):
        fed.run(transport=lossy, tell=told.append)
    assert "only 5 parties remain; at least 6 must" in told[0]


def test_an_owner_who_wants_more_than_three_refuses_draws_that_may_shrink():
    policy = dataclasses.replace(CAREFUL, fewest_parties=4)
    for more in ({"on_loss": "wait", "party_share": 0.6}, {"on_loss": "continue"}):
        Federation(two_class(7, n=400), params_of(n_estimators=2), policy=policy, **more).model()
    with pytest.raises(PolicyError, match=r"may grow trees from three parties after a loss.*\(fewest_parties\)"):
        Federation(two_class(7, n=400), policy=policy, on_loss="continue", party_share=0.6).model()


@pytest.mark.parametrize("round_", [-1, 1 << 61, (1 << 63) - 1])
def test_a_round_beyond_the_plans_is_refused_before_anybody_is_drawn(round_):
    fed = drawn_federation()
    request = until(fed, step(m.AskHistograms, 1, 0))
    refuses(fed.parties["party1"], replace(request, round=round_), "not among those of the plan")


def test_plain_sums_over_nobody_are_not_asked_for():
    fed = Federation(two_class(3), params_of(n_estimators=3), on_loss="continue", party_share=0.34, protection="plain")
    name = fed.plan.names[drawn(fed.plan, 1, range(3))[0]]
    lossy = Lossy(fed, lambda party, r: party == name and step(m.AskHistograms, 1, 0)(r))
    lossy.returning = False
    with pytest.raises(PartyLost, match="did not come back"):
        fed.run(transport=lossy)
    assert () not in {heard.message.parties for heard in fed.of("AskHistograms")}
