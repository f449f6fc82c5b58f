"""How frames are carried between the driver and the parties; what a frame says is `wire`'s business."""

from collections.abc import Callable, Mapping
from typing import Protocol

Answer = Callable[[bytes], bytes]
"""A party's side: a frame that arrived, and the frame it answers with. Called once for each frame, one at a time."""


class Transport(Protocol):
    """The driver's side: carries frames to parties and their answers back. It has no idea what a tree is."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why parties did not answer the last frame, as far as it is known."""

    @property
    def refusals(self) -> frozenset[str]:
        """Parties that are connected and refused; do not wait for them."""

    def here(self) -> frozenset[str]:
        """The parties that can be asked now."""

    def wait(self, parties: frozenset[str], deadline: float) -> frozenset[str]:
        """Wait until these are here, at most `deadline` seconds; returns those that are not."""

    def meanwhile(self, work: Callable[[], None]) -> None:
        """Work that the next `carry` does, in the thread that calls it, while it waits for answers."""

    def carry(
        self, frames: Mapping[str, bytes], deadline: float, most_bytes: int
    ) -> tuple[dict[str, bytes], frozenset[str]]:
        """Hand each party its frame; returns the answers, and who did not answer.

        A frame may be made when it is asked for, so each is taken once, and sent before the next is.

        A party has not answered when `deadline` seconds are over, when it is a new process that cannot know what was
        said before, or when it broke the rules of the transport. No answer may have more than `most_bytes`.
        """

    def close(self) -> None:
        """Say goodbye to all; nothing can be carried afterwards."""
