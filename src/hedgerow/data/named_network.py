"""A payment network by its name: "builtin:payments", or with knobs "builtin:payments,preset=DEV,rows=5000".

As one table it is that of the payments with what banks know of their accounts; as parties it is the network and its
banks, which is what hybrid training is for.
"""

from dataclasses import dataclass, field, fields, replace
from math import isfinite, nan
from typing import Any, Literal

import numpy as np

from hedgerow.data.hybrid_partition import HybridTables
from hedgerow.data.payments import PRESETS, Network, generate_payments
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError

PAYMENTS = "payments"
SHARES = tuple(knob.name for knob in fields(Network))


@dataclass(frozen=True)
class NamedNetwork:
    """What a name says of a network."""

    preset: Literal["AD", "DEV"] = "AD"
    """The shares of anomalous payments are those of this preset, unless they are given."""
    rows: int = 100_000
    """How many payments."""
    banks: int = 25
    """How many banks; of a table that a run file cuts, as many as there are passive parties."""
    ids: Literal["accounts", "payments"] = "accounts"
    """What rows of the parties are linked by: a bank has each account once, or each payment of its accounts."""
    seed: int = 0
    network: Network = field(default_factory=Network)

    def tables(self) -> HybridTables:
        """The network with its labels, and each bank."""
        made = generate_payments(self.rows, self.network, self.banks, self.seed)
        return (made.by_account if self.ids == "accounts" else made.by_payment)(np.arange(self.rows))

    def together(self) -> Table:
        """All in one table."""
        return generate_payments(self.rows, self.network, self.banks, self.seed).together()


OWN = ("preset", "rows", "banks", "ids", "seed")
KNOBS = (*OWN, *SHARES)


def is_network(name: str) -> bool:
    """Whether the name of a built-in data set is a network's; what stands before it is cut off."""
    return name.partition(",")[0] == PAYMENTS


def named_network(name: str) -> NamedNetwork:
    """The network of this name, like "payments,preset=DEV,rows=5000"."""
    given: dict[str, str] = {}
    for part in name.split(",")[1:]:
        knob, sign, value = part.partition("=")
        if knob not in KNOBS or not sign:
            raise ParameterError(
                f"builtin:{PAYMENTS} has no {part!r}; write KNOB=VALUE, of the knobs {', '.join(KNOBS)}."
            )
        given[knob] = value
    words = {"preset": tuple(PRESETS), "ids": ("accounts", "payments")}
    own: dict[str, Any] = {knob: _word(knob, given[knob], of) for knob, of in words.items() if knob in given}
    own |= {knob: _whole(knob, given[knob]) for knob in ("rows", "banks", "seed") if knob in given}
    shares: dict[str, Any] = {knob: _number(knob, given[knob]) for knob in SHARES if knob in given}
    network = replace(PRESETS[own.get("preset", "AD")], **shares)
    return NamedNetwork(**own, network=network)


def _word(knob: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ParameterError(f"builtin:{PAYMENTS} {knob} is one of {', '.join(known)}; it is {value!r}.")
    return value


def _whole(knob: str, value: str) -> int:
    least = 0 if knob == "seed" else 1
    if not value.isdecimal() or not least <= int(value) < 2**31:
        raise ParameterError(f"builtin:{PAYMENTS} {knob} is a whole number from {least} on; it is {value!r}.")
    return int(value)


def _number(knob: str, value: str) -> float:
    if type(getattr(Network(), knob)) is int:
        return _whole(knob, value)
    try:
        number = float(value)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise ParameterError(f"builtin:{PAYMENTS} {knob} is a number; it is {value!r}.")
    return number
