"""All parties in this process. They still hear frames only, as they would over a wire."""

from collections.abc import Mapping
from types import MappingProxyType

from hedgerow.channel import Answer


class InProcess:
    """Calls each party's answer function in turn; each may use all threads."""

    reasons: Mapping[str, str] = MappingProxyType({})
    refusals: frozenset[str] = frozenset()

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = answers

    def here(self) -> frozenset[str]:
        """Everyone."""
        return frozenset(self.answers)

    def wait(self, parties: frozenset[str], deadline: float) -> frozenset[str]:  # noqa: ARG002  # nobody is late here
        """Those that do not exist."""
        return parties - frozenset(self.answers)

    def carry(
        self,
        frames: Mapping[str, bytes],
        deadline: float,  # noqa: ARG002  # a call returns or raises
        most_bytes: int,  # noqa: ARG002
    ) -> tuple[dict[str, bytes], frozenset[str]]:
        """Ask everyone; what a party refuses is raised here."""
        return {party: self.answers[party](frame) for party, frame in frames.items()}, frozenset()

    def close(self) -> None:
        """Nothing to close."""
