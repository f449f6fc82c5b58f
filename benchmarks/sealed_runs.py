"""One forest over columns, and its test rows scored in each way: sealed, by asking for ways, and pooled.

Fed-EINI's settings: two parties, of which the active one has the first five columns; 100 trees of depth 4.
"""

import gc
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generated import ACTIVE_COLUMNS
from benchmarks.horizontal_runs import Recipe
from benchmarks.quiet import Neighbours
from benchmarks.settings import Settings
from benchmarks.vertical_runs import PLAIN
from hedgerow.agreement.options import Lattice, Paillier
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.messages import Answer, BeginScores, Consent, Propose, Request, ScoresReady
from hedgerow.corridor.wire import Corridor
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model.fixed_scores import fixed_scores
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import Asking, plan_of
from hedgerow.protocols.predict.passive import Answering
from hedgerow.protocols.scores.blur import blur_width
from hedgerow.protocols.scores.layout import method_of
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.simulation.parties import members
from hedgerow.run.simulation.present_parties import answer_of, owner_of, tables_of
from hedgerow.run.simulation.score import sealed_scores
from hedgerow.transports.inproc import InProcess

TREES, DEPTH = 100, 4
LATTICE = Lattice(link_mbit=100.0)
"""As `hedgerow predict --sealed` seals unless told otherwise."""
PAILLIER = Paillier(bits=2048)
JOINING = (Propose, Consent, BeginScores, ScoresReady)

Rows = Mapping[str, Table]


@dataclass(frozen=True, eq=False)
class Asked:
    """What one way of scoring gave and took; to join, and to make and tell keys, is counted by itself."""

    scores: NDArray[np.float32]
    joining: float
    seconds: float
    out: int
    back: int
    exchanges: int
    others: float | None

    @property
    def kilobytes(self) -> float:
        """A row's, both ways."""
        return (self.out + self.back) / len(self.scores) / 1000


class Heard:
    """Counts what crosses, and notes when joining was over."""

    def __init__(self) -> None:
        self.joined, self.out, self.back, self.exchanges = 0.0, 0, 0, 0

    def __call__(self, sender: str, receiver: str, message: Request | Answer, frame: bytes) -> None:  # noqa: ARG002
        """A listener."""
        if isinstance(message, JOINING):
            self.joined = time.perf_counter()
        elif isinstance(message, Request):
            self.out += len(frame)
            self.exchanges += 1
        else:
            self.back += len(frame)


@dataclass(frozen=True, eq=False)
class Trained:
    """A forest of two parties, and how many threads each side has."""

    model: Model
    threads: int

    @classmethod
    def of(cls, X: Any, y: Any, threads: int, trees: int = TREES) -> "Trained":
        """Trained without encryption, which gives the same forest."""
        return cls(recipe_of(y, threads, trees).federated(dealt(X, y), PLAIN), threads)

    @property
    def error(self) -> float:
        """How far a sealed score may be from the pooled one."""
        return fixed_scores(self.model).error

    def sealed(self, rows: Rows, privacy: Lattice | Paillier = LATTICE, permille: int = 0) -> Asked:
        """In one sealed round, in which the owner blurs scores by so many thousandths of the largest."""
        policy = replace(ALLOW_ALL, blur_permille=permille)
        return self._asked(partial(sealed_scores, self.model, rows, privacy, threads=self.threads, policy=policy))

    def blur(self, permille: int) -> float:
        """How far such a blur moves a score at most."""
        fixed = fixed_scores(self.model)
        return blur_width(method_of(self.model, fixed, LATTICE), permille) * fixed.step

    def interactive(self, rows: Rows, together: int | None = None) -> Asked:
        """By asking which way rows go, so many trees together; all of them if not said."""
        return self._asked(partial(self._by_ways, rows, together))

    def _by_ways(self, rows: Rows, together: int | None, listeners: tuple[Heard, ...]) -> NDArray[np.float32]:
        tables, present = tables_of(self.model, rows)
        own, (who, identities) = ownership_of(self.model), members(tuple(rows))
        answers = {name: answer_of(owner_of(self.model, name, tables, identities), Answering) for name in present}
        plan = plan_of("benchmark", who, own.active, own.model)
        group = PartyGroup(Corridor(InProcess(answers), listeners), plan, present, 600.0)
        propose(group, None)
        return self.model.scores_at(Asking(group, self.model).leaves(tables[own.active], together))

    def _asked(self, call: Any) -> Asked:
        gc.collect()
        heard = Heard()
        with Neighbours() as neighbours:
            began = time.perf_counter()
            scores = call(listeners=(heard,))
            ended = time.perf_counter()
        times = (heard.joined - began, ended - heard.joined)
        return Asked(scores, *times, heard.out, heard.back, heard.exchanges, neighbours.cores)


def recipe_of(y: Any, threads: int, trees: int = TREES) -> Recipe:
    """How forests are grown."""
    return Recipe.of(Settings(trees=trees, depth=DEPTH, threads=threads), y)


def dealt(X: Any, y: Any = None) -> dict[str, Table]:
    """The active party's first columns, and the others'."""
    columns = range(X.shape[1])
    return partition.columns(X, y, share=[[*columns[:ACTIVE_COLUMNS]], [*columns[ACTIVE_COLUMNS:]]])


def first(rows: Rows, n: int) -> dict[str, Table]:
    """The first rows of each party."""
    return {name: replace(table.take(slice(0, n)), labels=None) for name, table in rows.items()}


def middle(turns: list[Asked]) -> Asked:
    """The one of median seconds, or the slower of two such."""
    return sorted(turns, key=lambda each: each.seconds)[len(turns) // 2]


def auc_ks(y: Any, scores: NDArray[np.float32]) -> tuple[float, float]:
    """The area below the curve, and the largest distance between the shares found of both classes."""
    from sklearn.metrics import roc_auc_score, roc_curve

    wrong, right, _ = roc_curve(y, scores[:, 0])
    return float(roc_auc_score(y, scores[:, 0])), float(np.max(right - wrong))
