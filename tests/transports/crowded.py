"""A driver in a process with few descriptors: crowded.py FOLDER [unlimited].

Says its port; then for every line of its input, whether a file can be opened now, and who is here.
"""

import resource
import sys
from pathlib import Path

from hedgerow.identity.identity import Identity
from hedgerow.transports.grpc import connections
from hedgerow.transports.grpc.driver import GrpcTransport

MOST_FILES = 400


def can_write(folder: Path) -> str:
    try:
        (folder / "checkpoint").write_bytes(b"x")
    except OSError as error:
        return error.strerror or "no"
    return "yes"


def main(folder: Path, unlimited: bool) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES, MOST_FILES))
    connections.HANDSHAKE_SECONDS = 2
    if unlimited:
        connections.limits = lambda _: []
    identity, party = (Identity.load(folder / f"{name}.crt", folder / f"{name}.key") for name in ("driver", "a"))
    transport = GrpcTransport(
        "127.0.0.1:0", identity, (folder / "ca.crt").read_bytes(), {"a": party.fingerprint}, run=b"a run"
    )
    sys.stdout.write(f"{transport.port}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        if line.strip() == "wait":
            transport.wait(frozenset("a"), 30)
        sys.stdout.write(f"{can_write(folder)}, here: {' '.join(transport.here())}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), len(sys.argv) > 2)
