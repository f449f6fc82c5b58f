"""A request as its receivers have it: read once, within each one's limit; what comes of it alone is made once."""

import gc
import hashlib
import weakref

import pytest

from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Frame, encode
from hedgerow.errors import ProtocolError
from hedgerow.transports.inproc import InProcess

CONTENT = encode(m.AskSetSize(False))


class Place:
    """Known by what it is, not by what is in it."""


def counted():
    """A function of a frame, and what it really was called with."""
    calls = []

    def joined(frame, *parts):
        calls.append((frame, *parts))
        if b"bad" in parts:
            raise ValueError("no such part")
        return [bytes(frame), *parts]

    return joined, calls


def test_a_frame_is_its_bytes_their_number_and_their_hash():
    frame = Frame(CONTENT)
    assert bytes(frame) is CONTENT
    assert len(frame) == len(CONTENT)
    assert frame.sha256 == hashlib.sha256(CONTENT).digest()


def test_a_request_is_decoded_once():
    frame = Frame(CONTENT)
    assert encode(frame.read()) == CONTENT
    assert frame.read() is frame.read() is frame.request


def test_every_receiver_has_its_own_limit_also_when_another_has_read_the_frame():
    frame = Frame(CONTENT)
    for _ in range(2):
        with pytest.raises(ProtocolError, match="where the plan allows 1"):
            frame.read(1)
        frame.read(len(CONTENT))


def test_a_damaged_frame_is_refused_each_time():
    frame = Frame(b"\xc1")
    for _ in range(2):
        with pytest.raises(ProtocolError, match="cannot be read"):
            frame.read()
    with pytest.raises(ProtocolError, match="before it was read"):
        _ = frame.request


def test_a_frame_of_a_request_is_what_would_have_been_sent():
    request = m.AskSetSize(True)
    frame = Frame.of(request)
    assert bytes(frame) == encode(request)
    assert frame.request is request


def test_what_is_given_the_same_is_made_once():
    frame, (joined, calls) = Frame(CONTENT), counted()
    assert frame.derived(joined, b"ab") is frame.derived(joined, bytes(bytearray(b"ab")))
    assert len(calls) == 1


def test_fewer_more_or_other_values_are_others():
    frame, (joined, calls) = Frame(CONTENT), counted()
    for given in ((), (1,), (2,), (1, 1)):
        assert frame.derived(joined, *given) == [CONTENT, *given]
    assert len(calls) == 4


def test_places_are_the_same_only_if_they_are_one():
    frame, (joined, calls) = Frame(CONTENT), counted()
    one, other = Place(), Place()
    assert frame.derived(joined, one) is frame.derived(joined, one)
    assert frame.derived(joined, other) is not frame.derived(joined, one)
    assert len(calls) == 2


def test_two_functions_do_not_take_each_others_results():
    frame, (one, _), (other, calls) = Frame(CONTENT), counted(), counted()
    assert frame.derived(one, b"ab") is not frame.derived(other, b"ab")
    assert len(calls) == 1


def test_another_frame_of_the_same_bytes_shares_nothing():
    joined, calls = counted()
    assert Frame(CONTENT).derived(joined) is not Frame(CONTENT).derived(joined)
    assert len(calls) == 2


def test_an_error_is_raised_each_time_and_the_results_before_it_stay_right():
    frame, (joined, calls) = Frame(CONTENT), counted()
    first = frame.derived(joined, b"good")
    for _ in range(2):
        with pytest.raises(ValueError, match="no such part"):
            frame.derived(joined, b"bad")
    assert frame.derived(joined, b"good") is first
    assert len(calls) == 3


def test_nothing_that_came_of_a_frame_outlives_it():
    frame, place = Frame(CONTENT), Place()
    frame.derived(lambda *_: 0, place)
    seen = weakref.ref(place)
    del place
    gc.collect()
    assert seen() is not None, "as long as the frame lives nothing else can be taken for it"
    del frame
    gc.collect()
    assert seen() is None


def test_parties_of_one_process_hear_one_frame_where_they_are_sent_the_same_bytes():
    heard = []
    transport = InProcess(dict.fromkeys("abc", lambda frame: heard.append(frame) or b""))
    transport.carry({"a": CONTENT, "b": CONTENT, "c": bytes(bytearray(CONTENT))}, 1.0, 1)
    a, b, c = heard
    assert a is b
    assert c is not a, "equal bytes that came on another way are another frame"
    assert bytes(c) == bytes(a)
