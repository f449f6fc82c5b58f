"""A party or a driver in a process of its own: process.py ROLE FOLDER PORT NAME; says on its output what happens."""

import hashlib
import os
import sys
import time
from pathlib import Path

from hedgerow.identity.identity import Identity
from hedgerow.transports.grpc.driver import GrpcTransport
from hedgerow.transports.grpc.party import serve


def say(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def answer(frame: bytes) -> bytes:
    say("asked", frame.decode())
    if frame == b"sleep":
        time.sleep(60)
    return b"%d" % os.getpid()


def party(folder: Path, port: str, name: str) -> None:
    identity = Identity.load(folder / f"{name}.crt", folder / f"{name}.key")
    say(
        serve(f"127.0.0.1:{port}", identity, (folder / "ca.crt").read_bytes(), name, answer, run=b"a run", on_event=say)
    )


def driver(folder: Path, name: str) -> GrpcTransport:
    identity = Identity.load(folder / "driver.crt", folder / "driver.key")
    pins = {name: Identity.load(folder / f"{name}.crt", folder / f"{name}.key").fingerprint}
    transport = GrpcTransport("127.0.0.1:0", identity, (folder / "ca.crt").read_bytes(), pins, on_event=say)
    say("port", str(transport.port))
    return transport


def resident() -> int:
    """The greatest memory this process ever held, in KiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def main(role: str, folder: str, port: str, name: str) -> None:
    if role == "party":
        party(Path(folder), port, name)
        return
    transport = driver(Path(folder), name)
    transport.wait(frozenset([name]), 20)
    before = resident()
    answers, _ = transport.carry({name: b"sleep"}, 30, (20 << 30) if role == "generous" else (1 << 30))
    say("digest", hashlib.sha256(repr(answers).encode()).hexdigest())
    say("grown", str(resident() - before), transport.reasons.get(name, ""))
    transport.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
