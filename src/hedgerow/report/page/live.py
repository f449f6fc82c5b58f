"""The page of a run that goes on, to whoever opens it in a browser; on this machine alone, unless told otherwise.

    browser                      here
    GET /        ---------->     the page, with a script that asks again
    GET /now     ---------->     what is new of it, or that nothing is

Sees in the clear.  Whoever reaches the address: what the page shows, which is what its maker may see. A request that
names another host than this one's is refused, so that no page from elsewhere can read it through a browser.
"""

import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.report.page.gather import Given, of_run
from hedgerow.report.page.html import Html, document, joined, paragraph, tag
from hedgerow.report.page.page import content
from hedgerow.report.page.style import STYLE
from hedgerow.run.folder.kept_run import read_run

LOOPBACK = ("127.0.0.1", "localhost", "::1")
WATCHED = ("manifest.json", "audit.log", "checkpoint", "metrics.json", "curves.json", "model.json", "part.json")
SHARE = 0.2
"""Of the time, at most so much goes into making the page: a run's log may be long, and the run needs the machine."""
SCRIPT = """
let seen = document.getElementById('page').dataset.stamp;
async function look() {
  const line = document.getElementById('asked');
  try {
    const told = await fetch('now?' + encodeURIComponent(seen), {cache: 'no-store'});
    if (told.status == 200) {
      const open = [...document.querySelectorAll('details')].map(d => d.open);
      const at = scrollY;
      document.getElementById('page').innerHTML = await told.text();
      document.querySelectorAll('details').forEach((d, i) => { d.open = open[i] || false; });
      scrollTo(0, at);
      seen = told.headers.get('X-Stamp');
    }
    line.textContent = 'Looked at ' + new Date().toLocaleTimeString() + '.';
  } catch (error) {
    line.textContent = 'Nobody answers: hedgerow watch has ended, what is shown is from before.';
  }
  setTimeout(look, EVERY);
}
setTimeout(look, EVERY);
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(d => d.open = true));
"""


class LivePage:
    """The page of a folder as it is now; made again only when a file in it has changed."""

    def __init__(self, folder: Path, every: float, share: float = SHARE) -> None:
        self.folder, self.every, self.share = folder, every, share
        self._lock = threading.Lock()
        self._stamp, self._content = "", Html("")
        self._next = 0.0

    def now(self) -> tuple[str, Html]:
        """What tells this content from others, and the content."""
        stamp = self._stamp_of()
        with self._lock:
            began = time.monotonic()
            if stamp != self._stamp and began >= self._next:
                self._content, self._stamp = self._made(), stamp
                ended = time.monotonic()
                self._next = ended + (ended - began) * (1 / self.share - 1)
            return self._stamp, self._content

    def whole(self) -> str:
        """The page with its script."""
        stamp, inside = self.now()
        script = SCRIPT.replace("EVERY", str(int(self.every * 1000)))
        asked = paragraph("", id="asked", class_="note", role="status")
        return document(
            f"{self.folder.name}: watched", STYLE, script, asked, tag("main", inside, id="page", data_stamp=stamp),
            calls_home=True,
        )  # fmt: skip

    def _stamp_of(self) -> str:
        found = []
        for name in WATCHED:
            try:
                state = (self.folder / name).stat()
                found.append(f"{state.st_mtime_ns:x}-{state.st_size:x}")
            except OSError:
                found.append("")
        return "_".join(found)

    def _made(self) -> Html:
        try:
            return content(of_run(read_run(self.folder), Given()))
        except HedgerowError as error:
            return joined(tag("h1", self.folder.name), paragraph(f"Nothing to show yet: {error}"))


class LiveServer(ThreadingHTTPServer):
    """Answers browsers with one page; knows no file and no other address."""

    daemon_threads = True

    def __init__(self, page: LivePage, host: str, port: int) -> None:
        try:
            super().__init__((host, port), partial(_Answer, page, self._is_ours))
        except OSError as error:
            why = error.strerror or str(error)
            raise ParameterError(f"Cannot listen at {host}:{port}: {why}; name another --host or --port.") from None
        self.host = host

    @property
    def address(self) -> str:
        """What a browser opens."""
        return f"http://{self.host}:{self.server_port}/"

    def _is_ours(self, named: str) -> bool:
        """Whether a request means this server, and not a name that was made to lead here."""
        return self.host not in LOOPBACK or named in {f"{host}:{self.server_port}" for host in LOOPBACK}


class _Answer(BaseHTTPRequestHandler):
    server_version, sys_version = "hedgerow", ""

    def __init__(self, page: LivePage, is_ours: Callable[[str], bool], *given: object) -> None:
        self.page, self.is_ours = page, is_ours
        super().__init__(*given)  # type: ignore[arg-type]  # what the server gives

    def do_GET(self) -> None:
        """The page, or what is new of it."""
        path, _, seen = self.path.partition("?")
        if not self.is_ours(self.headers.get("Host", "")):
            self._say(403, "Open this page by the address that hedgerow printed.")
        elif path == "/":
            self._say(200, self.page.whole())
        elif path == "/now":
            stamp, inside = self.page.now()
            self._say(*((204, "") if seen == stamp else (200, inside)), stamp=stamp)
        else:
            self._say(404, "There is one page, at /.")

    def _say(self, code: int, text: str, stamp: str = "") -> None:
        body = text.encode()
        self.send_response(code)
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body))), ("X-Stamp", stamp),
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "SAMEORIGIN"),
        ):  # fmt: skip
            if value and not (code == 204 and name == "Content-Length"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Requests are not told of."""
