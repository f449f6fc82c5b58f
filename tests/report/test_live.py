"""The page of a run while it goes on: made again only when something changed, and told to nobody else."""

import http.client
import shutil
import threading

import pytest
from kept_runs import CLASSES, IMAGE, train, write_run
from page_reader import Page
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.errors import ParameterError
from hedgerow.report.page.live import LivePage, LiveServer


@pytest.fixture
def serve():
    """A server of a folder, and what it answers."""
    servers = []

    def start(folder):
        server = LiveServer(LivePage(folder, 0.2, share=1.0), "127.0.0.1", 0)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def get(server, path, host=None, method="GET"):
    line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    line.request(method, path, headers={} if host is None else {"Host": host})
    answer = line.getresponse()
    found = answer.status, answer.read().decode(), answer.headers
    line.close()
    return found


def test_a_run_is_seen_before_it_begins_while_it_goes_on_and_when_it_is_over(tmp_path, serve):
    file, seen = write_run(tmp_path, "watched", "horizontal"), []
    server = serve(tmp_path / "runs" / "watched")
    status, text, _ = get(server, "/")
    assert (status, "Nothing to show yet" in text) == (200, True)

    def look(told):
        if told.round.number in (2, 4):
            seen.append(get(server, "/now")[1])

    train(file, watch=look)
    assert [f"{n} of 6" in text for n, text in zip((2, 4), seen, strict=True)] == [True, True]
    assert all("The run has not finished." in text for text in seen)
    over = get(server, "/")[1]
    assert "The run has not finished." not in over
    assert {section["id"] for section in Page(over).of("section")} >= {"result", "curves", "trees", "seen"}


def test_what_is_not_new_is_not_sent_again(runs, serve, tmp_path):
    shutil.copytree(runs["alone"], tmp_path / "run")
    server = serve(tmp_path / "run")
    status, text, headers = get(server, "/now")
    assert (status, bool(text)) == (200, True)
    assert get(server, f"/now?{headers['X-Stamp']}")[:2] == (204, "")
    (tmp_path / "run" / "metrics.json").write_text("{}")
    assert get(server, f"/now?{headers['X-Stamp']}")[0] == 200


def test_a_page_that_takes_long_is_not_made_all_the_time(runs, tmp_path, monkeypatch):
    shutil.copytree(runs["alone"], tmp_path / "run")
    made = LivePage(tmp_path / "run", 0.2, share=1e-6)
    first = made.now()
    (tmp_path / "run" / "metrics.json").write_text("{}")
    assert made.now() == first
    monkeypatch.setattr("time.monotonic", lambda: 1e12)
    assert made.now() != first


def test_the_live_page_may_ask_its_own_address_and_nothing_else(runs, serve):
    _, text, headers = get(serve(runs["alone"]), "/")
    found = Page(text)
    assert len(found.scripts) == 1
    rules = next(m["content"] for m in found.of("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert rules.startswith("default-src 'none'; img-src data:;")
    assert rules.endswith("connect-src 'self'")
    assert headers["Cache-Control"] == "no-store"
    assert IMAGE not in text
    assert CLASSES[0] not in text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_page_from_elsewhere_cannot_read_it_by_a_name_that_leads_here(runs, serve, host):
    server = serve(runs["alone"])
    status, text, _ = get(server, "/now", host=host)
    assert (status, text) == (403, "Open this page by the address that hedgerow printed.")
    assert get(server, "/now", host=f"localhost:{server.server_port}")[0] == 200


def test_there_is_one_page_and_nothing_can_be_written(runs, serve):
    server = serve(runs["alone"])
    for path in ("/manifest.json", "/../manifest.json", "/audit.log", "//etc/passwd"):
        assert get(server, path)[0] == 404
    assert get(server, "/", method="POST")[0] == 501


def test_it_listens_on_this_machine_alone_and_refuses_what_it_cannot(runs, serve):
    server = serve(runs["alone"])
    assert server.server_address[0] == "127.0.0.1"
    with pytest.raises(ParameterError, match=f"Cannot listen at 127.0.0.1:{server.server_port}"):
        LiveServer(LivePage(runs["alone"], 1), "127.0.0.1", server.server_port)
    said = CliRunner().invoke(app, ["watch", str(runs["alone"] / "manifest.json")])
    assert said.exit_code == 3
    assert "is a file; name the run's folder" in said.stderr
