"""Threads of the process of one party."""

import sys

import pytest

from hedgerow.threads import TURN, short_turns


def test_turns_are_short_while_frames_are_carried_and_then_as_before():
    before = sys.getswitchinterval()
    with short_turns():
        assert sys.getswitchinterval() == pytest.approx(TURN)
    assert sys.getswitchinterval() == before > TURN
