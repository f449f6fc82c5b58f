"""What a passive party of a sealed prediction refuses: in a sentence, before anything is counted or answered."""

import math
import resource
import subprocess
import sys
from dataclasses import replace
from functools import cache
from secrets import token_bytes

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asked import trained
from federated import MemoryLog, identity, labels, values, with_method
from hedgerow.agreement.options import MOST_SCORES, Paillier
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor.messages import AskScores, Key, Propose, SlotsTold
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import CipherError, HedgerowError, IdentityError, PolicyError, PrivacyError, ProtocolError
from hedgerow.identity.identity import Identity, verify
from hedgerow.model.score_slots import FRESH, LINK, NEVER
from hedgerow.protocols.scores import tables
from hedgerow.protocols.scores.signing import PURPOSE
from sealed import Sealed
from sealed_cheats import Cheat, come, slots

changed = msgspec.structs.replace
SHARE = [[4], [0, 1], [2, 3]]
REFUSALS = (ProtocolError, CipherError, PolicyError, IdentityError, PrivacyError)


@cache
def made():
    X, signal = values(200)
    parties = partition.columns(Table.of(X, labels("two", signal), ids=[f"p{i}" for i in range(200)]), share=SHARE)
    return *trained(parties), parties


def world_of(**more):
    model, own, parties = made()
    return Sealed.of(model, own, parties, **more)


def begun(**more):
    """A world in which `party2` has heard the beginning: entries of its own and one relay each way."""
    world = world_of(**more)
    cheat = Cheat(world)
    cheat.begin("party2", slots([0, 3, 1], [FRESH, FRESH, *come(1, 1)], [2], targets=[1]))
    return world, cheat


def request_of(cheat, batch=0, ids=("p1", "p2"), **more):
    n = len(ids)
    return cheat.request("party2", batch, ids, weights=[np.ones((n, 3))], relays=[np.ones((n, 1))], **more)


def refuses(world, request, match=None, kind=ProtocolError, party="party2"):
    """Refused in one sentence, and nothing is counted."""
    before = list(world.counts[party].charged)
    with pytest.raises(kind, match=match):
        world.choosing[party].answer(encode(request))
    assert world.counts[party].charged == before


# The beginning

N_CUTS = len(made()[1]["party2"].tree)
OTHERS = "not of this party's cuts, or name parties that are not asked"
WRONG_SLOTS = {
    "an end outside": slots([2 * N_CUTS]),
    "an end below": slots([-1]),
    "an end far below": slots([-(2**63)]),
    "a shared end outside": changed(slots([0]), shared=np.array([2 * N_CUTS])),
    "a relay outside": slots(relays=[2 * N_CUTS], targets=[1]),
    "a relay to itself": slots(relays=[0], targets=[0]),
    "a relay to nobody": slots(relays=[0], targets=[2]),
    "a relay to a negative party": slots(relays=[0], targets=[-1]),
    "a relay from itself": slots([0], come(0, 1)),
    "a relay from nobody": slots([0], come(7, 1)),
    "a relay from below": slots([0], [-2]),
    "a relay that comes twice": slots([0, 1], [LINK, LINK]),
    "a relay left out": slots([0], [LINK + 1]),
    "a source too many": slots([0], [FRESH, FRESH]),
    "a source too few": slots([0, 1], [FRESH]),
    "relays without targets": slots([0], relays=[1]),
    "targets without relays": slots([0], targets=[1]),
    "groups of different widths": slots(relays=[0, 1, 2], targets=[1, 1]),
    "sources of other widths": slots(relays=[0, 1], relay_sources=[FRESH], targets=[1, 1]),
}


@pytest.mark.parametrize("what", WRONG_SLOTS)
def test_slots_that_are_not_of_own_cuts_are_refused(what):
    world = world_of()
    cheat = Cheat(world)
    refuses(world, cheat.beginning(WRONG_SLOTS[what]), OTHERS)
    assert world.choosing["party2"].session is None
    cheat.begin("party2", slots([0]))  # and what is right is heard after it


def test_the_number_of_classes_is_the_plan_s():
    world = world_of()
    cheat = Cheat(world)
    for told in ((), (slots([0]), slots([0]))):
        refuses(world, cheat.beginning(*told), "not of as many classes as the plan has scores")


def test_slots_that_no_batch_has_room_for_are_refused():
    world = world_of()
    cheat = Cheat(world)
    many = np.zeros(tables.MOST_ENTRIES + 1, np.int64)
    refuses(world, cheat.beginning(changed(slots([0]), shared=many)), "slots are more than")


def test_a_request_never_claims_more_than_a_batch_of_many_classes_has():
    """Slots of many classes: the largest request that is let in grows with none of them."""
    model, own, parties = made()
    world = Sealed.of(model, own, parties)
    plan = with_method(world.plan, scores=MOST_SCORES)
    world.plan = world.group.plan = plan
    cheat = Cheat(world)
    cheat.begin("party2", *[slots([0, 1]) for _ in range(MOST_SCORES)])
    assert world.choosing["party2"].most_bytes < 1 << 28
    assert world.choosing["party2"].session.told.slots[0].entries.tolist() == [0, 1]


def test_a_session_is_begun_once_and_has_a_name():
    world, cheat = begun()
    refuses(world, cheat.told["party2"], "begins a session again")
    refuses(world, cheat.beginning(slots([0]), session=b"short"), "without a name")


def test_a_party_that_is_named_twice_or_left_out_or_unknown_or_the_active_one_is_refused():
    world = world_of()
    cheat = Cheat(world)
    mine, other = cheat.keys
    stranger = changed(other, name="party9")
    forged = changed(other, public_key=mine.public_key)
    swapped = changed(mine, public_key=other.public_key)
    refuses(world, cheat.beginning(slots([0]), keys=(mine, other, other)), "names a party twice")
    refuses(world, cheat.beginning(slots([0]), keys=(other,)), "or not this one")
    refuses(world, cheat.beginning(slots([0]), keys=()), "or not this one")
    refuses(world, cheat.beginning(slots([0]), keys=(mine, stranger)), "not to be asked")
    for wrong in (forged, swapped):
        refuses(world, cheat.beginning(slots([0]), keys=(mine, wrong)), None, HedgerowError)
    cheat.names_itself()
    refuses(world, cheat.beginning(slots([0])), "maybe itself")


def test_a_plan_whose_modulus_is_no_prime_is_refused_at_the_beginning():
    model, own, parties = made()
    for modulus in (65536, 65535, 4, 9):
        world = Sealed.of(model, own, parties)
        world.plan = world.group.plan = with_method(world.plan, modulus=modulus)
        cheat = Cheat(world)
        with pytest.raises(ProtocolError, match="cannot be used"):
            cheat.begin("party2", slots([0]))


# Batches


def test_a_batch_comes_once_and_in_turn():
    world, cheat = begun()
    third = request_of(cheat, 2)
    world.choosing["party2"].answer(encode(third))
    refuses(world, third, "about a batch again, or out of turn")
    for batch in (0, 1, -1, -(2**63)):
        refuses(world, changed(third, batch=batch), "about a batch again, or out of turn")
    world.choosing["party2"].answer(encode(request_of(cheat, 2**63 - 1)))
    assert len(world.counts["party2"].charged) == 2


def test_batches_that_no_batch_is_are_refused(monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", 4)
    world, cheat = begun()
    fits = request_of(cheat)
    refuses(world, changed(fits, ids=()), "asks about 0 rows")
    refuses(world, changed(fits, ids=tuple("abcde")), "asks about 5 rows")
    refuses(world, changed(fits, ids=("x" * 257, "y")), "longer ids")
    refuses(world, changed(fits, ids=("a",)), None, CipherError)
    world.choosing["party2"].answer(encode(request_of(cheat, 9)))


def test_tables_of_other_numbers_or_sizes_are_refused_and_not_counted():
    world, cheat = begun()
    fits = request_of(cheat)
    weights, relays = fits.sealed_weights, fits.sealed_relays
    more = [
        ({"sealed_weights": ()}, ProtocolError),
        ({"sealed_weights": weights * 2}, ProtocolError),
        ({"sealed_relays": ()}, ProtocolError),
        ({"sealed_weights": relays, "sealed_relays": weights}, CipherError),
        ({"sealed_weights": (b"",)}, CipherError),
        ({"sealed_weights": (weights[0][:-1],)}, CipherError),
        ({"sealed_weights": (weights[0] + b"\0",)}, CipherError),
        ({"sealed_weights": (bytes(len(weights[0])),)}, CipherError),
    ]
    for number, (wrong, kind) in enumerate(more):
        refuses(world, changed(fits, batch=number, **wrong), None, kind)
    world.choosing["party2"].answer(encode(changed(request_of(cheat, 50))))


def test_before_consent_or_beginning_nothing_is_answered():
    world = world_of()
    cheat = Cheat(world)
    cheat.told["party2"] = cheat.beginning(slots([0]))
    asked = cheat.request("party2", 0, ["p1"], weights=[np.ones((1, 1))])
    refuses(world, asked, "does not allow AskScores here")
    fresh = world_of()
    refuses(fresh, cheat.beginning(slots([0])), "before this party has consented")


def test_an_answer_with_too_much_room_or_weak_keys_is_refused_by_the_policy():
    with pytest.raises(PolicyError, match="most_score_bits"):
        world_of(policy=replace(ALLOW_ALL, most_score_bits=16)).keys()
    # The plan's prime fits, and the cipher has a little more.
    fits = math.log2(world_of().plan.method.modulus) + 1e-6
    world = world_of(policy=replace(ALLOW_ALL, most_score_bits=fits))
    cheat = Cheat(world)
    cheat.begin("party2", slots([0]))
    asked = cheat.request("party2", 0, ["p1"], weights=[np.ones((1, 1))])
    refuses(world, asked, "most_score_bits", PolicyError)
    with pytest.raises(PolicyError, match="min_key_bits"):
        world_of(policy=Policy(min_key_bits=3072, least_own_cuts=0, least_own_trees=0), privacy=Paillier(2048)).keys()
    with pytest.raises(PolicyError, match="allow_sealed"):
        world_of(policy=replace(ALLOW_ALL, allow_sealed=False)).keys()


def test_reasons_are_counted_and_only_given_where_the_owner_discloses():
    world, cheat = begun()
    world.choosing["party2"].answer(encode(request_of(cheat, reasons=True)))
    assert world.counts["party2"].charged[-1][2] == 1
    column = made()[2]["party2"].columns[0].name
    world, cheat = begun(policy=replace(ALLOW_ALL, disclose={column: "a column"}))
    world.choosing["party2"].answer(encode(request_of(cheat, reasons=True)))
    # The score; the party's own part of it, without pads; and that without the column, or without the others.
    assert world.counts["party2"].charged[-1][2] == 2 + len(world.choosing["party2"].reasons)


# Signatures


def test_a_request_that_the_active_party_has_not_signed_is_refused():
    world, cheat = begun(signed=True)
    fits = request_of(cheat)
    wrong = {
        "no signature": changed(fits, signature=b""),
        "other ids": changed(fits, ids=("p1", "p3")),
        "reasons": changed(fits, reasons=True),
        "another batch": changed(fits, batch=1),
        "tables elsewhere": changed(fits, sealed_weights=fits.sealed_weights + fits.sealed_relays, sealed_relays=()),
    }
    for number, (_, request) in enumerate(wrong.items()):
        if request.batch <= world.choosing["party2"].batch:
            request = changed(request, batch=10 + number)
        refuses(world, request, "signature|signed", HedgerowError)
    world.choosing["party2"].answer(encode(request_of(cheat, 99)))


def test_the_signature_is_over_the_slots_that_were_told():
    """Else the active party could say later that the party chose among other ends."""
    world, cheat = begun(signed=True)
    cheat.told["party2"] = changed(cheat.told["party2"], slots=(changed(cheat.told["party2"].slots[0], shared=np.array([], np.int64), entries=np.array([1, 3, 0])),))  # fmt: skip  # noqa: E501
    refuses(world, request_of(cheat), "signature", HedgerowError)


def test_a_certificate_that_is_shown_later_signs_nothing():
    """The active party proposes its plan again with another's certificate, and could deny what it signs then."""
    world, cheat = begun(signed=True)
    other = Identity.fresh("nobody")
    party = world.choosing["party2"]
    again = Propose(world.plan.text, other.certificate, other.sign("plan", world.plan.digest))
    party.answer(encode(again))
    cheat.session = bytes(32)
    cheat.begin("party2", slots([0, 3, 1], [FRESH, FRESH, *come(1, 1)], [2], targets=[1]))
    fits = request_of(cheat)
    refuses(world, fits, "not the one the plan names", IdentityError)


def test_what_was_signed_is_kept_in_the_log_and_no_id_is():
    log = MemoryLog()
    world, cheat = begun(signed=True, logs={"party2": log})
    fits = request_of(cheat, ids=("someone in particular", "p2"))
    world.choosing["party2"].answer(encode(fits))
    (line,) = [line for line in log.lines() if line["event"] == "scores told"]
    assert bytes.fromhex(line["signature"]) == fits.signature
    verify(identity(world.plan.active).certificate, PURPOSE, bytes.fromhex(line["signed"]), fits.signature)
    assert "someone in particular" not in str(list(log.lines()))
    assert b"someone".hex() not in str(list(log.lines()))


# Whatever is said

INTEGERS = st.sampled_from([0, 1, 2, 3, -1, -2, -3, LINK, LINK + 1, 2 * LINK, 2 * N_CUTS - 1, 2 * N_CUTS, 2**63 - 1])
ARRAYS = st.lists(INTEGERS | st.just(-(2**63)), max_size=4).map(lambda numbers: np.array(numbers, np.int64))
SLOTS = st.builds(SlotsTold, *[ARRAYS] * 6)
TEXTS = st.text(max_size=4) | st.sampled_from(["party1", "party2", "party3", "p1", "x" * 300])


@cache
def standing():
    """A party that hears one thing after the other."""
    world, cheat = begun(signed=True)
    return world, cheat, request_of(cheat)


def keys_of(cheat):
    known = st.sampled_from([*cheat.keys, changed(cheat.keys[0], signature=b""), changed(cheat.keys[1], name="party1")])
    return st.lists(known | st.builds(Key, TEXTS, st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40)), max_size=3).map(tuple)  # fmt: skip  # noqa: E501


def answered(world, request):
    """Whether it was answered; anything but a refusal in these words fails the test."""
    try:
        world.choosing["party2"].answer(encode(request))
    except REFUSALS as error:
        said = str(error)
    else:
        return True
    assert said.endswith((".", ")"))
    assert "\n" not in said
    return False


FUZZ = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@FUZZ
@given(st.data())
def test_any_beginning_is_heard_or_refused_in_a_sentence(data):
    world, cheat, _ = standing()
    usual = cheat.beginning(slots([0]), session=token_bytes(32))
    public = usual.public_key
    damaged = st.integers(0, len(public) - 1).map(lambda at: public[:at] + bytes([public[at] ^ 1]) + public[at + 1 :])
    fields = {
        "session": st.binary(max_size=40),
        "keys": keys_of(cheat),
        "slots": st.lists(SLOTS, max_size=2).map(tuple),
        "public_key": st.binary(max_size=50) | damaged | st.just(public[:-1]),
    }
    wrong = data.draw(st.sets(st.sampled_from(sorted(fields)), min_size=1, max_size=2))
    answered(world, changed(usual, **{name: data.draw(fields[name]) for name in wrong}))


@FUZZ
@given(st.data())
def test_any_batch_is_answered_or_refused_in_a_sentence(data):
    world, cheat, fits = standing()
    party, table = world.choosing["party2"], fits.sealed_weights[0]
    damaged = st.integers(0, 200).map(lambda at: table[:at] + bytes([table[at] ^ 255]) + table[at + 1 :])
    tables_ = st.lists(st.binary(max_size=80) | st.just(table) | damaged | st.just(table[:-3]), max_size=3).map(tuple)
    fields = {
        "batch": st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 5),
        "ids": st.lists(TEXTS, max_size=4).map(tuple),
        "reasons": st.booleans(),
        "sealed_weights": tables_,
        "sealed_relays": tables_,
        "signature": st.binary(max_size=100),
    }
    cheat.session = token_bytes(32)
    cheat.begin("party2", slots([0, 3, 1], [FRESH, FRESH, *come(1, 1)], [2], targets=[1]))
    wrong = data.draw(st.sets(st.sampled_from(sorted(fields)), min_size=1, max_size=3))
    assert party.batch == -1
    request = request_of(cheat)
    answered(world, changed(request, **{name: data.draw(fields[name]) for name in wrong}))


@FUZZ
@given(st.data())
def test_any_batch_that_is_signed_is_answered_or_refused_in_a_sentence(data):
    """An active party signs what it likes; the party has to look at all of it."""
    world, cheat = unsigned()
    cheat.session = token_bytes(32)
    told = data.draw(SLOTS | st.just(slots([0, 3, 1], [FRESH, FRESH, *come(1, 1)], [2], targets=[1])))
    if not answered(world, cheat.beginning(told)):
        return
    fits = unsigned_request()
    some = st.lists(st.sampled_from([*fits.sealed_weights, *fits.sealed_relays, b""]), max_size=2).map(tuple)
    ids = data.draw(st.lists(TEXTS, max_size=3).map(tuple))
    answered(world, AskScores(data.draw(st.integers(0, 9)), ids, data.draw(st.booleans()), data.draw(some), data.draw(some), b""))  # fmt: skip  # noqa: E501


@cache
def unsigned():
    return begun()


@cache
def unsigned_request():
    return request_of(unsigned()[1])


HOSTILE = """
import resource, sys
sys.path[:0] = ["tests", "tests/protocols"]
import numpy as np
from test_sealed_checks import changed, refuses, begun, request_of
from hedgerow.errors import HedgerowError
from hedgerow.corridor.wire import encode
import struct
world, cheat = begun()
fits = request_of(cheat)
table = bytearray(fits.sealed_weights[0])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for at in range(0, 64, 4):
    for claim in (10 * 2**30, 2**40, 2**62):
        wrong = bytes(table[:at]) + struct.pack("<Q", claim) + bytes(table[at + 8:])
        request = changed(fits, batch=world.choosing["party2"].batch + 1, sealed_weights=(wrong,))
        try:
            world.choosing["party2"].answer(encode(request))
        except HedgerowError:
            pass
frame = bytearray(encode(fits))
for at in range(0, 40):
    for claim in (b"\\xdd\\x80\\0\\0\\0", b"\\xc6\\xff\\xff\\xff\\xff", b"\\xdb\\xff\\xff\\xff\\xff"):
        try:
            world.choosing["party2"].answer(bytes(frame[:at]) + claim + bytes(frame[at + 5:]))
        except HedgerowError:
            pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_claim_of_gigabytes_costs_less_than_64_megabytes():
    done = subprocess.run([sys.executable, "-c", HOSTILE], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 64 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0


def test_entries_that_no_row_chooses_have_no_part_in_a_sum():
    """`NEVER` in a group of relays, or for pads alone, whatever is sealed there."""
    world = world_of()
    cheat = Cheat(world)
    cheat.keys = cheat.keys[:1]
    cheat.begin("party2", slots([NEVER, 0, 1]))
    (sums,), _ = cheat.ask("party2", 0, [f"p{i}" for i in range(50)], weights=[np.tile([1000, 1, 1], (50, 1))])
    assert set(sums.tolist()) <= {0, 1}
