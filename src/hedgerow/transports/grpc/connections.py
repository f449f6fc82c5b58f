"""How many connections the driver's port holds, and for how long, before anybody has shown a certificate.

Anybody who can reach the port can open connections. They must neither last nor take all descriptors of the process.
"""

import contextlib
import resource

from hedgerow.errors import RunError

HANDSHAKE_SECONDS = 10
"""Within which a connection has to finish TLS and say its first word; gRPC's own limit is two minutes."""
IDLE_SECONDS = 30
"""After which a connection without a stream is closed."""
SPARE_CONNECTIONS = 64
"""Connections beyond one for each stream: those that are still in their handshake, whoever's they are."""
OWN_FILES = 256
"""Descriptors that connections never take: for data, checkpoints, logs and libraries."""


def limits(most_streams: int) -> list[tuple[str, int]]:
    """The options of gRPC that bound connections.

    Of connections beyond the limit gRPC closes the newest. A flood can thus keep parties away as long as it lasts, but
    parties dial again and again, and the driver itself can go on writing files.
    """
    most = _room_for(most_streams + SPARE_CONNECTIONS)
    return [
        ("grpc.max_allowed_incoming_connections", most),
        ("grpc.server_handshake_timeout_ms", 1000 * HANDSHAKE_SECONDS),
        ("grpc.max_connection_idle_ms", 1000 * IDLE_SECONDS),
    ]


def _room_for(connections: int) -> int:
    """So many connections, or as many as descriptors are left for; the process's limit is raised where it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OWN_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        connections = min(connections, soft - OWN_FILES)
    if connections < 1:
        raise RunError(
            f"This process may have only {soft} files open, too few to listen; raise its limit to {wanted} (ulimit -n)."
        )
    return connections
