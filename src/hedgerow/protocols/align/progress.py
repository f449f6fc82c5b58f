"""What an alignment has told: to whoever waits for it, in sentences, and in the log of whoever took part.

Nothing is said to other parties here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hedgerow.data.ids import AS_TEXT, own_shape
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.notify import Tell

ROWS, VALIDATION_ROWS, COLUMNS = "rows", "validation rows", "columns"
ALIGNED = "aligned"
"""The event in the log."""

TOLD_FROM = 1 << 18
"""Multiplications from which on progress is told."""

MOST_NAMED = 8
"""Parties whose rows are counted in one sentence."""


def no_common(what: str) -> str:
    """The sentence where nothing is common."""
    if what == COLUMNS:
        return "No name of a column is common to all parties; compare their headers."
    return f"No id is common to all parties' {what}; check that all of them name the same kind of id; {AS_TEXT}."


def few_common(common: int, own_ids: Sequence[str]) -> str:
    """The sentence for a party of whose ids fewer than half are common; empty where they are not so few.

    It speaks of this party's own ids, to nobody else.
    """
    if 2 * common >= len(own_ids):
        return ""
    shape = own_shape(own_ids)
    own = f" (this party has {shape})" if shape else ""
    return f"Only {common / len(own_ids):.0%} of this party's ids are common to all parties; {AS_TEXT}{own}."


class Progress:
    """Tells ten times how many ids have been blinded, if that takes a while."""

    def __init__(self, what: str, total: int, tell: Tell) -> None:
        self.what, self.total, self.tell = what, total, tell
        self.done, self.tenths = 0, 0

    def more(self, n: int) -> None:
        """So many more are blinded."""
        self.done += n
        if self.total >= TOLD_FROM and self.done * 10 // self.total > self.tenths:
            self.tenths = self.done * 10 // self.total
            self.tell(f"Aligning {self.what}: {self.done:,} of {self.total:,} ids blinded.")


class Learnt(NamedTuple):
    """What one side knows after an alignment: how much everybody brought, and how much of it all have."""

    what: str
    sizes: Mapping[str, int]
    common: int

    @property
    def sentence(self) -> str:
        """How many of whose rows are used, for whoever knows what everybody brought."""
        if set(self.sizes.values()) == {self.common}:
            return f"All parties have the same {self.common} {self.what}, found by their ids."
        shares = [f"{self.common} of the {n} of {name!r}" for name, n in self.sizes.items()]
        more = f" and so on, {len(shares)} parties in all" if len(shares) > MOST_NAMED else ""
        return f"Only {self.what} are used whose ids all parties have: {', '.join(shares[:MOST_NAMED])}{more}."

    def note(self, log: Log) -> None:
        """Write it into the log."""
        sizes = [f"{name} {n}" for name, n in self.sizes.items()]
        log.note(ALIGNED, what=self.what, common=self.common, sizes=sizes)


def learnt(lines: Iterable[Mapping[str, Any]]) -> list[Learnt]:
    """What the alignments of a run told, from a log; of those that were done anew, the last."""
    found = {}
    for line in lines:
        if line.get("event") == ALIGNED:
            sizes: Sequence[str] = line["sizes"]
            named = {name: int(n) for name, _, n in (entry.rpartition(" ") for entry in sizes)}
            found[line["what"]] = Learnt(line["what"], named, line["common"])
    return list(found.values())
