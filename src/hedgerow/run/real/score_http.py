"""A local door to sealed scores: HTTP on this machine's loopback address, for whoever has the token.

    GET  /health                       how long it has been up, and what it has answered
    POST /score   {"rows": [{"id": "4711", "income": 3200, ...}], "reasons": ["income"]}

Every request needs the header "Authorization: Bearer TOKEN". Nothing leaves the machine unencrypted: an address other
than loopback is refused.
"""

import hmac
import ipaddress
import os
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

from hedgerow.errors import HedgerowError, ParameterError, PartyLost, ProtocolError, RunError
from hedgerow.run.real.rejoin import Scoring
from hedgerow.run.real.score_requests import ScoreDesk, ScoreRequest, predictions, table_of

MOST_BODY = 1 << 24
MOST_ROWS = 4096
BODY = ("Content-Length", "Transfer-Encoding")
"""Headers of a request that has a body."""
CODES = ((PartyLost, 503), (ProtocolError, 403), (RunError, 500))
"""What a client is told of errors; of any other, that its request was wrong."""
QUIET_SECONDS = 60.0
"""After which a connection without a request is closed."""


class ScoreBody(msgspec.Struct, forbid_unknown_fields=True):
    """What a client asks."""

    rows: list[dict[str, Any]]
    reasons: list[str] | None = None
    """Own columns whose contributions are wanted beside those that passive parties tell; null: no reasons."""


class _Unread(ParameterError):
    """A request whose body was not read."""


class Counters:
    """What was answered so far."""

    def __init__(self) -> None:
        self._lock, self._begun = threading.Lock(), time.monotonic()
        self._numbers = {"requests": 0, "rows": 0, "refused": 0}

    def add(self, **numbers: int) -> None:
        """Count more."""
        with self._lock:
            for name, n in numbers.items():
                self._numbers[name] += n

    def told(self) -> dict[str, Any]:
        """For whoever asks after its health."""
        with self._lock:
            return {"status": "up", "seconds": round(time.monotonic() - self._begun, 1), **self._numbers}


class ScoreServer(ThreadingHTTPServer):
    """Listens on loopback."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, listen: str, token: str, scoring: Scoring) -> None:
        self.token, self.counters = token, Counters()
        self.model = scoring.joined().model
        self.columns = scoring.joined().columns
        self.desk = ScoreDesk(scoring)
        super().__init__(loopback(listen), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: ScoreServer
    protocol_version = "HTTP/1.1"
    timeout = QUIET_SECONDS
    disable_nagle_algorithm = True  # or a client that keeps its connection waits 40 ms between heads and body

    def do_GET(self) -> None:
        if self._let_in():
            last = any(name in self.headers for name in BODY)  # it would be read as the next request
            self._reply(200, self.server.counters.told(), last) if self.path == "/health" else self._nowhere()

    def do_POST(self) -> None:
        if not self._let_in():
            return
        if self.path != "/score":
            self._nowhere()
            return
        try:
            told, n = self._scored(self._body())
        except HedgerowError as error:
            self.server.counters.add(refused=1)
            code = next((code for kind, code in CODES if isinstance(error, kind)), 400)
            self._reply(code, {"error": str(error)}, last=isinstance(error, _Unread))
            return
        self.server.counters.add(requests=1, rows=n)
        self._reply(200, told)

    def _let_in(self) -> bool:
        given = self.headers.get("Authorization", "")
        if hmac.compare_digest(given.encode(), f"Bearer {self.server.token}".encode()):
            return True
        self._reply(
            401, {"error": "The request lacks the token; send the header Authorization: Bearer TOKEN."}, last=True
        )
        return False

    def _body(self) -> ScoreBody:
        told = [value for name in BODY for value in self.headers.get_all(name, [])]
        length = told[0] if len(told) == 1 and "Transfer-Encoding" not in self.headers else ""
        if not (length.isascii() and length.isdecimal() and len(length) < 10 and 0 < int(length) <= MOST_BODY):
            raise _Unread(f"A request has a body of 1 to {MOST_BODY:,} bytes, and says once how many.")
        try:
            body = msgspec.json.decode(self.rfile.read(int(length)), type=ScoreBody)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ParameterError('The body is not JSON like {"rows": [{"id": "4711", ...}]}.') from None
        if not 1 <= len(body.rows) <= MOST_ROWS:
            raise ParameterError(f"A request has 1 to {MOST_ROWS:,} rows; this one has {len(body.rows):,}.")
        return body

    def _scored(self, body: ScoreBody) -> tuple[dict[str, Any], int]:
        names = [column.name for column in self.server.columns]
        for name in body.reasons or ():
            if name not in names:
                raise ParameterError(f"There is no own column {name!r} to give reasons by; name one of the model's.")
        wanted = None if body.reasons is None else tuple(body.reasons)
        table = table_of(self.server.columns, body.rows)
        scores, reasons = self.server.desk.scored(ScoreRequest(table, wanted))
        told = predictions(self.server.model, scores)
        if wanted is not None:
            told["reasons"] = [
                {"party": one.party, "column": one.label, "contributions": one.contributions.tolist()}
                for one in reasons
            ]
        return told, len(body.rows)

    def _nowhere(self) -> None:
        self._reply(404, {"error": "There is GET /health and POST /score, and nothing else."}, last=True)

    def _reply(self, code: int, told: dict[str, Any], last: bool = False) -> None:
        """Answer; after the last nothing more is read, since what the client sent may still be on its way."""
        content = msgspec.json.encode(told)
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if last:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name in the library
        """What is answered is counted; requests are not written to the terminal."""


def loopback(listen: str) -> tuple[str, int]:
    """Host and port; refuses an address that others could reach."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    try:
        right = (host == "localhost" or ipaddress.ip_address(host).is_loopback) and 0 <= int(port) < 1 << 16
    except ValueError:
        right = False
    if not right:
        raise ParameterError(
            f"--listen {listen} is no loopback address with a port, like 127.0.0.1:8321; HTTP is not encrypted, so "
            "others reach it through a proxy of your own."
        )
    return host, int(port)


def token_in(path: Path) -> str:
    """The token in a file that only its owner reads; a new one, if there is no such file."""
    try:
        if not path.exists():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        if path.stat().st_mode & 0o077:
            raise RunError(f"The token in {path} can be read by others; chmod 600 {path}.")
        token = path.read_text().strip()
    except OSError as error:
        raise RunError(f"Cannot use the token file {path}: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise RunError(f"The token in {path} is no text; remove the file, and a new one is made.") from None
    if len(token) < 16:
        raise RunError(f"The token in {path} is too short; remove the file, and a new one is made.")
    return token
