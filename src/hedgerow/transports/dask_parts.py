"""Parts of one owner's rows on the workers of a Dask cluster: an actor on each holds the parts that lie there.

What is asked of all goes to the first actor, which asks the next two while it works itself, and so on: answers are
added up on their way back, so that one answer reaches this process. All of it stays inside one party, and nothing here
knows what the parts are. Dask is imported by this file alone.
"""

import contextlib
import copy
import functools
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hedgerow.errors import HedgerowError, MissingExtra, ParameterError
from hedgerow.trees.parted_rows import PartLost

Make = Callable[[Any, int, int], Any]
"""Makes a part of what is read, given its number and how many threads it has."""
LISTENED = 0.5
"""Seconds after which it is looked whether whoever is to answer is still there."""
WAITED = 20.0
"""Seconds in which the cluster says which worker it has lost."""


def _dask() -> Any:
    try:
        import dask
        import distributed
    except ImportError:
        raise MissingExtra("A cluster needs Dask; install hedgerow[dask].") from None
    return dask, distributed


def _whole(came: Any) -> Any:
    """What came from another process: its arrays stand anywhere among other bytes, which kernels refuse."""
    return copy.deepcopy(came)


def _heard(answer: Any, lost: Callable[[], bool]) -> Any:
    """An actor's answer, waited for as long as nothing is lost: Dask itself may wait for a lost worker for ever."""
    while True:
        try:
            return answer.result(timeout=LISTENED)
        except TimeoutError:
            if lost():
                raise _Moved from None


class _Held:
    """The parts on one worker, and the actors whose answers are added to theirs."""

    def __init__(self) -> None:
        self.parts: dict[int, Any] = {}
        self.below: list[tuple[Any, tuple[int, ...]]] = []
        self.stopped = False
        """Whether those below are no longer waited for."""

    def adopt(self, number: int, key: str, make: Make) -> None:
        """Hold the part made of what this worker has read under this key."""
        worker = _dask()[1].get_worker()
        if key not in worker.data:
            raise _Moved
        self.parts[number] = make(worker.data[key], number, worker.state.nthreads)

    def join(self, below: list[tuple[Any, tuple[int, ...]]]) -> None:
        """From now on these answer through this one."""
        self.below, self.stopped = below, False

    async def stop_waiting(self) -> None:
        """Wait for no others: one was lost. Dask runs this beside what the actor does."""
        self.stopped = True

    def answer(self, held: tuple[int, ...], ask: str, given: tuple[Any, ...], adds: bool) -> Any:
        """What its parts and those below answer: their sum, or each by its number."""
        if tuple(self.parts) != held:
            raise _Moved
        asked = [actor.answer(theirs, ask, given, adds) for actor, theirs in self.below]
        whole = _whole(given)
        own = {number: getattr(part, ask)(*whole) for number, part in self.parts.items()}
        below = [_heard(one, lambda: self.stopped) for one in asked]
        if adds:
            return functools.reduce(operator.add, [*own.values(), *below])
        return {number: answer for one in (own, *below) for number, answer in one.items()}

    def some(self, number: int, ask: str, given: tuple[Any, ...]) -> None:
        """Has one part do something."""
        getattr(self.parts[number], ask)(*_whole(given))


class _Moved(Exception):
    """An actor does not hold what it should, or waits for another in vain: a worker was lost."""


class DaskParts:
    """Keeps `Parts`: rows on the workers of a cluster, read there from these sources."""

    def __init__(self, client: Any, sources: Sequence[Any], make: Make) -> None:
        self.client, self.sources, self.make = client, sources, make
        self._actors: dict[str, Any] = {}
        self._made: dict[str, Any] = {}
        """What keeps the actors alive."""
        self._held: dict[str, tuple[int, ...]] = {}
        """Which parts lie at which worker; workers in the order in which they answer through each other."""
        self._anew: set[int] = set()
        """Parts that were made anew and are not yet told of."""
        workers = self._workers()[: len(sources)]
        with contextlib.suppress(PartLost), _lost():  # what is lacking is asked for, and restored, later
            self._place({worker: range(i, len(sources), len(workers)) for i, worker in enumerate(workers)})
            self._join()

    def _workers(self) -> list[str]:
        until = time.monotonic() + WAITED
        while not (found := sorted(self.client.scheduler_info(n_workers=-1)["workers"])):
            if time.monotonic() > until:
                raise ParameterError("The Dask cluster has no worker; start some, and begin again.")
            time.sleep(0.05)
        return found

    def _place(self, places: Mapping[str, Sequence[int]]) -> None:
        """Have workers read these parts and hold them."""
        for worker in places.keys() - self._actors.keys():
            # Where a worker is lost its actor is made elsewhere, empty; else Dask would wait for that worker to answer.
            where = {"workers": [worker], "allow_other_workers": True}
            self._made[worker] = self.client.submit(_Held, actor=True, pure=False, **where)
        for worker in sorted(places.keys() - self._actors.keys()):
            self._actors[worker], self._held[worker] = self._made[worker].result(), ()
        pairs = [(worker, number) for worker, numbers in places.items() for number in numbers]
        read = [
            self.client.compute(self.sources[number], workers=[worker], allow_other_workers=True)
            for worker, number in pairs
        ]
        _dask()[1].wait(read)
        for one in read:
            if one.status == "error":
                one.result()
        made = [
            self._actors[worker].adopt(number, one.key, self.make)
            for (worker, number), one in zip(pairs, read, strict=True)
        ]
        for (worker, number), one in zip(pairs, made, strict=True):
            self._heard(one)
            self._held[worker] = (*self._held[worker], number)

    def _join(self) -> None:
        """Actors answer through each other, as in a heap."""
        order = list(self._actors)
        for i, worker in enumerate(order):
            below = [order[j] for j in (2 * i + 1, 2 * i + 2) if j < len(order)]
            self._heard(self._actors[worker].join([(self._actors[name], self._held[name]) for name in below]))

    def total(self, ask: str, *given: Any) -> Any:
        """The sum of what all answer."""
        return self._answer(ask, given, adds=True)

    def each(self, ask: str, *given: Any) -> list[Any]:
        """What each answers, in the order of their numbers."""
        found = self._answer(ask, given, adds=False)
        return [found[number] for number in sorted(found)]

    def _answer(self, ask: str, given: tuple[Any, ...], adds: bool) -> Any:
        if self._lacking():
            raise PartLost
        first = next(iter(self._actors))
        with _lost():
            return _whole(self._heard(self._actors[first].answer(self._held[first], ask, given, adds)))

    def _heard(self, answer: Any) -> Any:
        return _heard(answer, lambda: bool(self._gone()))

    def some(self, numbers: Sequence[int], ask: str, *given: Any) -> None:
        """Has some of them do something."""
        with _lost():
            for number in numbers:
                worker = next(name for name, held in self._held.items() if number in held)
                self._heard(self._actors[worker].some(number, ask, given))

    def restore(self) -> list[int]:
        """Read the parts of workers that were lost again, on others; returns their numbers."""
        until = time.monotonic() + WAITED
        while not ((gone := self._gone()) or self._lacking() or self._anew):
            if time.monotonic() > until:
                raise ParameterError("A worker of the Dask cluster fails without being lost; see to its log.")
            time.sleep(0.05)
        for worker in gone:
            del self._actors[worker], self._held[worker], self._made[worker]
        with _lost():
            for actor in self._actors.values():
                self._heard(actor.stop_waiting())
            for number in self._lacking():
                fewest = min(self._workers(), key=lambda name: len(self._held.get(name, ())))
                self._place({fewest: [number]})
                self._anew.add(number)
            self._join()
        told, self._anew = sorted(self._anew), set()
        return told

    def _lacking(self) -> list[int]:
        held = {number for numbers in self._held.values() for number in numbers}
        return [number for number in range(len(self.sources)) if number not in held]

    def _gone(self) -> list[str]:
        there = self.client.scheduler_info(n_workers=-1)["workers"]
        return [worker for worker in self._actors if worker not in there]


@contextlib.contextmanager
def _lost() -> Iterator[None]:
    """What Dask says when a worker is gone, as the loss of a part; our own refusals go through."""
    try:
        yield
    except (HedgerowError, PartLost):
        raise
    except (OSError, RuntimeError, KeyError, _Moved):
        raise PartLost from None


# Data frames and arrays


def is_dask(thing: Any) -> bool:
    """Whether it is a Dask collection, without importing Dask."""
    return type(thing).__module__.partition(".")[0] in ("dask", "dask_expr")


def sources_of(X: Any, beside: Mapping[str, Any]) -> list[Any]:
    """The partitions of a frame or an array, each with what stands beside its rows, to be read where it will lie."""
    dask, _ = _dask()
    if hasattr(X, "npartitions") and hasattr(X, "columns"):
        named = {name: one for name, one in beside.items() if is_dask(one)}
        parts = [X.to_delayed(), *(one.to_delayed() for one in named.values())]
        if len({len(part) for part in parts}) > 1:
            raise ParameterError("The frame and what stands beside it have other partitions; make them of one frame.")
    else:
        X = X.rechunk({1: X.shape[1]})
        named = {name: one.rechunk((X.chunks[0],)) for name, one in beside.items() if is_dask(one)}
        parts = [X.to_delayed().ravel(), *(one.to_delayed().ravel() for one in named.values())]
    names = list(named)
    return [dask.delayed(_together)(names, *one) for one in zip(*parts, strict=True)]


def _together(names: Sequence[str], X: Any, *beside: Any) -> tuple[Any, dict[str, Any]]:
    return X, dict(zip(names, beside, strict=True))


def client_of() -> Any:
    """The client that the user has made."""
    _, distributed = _dask()
    try:
        return distributed.default_client()
    except ValueError:
        raise ParameterError(
            "X lies with Dask, and no client is connected to a cluster; make one first: dask.distributed.Client()."
        ) from None


def files_as_sources(paths: Sequence[str]) -> list[Any]:
    """Files that the workers read themselves."""
    delayed = _dask()[0].delayed
    return [delayed(path) for path in paths]


LOCAL = "local"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@contextlib.contextmanager
def connected(address: str, without_tls: bool, say: Callable[[str], object]) -> Iterator[Any]:
    """A client of the cluster at this address, or of worker processes on this machine as long as they are needed.

    What is said between workers are labels, sums and scores of this party's rows, so another machine is reached by TLS
    alone, with the keys that Dask's own configuration names, unless the user accepts less.
    """
    _, distributed = _dask()
    if address == LOCAL:
        with (
            # With keys of its own: whoever reaches a scheduler has it do anything, other users of this machine too.
            distributed.LocalCluster(processes=True, security=True, dashboard_address="127.0.0.1:0") as cluster,
            distributed.Client(cluster) as client,
        ):
            say(f"{len(cluster.workers)} workers on this machine; their dashboard is {client.dashboard_link}.")
            yield client
        return
    host = address.partition("://")[2].rpartition(":")[0]
    if not host:
        raise ParameterError(f"--cluster {address} is no address; write it like tls://host:8786, or local.")
    if not address.startswith("tls://") and host not in LOOPBACK and not without_tls:
        raise ParameterError(
            f"--cluster {address} is not protected by TLS, and whoever listens would learn of this party's rows; use a "
            "tls:// address, or accept it with --without-tls."
        )
    try:
        client = distributed.Client(address, timeout=WAITED)
    except (OSError, ValueError, TypeError):
        raise ParameterError(
            f"No Dask cluster answers at {address}; see that its scheduler runs and that the address is right."
        ) from None
    with client:
        say(f"The cluster's dashboard is {client.dashboard_link}.")
        yield client
