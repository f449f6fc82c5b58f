"""All parties in this process. They still hear frames only, as they would over a wire."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from hedgerow.corridor.wire import Frame

Begin = Callable[[Frame], Any]
"""A party's side: a frame that it hears, and its answer, or as much of it as it makes by itself."""
WorkOut = Callable[[Sequence[Any]], Sequence[bytes]]
"""Makes answers of what the parties have begun, in the same order."""


class InProcess:
    """Calls each party's answer function in turn; those in a row that are sent the same bytes hear the same `Frame`.

    A frame is made when it is its party's turn, and forgotten when the next is made, so that large ones of many parties
    need not be in memory together.

    Where these only begin an answer, `work_out` then makes all answers at once, with all threads.
    """

    reasons: Mapping[str, str] = MappingProxyType({})
    refusals: frozenset[str] = frozenset()

    def __init__(self, answers: Mapping[str, Begin], work_out: WorkOut = list) -> None:
        self.answers, self.work_out = answers, work_out

    def here(self) -> frozenset[str]:
        """Everyone."""
        return frozenset(self.answers)

    def wait(self, parties: frozenset[str], deadline: float) -> frozenset[str]:  # noqa: ARG002  # nobody is late here
        """Those that do not exist."""
        return parties - frozenset(self.answers)

    def meanwhile(self, work: Callable[[], None]) -> None:
        """Nobody is waited for here: the work is done at once."""
        work()

    def carry(
        self,
        frames: Mapping[str, bytes],
        deadline: float,  # noqa: ARG002  # a call returns or raises
        most_bytes: int,  # noqa: ARG002
    ) -> tuple[dict[str, bytes], frozenset[str]]:
        """Ask everyone; what a party refuses is raised here."""
        begun = [self.answers[party](heard) for party, heard in _heard(frames)]
        return dict(zip(frames, self.work_out(begun), strict=True)), frozenset()

    def close(self) -> None:
        """Nothing to close."""


def _heard(frames: Mapping[str, bytes]) -> Iterator[tuple[str, Frame]]:
    """Each party's frame as it hears it."""
    heard: Frame | None = None
    for party in frames:
        content = frames[party]
        if heard is None or bytes(heard) is not content:
            heard = Frame(content)
        yield party, heard
