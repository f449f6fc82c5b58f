"""What both seats train with, and what one run was asked for."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """The settings of one forest, the same in both seats."""

    trees: int = 50
    depth: int = 6
    learning_rate: float = 0.1
    bins: int = 64
    threads: int = 2
    reg_lambda: float = 1.0
    min_child_weight: float = 1.0
    gradient_bits: int = 20


@dataclass(frozen=True)
class Request:
    """One run as the command line asked for it.

    `ours` names the learner in our seat, `sketch` a Cargo project, `keep` a folder for what is measured, seed by seed.
    """

    settings: Settings = field(default_factory=Settings)
    sets: tuple[str, ...] = ()
    quick: bool = False
    ours: str = "hedgerow"
    peer: str = "xgboost"
    sketch: Path | None = None
    keep: Path | None = None
