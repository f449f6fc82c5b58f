"""A data owner's rules in a file of their own (TOML): the fields of `hedgerow.policy.Policy`, and no others."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from hedgerow.agreement.policy import Policy
from hedgerow.errors import PolicyError, RunError
from hedgerow.run.file.section import nearest

_DEFAULTS = Policy()
_NUMBERS = {"most_epsilon": 1e6, "most_delta": 0.1, "least_link_mbit": 500}
_LISTS = {"columns": "columns", "openers": "parties"}


def read_policy(path: Path) -> Policy:
    """The rules in a file; what it does not say is as strict as can be."""
    try:
        given = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise RunError(f"Cannot read the policy {path}: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PolicyError(f"The policy {path} is not TOML: {error}.") from None
    known = [field.name for field in fields(Policy)]
    for key, value in given.items():
        if key not in known:
            raise PolicyError(f"The policy {path} has no key {key!r}; {nearest(key, known)}")
        _check(path, key, value)
    given |= {key: tuple(given[key]) for key in _LISTS if key in given}
    return Policy(**given)


def _check(path: Path, key: str, value: Any) -> None:
    default = getattr(_DEFAULTS, key)
    if key == "plan":
        right, kind = isinstance(value, str), "text in quotes"
    elif key in _LISTS:
        right = isinstance(value, list) and all(isinstance(item, str) for item in value)
        kind = f"a list of names of {_LISTS[key]}"
    elif key == "disclose":
        right = isinstance(value, dict) and all(isinstance(text, str) and text.strip() for text in value.values())
        kind = 'a section [disclose] with lines such as income = "monthly net income in euros"'
    elif key == "tell_columns":
        right, kind = value in ("codes", "names"), '"codes" or "names"'
    elif key in _NUMBERS:
        high = _NUMBERS[key]
        right = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= high
        kind = f"a number above 0 and at most {high:g}"
    elif key == "epsilon_budget":
        right, kind = isinstance(value, str) and 0 < len(value) <= 100 and value.isprintable(), "a name in quotes"
    elif isinstance(default, bool):
        right, kind = isinstance(value, bool), "true or false"
    else:
        least = 0 if key.startswith(("least_", "blur_")) else 1
        right = isinstance(value, int) and not isinstance(value, bool) and value >= least
        kind = f"a whole number from {least} on"
    if not right:
        raise PolicyError(f"In the policy {path}, {key} must be {kind}.")
