"""Whether a place on the network can be reached, or listened at, before a run depends on it. Nothing is said there."""

import socket
from contextlib import closing

PATIENCE = 5.0


def nobody_at(address: str) -> str:
    """Why nobody answers at HOST:PORT; empty if somebody does."""
    host, _, port = address.rpartition(":")
    try:
        with closing(socket.create_connection((host.strip("[]"), int(port)), PATIENCE)):
            return ""
    except socket.gaierror:
        return f"there is no machine {host}"
    except TimeoutError:
        return f"{address} does not answer"
    except ConnectionRefusedError:
        return NOBODY_YET
    except OSError as error:
        return f"{address}: {error.strerror or error}"


NOBODY_YET = "nobody listens there yet"
"""The machine answers, but no program on it."""


def cannot_listen(address: str) -> str:
    """Why HOST:PORT cannot be listened at; empty if it can."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with closing(socket.socket(family, socket.SOCK_STREAM)) as own:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            own.bind((host, int(port)))
            return ""
    except OSError as error:
        return f"{address}: {error.strerror or error}"
