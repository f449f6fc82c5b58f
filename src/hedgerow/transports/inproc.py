"""All parties in this process. They still hear frames only, as they would over a wire."""

from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from hedgerow.channel import Answer


class InProcess:
    """Calls each party's answer function."""

    def __init__(self, answers: Mapping[str, Answer], at_once: int = 1) -> None:
        self.answers = answers
        self.at_once = at_once
        self.pool = ThreadPoolExecutor(at_once - 1) if at_once > 1 else None

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
        """Ask everyone, `at_once` at a time; what a party refuses is raised here."""
        if self.pool is None:
            return {party: self.answers[party](frame) for party, frame in frames.items()}, frozenset()
        left, answered = deque(frames.items()), {}

        def work() -> None:
            while left:
                try:
                    party, frame = left.popleft()
                except IndexError:  # another thread took the last one
                    return
                answered[party] = self.answers[party](frame)

        others = [self.pool.submit(work) for _ in range(min(self.at_once, len(frames)) - 1)]
        try:
            work()
        finally:
            for other in others:
                other.result()
        return {party: answered[party] for party in frames}, frozenset()

    def close(self) -> None:
        """Let the threads go."""
        if self.pool is not None:
            self.pool.shutdown()
