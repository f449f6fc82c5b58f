"""The last results of a function, for the very same arguments only."""

import pytest

from hedgerow.corridor.memo import remembered


def counted(n_calls=1):
    """A remembered function, and the arguments with which it really was called."""
    calls = []

    def joined(*parts):
        calls.append(parts)
        if b"bad" in parts:
            raise ValueError("no such part")
        return b"".join(parts)

    return remembered(joined, calls=n_calls), calls


def test_the_same_objects_give_the_same_result_without_another_call():
    joined, calls = counted()
    one = bytes([1, 2])
    assert joined(one) is joined(one)
    assert len(calls) == 1


def test_equal_objects_are_not_taken_for_the_same():
    joined, calls = counted()
    one, other = bytes([1, 2, 3]), bytes(bytearray([1, 2, 3]))
    assert one is not other
    assert joined(one) == joined(other)
    assert len(calls) == 2


def test_fewer_or_more_arguments_are_others():
    joined, calls = counted()
    one = bytes([1, 2])
    assert [joined(one), joined(one, one), joined(one)] == [one, one + one, one]
    assert len(calls) == 3


def test_two_calls_are_remembered_and_no_third():
    joined, calls = counted(2)
    one, other, third = bytes([1, 2]), bytes([3, 4]), bytes([5, 6])
    for _ in range(3):
        assert [joined(one), joined(other)] == [one, other]
    assert len(calls) == 2
    joined(third)
    assert joined(one) == one
    assert calls == [(one,), (other,), (third,), (one,)]


def test_an_error_is_raised_each_time_and_the_result_before_it_stays_right():
    joined, calls = counted()
    one, bad = bytes([1, 2]), b"bad"
    joined(one)
    for _ in range(2):
        with pytest.raises(ValueError, match="no such part"):
            joined(bad)
    assert joined(one) == one
    assert len(calls) == 3
