"""Bytes that arrive are a well-formed message or a ProtocolError, and cost no more than their own length."""

import gc
import tracemalloc
from dataclasses import replace
from functools import cache, partial

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from asked import Prediction
from federated import Federation, params_of, two_class, vertical
from hedgerow import DP
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Corridor, RequestsInTurn, decode_answer, decode_request, encode, sized
from hedgerow.data import partition
from hedgerow.errors import DataError, ProtocolError
from hedgerow.model import part as parts
from hedgerow.transports.inproc import InProcess
from hedgerow.trees.params import TreeParams
from linked import small
from runs import run
from sealed import Sealed

MOST = 1 << 26


def decode(frame: bytes, sender: str = "driver"):
    return decode_request(frame, MOST) if sender == "driver" else decode_answer(frame, MOST)


@cache
def real_frames():
    """One frame of every kind."""
    found = {}
    private, opened = {"column_names": "private"}, {"protection": "lattice", "opener": "party2"}
    whole_trees = {"method": "bagging", "protection": "plain"}
    for plan in (opened, {}, {"cut_points": "local"}, {"protection": "plain"}, private, whole_trees):
        training, validation = partition.hold_out(two_class(3), 0.2)
        follow = "method" not in plan
        fed = Federation(training, params_of(n_estimators=2), Goal(follow=follow), validation, **plan)
        fed.model()
        found |= {one.kind: one for one in fed.heard}
    unfollowed = Federation(two_class(3), params_of(n_estimators=2))
    unfollowed.model()
    found = {one.kind: one for one in unfollowed.heard} | found
    for way in ("auto", "greedy"):
        noisy = Federation(two_class(3), TreeParams(), dp=DP(5, method=way))
        noisy.model()
        found = {one.kind: one for one in noisy.heard} | found
    hidden = vertical(params_of(n_estimators=1), protection="lattice", hidden_rows=True)
    hidden.model()
    told = vertical(params_of(min_child_rows=5), policy=replace(ALLOW_ALL, tell_columns="names"))
    told.model()
    found = {one.kind: one for one in (*hidden.heard, *told.heard)} | found
    batch = run(method="vertical", levels="AAA", dp=DP(5, protects="passive"), protection="plain")
    found = {one.kind: one for one in batch.heard} | found
    fed = vertical()
    model = fed.model()
    own = {name: parts.decoded(part, name) for name, part in fed.kept.items()}
    asked = Prediction(model, own, fed.tables)
    asked.leaves()
    scored = Sealed.of(asked.model, own, {name: table.take(np.arange(5)) for name, table in fed.tables.items()})
    scored.scores()
    hidden_ids, shown_ids = small(), small(private=False)
    hidden_ids.link()
    shown_ids.link()
    found |= {one.kind: one for one in (*shown_ids.heard, *hidden_ids.heard)}
    found |= {
        one.kind: one
        for options in ({"levels": "JJJ"}, {"levels": "APP", "passive_cuts": "random"})
        for one in run(method="hybrid", shared=True, **options).heard
        if isinstance(one.message, m.ShareColumns | m.AskDrawnSides)
    }
    probed = vertical(protection="lattice", coordinator="driver")
    probed.measure()
    return {one.kind: one for one in (*probed.heard, *scored.heard, *asked.heard, *fed.heard)} | found


KINDS = sorted(kind.__name__ for kind in (*m.REQUESTS, *m.ANSWERS))


def refused(frame: bytes, sender: str) -> bool:
    """Whether a frame is refused; any error but ProtocolError fails the test."""
    try:
        decode(frame, sender)
    except ProtocolError:
        return True
    return False


def test_every_kind_of_message_is_there():
    assert set(real_frames()) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_comes_back_as_it_was(kind):
    one = real_frames()[kind]
    back = decode(one.frame, one.sender)
    assert type(back) is type(one.message)
    assert encode(back) == one.frame


@given(st.binary(max_size=300), st.sampled_from(["driver", "party"]))
@settings(max_examples=300)
@example(b"", "driver")
@example(b"\xc1", "driver")
@example(b"\x91" * 10_000, "driver")
@example(b"\x91\xc0", "party")
def test_any_bytes_are_a_message_or_a_protocol_error(frame, sender):
    refused(frame, sender)


@given(st.sampled_from(KINDS), st.data())
@settings(max_examples=400)
def test_a_damaged_message_is_a_message_or_a_protocol_error(kind, data):
    one = real_frames()[kind]
    frame = bytearray(one.frame)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(frame) - 1, 400)))
        what = data.draw(st.sampled_from(["set", "cut", "insert", "drop"]))
        if what == "set":
            frame[at] = data.draw(st.integers(0, 255))
        elif what == "cut":
            del frame[max(at, 1) :]
        elif what == "insert":
            frame[at:at] = data.draw(st.binary(min_size=1, max_size=8))
        elif len(frame) > 1:
            del frame[at]
    refused(bytes(frame), one.sender)


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.binary(max_size=20),
                    lambda inner: st.lists(inner, max_size=8), max_leaves=20))  # fmt: skip
def test_any_packed_values_are_a_message_or_a_protocol_error(value):
    for tag in range(14):
        for sender in ("driver", "party"):
            refused(msgspec.msgpack.encode([tag, *(value if isinstance(value, list) else [value])]), sender)


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_with_bytes_behind_it_or_without_its_last_is_refused(kind):
    one = real_frames()[kind]
    assert refused(one.frame + b"\x00", one.sender)
    assert refused(one.frame[:-1], one.sender)


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_with_an_unknown_number_is_refused(kind):
    one = real_frames()[kind]
    fields = msgspec.msgpack.decode(one.frame)
    for tag in (0, 99, -1, 255, 2**40, "1", None, b"\x01", 1.5):
        assert refused(msgspec.msgpack.encode([tag, *fields[1:]]), one.sender)


def test_requests_are_no_answers_and_answers_no_requests():
    assert refused(real_frames()["MaskedSums"].frame, "driver")
    assert refused(real_frames()["Begin"].frame, "party")


# Sizes

CLAIM = b"\xff\xff\xff\xff"
HUGE = {
    "bytes": (b"\x94\x01\xc6" + CLAIM, "driver"),
    "text": (b"\x96\x02\x91\xdb" + CLAIM, "party"),
    "a message": (b"\xdd" + CLAIM + b"\x02", "driver"),
    "keys": (b"\x93\x02\x01\xdd" + CLAIM, "driver"),
    "columns": (b"\x96\x02\xdd" + CLAIM, "party"),
    "a column": (b"\x96\x02\x91\xdf" + CLAIM, "party"),
    "parties": (b"\x96\x08\x00\x00\xdd" + CLAIM, "driver"),
    "words": (b"\x92\x08\xc6" + CLAIM, "party"),
    "words that are an array": (b"\x92\x08\xdd" + CLAIM, "party"),
}


@pytest.mark.parametrize("what", HUGE)
@pytest.mark.parametrize("behind", [0, 1000])
def test_a_frame_that_claims_gigabytes_costs_nothing(what, behind):
    frame, sender = HUGE[what]
    gc.collect()
    tracemalloc.start()
    try:
        assert refused(frame + bytes(behind), sender)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_frame_longer_than_the_plan_allows_is_refused_unread():
    with pytest.raises(ProtocolError, match="has 100 bytes where the plan allows 99"):
        decode_answer(b"\xc1" * 100, 99)
    with pytest.raises(ProtocolError, match="bytes where the plan allows"):
        decode_request(bytes((1 << 26) + 1))


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9])
def test_an_array_is_a_whole_number_of_items(length):
    frame = msgspec.msgpack.encode([8, bytes(length)])
    assert refused(frame, "party") == (length % 8 != 0)


@pytest.mark.parametrize("value", [[1, 2], "12345678", 5, None, 1.0, {"a": 1}, True])
def test_an_array_is_bytes_and_nothing_else(value):
    assert refused(msgspec.msgpack.encode([8, value]), "party")


def test_an_array_of_another_length_than_asked_for_is_refused():
    assert sized(np.arange(3), 3, "words") is not None
    for other in (np.arange(2), np.arange(4), np.zeros((3, 1))):
        with pytest.raises(ProtocolError, match="words where 3 were asked for"):
            sized(other, 3, "words")


# Numbers


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_refused_wherever_they_stand(bad):
    begin = real_frames()["Begin"].message
    changes = [{"low": bad}, {"base": bad}, {"valid_facts": (0.0, bad, 1.0)}, {"cuts": np.array([bad], np.float32)}]
    changes.append({"forest": msgspec.structs.replace(begin.forest, values=np.array([bad], np.float32))})
    for change in changes:
        assert refused(encode(msgspec.structs.replace(begin, **change)), "driver")
    assert refused(encode(m.AskMoments(0.0, bad, 1.0)), "driver")
    assert refused(encode(m.AskTrees(0, 1, bad, begin.forest)), "driver")
    assert refused(encode(m.OwnTrees(bad, begin.forest)), "party")


def test_a_truth_value_is_0_or_1():
    local = real_frames()["LocalCuts"].message
    fields = msgspec.msgpack.decode(real_frames()["LocalCuts"].frame)
    assert not refused(msgspec.msgpack.encode(fields), "party")
    fields[-1] = b"\x02" * len(local.missing)
    assert refused(msgspec.msgpack.encode(fields), "party")


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_party_that_names_a_class_that_is_no_number_is_refused(bad):
    fed = Federation(two_class(3))
    facts = real_frames()["Facts"].message
    leaking = encode(msgspec.structs.replace(facts, classes=(0, bad)))
    honest = fed.transport.answers["party2"]

    def answer(frame):
        return leaking if isinstance(decode_request(bytes(frame)), m.Introduce) else honest(frame)

    with pytest.raises(ProtocolError, match="not a finite number"):
        fed.model(transport=InProcess({**fed.transport.answers, "party2": answer}))


# Names


@pytest.mark.parametrize("kind", KINDS)
def test_no_type_name_travels(kind):
    # Three or four letters may well be among a million sealed bytes.
    names = {k.encode() for k in KINDS if len(k) > 4} | {
        b"msgspec",
        b"numpy",
        b"hedgerow.",
        b"int64",
        b"float32",
        b"builtins",
    }
    frame = real_frames()[kind].frame
    assert not [name for name in names if name in frame and kind != "Farewell"]


def test_each_party_is_asked_before_the_next_ones_request_is_made():
    """So that large requests of many parties are never in memory together."""
    events = []

    def made(name):
        events.append(f"made for {name}")
        return m.AskLocalCuts()

    def answer(name, _):
        events.append(f"answered by {name}")
        return encode(m.Done())

    corridor = Corridor(InProcess({name: partial(answer, name) for name in "ab"}))
    answers, _ = corridor.ask(RequestsInTurn({name: partial(made, name) for name in "ab"}), 1.0)
    assert set(answers) == set("ab")
    assert events == ["made for a", "answered by a", "made for b", "answered by b"]


def test_parties_that_are_sent_one_request_hear_one_frame():
    heard = {}
    answers = {name: lambda frame, name=name: heard.setdefault(name, frame) and encode(m.Done()) for name in "abc"}
    same = m.AskLocalCuts()
    Corridor(InProcess(answers)).ask({"a": same, "b": same, "c": m.AskLocalCuts()}, 1.0)
    assert heard["a"] is heard["b"]
    assert heard["c"] is not heard["a"]


def test_listeners_hear_of_a_frame_once_however_often_it_is_looked_at():
    class Looking(InProcess):
        def carry(self, frames, deadline, most_bytes):
            assert next(iter(frames.values())) == dict(frames)["a"]
            return super().carry(frames, deadline, most_bytes)

    heard = []
    corridor = Corridor(Looking({"a": lambda _: encode(m.Done())}), (lambda *what: heard.append(what[0]),))
    corridor.ask({"a": m.AskLocalCuts()}, 1.0)
    assert heard == ["driver", "a"]


def test_an_answer_that_cannot_be_read_is_refused_by_the_partys_name():
    corridor = Corridor(InProcess({"north": lambda frame: b"\xc1"}))
    with pytest.raises(ProtocolError, match="'north' answered what cannot be used"):
        corridor.ask({"north": m.AskLocalCuts()}, 1.0)


def test_an_answer_longer_than_asked_for_is_refused_by_the_partys_name():
    corridor = Corridor(InProcess({"north": lambda frame: encode(m.PlainSums(np.zeros(100, np.int64)))}))
    with pytest.raises(ProtocolError, match=r"'north' .* bytes where the plan allows 64"):
        corridor.ask({"north": m.AskLocalCuts()}, 1.0, 64)


@pytest.mark.parametrize("wrong", ["Done", "PlainSums", "Facts", "Consent", "MaskedSums"])
def test_an_answer_of_another_kind_than_asked_for_is_refused(wrong):
    """At every step of a run, by the driver, with the party's name."""
    for kind in (m.Propose, m.Introduce, m.Agree, m.AskCounts, m.Begin, m.AskHistograms, m.FinishRound, m.Farewell):
        fed = Federation(two_class(3), params_of(n_estimators=1))
        honest = fed.transport.answers["party2"]

        def answer(frame, kind=kind, honest=honest):
            right = honest(frame)
            return real_frames()[wrong].frame if isinstance(decode_request(bytes(frame)), kind) else right

        if type(real_frames()[wrong].message) is type(decode(honest_answer(kind), "party")) and wrong != "MaskedSums":
            continue
        with pytest.raises(ProtocolError, match=r"party2|words where|bytes where"):
            fed.model(transport=InProcess({**fed.transport.answers, "party2": answer}))


def with_false_counts(false):
    """A federation in which the second party says false counts, and its transport."""
    fed = Federation(two_class(3))
    honest = fed.transport.answers["party2"]

    def answer(frame):
        right, request = honest(frame), decode_request(bytes(frame))
        if not isinstance(request, m.AskCounts):
            return right
        return encode(m.MaskedSums(false(request, decode_answer(right, 1 << 26).masked_words.copy())))

    return fed, InProcess({**fed.transport.answers, "party2": answer})


@pytest.mark.parametrize("step", [0, 1, 2])
@pytest.mark.parametrize("word", [1 << 63, 1 << 40])
def test_counts_that_no_rows_can_have_are_refused(step, word):
    """A part that is damaged, or made up, opens to anything."""
    fed, transport = with_false_counts(lambda r, words: words + np.uint64(word) if r.step == step else words)
    with pytest.raises((ProtocolError, DataError), match=r"no numbers of rows|can be summed"):
        fed.model(transport=transport)


def test_counts_that_do_not_add_up_are_refused():
    """Rows that come from nowhere with every digit would be looked for without end."""
    fed, transport = with_false_counts(lambda r, words: words + np.uint64(5) * (np.arange(len(words)) % 2 == 0))
    with pytest.raises(ProtocolError, match="no numbers of rows"):
        fed.model(transport=transport)


def honest_answer(kind) -> bytes:
    """A real answer to a request of this kind."""
    answers = {m.Propose: "Consent", m.Introduce: "Facts", m.Agree: "Done", m.Begin: "Done", m.Farewell: "Done"}
    return real_frames()[answers.get(kind, "MaskedSums")].frame
