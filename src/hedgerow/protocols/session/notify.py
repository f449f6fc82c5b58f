"""Sentences for whoever waits for a run; they go to nobody else."""

from collections.abc import Callable

Tell = Callable[[str], None]


def silent(_: str) -> None:
    """Nobody waits."""
