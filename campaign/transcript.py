"""What was opened, for whom: the driver's log and the logs of those that remain, read side by side.

The driver's log says whom it asked and who answered; a sum is opened if every part came. A party's own log says for
which set of parties it gave each of its parts. A set is a tree's if the tree's sums were opened for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.logs import FINISH, SUMMING, Asking, DriverLog
from campaign.process import Wrong
from hedgerow.storage import audit


@dataclass(frozen=True)
class Opened:
    """A sum that was opened: of which tree, what was asked, and for whom each party gave its part."""

    tree: int
    kind: str
    step: int
    parties: frozenset[str]


def opened_sums(driver: Path, survivors: dict[str, Path], names: Sequence[str]) -> list[Opened]:
    """All of them, in order; refuses a run in which the logs contradict each other."""
    asked = [asking for asking in DriverLog(driver).look().asked if asking.kind in SUMMING]
    given = {name: sets_given(log, names) for name, log in survivors.items()}
    for name, sets in given.items():
        _check_given(name, sets, [asking for asking in asked if name in asking.to])
    opened = [asking for asking in asked if asking.opened]
    return [Opened(a.tree, a.kind, a.step, frozenset(a.to)) for a in opened]


def sets_given(log: Path, names: Sequence[str]) -> list[frozenset[str]]:
    """For which set of parties a party gave each of its parts, in order, as its own log has it."""
    lines = [line for line in audit.read(log) if line["event"] == "answered"]
    return [frozenset(names[int(number)] for number in _texts(line["parties"])) for line in lines]


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _check_given(name: str, sets: list[frozenset[str]], asked: list[Asking]) -> None:
    """A party was asked as often as it gave, and each time for those to whom the same request went."""
    if len(sets) != len(asked):
        raise Wrong(f"{name} was asked for {len(asked)} sums and wrote down {len(sets)}")
    for parties, asking in zip(sets, asked, strict=True):
        if parties != asking.to:
            raise Wrong(f"{name} gave a part for {', '.join(sorted(parties))}, not for those that were asked")


def check_one_set(opened: Sequence[Opened]) -> None:
    """Refuse a tree of which anything was opened for two sets of parties; what comes before the first is tree 0.

    What is asked when a tree is finished (the metric, and how many gradients were cut off) may be over those of the
    tree's set that remain; it, too, is opened for one set only.
    """
    for tree in sorted({one.tree for one in opened}):
        sums = {one.parties for one in opened if one.tree == tree and one.kind != FINISH}
        last = {one.parties for one in opened if one.tree == tree and one.kind == FINISH}
        if len(sums) != 1 or len(last) != (tree > 0):
            raise Wrong(f"sums of tree {tree} were opened for {len(sums)} and {len(last)} sets of parties")
        if not all(parties <= next(iter(sums)) for parties in last):
            raise Wrong(f"tree {tree} was finished with parties that were not in its sums")
        steps = [one.step for one in opened if one.tree == tree]
        if len(set(steps)) != len(steps):
            raise Wrong(f"a sum of tree {tree} was opened twice")
