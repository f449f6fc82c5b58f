"""Sizes of generated data by name: rows x columns x bins x nodes, as far as a part has them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Numbers, and the name they have together."""

    numbers: tuple[int, ...]

    @property
    def name(self) -> str:
        """What a run's options call it."""
        return "x".join(map(str, self.numbers))

    @property
    def at_hand(self) -> bool:
        """It is generated."""
        return True


def shapes(*numbers: tuple[int, ...]) -> dict[str, Shape]:
    """By their names."""
    return {shape.name: shape for shape in map(Shape, numbers)}


TREES = shapes((22_500, 12, 32), (32_561, 61, 2), (150_000, 5, 32), (1_000_000, 10, 32))
GROWING = shapes(*((rows, 10, 32) for rows in (10_000, 30_000, 100_000, 300_000)))
SLOTS = shapes((30_000, 1600), (1, 1600), (4096, 1600))
LAYOUTS = shapes(*((rows, 1600) for rows in (1, 10, 100, 1000)))
SWEEP = shapes(
    (100_000, 10, 32, 8),
    *((rows, 10, 32, 8) for rows in (10_000, 1_000_000)),
    *((100_000, columns, 32, 8) for columns in (1, 50, 200)),
    *((100_000, 10, bins, 8) for bins in (2, 8, 64)),
    *((100_000, 10, 32, nodes) for nodes in (1, 64)),
    (10_000, 1, 2, 1),
    (10_000, 200, 64, 64),
    (1_000_000, 1, 64, 64),
    (1_000_000, 200, 2, 1),
)
PAILLIERS = shapes((20_000, 10, 32), (4000, 10, 32))
EVERY = TREES | GROWING | SLOTS | LAYOUTS | SWEEP | PAILLIERS
