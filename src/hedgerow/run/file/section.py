"""A section of a run file: hands out its keys by kind, and refuses in one sentence what it does not know."""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from hedgerow.data.builtin import BUILTIN, BUILTIN_SETS
from hedgerow.data.named_network import is_network, named_network
from hedgerow.errors import ParameterError

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
"""Names of runs and of parties, which become names of folders and certificates."""
FINGERPRINT = re.compile(r"[0-9a-f]{64}")

Source = Path | str
"""A file, or the name of a built-in data set ("builtin:iris")."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The part of a sentence that names what may have been meant, or all that is known."""
    every = list(known)
    near = difflib.get_close_matches(name.lower(), every, n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(every)}."


class Section:
    """A table of a run file, whose relative paths begin in `folder`."""

    def __init__(self, title: str, given: Any, known: Collection[str], folder: Path) -> None:
        self.title, self.folder = title, folder
        if not isinstance(given, Mapping):
            raise ParameterError(f"{title} must be a section of its own, with a line for each key below it.")
        self.given: Mapping[str, Any] = given
        for key in given:
            if key not in known:
                raise ParameterError(f"{title} has no key {key!r}; {nearest(key, known)}")
            if isinstance(given[key], int) and abs(given[key]) >= 1 << 63:
                raise self.wrong(key, "is too large; TOML's whole numbers have 64 bits.")

    def __contains__(self, key: str) -> bool:
        return key in self.given

    def wrong(self, key: str, what: str) -> ParameterError:
        """The error for a value of this section."""
        return ParameterError(f"{self.title} {key} {what}")

    def refuse(self, *keys: str, why: str) -> None:
        """Refuse keys that the run has no use for."""
        for key in keys:
            if key in self:
                raise self.wrong(key, f"{why}; leave it out.")

    def text(self, key: str) -> str | None:
        """A word or text that is not empty."""
        value = self.given.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            raise self.wrong(key, f"must be text in quotes; it is {value!r}.")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.given.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise self.wrong(key, f'must be a list of texts, like ["one", "two"]; it is {value!r}.')
        return tuple(value)

    def flag_or_groups(self, key: str) -> bool | tuple[tuple[str, ...], ...] | None:
        """True, false, or lists of names; None if not given."""
        value = self.given.get(key)
        if value is None or isinstance(value, bool):
            return value
        lists = value if isinstance(value, list) and value else [None]
        if not all(isinstance(one, list) and one and all(isinstance(name, str) for name in one) for one in lists):
            raise self.wrong(key, f'must be true, false or lists of names, like [["a", "b", "c"]]; it is {value!r}.')
        return tuple(map(tuple, lists))

    def word(self, key: str, words: Collection[str], default: str) -> str:
        """One of these words."""
        value = self.given.get(key, default)
        if value not in words or not isinstance(value, str):
            raise self.wrong(key, f"must be one of {', '.join(words)}; it is {value!r}.")
        return value

    def flag(self, key: str) -> bool:
        """True or false; false if not given."""
        value = self.given.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"must be true or false, without quotes; it is {value!r}.")
        return value

    def number(self, key: str, default: float, low: float, high: float, meaning: str) -> float:
        """A number above `low` and at most `high`."""
        value = self.given.get(key, default)
        right = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        if not right or not low < value <= high:
            raise self.wrong(key, f"must be {meaning}; it is {value!r}.")
        return float(value)

    def whole(self, key: str, low: int, high: int, default: int | None = None) -> int | None:
        """A whole number from `low` to `high`."""
        value = self.given.get(key, default)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and low <= value <= high):
            return value
        raise self.wrong(key, f"must be a whole number from {low} to {high:,}; it is {value!r}.")

    def name(self, key: str) -> str:
        """A name that can be a folder's and a certificate's; must be given."""
        value = self.text(key)
        if value is None:
            raise ParameterError(f'{self.title} lacks {key}; add a line like {key} = "credit".')
        if not NAME.fullmatch(value):
            raise self.wrong(key, f"must be 1 to 64 letters, digits, '-', '_' or '.', not beginning with '-' or '.'; "
                                  f"it is {value!r}.")  # fmt: skip
        return value

    def fingerprint(self, key: str) -> str:
        """A certificate's SHA-256 in hexadecimal, also as openssl writes it (AB:CD:...); empty if not given."""
        value = self.text(key)
        if value is None:
            return ""
        found = value.lower().removeprefix("sha256:").replace(":", "")
        if not FINGERPRINT.fullmatch(found):
            raise self.wrong(key, "must be the 64 hexadecimal digits that `hedgerow certs show` prints; copy it whole.")
        return found

    def path(self, key: str) -> Path | None:
        """A path; a relative one begins in the section's folder."""
        value = self.text(key)
        return None if value is None else self.folder / value

    def source(self, key: str) -> Source | None:
        """A file, or a built-in data set."""
        value = self.text(key)
        if value is None or not value.startswith(BUILTIN):
            return self.path(key)
        known = [BUILTIN + name for name in BUILTIN_SETS]
        if is_network(name := value.removeprefix(BUILTIN)):
            named_network(name)
        elif value not in known:
            raise self.wrong(key, f"names {value}, which is not a built-in data set; {nearest(value, known)}")
        return value
