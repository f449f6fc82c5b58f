"""One decoder of one cipher under mutated wire forms, in a process of its own: `python -m campaign.fuzz`.

Every input must be refused with a CipherError, or be read; what was read must be of use, or be refused with a
named error when it is used. Anything else is wrong: another error, a panic, a memory error, an end of the process.
"""

import functools
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from campaign.mutations import MUTATIONS
from hedgerow.errors import CipherError, ParameterError
from hedgerow.privacy.additive import Cipher, PublicKey, SealedRows, SealedSlots, SealedSums, SecretKey
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.paillier.cipher import Paillier
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan
from hedgerow.privacy.unencrypted.cipher import Unencrypted

CIPHERS: dict[str, Cipher] = {
    "unencrypted": Unencrypted(),
    "lattice": Lattice(),
    "lattice, 100 Mbit/s": Lattice(link_mbit=100),
    "Paillier": Paillier(bits=2048),
}
"""All of them. Another cipher is another line."""

DECODERS = ("read_public_key", "read_rows", "read_sums", "read_slots")
MORE_MEMORY = 1 << 30
"""Bytes that the process may take beyond what it has when it begins: lying sizes must not be believed."""
MOST_WRONG = 5


@dataclass(frozen=True)
class Target:
    """A wire form, how it is read, and what is done with what was read."""

    form: bytes
    read: Callable[[bytes], Any]
    use: Callable[[Any], object]


@dataclass
class Counted:
    """What became of the inputs, by mutation: how many were tried, refused, read, and refused in use."""

    tried: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    refused_in_use: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, what: str, mutation: str) -> None:
        """One more."""
        counts: dict[str, int] = getattr(self, what)
        counts[mutation] = counts.get(mutation, 0) + 1


def targets(cipher: Cipher) -> dict[str, list[Target]]:
    """Honest wire forms for every decoder, of few rows and of more."""
    found: dict[str, list[Target]] = {name: [] for name in DECODERS}
    rng = np.random.default_rng(0)
    for rows, columns in ((3, 1), (20, 3)):
        secret = cipher.new_key(1)
        for name, made in _of_rows(cipher, secret, rows, columns, rng):
            found[name] += made
        found["read_slots"] += _of_slots(secret, rows, rng) + _of_sums_only(secret, rows, rng)
    return found


def _of_rows(
    cipher: Cipher, secret: SecretKey, rows: int, columns: int, rng: np.random.Generator
) -> Iterator[tuple[str, list[Target]]]:
    public = secret.public
    codes = rng.integers(0, 4, (columns, rows)).astype(np.uint8)
    selection, nodes = Selection(codes, np.full(columns, 3)), Nodes.in_order(np.array([rows - 2, 2]))
    plan = RowsPlan(rows=rows, bounds=(50, 9), groups=3 * columns, nodes=2, run_sums=10**4, parts=3)
    values = rng.integers(-9, 9, (rows, 2))
    sealed = secret.seal_rows(values, plan)
    sums = public.group_sums(sealed, selection, nodes)

    def answered(key: PublicKey, rows: SealedRows) -> SealedSums:
        return key.group_sums(rows, selection, nodes)

    def opened(read: SealedSums) -> object:
        return secret.open_sums(read), secret.open_sums(read - sums)

    def of_rows(form: bytes) -> Target:
        return Target(form, lambda data: public.read_rows(data, plan), lambda read: opened(answered(public, read)))

    key = cipher.read_public_key
    yield (
        "read_public_key",
        [Target(public.encode(), lambda data: key(data, 1), lambda k: answered(k, k.seal_rows(values, plan)).encode())],
    )
    yield (
        "read_rows",
        [
            of_rows(sealed.encode()),
            of_rows(public.seal_rows(values, plan).encode()),
            of_rows((sealed + sealed).encode()),
        ],
    )
    yield "read_sums", [Target(sums.encode(), lambda data: public.read_sums(data, plan, selection.groups), opened)]


def _of_slots(secret: SecretKey, rows: int, rng: np.random.Generator) -> list[Target]:
    public = secret.public
    plan = SlotsPlan(rows=rows, entries=2, bound=50, choices=2, run_sums=10**4, parts=2)
    choice = rng.random((rows, 2)) < 0.5
    sealed = secret.seal_slots(rng.integers(-9, 9, (rows, 2)), plan)
    left, scores = public.filtered(sealed, choice), public.slot_sums(sealed, choice)

    def scored(read: SealedSlots) -> object:
        return secret.open_slots(read), secret.open_slots(public.slot_sums(read, choice))

    return [
        Target(sealed.encode(), lambda data: public.read_slots(data, plan, 2), scored),
        Target(left.encode(), lambda data: public.read_slots(data, plan, 2, 1), scored),
        Target(scores.encode(), lambda data: public.read_slots(data, plan, 1, 1), secret.open_slots),
    ]


def _of_sums_only(secret: SecretKey, rows: int, rng: np.random.Generator) -> list[Target]:
    """Few rows of which only sums are wanted: another layout in some ciphers."""
    public = secret.public
    plan = SlotsPlan(rows=rows, entries=2, bound=50, run_sums=10**4, parts=2, sums_only=True)
    choice, values = rng.random((rows, 2)) < 0.5, rng.integers(-9, 9, (rows, 2))
    sealed = secret.seal_slots(values, plan)
    scores = public.slot_sums(sealed, choice)

    def of_entries(form: bytes) -> Target:
        read = functools.partial(public.read_slots, plan=plan, entries=2)
        return Target(form, read, lambda read: secret.open_slots(public.slot_sums(read, choice)))

    def opened(read: SealedSlots) -> object:
        return secret.open_slots(read), secret.open_slots(read - scores)

    return [
        of_entries(sealed.encode()),
        of_entries(public.seal_slots(values, plan).encode()),
        of_entries((sealed + sealed).encode()),
        Target(scores.encode(), lambda data: public.read_slots(data, plan, 1, 1), opened),
    ]


def fuzz(aims: Sequence[Target], others: Sequence[bytes], seconds: float, seed: int, folder: Path) -> Counted:
    """Mutated forms for so many seconds of this process's time; an input lies in the folder while it is tried."""
    rng, counted, end = np.random.default_rng(seed), Counted(), time.process_time() + seconds
    names, last = list(MUTATIONS), folder / "last.bin"
    for aim in aims:
        aim.use(aim.read(aim.form))
    with last.open("wb", buffering=0) as file:
        while time.process_time() < end and len(counted.wrong) < MOST_WRONG:
            aim, name = aims[int(rng.integers(len(aims)))], names[int(rng.integers(len(names)))]
            data = MUTATIONS[name](rng, aim.form, others)
            if data == aim.form:
                continue
            file.seek(0)
            file.truncate()
            file.write(data)
            counted.add("tried", name)
            try:
                counted.add(_tried(aim, data), name)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # a panic in native code is no Exception
                counted.wrong.append(f"{name}: {type(error).__name__}: {error} ({_kept(folder, data)})")
    return counted


def _kept(folder: Path, data: bytes) -> str:
    name = f"wrong-{sha256(data).hexdigest()[:12]}.bin"
    (folder / name).write_bytes(data)
    return name


def _tried(aim: Target, data: bytes) -> str:
    try:
        read = aim.read(data)
    except CipherError:
        return "refused"
    try:
        aim.use(read)
    except (CipherError, ParameterError):  # it may say that it has as many parts as the plan allows
        return "refused_in_use"
    return "read"


def main() -> int:
    """What became of the inputs, as JSON."""
    name, decoder, seconds, seed, folder = sys.argv[1:]
    found = targets(CIPHERS[name])
    others = [aim.form for aims in found.values() for aim in aims]
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MORE_MEMORY, resource.RLIM_INFINITY))
    print(json.dumps(asdict(fuzz(found[decoder], others, float(seconds), int(seed), Path(folder)))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
