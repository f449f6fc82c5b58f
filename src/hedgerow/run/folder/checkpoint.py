"""How far a run has come, in a file that only grows: a record for every tree, safe before the next tree begins.

    head: version, hash of the plan
    step: attempt, parties present, what is fixed before the first tree (once), new trees, new values of the metric,
          new sums with noise
    ...

Each record is msgpack (see `append_only`). Nothing in it is secret: all of it was said to every party. But for vertical
runs, where it lies with the active party and holds its own thresholds; what that party knows of its rows lies beside
it (`private_state`).
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Begin, Trees
from hedgerow.errors import ProtocolError, RunError
from hedgerow.protocols.columns import Common, loss_of
from hedgerow.protocols.horizontal.prepare import forest_of, grid_of, trees_of
from hedgerow.protocols.state import Opened, Start, State
from hedgerow.run.folder.private_state import keep_learnt, keep_scores, read_learnt, read_scores
from hedgerow.storage.append_only import appended, records_of
from hedgerow.storage.audit import AuditLog
from hedgerow.trees.forest import Forest

VERSION = 1


class _Head(msgspec.Struct, frozen=True, array_like=True):
    version: int
    plan: bytes


class _Opened(msgspec.Struct, frozen=True, array_like=True):
    """Sums with noise, of the release of this number."""

    number: int
    words: NDArray[np.int64]


class _Step(msgspec.Struct, frozen=True, array_like=True):
    """What a state has that the one before had not."""

    attempt: int
    present: tuple[str, ...]
    common: Common | None
    start: Start | None
    trees: tuple[Trees, ...]
    history: tuple[float, ...]
    losses: tuple[tuple[int, tuple[str, ...]], ...]
    clipped: int
    seconds: float
    model: str = ""
    opened: tuple[_Opened, ...] = ()
    drawn: tuple[bytes, ...] = ()


def _outgoing(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    raise NotImplementedError(type(value))


def _incoming(kind: Any, value: Any) -> NDArray[Any]:
    dtype = np.dtype(get_args(get_args(kind)[1])[0])
    array = np.frombuffer(value, dtype)
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("a number is not finite")
    return array


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_outgoing)
_HEAD = msgspec.msgpack.Decoder(_Head)
_STEP = msgspec.msgpack.Decoder(_Step, dec_hook=_incoming)


class Checkpoint:
    """A run's checkpoint file: `state` is how far it has come, `seconds` how long each tree took."""

    def __init__(self, path: Path, plan: Plan, attempts: int = 0) -> None:
        self.path, self.plan, self.state = path, plan, State(attempt=attempts)
        self.seconds: list[float] = []
        self._file, self._size = -1, 0
        try:
            raw = path.read_bytes() if path.exists() else b""
            records, self._size = records_of(raw, path)
            self._read(records, plan)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.ftruncate(self._file, self._size)
        except OSError as error:
            self.close()
            raise RunError(f"Cannot use the checkpoint {path}: {error.strerror or error}.") from None
        if not records:
            self._append(_Head(VERSION, plan.digest))
            _sync_folder(path.parent)
        self._began = time.perf_counter()

    def keep(self, state: State) -> None:
        """Write down what is new; when this returns, it would outlast a loss of power."""
        before = self.state
        new = tuple(trees_of(part) for part in state.parts[len(before.parts) :])
        opened = tuple(_Opened(one.number, one.words) for one in state.opened[len(before.opened) :])
        drawn, now = state.drawn[len(before.drawn) :], time.perf_counter()
        if new and state.scores:
            keep_scores(self.path.parent, self.plan, len(state.parts), state.scores)
        if new and state.learnt is not None:
            keep_learnt(self.path.parent, state.learnt)
        step = _Step(
            attempt=state.attempt,
            present=state.present,
            common=state.common if before.common is None else None,
            start=state.start if before.start is None else None,
            trees=new,
            history=state.history[len(before.history) :],
            losses=state.losses,
            clipped=state.clipped,
            seconds=now - self._began if new or opened else 0.0,
            model=state.model,
            opened=opened,
            drawn=drawn,
        )
        self._append(step)
        self.state = state
        if new or opened:
            self.seconds.append(step.seconds)
        self._began = now

    def keeping(self, log: AuditLog) -> Callable[[State], None]:
        """What is done after every tree, before the next begins: the log is safe first, then the tree."""

        def keep(state: State) -> None:
            log.sync()
            self.keep(state)

        return keep

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _append(self, record: _Head | _Step) -> None:
        payload = _ENCODER.encode(record)
        try:
            self._size = appended(self._file, payload, self._size)
        except OSError as error:
            raise RunError(
                f"Cannot write the checkpoint {self.path}: {error.strerror or error}; make room and resume the run, "
                f"{self.state.forest.n_trees} trees are kept."
            ) from None

    def _read(self, records: list[bytes], plan: Plan) -> None:
        if not records:
            return
        try:
            head = _HEAD.decode(records[0])
            if head.version != VERSION:
                raise RunError(f"{self.path} is of version {head.version}; this hedgerow reads version {VERSION}.")
            if head.plan != plan.digest:
                raise RunError(
                    f"{self.path} belongs to a run with another plan, of the hash {head.plan.hex()[:12]}..., where "
                    f"this one's is {plan.digest.hex()[:12]}...; name another folder."
                )
            for raw in records[1:]:
                self._follow(_STEP.decode(raw), plan)
        except (msgspec.DecodeError, ProtocolError, ValueError, RecursionError):
            raise RunError(
                f"{self.path} is damaged and cannot be resumed from; start again in another folder."
            ) from None
        if not self.state.steps:  # a party's table may be mended before the first tree: it is agreed on anew
            self.state = replace(self.state, common=None, start=None)
        if plan.active and self.state.parts:
            scores = read_scores(self.path.parent, plan, len(self.state.parts))
            self.state = replace(self.state, scores=scores, learnt=read_learnt(self.path.parent))

    def _follow(self, step: _Step, plan: Plan) -> None:
        """The state after one more step; trees in which a walk could go astray are refused."""
        state = self.state
        common = step.common or state.common
        if step.attempt < state.attempt or not set(step.present) <= set(plan.names):
            raise ProtocolError("steps do not follow each other")
        start = state.start if step.start is None else _checked(step.start, common, plan)
        if step.trees or step.opened:
            self.seconds.append(step.seconds)
        self.state = replace(
            state,
            attempt=step.attempt,
            present=step.present,
            common=common,
            start=start,
            parts=state.parts + tuple(_forest(trees, common, plan) for trees in step.trees),
            history=state.history + step.history,
            losses=step.losses,
            clipped=step.clipped,
            model=step.model or state.model,
            opened=state.opened + tuple(Opened(one.number, one.words) for one in step.opened),
            drawn=state.drawn + step.drawn,
        )


def losses_of(state: State) -> list[dict[str, Any]]:
    """Rounds in which parties were lost and the run went on without them, for the manifest."""
    return [{"round": round_, "parties": list(names)} for round_, names in state.losses]


def progress_in(path: Path) -> tuple[int, int]:
    """How many attempts and steps (see `State`) are in a checkpoint, whatever its plan; none without it."""
    steps = _steps_of(path)
    done = (len(step.trees) + len(step.opened) + len(step.drawn) for step in steps)
    return max((step.attempt for step in steps), default=0), sum(done)


@dataclass(frozen=True)
class Gone:
    """How far a run has come, by its checkpoint alone."""

    rounds: int = 0
    history: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    """Of each round."""
    present: tuple[str, ...] = ()
    """The parties that were there last; empty: all."""
    n_classes: int = 0
    """0 for numbers, or where that is not settled yet."""


def gone_so_far(path: Path) -> Gone:
    """The rounds in a checkpoint, whatever its plan, and how its metric went."""
    steps = _steps_of(path)
    new = [step for step in steps if step.trees]
    history = tuple(value for step in steps for value in step.history)
    return Gone(
        sum(len(step.trees) for step in new), history, tuple(step.seconds for step in new),
        steps[-1].present if steps else (), max((len(step.common.classes) for step in steps if step.common), default=0),
    )  # fmt: skip


def _steps_of(path: Path) -> list[_Step]:
    try:
        records, _ = records_of(path.read_bytes() if path.exists() else b"", path)
        return [_STEP.decode(raw) for raw in records[1:]]
    except OSError as error:
        raise RunError(f"Cannot use the checkpoint {path}: {error.strerror or error}.") from None
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise RunError(f"{path} is damaged and cannot be resumed from; start again in another folder.") from None


def _forest(trees: Trees, common: Common | None, plan: Plan) -> Forest:
    if common is None:
        raise ProtocolError("trees come before their columns")
    return forest_of(trees, common.columns, loss_of(plan, common.classes).n_trees)


def _checked(start: Start, common: Common | None, plan: Plan) -> Start:
    if common is None:
        raise ProtocolError("cut points come before their columns")
    facts, grid, none = start.facts, start.grid, trees_of(Forest.empty())
    beside = (0.0, 0.0, 0.0)
    begin = Begin(
        facts.low, facts.high, facts.max_weight, beside, start.base,
        cuts=grid.cuts, cut_starts=grid.cut_starts, has_missing=grid.has_missing, forest=none,
    )  # fmt: skip
    return replace(start, grid=grid_of(begin, common.columns, plan.params.max_bin))


def _sync_folder(folder: Path) -> None:
    """A new file's name outlasts a loss of power only when its folder does."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
