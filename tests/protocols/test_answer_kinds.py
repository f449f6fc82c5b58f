"""Answers are of the very kind that was asked for: a kind with more in it is not taken for one with less."""

import pytest

from hedgerow.corridor.messages import AllowedSums, Answer, Done, NamedColumns, OwnColumns, SealedSums
from hedgerow.errors import ProtocolError
from hedgerow.protocols.session.group import expected


def made(kind):
    """An answer whose fields do not matter."""
    return kind(*(b"" for _ in kind.__struct_fields__))


def test_an_answer_of_the_kind_is_returned():
    answer = made(SealedSums)
    assert expected(answer, SealedSums, "a") is answer
    assert expected(made(NamedColumns), (OwnColumns, NamedColumns), "a")
    assert isinstance(expected(Done(), Answer, "a"), Done)


@pytest.mark.parametrize(
    ("given", "kind"),
    [(AllowedSums, SealedSums), (SealedSums, AllowedSums), (NamedColumns, OwnColumns), (Done, SealedSums)],
)
def test_another_kind_is_refused_even_if_it_holds_all_that_was_asked_for(given, kind):
    sentence = f"Party 'a' answered {given.__name__} where {kind.__name__} was asked for"
    with pytest.raises(ProtocolError, match=sentence):
        expected(made(given), kind, "a")
