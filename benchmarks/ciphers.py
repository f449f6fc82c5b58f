"""Ciphers by name, and what one exchange with one of them costs: seal, sum, return, open."""

import sys
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import timed
from hedgerow.privacy.additive import Cipher, PublicKey
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.paillier.cipher import Paillier
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection
from hedgerow.privacy.unencrypted.cipher import Unencrypted

PAILLIER, LATTICE, LINKED = "Paillier 2048", "lattice", "lattice, 100 Mbit/s"

CIPHERS: dict[str, Callable[[], Cipher]] = {
    "unencrypted": Unencrypted,
    LATTICE: Lattice,
    LINKED: lambda: Lattice(link_mbit=100),
    PAILLIER: lambda: Paillier(bits=2048),
}
"""All of them. Another cipher is another line; what a part needs and does not find among these, it says."""

BOUND = 64
"""The largest gradient and hessian: seven bits and a sign."""
CHANNELS = 2
RUN_TREES = 50
"""A run has so many trees, each with sums like the one measured: that decides how much hides the choices."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cost:
    """Seconds and bytes of one exchange; sealing and returning include making bytes and reading them."""

    seal: float = 0.0
    sum: float = 0.0
    back: float = 0.0
    open: float = 0.0
    out_bytes: float = 0.0
    back_bytes: float = 0.0

    @property
    def seconds(self) -> float:
        """Of all four."""
        return self.seal + self.sum + self.back + self.open

    @property
    def megabytes(self) -> float:
        """Both ways."""
        return (self.out_bytes + self.back_bytes) / 1e6

    @property
    def _all(self) -> tuple[float, ...]:
        return astuple(self)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*map(sum, zip(self._all, other._all, strict=True)))

    def beyond(self, fewer: "Cost", times: float) -> "Cost":
        """On the line through that of fewer rows and this, so many of their distances further on; nothing shrinks."""
        return self + Cost(*(times * max(0.0, now - then) for now, then in zip(self._all, fewer._all, strict=True)))

    def for_columns(self, times: float) -> "Cost":
        """Of so many times the columns: sealing does not know them."""
        return replace(
            self,
            sum=self.sum * times,
            back=self.back * times,
            open=self.open * times,
            back_bytes=self.back_bytes * times,
        )


@dataclass(frozen=True)
class Table:
    """What both sides have: pairs of the key holder, codes of the answering side."""

    values: Ints
    codes: NDArray[np.uint8]
    bins: int

    @classmethod
    def drawn(cls, rows: int, columns: int, bins: int, seed: int = 0) -> "Table":
        """Uniform codes and pairs; hessians are not negative."""
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, bins, (columns, rows), dtype=np.uint8)
        return cls(rng.integers([-BOUND, 0], BOUND, (rows, CHANNELS), endpoint=True), codes, bins)

    @property
    def widths(self) -> Ints:
        """The last bin of a column comes from the node's total."""
        return np.full(len(self.codes), self.bins - 1, np.int64)

    def first(self, rows: int) -> "Table":
        """Its first rows."""
        return Table(self.values[:rows], np.ascontiguousarray(self.codes[:, :rows]), self.bins)

    def plan(self, nodes: Nodes, run_sums: int) -> RowsPlan:
        """Of one question about all rows."""
        largest = int(np.diff(nodes.starts).max())
        return RowsPlan(
            rows=len(self.values),
            bounds=(BOUND,) * CHANNELS,
            groups=int(self.widths.sum()),
            columns=len(self.codes),
            nodes=len(nodes),
            most_rows=largest,
            run_sums=run_sums,
        )

    def plain_sums(self, nodes: Nodes) -> Ints:
        """What must be opened; exact, for the integers are small."""
        sums = np.empty((len(nodes), len(self.codes), self.bins, CHANNELS), np.int64)
        for node, (start, end) in enumerate(zip(nodes.starts, nodes.starts[1:], strict=False)):
            rows = nodes.rows[start:end]
            for column, codes in enumerate(self.codes):
                for channel in range(CHANNELS):
                    found = np.bincount(codes[rows], self.values[rows, channel], self.bins)
                    sums[node, column, :, channel] = np.rint(found)
        return sums[:, :, :-1].reshape(len(nodes), -1, CHANNELS)


class Exchange:
    """One key of one cipher, and both sides in this process; only bytes pass between them."""

    def __init__(self, cipher: Cipher, threads: int) -> None:
        self.cipher, self.threads = cipher, threads
        self.key_seconds, self.secret = timed(lambda: cipher.new_key(threads))
        key = self.secret.public.encode()
        self.key_bytes = len(key)
        self.public: PublicKey = cipher.read_public_key(key, threads)

    def seal(self, table: Table, plan: RowsPlan) -> tuple[Cost, bytes]:
        """The pairs of all rows, on their way."""
        seconds, data = timed(lambda: self.secret.seal_rows(table.values, plan).encode())
        return Cost(seal=seconds, out_bytes=len(data)), data

    def ask(self, data: bytes, table: Table, plan: RowsPlan, nodes: Nodes) -> tuple[Cost, Ints]:
        """Sums of what arrived, returned and opened."""
        selection = Selection(table.codes, table.widths)
        read, sealed = timed(lambda: self.public.read_rows(data, plan))
        summing, sums = timed(lambda: self.public.group_sums(sealed, selection, nodes))
        encoding, back = timed(sums.encode)
        decoding, returned = timed(lambda: self.secret.public.read_sums(back, plan, selection.groups))
        opening, opened = timed(lambda: self.secret.open_sums(returned))
        return Cost(read, summing, encoding + decoding, opening, 0.0, len(back)), opened

    def once(self, table: Table, nodes: Nodes) -> tuple[Cost, Ints]:
        """One question about all rows: the whole exchange."""
        plan = table.plan(nodes, RUN_TREES * len(nodes) * int(table.widths.sum()) * CHANNELS)
        sealing, data = self.seal(table, plan)
        asking, opened = self.ask(data, table, plan, nodes)
        return sealing + asking, opened


@dataclass(frozen=True)
class Sample:
    """Up to so many rows and columns a slow cipher is measured; beyond, its cost is extrapolated."""

    rows: int
    columns: int


def estimated(measure: Callable[[int, int], Cost], rows: int, columns: int, sample: Sample) -> tuple[Cost, bool]:
    """The cost at so many rows and columns, and whether it is extrapolated: linearly, from a sample and its quarter."""
    few = min(columns, sample.columns)
    if rows <= sample.rows:
        return measure(rows, few).for_columns(columns / few), few < columns
    part = sample.rows // 4
    quarter, full = measure(part, few), measure(sample.rows, few)
    further = (rows - sample.rows) / (sample.rows - part)
    return full.beyond(quarter, further).for_columns(columns / few), True


def best(turns: list[Cost]) -> Cost:
    """The quickest."""
    return min(turns, key=lambda each: each.seconds)


def missing(names: tuple[str, ...]) -> bool:
    """Whether one of these ciphers is not here; says so in one sentence."""
    absent = [name for name in names if name not in CIPHERS]
    if absent:
        print(f"Left out, for this hedgerow has no such cipher: {', '.join(absent)}.", file=sys.stderr)
    return bool(absent)
