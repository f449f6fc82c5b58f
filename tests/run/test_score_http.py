"""The local door to sealed scores, without the other parties: what it lets in, and what a hostile client costs."""

import json
import socket
import threading
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from asked import trained
from federated import labels, values
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError, PartyLost, ProtocolError, RunError
from hedgerow.run.real.score_http import MOST_BODY, ScoreServer, loopback, token_in
from hedgerow.run.real.score_requests import ScoreDesk, ScoreRequest, table_of

TOKEN = "a token of some length"  # noqa: S105


class FakeScoring:
    """Scores that need nobody: the sum of a row's cells."""

    def __init__(self):
        X, signal = values(80)
        parties = partition.columns(Table.of(X, labels("two", signal), ids=np.arange(80)), share=[[0, 4], [1, 2, 3]])
        model, _ = trained(parties)
        self.told = SimpleNamespace(model=model, columns=parties["party1"].columns)
        self.asked, self.fails = [], []

    def joined(self):
        return self.told

    def scores(self, table):
        self.asked.append(tuple(table.ids.tolist()))
        if self.fails:
            raise self.fails.pop(0)
        return np.nansum(table.values, axis=1, dtype=np.float32).reshape(-1, 1)


@pytest.fixture(scope="module")
def scoring():
    return FakeScoring()


@pytest.fixture
def server(scoring):
    scoring.asked.clear()
    server = ScoreServer("127.0.0.1:0", TOKEN, scoring)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    server.desk.close()
    thread.join()


def said(server, request):
    """All that the server answers to these bytes, until it closes the connection or a second has passed."""
    with socket.create_connection(server.server_address, timeout=1) as connection:
        connection.sendall(request)
        found = b""
        try:
            while piece := connection.recv(1 << 16):
                found += piece
        except TimeoutError:
            pass
        return found


def request(method, path, body=b"", token=TOKEN, length=None, more=""):
    told = f"Content-Length: {len(body) if length is None else length}\r\n" if body or length is not None else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\n{told}{more}\r\n"
    return head.encode("latin-1") + body


def codes(answer):
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]


ASK = json.dumps({"rows": [{"id": "p1", "f0": 1.5}]}).encode()


def test_a_request_is_answered_and_the_connection_stays(server, scoring):
    answer = said(server, request("POST", "/score", ASK) + request("GET", "/health"))
    assert codes(answer) == [200, 200]
    assert b'"rows":1' in answer
    assert scoring.asked == [("p1",)]


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + " more", "\xe9"])
def test_without_the_token_nothing_is_read_and_the_connection_is_closed(server, scoring, token):
    hidden = request("POST", "/score", ASK)
    for path in ("/score", "/elsewhere"):
        assert codes(said(server, request("POST", path, hidden, token=token))) == [401]
    assert scoring.asked == []


SMUGGLED = request("POST", "/score", ASK)
STRANGE = {
    "a body to nowhere": (request("POST", "/elsewhere", SMUGGLED), [404]),
    "a body of a question after health": (request("GET", "/health", SMUGGLED), [200]),
    "two lengths": (request("POST", "/score", ASK, more=f"Content-Length: {len(ASK) + 9}\r\n"), [400]),
    "the same length twice": (request("POST", "/score", ASK, more=f"Content-Length: {len(ASK)}\r\n"), [400]),
    "pieces": (request("POST", "/score", b"0\r\n\r\n", length=5, more="Transfer-Encoding: chunked\r\n"), [400]),
    "pieces without a length": (request("POST", "/score", more="Transfer-Encoding: chunked\r\n") + SMUGGLED, [400]),
    "no length": (request("POST", "/score") + SMUGGLED, [400]),
    "a length in another script": (request("POST", "/score", ASK, length="\xb2"), [400]),
    "a negative length": (request("POST", "/score", ASK, length=-1), [400]),
    "a signed length": (request("POST", "/score", ASK, length=f"+{len(ASK)}"), [400]),
    "a length of many digits": (request("POST", "/score", ASK, length="9" * 5000), [400]),
    "too long": (request("POST", "/score", ASK, length=MOST_BODY + 1), [400]),
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_body_is_never_read_as_another_request(server, scoring, what):
    """Nor does anything strange about its length print a traceback or leave the connection open."""
    sent, expected = STRANGE[what]
    assert codes(said(server, sent)) == expected
    assert scoring.asked == []


BODIES = {
    "no JSON": b"{",
    "not text": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "another field": json.dumps({"rows": [{"id": "a"}], "batch": 1}).encode(),
    "a number that is none": b'{"rows":[{"id":"a","f0":NaN}]}',
    "an infinite number": b'{"rows":[{"id":"a","f0":1e999}]}',
    "half a character": b'{"rows":[{"id":"\\ud800"}]}',
    "a truth as an id": b'{"rows":[{"id":true}]}',
    "an id of many digits": b'{"rows":[{"id":' + b"9" * 6000 + b"}]}",
    "a long id": json.dumps({"rows": [{"id": "x" * 257}]}).encode(),
    "an id that ends in zero": json.dumps({"rows": [{"id": "a\0"}]}).encode(),
    "an unknown reason": json.dumps({"rows": [{"id": "a"}], "reasons": ["z"]}).encode(),
    "too many rows": json.dumps({"rows": [{"id": "a"}] * 4097}).encode(),
}


@pytest.mark.parametrize("what", BODIES)
def test_a_strange_body_is_refused_in_a_sentence(server, scoring, what):
    answer = said(server, request("POST", "/score", BODIES[what]) + request("GET", "/health"))
    assert codes(answer) == [400, 200]
    assert scoring.asked == []


def test_one_long_id_does_not_take_its_room_for_every_row(scoring):
    rows = [{"id": "x" * (1 << 20)}, *({"id": str(i)} for i in range(4000))]
    tracemalloc.start()
    with pytest.raises(DataError, match="longer than 256 characters"):
        table_of(scoring.told.columns, rows)
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("error", "code"),
    [(PartyLost("gone", frozenset("b")), 503), (ProtocolError("no"), 403), (ZeroDivisionError("a secret"), 500)],
)
def test_whatever_fails_the_next_request_is_answered(server, scoring, error, code):
    scoring.fails.append(error)
    answer = said(server, request("POST", "/score", ASK) + request("POST", "/score", ASK))
    assert codes(answer) == [code, 200]
    assert b"a secret" not in answer


def test_a_refused_batch_is_asked_again_request_by_request(scoring):
    """An id that may not be scored is no harm to others that wait with it."""
    desk, waiting = ScoreDesk(scoring), threading.Event()
    real = scoring.scores

    def refusing(table):
        waiting.wait(5)
        if "bad" in table.ids.tolist():
            raise ProtocolError("refused")
        return real(table)

    scoring.scores = refusing
    try:
        told = [table_of(scoring.told.columns, [{"id": one, "f0": 2.0}]) for one in ("first", "bad", "good")]
        requests = [ScoreRequest(table, None) for table in told]
        for one in requests:
            desk._waiting.put(one)
        waiting.set()
        assert requests[0].answer.result(5)[0].tolist() == [[2.0]]
        with pytest.raises(ProtocolError, match="refused"):
            requests[1].answer.result(5)
        assert requests[2].answer.result(5)[0].tolist() == [[2.0]]
    finally:
        scoring.scores = real
        desk.close()


def test_a_token_file_is_the_owner_s_alone(tmp_path):
    place = tmp_path / "token"
    first = token_in(place)
    assert len(first) > 40
    assert token_in(place) == first
    assert place.stat().st_mode & 0o777 == 0o600
    place.chmod(0o640)
    with pytest.raises(RunError, match="can be read by others"):
        token_in(place)
    place.chmod(0o600)
    for content, match in ((b"short\n", "too short"), (b"\xff" * 40, "is no text")):
        place.write_bytes(content)
        with pytest.raises(RunError, match=match):
            token_in(place)
    with pytest.raises(RunError, match="Cannot use the token file"):
        token_in(tmp_path / "nowhere" / "token")


@pytest.mark.parametrize("listen", ["0.0.0.0:80", "192.168.1.1:80", "example.org:80", "127.0.0.1:x", "127.0.0.1:99999"])
def test_an_address_that_others_could_reach_is_refused(listen):
    with pytest.raises(ParameterError, match="no loopback address"):
        loopback(listen)
