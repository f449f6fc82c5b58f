"""Every error hedgerow raises on purpose.

* HedgerowError
  x DataError        a table cannot be used as it is: what is wrong, in which column, row or line
  x ParameterError   a parameter is out of its range, unknown, or contradicts another
  x ModelError       a model file is damaged or of another version, or a model does not fit the table
  x IdentityError    a certificate, key or signature is not what the plan says
  x PrivacyError     what was promised could not be protected; the run stops
  x CipherError      a key or a sealed value that came in is malformed, or is not what was agreed on
  x ProtocolError    a message that the conversation does not allow, or that does not fit the plan
  x PolicyError      a data owner's own rules refuse the run
  x PartyLost        a party did not answer; the run stops so that it can be resumed
  x AuditError       an audit found what an honest party would not have done
  x RunError         a run file, run folder, checkpoint or audit log cannot be used as it is
  x MissingExtra     an optional library is not installed

Each message says what is wrong, where, and what to do; none shows a private value. Those that are also a
`ValueError` or an `ImportError` are so because scikit-learn's users catch them by that name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Keyword:
    """A keyword of Python's functions that a sentence names; run files and the command line have other words."""

    name: str
    value: object = None
    """None: the sentence names it without a value."""

    def __str__(self) -> str:
        return f"{self.name}={'' if self.value is None else self.value}"


class Sentence(str):
    """A sentence of which some parts are keywords. It reads as Python's callers write them."""

    parts: tuple[str | Keyword, ...]

    def __new__(cls, *parts: str | Keyword) -> Self:
        """Put together; parts may be sentences themselves."""
        flat = tuple(one for part in parts for one in (part.parts if isinstance(part, Sentence) else (part,)))
        made = super().__new__(cls, "".join(map(str, flat)))
        made.parts = flat
        return made

    def reworded(self, word: Callable[[Keyword], str]) -> str:
        """The sentence with other words for the keywords."""
        return "".join(word(part) if isinstance(part, Keyword) else part for part in self.parts)


class HedgerowError(Exception):
    """Base of all errors raised on purpose."""

    @property
    def sentence(self) -> Sentence:
        """What it says, with the keywords that it names marked."""
        said = self.args[0] if self.args else ""
        return said if isinstance(said, Sentence) else Sentence(str(self))


class DataError(HedgerowError, ValueError):
    """A table cannot be used as it is."""


class ParameterError(HedgerowError, ValueError):
    """A parameter is out of its range, unknown, or contradicts another."""


class ModelError(HedgerowError, ValueError):
    """A model file is damaged or of another version, or a model does not fit the table."""


class MissingExtra(HedgerowError, ImportError):
    """An optional library is needed and not installed."""


class IdentityError(HedgerowError):
    """A certificate, key or signature is not what the plan says."""


class PrivacyError(HedgerowError):
    """What was promised could not be protected; the run stops."""


class CipherError(HedgerowError):
    """A key or a sealed value that came in is malformed, or is not what was agreed on."""


class ProtocolError(HedgerowError):
    """A message that the conversation does not allow, or that does not fit the plan."""


class PolicyError(HedgerowError):
    """A data owner's own rules refuse the run."""


class PartyLost(HedgerowError):
    """A party did not answer; the run stops so that it can be resumed."""

    def __init__(self, sentence: str, parties: frozenset[str] = frozenset()) -> None:
        super().__init__(sentence)
        self.parties = parties


class AuditError(HedgerowError):
    """An audit found what an honest party would not have done."""


class RunError(HedgerowError):
    """A run file, run folder, checkpoint or audit log cannot be used as it is."""
