"""What may be said, all of it in one table."""

import msgspec
import numpy as np
import pytest

from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_request, encode
from hedgerow.errors import ProtocolError

BOTH = (*m.REQUESTS, *m.ANSWERS)


@pytest.mark.parametrize("kind", BOTH)
def test_every_field_says_how_it_travels_and_what_it_tells(kind):
    travels = m.travels(kind)
    assert tuple(travels) == kind.__struct_fields__
    for how, tells in travels.values():
        assert how in ("clear", "masked", "sealed", "blinded", "noised")
        assert len(tells) > 5


def test_every_message_in_the_module_can_be_said():
    defined = {
        kind
        for kind in vars(m).values()
        if isinstance(kind, type) and issubclass(kind, (m.Request, m.Answer)) and kind not in (m.Request, m.Answer)
    }
    assert defined == set(BOTH)


@pytest.mark.parametrize("kinds", [m.REQUESTS, m.ANSWERS])
def test_numbers_of_messages_are_distinct_and_small(kinds):
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert len(set(tags)) == len(tags)
    assert all(isinstance(tag, int) and 0 < tag < 128 for tag in tags)


@pytest.mark.parametrize("kind", BOTH)
def test_messages_are_frozen_and_travel_without_names(kind):
    config = kind.__struct_config__
    assert config.frozen
    assert config.array_like


def test_a_field_called_masked_sealed_noised_or_blinded_is_so_and_no_other():
    for line in m.disclosures():
        for how in ("masked", "sealed", "noised", "blinded"):
            assert line.field.startswith(f"{how}_") == (line.how == how)
        assert not line.field.startswith("own_")


def test_the_table_has_a_line_for_every_field():
    lines = [(line.message, line.field) for line in m.disclosures()]
    assert len(set(lines)) == len(lines) == sum(len(kind.__struct_fields__) for kind in BOTH)


def test_a_message_with_a_field_that_says_nothing_is_noticed():
    """The sabotage: a field without its mark."""

    class Silent(m.Answer, frozen=True, tag=99):
        words: np.ndarray

    with pytest.raises(IndexError, match="out of range"):
        m.travels(Silent)
    assert msgspec.structs.fields(Silent)[0].name == "words"


def test_every_message_says_who_sends_it_and_who_reads_it():
    roles = {role for role in vars(m).values() if isinstance(role, m.Role)}
    for kind in BOTH:
        by, to, then = m.ROUTES[kind]
        assert {by, to} <= roles
        assert then is None or then in roles
        assert (by in (m.DRIVER, m.ACTIVE)) == issubclass(kind, m.Request)
        assert (to in (m.DRIVER, m.ACTIVE)) == issubclass(kind, m.Answer)


def test_a_message_without_a_receiver_cannot_be_read():
    """The sabotage: one that is not declared."""

    class Nowhere(m.Request, frozen=True, tag=99):
        pass

    with pytest.raises(ProtocolError, match="cannot be read"):
        decode_request(encode(Nowhere()))
