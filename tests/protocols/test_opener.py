"""Who may ask what where one party opens the sums, and parties that are lost on the way."""

import gc
import threading
from functools import cache

import msgspec
import numpy as np
import pytest

from federated import Federation, Lossy, Stopped, identity, params_of, refuses, same, two_class, until
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import Policy
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_answer, decode_request, encode
from hedgerow.errors import CipherError, IdentityError, PartyLost, PolicyError, PrivacyError, ProtocolError
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.protocols.driver import State
from hedgerow.protocols.opener.packing import SealedVector, word_bits
from hedgerow.protocols.opener.relay import OPENER, signed
from hedgerow.storage.audit import AuditLog

PARAMS = params_of(n_estimators=2, max_depth=2, min_cut_rows=30)


def sealed(n=4, opener="party2", **more):
    return Federation(two_class(n, n=320), PARAMS, protection="lattice", opener=opener, **more)


def inner(request):
    """What the opener asks, if this is it."""
    return decode_request(request.request) if isinstance(request, m.FromOpener) else request


def at(kind, round_=1, level=None):
    def here(request):
        asked = inner(request)
        return isinstance(asked, kind) and asked.round == round_ and level in (None, asked.level)

    return here


STAGES = {
    "root": at(m.AskHistograms, level=0),
    "second level": at(m.AskHistograms, level=1),
    "leaf sums": at(m.AskLeafSums),
    "finish": at(m.FinishRound),
}


def once(stage, *names):
    lost: set[str] = set()

    def lose(name, request):
        gone = name in names and name not in lost and stage(request)
        lost.update({name} if gone else ())
        return gone

    return lose


# Losses


@cache
def undisturbed():
    return Federation(two_class(4, n=320), PARAMS).model()


@pytest.mark.parametrize(("stage", "lost"), [*((stage, "party2") for stage in STAGES), ("second level", "party1")])
def test_a_party_that_comes_back_leaves_no_trace_even_if_it_is_the_opener(stage, lost):
    fed = sealed()

    class Restarting(Lossy):
        def wait(self, parties, deadline):
            for name in parties & self.gone:
                fed.restart(name)
            return super().wait(parties, deadline)

    model, state = fed.run(transport=Restarting(fed, once(STAGES[stage], lost)))
    assert state.attempt == 2
    assert same(model, undisturbed())


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_goes_on_opens_each_tree_for_one_set_and_is_the_masked_one(stage):
    lose = once(STAGES[stage], "party4")
    fed = sealed(on_loss="continue")
    transport = Lossy(fed, lose)
    transport.returning = False
    model, state = fed.run(transport=transport)
    assert (state.losses, state.present) == (((1, ("party4",)),), ("party1", "party2", "party3"))
    masked = Federation(two_class(4, n=320), PARAMS, on_loss="continue")
    lossy = Lossy(masked, once(STAGES[stage], "party4"))
    lossy.returning = False
    assert same(model, masked.model(transport=lossy))
    opened = [inner(h.message) for h in fed.of("FromOpener") if h.receiver == "party1"]
    sets = {r.parties for r in opened if isinstance(r, m.AskHistograms) and r.round == 1 and r.level}
    assert len(sets) <= 1


def test_without_the_opener_no_run_goes_on():
    fed = sealed(on_loss="continue")
    transport = Lossy(fed, once(STAGES["second level"], "party2"))
    transport.returning = False
    with pytest.raises(PartyLost, match=r"'party2' did not come back .*; 1 trees are kept, resume the run"):
        fed.run(transport=transport)


def test_a_party_lost_before_the_first_tree_stops_the_run():
    fed = sealed(on_loss="continue")
    transport = Lossy(fed, once(lambda r: isinstance(inner(r), m.AskCounts) and inner(r).step == 2, "party3"))
    transport.returning = False
    with pytest.raises(PartyLost, match=r"'party3' did not come back within 0.1 seconds; 0 trees are kept"):
        fed.run(transport=transport)


def test_too_few_that_remain_do_not_go_on():
    fed = sealed(on_loss="continue")
    transport = Lossy(fed, once(STAGES["root"], "party1", "party4"))
    transport.returning = False
    with pytest.raises(PartyLost, match="trees are kept, resume the run"):
        fed.run(transport=transport)


def test_the_opener_goes_on_only_after_cut_points_that_it_chose(tmp_path):
    _, finer = Federation(two_class(4, n=320), params_of(n_estimators=2, max_depth=2, min_cut_rows=1)).run()
    log = AuditLog(tmp_path / "log", "a test", "party2")
    fed = sealed(logs={"party2": log})
    with pytest.raises(PrivacyError, match="has not chosen; start a new run"):
        fed.run(State(start=finer.start))
    assert not [h for h in fed.of("FromOpener") if isinstance(inner(h.message), m.Begin)]
    log.close()


def test_an_opener_whose_process_is_new_knows_its_cut_points_by_its_log(tmp_path):
    log = AuditLog(tmp_path / "log", "a test", "party2")
    fed = sealed(logs={"party2": log})

    class Restarting(Lossy):
        def wait(self, parties, deadline):
            for name in parties & self.gone:
                fed.restart(name)
            return super().wait(parties, deadline)

    assert same(fed.model(transport=Restarting(fed, once(STAGES["second level"], "party2"))), undisturbed())
    log.close()


def test_a_driver_that_died_goes_on_where_it_was():
    expected, states = Federation(two_class(4, n=320), PARAMS, GOAL, VALID).model(), []
    fed = sealed(goal=GOAL, valid=VALID)

    def keep(state):
        states.append(state)
        if len(state.parts) == 1:
            raise Stopped

    with pytest.raises(Stopped):
        fed.run(keep=keep)
    model, state = fed.run(states[-1])
    assert same(model, expected)
    assert len(state.history) == 2


GOAL = Goal(follow=True)
VALID = {"party1": two_class(4)["party1"]}


# Who may ask what


def next_of(here, name="party1", **more):
    """A party, and the request of the opener's that it would hear next."""
    fed = sealed(**more)
    return fed, fed.parties[name], until(fed, here)


def test_a_party_hears_no_request_for_sums_but_the_openers():
    _, party, request = next_of(STAGES["second level"])
    refuses(party, inner(request), "where only the opener may", PrivacyError)
    begin = next_of(lambda r: isinstance(inner(r), m.Begin))
    refuses(begin[1], inner(begin[2]), "where only the opener may", PrivacyError)


def test_a_driver_cannot_put_its_own_key_or_cuts_in_place_of_the_openers():
    """A swapped key would let the driver read everything; a swapped cut could isolate a row."""
    fed, party, request = next_of(STAGES["root"])
    own = Lattice().new_key(1).public.encode()
    refuses(party, msgspec.structs.replace(request, public_key=own), "was not made", IdentityError)
    other = encode(msgspec.structs.replace(inner(request), round=2))
    refuses(party, msgspec.structs.replace(request, request=other), "was not made", IdentityError)
    said = signed(fed.plan, 1, request.request, own)
    forged = m.FromOpener(request.request, own, identity("party3").sign(OPENER, said))
    refuses(party, forged, "was not made", IdentityError)


def signed_by_opener(fed, request, key, attempt=1):
    return m.FromOpener(request, key, identity(fed.plan.opener).sign(OPENER, signed(fed.plan, attempt, request, key)))


def test_a_request_of_another_attempt_is_not_heard():
    fed, party, request = next_of(STAGES["root"])
    refuses(party, signed_by_opener(fed, request.request, request.public_key, 2), "was not made", IdentityError)


def test_a_tree_without_a_new_key_is_refused():
    fed, party, request = next_of(STAGES["root"])
    refuses(party, signed_by_opener(fed, request.request, b""), "begins a tree without a new key", PrivacyError)
    refuses(party, signed_by_opener(fed, request.request, party.role.sums.key), "without a new key", PrivacyError)
    assert isinstance(decode_answer_of(party, request), m.SealedWords)


def decode_answer_of(party, request):
    return decode_answer(party.answer(encode(request)), 1 << 26)


def test_every_tree_has_a_key_of_its_own_and_the_last_is_forgotten():
    fed = sealed()
    fed.model()
    assert fed.parties["party2"].role.leading.group.own_secret is None
    keys = [h.message.public_key for h in fed.of("FromOpener") if h.receiver == "party1" and h.message.public_key]
    assert len(keys) == len(set(keys)) == 1 + PARAMS.n_estimators


def test_the_opener_says_nothing_but_sums_and_beginnings():
    fed, party, _ = next_of(STAGES["root"])
    refuses(party, signed_by_opener(fed, encode(m.Farewell(b"")), b""), "The opener does not say Farewell")


def test_the_opener_notices_that_the_driver_passes_on_something_else():
    fed, opener, request = next_of(STAGES["second level"], "party2")
    before = encode(msgspec.structs.replace(inner(request), level=0))
    refuses(opener, signed_by_opener(fed, before, b""), "another request than the opener's last")


def test_only_the_opener_chooses_and_only_in_turn():
    fed, party, request = next_of(STAGES["second level"])
    refuses(party, m.GoOn(False), "lets a party choose that is not the opener")
    refuses(party, m.PassSum(b"", ()), "lets a party choose that is not the opener")
    opener = fed.parties["party2"]
    refuses(opener, m.Lead(False, False, b"", np.empty(0)), "lets the opener begin twice")
    refuses(opener, m.GoOn(False), "does not tell what came of the opener's request")
    refuses(opener, m.PassSum(b"", ()), "goes on with a run that has ended")
    assert isinstance(inner(request), m.AskHistograms)


def test_a_made_up_sum_ends_the_run():
    fed, opener, request = next_of(STAGES["second level"], "party2")
    words = SealedVector.of(fed.plan, inner(request), 10)
    public = Lattice().new_key(1).public
    other = words.total(public, {"party1": words.seal(public, np.arange(10))})
    refuses(opener, m.PassSum(other, ()), "under another key", CipherError)


@pytest.mark.parametrize("passed", [1, 4])
def test_a_driver_that_passes_on_one_partys_part_as_the_sum_reads_that_partys_sums_in_the_trees(monkeypatch, passed):
    """Nothing prevents it, as the threat model says: covers and leaf values are in the clear, whosever they are."""
    whole = SealedVector.total

    def some(self, public, sealed_parts):
        counts = self.bits == word_bits(self.plan, m.AskCounts)
        return whole(self, public, sealed_parts if counts else dict(list(sealed_parts.items())[:passed]))

    monkeypatch.setattr(SealedVector, "total", some)
    fed = sealed()
    made = fed.model()
    rows = [party.owner.own_table.n_rows for party in fed.parties.values()]
    chance = 1 / (1 + np.exp(-made.base_score))
    np.testing.assert_allclose(made.forest.covers[0], sum(rows[:passed]) * chance * (1 - chance), rtol=1e-3)


def test_the_opener_begins_only_with_what_can_be_begun():
    fed = sealed()
    until(fed, lambda r: isinstance(r, m.Lead))
    bad = m.Lead(False, False, encode(m.GoOn(False)), np.empty(0))
    refuses(fed.parties["party2"], bad, "something that is no beginning")


def test_a_party_without_an_opener_in_its_plan_chooses_nothing():
    fed = Federation(two_class(3), PARAMS)
    until(fed, lambda r: isinstance(r, m.AskCounts))
    refuses(fed.parties["party1"], m.GoOn(False), "does not allow GoOn")
    refuses(fed.parties["party1"], m.FromOpener(b"", b"", b""), "does not allow FromOpener")


def test_a_policy_refuses_two_parties_and_short_keys():
    strict = Policy(min_cut_rows=1, min_key_bits=3072)
    with pytest.raises(PolicyError, match="fewest_parties or allow_two"):
        sealed(2, allow_two=True, policy=strict).model()
    plan = {"protection": "paillier", "key_bits": 2048, "opener": "party1"}
    with pytest.raises(PolicyError, match="min_key_bits"):
        Federation(two_class(3), PARAMS, policy=strict, **plan).model()


def test_a_policy_names_who_may_open():
    strict = Policy(min_cut_rows=1, openers=("party0", "party1"))
    sealed(3, policy=strict, opener="party1").model()
    with pytest.raises(PolicyError, match=r"lets 'party2' open the sums, .*\(openers\)"):
        sealed(3, policy=strict, opener="party2").model()
    Federation(two_class(3), PARAMS, policy=strict).model()


def test_an_abandoned_opener_leaves_no_thread_behind():
    """A run that stops in its middle: the opener's work ends with the party."""
    before = threading.active_count()
    fed, party, _ = next_of(STAGES["second level"], "party2")
    work = party.role.leading.turns._thread
    assert work.is_alive()
    del fed, party
    gc.collect()
    work.join(10)
    assert not work.is_alive()
    assert threading.active_count() <= before


def test_a_driver_that_is_answered_something_else_says_so():
    fed = sealed()
    answer = fed.parties["party2"].answer

    def lying(frame):
        told = decode_request(bytes(frame))
        return encode(m.Done()) if isinstance(told, m.PassSum) else answer(frame)

    fed.parties["party2"].answer = lying
    with pytest.raises(ProtocolError, match="The opener answered Done, which it cannot say here"):
        fed.model()
