"""What is wrong with a sealed answer is said with the name of the party that gave it."""

from collections.abc import Iterator
from contextlib import contextmanager

from hedgerow.errors import CipherError, ParameterError


@contextmanager
def answer_of(party: str) -> Iterator[None]:
    """Sealed data that do not fit the plan, or hold more parts than it allows, name their party."""
    try:
        yield
    except (CipherError, ParameterError) as error:
        raise CipherError(f"Party {party!r} answered what cannot be used. {error}") from None
