"""A service of sealed scores on loopback: `hedgerow predict --sealed --serve` and a passive `hedgerow serve`.

One client asks about a row at a time, then eight at once; both processes are watched for memory that grows.
How busy others keep the machine is not told, for the two parties would count among them.
"""

import http.client
import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ciphers_rows import Below
from benchmarks.measure import timed
from benchmarks.peak import can_measure, resident_mib
from benchmarks.rows import RatioAtMost, Row
from benchmarks.sealed_processes import Running, SealedPlace
from benchmarks.sealed_rows import AtMost, WithinSteps
from benchmarks.sealed_runs import Trained, dealt
from benchmarks.sealed_sets import SETS
from benchmarks.sets import DataSet
from benchmarks.settings import Request
from hedgerow.data.table import Table
from hedgerow.demo.organisations import free_port

FULL = ("credit1",)
QUICK = FULL

REQUESTS, FEWER_REQUESTS = 1000, 200
LOAD, LESS_LOAD, CLIENTS = 10_000, 1000, 8
WARMING = 50

QUICK_ENOUGH = Below(0.1)
NO_ERROR = AtMost(0)
FLAT = RatioAtMost(1.1)  # a tenth more is taken for what allocators keep


class Client:
    """Asks about rows over one connection that stays open."""

    def __init__(self, port: int, token: str, table: Table) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {"Authorization": f"Bearer {token}"}
        self.names, self.values = table.names, np.asarray(table.values)

    def score(self, row: int) -> float:
        """The score of one row."""
        cells = zip(self.names, self.values[row].tolist(), strict=True)
        asked: dict[str, Any] = {"id": str(row), **{name: None if v != v else v for name, v in cells}}
        self.connection.request("POST", "/score", json.dumps({"rows": [asked]}), self.headers)
        reply = self.connection.getresponse()
        told = json.loads(reply.read())
        if reply.status != http.client.OK:
            raise RuntimeError(f"a client was answered {reply.status}: {told}")
        return float(told["scores"][0][0])

    def close(self) -> None:
        """Ask no more."""
        self.connection.close()


def run(request: Request) -> Iterator[Row]:
    """The rows of every set asked for."""
    for name in request.sets:
        yield from rows_of(SETS[name], request)


def rows_of(data: DataSet, request: Request) -> Iterator[Row]:
    """Both parties started, a client and then several."""
    split, threads = data.load(), request.settings.threads
    trained = Trained.of(split.X_train, split.y_train, threads)
    rows, expected = dealt(split.X_test), trained.model.scores(Table.of(split.X_test), threads)[:, 0]
    with tempfile.TemporaryDirectory(prefix="hedgerow-benchmark-") as folder, Running() as running:
        place, port = SealedPlace(Path(folder), trained.model, rows, threads), free_port()
        file = place.run_file("warm", running, None)
        passive, active = place.serve(running, file), place.stay(running, file, port)
        client = partial(Client, port, (place.folder / "token").read_text().strip(), rows[place.active])
        yield from one_by_one(data, client, expected, trained.error, FEWER_REQUESTS if request.quick else REQUESTS)
        before = {"active": resident_mib(active), "passive": resident_mib(passive)} if can_measure() else {}
        yield from at_once(data, client, len(expected), LESS_LOAD if request.quick else LOAD)
        for who, process in (("active", active), ("passive", passive)):
            if before:
                name = f"{data.name}: MiB of the {who} party, after / before the load"
                yield Row(name, data.origin, resident_mib(process), before[who], FLAT)


def one_by_one(data: DataSet, client: Any, expected: Any, allowed: float, n: int) -> Iterator[Row]:
    """Seconds of single requests, one after the other."""
    with closing(client()) as asking:
        for i in range(WARMING):
            asking.score(i)
        turns = [timed(partial(asking.score, i % len(expected))) for i in range(n)]
    seconds = [taken for taken, _ in turns]
    for share in (50, 99):
        told = f"{data.name}: one row, p{share} of {n}, s"
        yield Row(told, data.origin, float(np.percentile(seconds, share)), bar=QUICK_ENOUGH)
    largest = max(abs(score - expected[i % len(expected)]) for i, (_, score) in enumerate(turns))
    right = WithinSteps(float(largest), allowed)
    yield Row(f"{data.name}: one row, largest error", data.origin, float(largest), bar=right)


def at_once(data: DataSet, client: Any, n_rows: int, n: int) -> Iterator[Row]:
    """Many requests of some clients at once: how many failed, and how many are answered in a second."""

    def ask(number: int) -> int:
        failed = 0
        with closing(client()) as asking:
            for i in range(number, n, CLIENTS):
                try:
                    asking.score(i % n_rows)
                except (RuntimeError, OSError, http.client.HTTPException):
                    failed += 1
        return failed

    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        failed = sum(clients.map(ask, range(CLIENTS)))
    seconds = time.perf_counter() - began
    yield Row(f"{data.name}: {n} requests of {CLIENTS} clients, failed", data.origin, failed, bar=NO_ERROR)
    yield Row(f"{data.name}: rows a second", data.origin, n / seconds)
