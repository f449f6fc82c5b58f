"""What the parties of a vertical run keep for themselves, so that a process that was killed can go on.

The active party: the score of each of its rows after the last complete tree, in two files that take turns, so that one
of them always fits the checkpoint; and what it has learnt of the others' bins. A passive party: its own cuts of every
complete round, in a file that only grows. A party of a run with differential privacy: its noised sums, until the round
is over. Both: which of their rows all parties have, where that was found by ids.
None of it is ever said to anybody: scores come from labels, cuts and rows are the party's own.
"""

import hashlib
import os
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.errors import RunError
from hedgerow.privacy.noised_words import KeptWords
from hedgerow.protocols.leakage import LearntBins
from hedgerow.protocols.session.stores import OwnCuts
from hedgerow.storage.append_only import appended, records_of
from hedgerow.storage.atomic import write_whole
from hedgerow.trees.splits import Cuts, Nodes

SCORES, CUTS, LEARNT, COMMON, NOISED = "scores", "cuts", "learnt", "common", "noised"
PRIVATE = 0o600


class _Scores(msgspec.Struct, frozen=True, array_like=True):
    plan: bytes
    rounds: int
    shapes: tuple[tuple[int, int], ...]
    values: tuple[bytes, ...]


def keep_scores(folder: Path, plan: Plan, rounds: int, scores: tuple[NDArray[np.float32], ...]) -> None:
    """Write the scores after so many rounds, whole or not at all; those of the round before stay."""
    shapes = tuple((array.shape[0], array.shape[1]) for array in scores)
    payload = msgspec.msgpack.encode(_Scores(plan.digest, rounds, shapes, tuple(a.tobytes() for a in scores)))
    write_whole(_place(folder, rounds), hashlib.sha256(payload).digest() + payload, RunError, PRIVATE)


def read_scores(folder: Path, plan: Plan, rounds: int) -> tuple[NDArray[np.float32], ...]:
    """The scores after so many rounds."""
    place = _place(folder, rounds)
    try:
        content = place.read_bytes()
        kept = msgspec.msgpack.decode(content[32:], type=_Scores)
        whole = hashlib.sha256(content[32:]).digest() == content[:32]
        _ensure(whole and (kept.plan, kept.rounds) == (plan.digest, rounds))
        return tuple(
            np.frombuffer(values, np.float32).reshape(shape)
            for shape, values in zip(kept.shapes, kept.values, strict=True)
        )
    except (OSError, ValueError, msgspec.DecodeError):
        raise RunError(
            f"{place} does not hold the scores of round {rounds}, without which the run cannot go on; start again in "
            "another folder."
        ) from None


def keep_learnt(folder: Path, learnt: LearntBins) -> None:
    """Write what was learnt of bins; it only ever grows, and trees grown again tell the same once more."""
    write_whole(folder / LEARNT, learnt.packed(), RunError, PRIVATE)


def read_learnt(folder: Path) -> LearntBins | None:
    """What was learnt of bins; None where that is not noted."""
    place = folder / LEARNT
    return LearntBins.unpacked(place.read_bytes()) if place.exists() else None


def noised_words(folder: Path, plan: bytes) -> KeptWords:
    """Where a party of a run with differential privacy keeps its noised sums until a round is over."""
    return KeptWords(folder / NOISED, plan.hex())


def _place(folder: Path, rounds: int) -> Path:
    return folder / f"{SCORES}.{rounds % 2}"


def _ensure(holds: bool) -> None:
    """Refuse what is of another run or round, or damaged."""
    if not holds:
        raise ValueError("not what was kept")


class _Places(msgspec.Struct, frozen=True, array_like=True):
    plan: bytes
    n_rows: int
    places: bytes


class PlacesFile:
    """Which rows of a party, or columns of a horizontal run, all have: they are not aligned again after a restart."""

    def __init__(self, folder: Path, plan: bytes) -> None:
        self.folder, self.plan = folder, plan

    def read(self, held_out: bool, n_rows: int) -> NDArray[np.int64] | None:
        """Their places in a table of so many rows, in order; None if they were not found yet, or in another table."""
        place = self._place(held_out)
        try:
            content = place.read_bytes() if place.exists() else b""
            if not content:
                return None
            kept = msgspec.msgpack.decode(content[32:], type=_Places)
            _ensure(hashlib.sha256(content[32:]).digest() == content[:32])
            places = np.frombuffer(kept.places, np.int64)
        except OSError as error:
            raise RunError(f"Cannot read {place}: {error.strerror or error}.") from None
        except (ValueError, msgspec.DecodeError):
            raise RunError(f"{place} is damaged; begin a new run in another folder.") from None
        fits = (kept.plan, kept.n_rows) == (self.plan, n_rows) and ((places >= 0) & (places < n_rows)).all()
        return places if fits else None

    def write(self, held_out: bool, n_rows: int, places: NDArray[np.int64]) -> None:
        """Keep them, whole or not at all."""
        payload = msgspec.msgpack.encode(_Places(self.plan, n_rows, np.ascontiguousarray(places, np.int64).tobytes()))
        write_whole(self._place(held_out), hashlib.sha256(payload).digest() + payload, RunError, PRIVATE)

    def _place(self, held_out: bool) -> Path:
        return self.folder / (f"{COMMON}.validation" if held_out else COMMON)


class _Cuts(msgspec.Struct, frozen=True, array_like=True):
    tree: bytes
    node: bytes
    child: bytes
    column: bytes
    bin: bytes
    missing_left: bytes
    left_bins: bytes


class _Round(msgspec.Struct, frozen=True, array_like=True):
    plan: bytes
    round: int
    cuts: tuple[_Cuts, ...]
    after: tuple[bytes, ...] = ()


class CutsFile:
    """A passive party's cuts of complete rounds; a round that is written again takes the place of it and all after."""

    def __init__(self, path: Path, plan: bytes) -> None:
        self.path, self.plan = path, plan
        self._size = 0

    def read(self) -> list[OwnCuts]:
        """The cuts of all complete rounds."""
        kept: list[OwnCuts] = []
        try:
            records, self._size = records_of(self.path.read_bytes() if self.path.exists() else b"", self.path)
            for raw in records:
                told = msgspec.msgpack.decode(raw, type=_Round)
                _ensure(told.plan == self.plan and 0 <= told.round <= len(kept))
                after = tuple(np.frombuffer(raw, np.int64) for raw in told.after)
                kept[told.round :] = [OwnCuts(told.round, tuple(map(_cuts, told.cuts)), after)]
        except OSError as error:
            raise RunError(f"Cannot read {self.path}: {error.strerror or error}.") from None
        except (ValueError, msgspec.DecodeError):
            raise RunError(f"{self.path} is damaged; begin a new run in another folder.") from None
        return kept

    def append(self, own: OwnCuts) -> None:
        """Write one more round; when this returns, it would outlast a loss of power."""
        cuts = tuple(_Cuts(*(np.ascontiguousarray(array).tobytes() for array in (*c.nodes, *c[1:]))) for c in own.cuts)
        after = tuple(np.ascontiguousarray(codes).tobytes() for codes in own.after)
        payload = msgspec.msgpack.encode(_Round(self.plan, own.round, cuts, after))
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
            try:
                os.ftruncate(file, self._size)
                self._size = appended(file, payload, self._size)
            finally:
                os.close(file)
        except OSError as error:
            raise RunError(f"Cannot write {self.path}: {error.strerror or error}; make room and join again.") from None


def _cuts(kept: _Cuts) -> Cuts:
    tree, node, child = (np.frombuffer(raw, np.int64) for raw in (kept.tree, kept.node, kept.child))
    column, bin_ = (np.frombuffer(raw, np.int32) for raw in (kept.column, kept.bin))
    missing, sets = np.frombuffer(kept.missing_left, np.bool_), np.frombuffer(kept.left_bins, np.uint64).reshape(-1, 4)
    _ensure(len({len(tree), len(node), len(child), len(column), len(bin_), len(missing), len(sets)}) == 1)
    return Cuts(Nodes(tree, node), child, column, bin_, missing, sets)
