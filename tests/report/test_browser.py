"""The page in a real browser: nothing is wider than the screen, every picture is drawn, type can be read.

Chromium, as Debian's package `chromium` has it; skipped where it is not installed.
"""

import http.server
import json
import os
import re
import shutil
import subprocess
import threading
from functools import partial

import pytest

from hedgerow.report.page.gather import Given, of_run
from hedgerow.report.page.live import LivePage, LiveServer
from hedgerow.report.page.page import page
from hedgerow.report.page.several import page_of_folder
from hedgerow.run.folder.kept_run import read_run

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no chromium; apt-get install chromium")
PHONE, DESKTOP = 390, 1280
LEAST_TYPE = 13
"""Pixels of the smallest type."""
MEASURE = """
<!doctype html><body><script>
const seen = {};
function look(frame, width) {
  const d = frame.contentDocument, w = frame.contentWindow, wide = [], types = [];
  for (const e of d.querySelectorAll('body *')) {
    const box = e.getBoundingClientRect(), scrolls = e.closest('.wide, pre, .tree');
    if (box.width && box.right > width + 1 && !scrolls && getComputedStyle(e).position != 'absolute')
      wide.push(e.tagName + ' ' + e.textContent.slice(0, 40));
    if (box.width && e.childNodes.length && [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()))
      types.push(parseFloat(w.getComputedStyle(e).fontSize));
  }
  const images = [...d.images];
  seen[width] = { page: d.documentElement.scrollWidth, wide, type: Math.min(...types), images: images.length,
    undrawn: images.filter(i => !i.naturalWidth || i.getBoundingClientRect().width < 100).length,
    ran: !!w.hostile, scripts: d.scripts.length };
  if (Object.keys(seen).length == 2) document.title = JSON.stringify(seen);
}
for (const width of [390, 1280]) {
  const frame = document.createElement('iframe');
  frame.style = `border:0;width:${width}px;height:900px`;
  frame.onload = () => look(frame, width);
  frame.src = PAGE;
  document.body.append(frame);
}
</script></body>
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing is printed."""


@pytest.fixture(scope="module")
def site(runs, several, tmp_path_factory):
    """All pages on a loopback port, and how each looks at both widths."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("horizontal", "vertical"):
        (folder / f"{name}.html").write_text(page(of_run(read_run(runs[name]), Given())))
    (folder / "several.html").write_text(page_of_folder(several, 1))
    for name in ("horizontal", "vertical", "several"):
        (folder / f"measure-{name}.html").write_text(MEASURE.replace("PAGE", f"'{name}.html'"))
    broken = (folder / "vertical.html").read_text().replace("<main", '<div style="width:2000px">wide</div><main', 1)
    (folder / "broken.html").write_text(broken)
    (folder / "measure-broken.html").write_text(MEASURE.replace("PAGE", "'broken.html'"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def chromium(folder, *words):
    alone = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    own = [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=8000"]
    environment = {**os.environ, "HOME": str(folder)}
    assert BROWSER is not None
    done = subprocess.run([BROWSER, *alone, *own, *words], capture_output=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode()


def measured(site, name):
    folder, address = site
    found = re.search(
        r"<title>(.*?)</title>", chromium(folder, "--dump-dom", f"{address}/measure-{name}.html"), re.DOTALL
    )
    assert found, "the page was measured"
    return {int(width): seen for width, seen in json.loads(found[1]).items()}


@pytest.mark.parametrize("name", ["horizontal", "vertical", "several"])
def test_a_page_fits_on_a_phone_and_a_desktop(site, name):
    for width, seen in measured(site, name).items():
        assert seen["page"] <= width, seen
        assert seen["wide"] == []
        assert seen["undrawn"] == 0
        assert seen["images"] > 10
        assert seen["type"] >= LEAST_TYPE
        assert (seen["ran"], seen["scripts"]) == (False, 1)


def test_a_page_with_something_too_wide_would_be_seen(site):
    """The sabotage: a block of 2000 pixels."""
    assert all(seen["page"] > width and seen["wide"] for width, seen in measured(site, "broken").items())


def test_a_page_can_be_printed(site):
    folder, address = site
    chromium(folder, f"--print-to-pdf={folder / 'page.pdf'}", f"{address}/horizontal.html")
    assert (folder / "page.pdf").read_bytes().startswith(b"%PDF")


def test_a_live_page_asks_again_by_its_script(site, runs):
    folder, _ = site
    with LiveServer(LivePage(runs["alone"], 0.3), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text = chromium(folder, "--dump-dom", server.address)
        server.shutdown()
    assert "Looked at " in text
    assert "alone" in text
