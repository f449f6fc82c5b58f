"""Sealed predictions with real parties: passive ones serve until they are stopped, the active one scores."""

import http.client
import json
import time

import numpy as np
import pytest
from real_parties import Process
from test_real_predict import Asked
from test_vertical_parties import PASSIVE

from hedgerow.agreement.policy import Policy
from hedgerow.demo.organisations import free_port
from hedgerow.protocols.session.answer_ledger import AnswerLedger, answers_beside
from hedgerow.run.folder.ledger_file import ledger_beside

RULES = "least_paths = 0\nleast_own_cuts = 0\nleast_own_trees = 0\nmost_bits_per_id = 99999\nmost_answers_per_id = {}\n"
MANY = RULES.format(1000)


class Serving(Asked):
    """Parties that serve their parts."""

    def serving_file(self, name, rules=MANY, more=""):
        (self.folder / f"{name}-policy.toml").write_text(rules)
        file = self.folder / f"{name}-serving.toml"
        file.write_text(
            f'name = "{name}"\ncert = "{self.ca / name}.pem"\nkey = "{self.ca / name}.key"\n'
            f'policy = "{name}-policy.toml"\n\n'
            f'[[model]]\nrun = "{self.file}"\npart = "{name}.json"\ndata = "{name}.csv"\nid = "id"\n{more}'
        )
        return file

    def serve(self, name, **more):
        return Process(["serve", str(self.serving_file(name, **more))], self.folder / f"{name}.out")

    def scored(self, *more, out="scores"):
        words = self.predict_words("--sealed", "--what", "raw", "--out", str(self.folder / f"{out}.csv"), *more)
        return Process(words, self.folder / f"{out}.out")

    def told(self, out="scores"):
        lines = (self.folder / f"{out}.csv").read_text().splitlines()[1:]
        return np.array([float(line.split(",")[1]) for line in lines])

    def expected(self):
        values = np.hstack([self.table(name).values for name in ("alice", *PASSIVE)])
        leaves = self.whole.forest.leaf_places(np.ascontiguousarray(values), 1)
        return self.model.scores_at(leaves)[:, 0]

    def counted(self, name):
        ledger = AnswerLedger(answers_beside(ledger_beside(self.ca / f"{name}.key")), Policy().answer_limits)
        return ledger.summary().total


@pytest.fixture
def world(tmp_path, made):
    world = Serving(tmp_path, made)
    for name in PASSIVE:  # beside keys that all tests share
        answers_beside(ledger_beside(world.ca / f"{name}.key")).unlink(missing_ok=True)
    return world


@pytest.fixture
def running():
    """Processes that are ended with the test."""
    started = []
    yield lambda process: (started.append(process), process)[1]
    for process in started:
        process.close()


def test_parties_that_serve_score_one_table_after_another(world, running):
    others = [running(world.serve(name)) for name in PASSIVE]
    for turn in ("first", "second"):
        assert world.scored(out=turn).ended() == 0, (world.folder / f"{turn}.out").read_text()
        np.testing.assert_allclose(world.told(turn), world.expected(), atol=1e-3)
    assert [world.counted(name).answers for name in PASSIVE] == [400, 400]
    for party in others:
        party.interrupt()
        assert party.ended() == 0, party.said


def test_an_id_that_was_answered_often_enough_is_refused_also_after_a_restart(world, running):
    rules = RULES.format(2)
    others = {name: running(world.serve(name, rules=rules)) for name in PASSIVE}
    assert [world.scored(out=turn).ended() for turn in ("one", "two")] == [0, 0]
    others["bob"].kill()
    running(world.serve("bob", rules=rules))
    third = world.scored(out="three")
    assert third.ended() == 3
    assert "more answers about an id within 365 days than this party's policy allows" in third.said
    assert not (world.folder / "three.csv").exists()
    assert [world.counted(name).answers for name in PASSIVE] == [400, 400]


def test_a_model_that_is_withdrawn_or_expired_is_refused(world, running):
    bob = running(world.serve("bob"))
    running(world.serve("carol", more="expires = 2020-01-01\n"))
    expired = world.scored(out="expired")
    assert expired.ended() == 3
    assert "until 2020-01-01" in expired.said
    running(Process(["serve", str(world.serving_file("carol"))], world.folder / "carol-again.out"))
    world.serving_file("bob", more="withdrawn = true\n")
    bob.wait_for("has withdrawn the model")
    withdrawn = world.scored(out="withdrawn")
    assert withdrawn.ended() == 3
    assert "has withdrawn the model" in withdrawn.said


def test_the_status_tells_what_a_serving_party_has_done(world, running):
    for name in PASSIVE:
        running(world.serve(name))
    assert world.scored().ended() == 0
    time.sleep(1.5)
    shown = Process(["serve", str(world.folder / "bob-serving.toml"), "--status"], world.folder / "status.out")
    assert shown.ended() == 0
    assert "200" in shown.said
    assert "refusals" in shown.said


class Client:
    """A local client of `predict --serve`."""

    def __init__(self, port, token):
        self.port, self.headers = port, {"Authorization": f"Bearer {token}"}

    def ask(self, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            content = None if body is None else json.dumps(body)
            connection.request("POST" if body is not None else "GET", path, content, headers or self.headers)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()


class Resident(Serving):
    """The active party stays and scores rows for local clients."""

    def stay(self, *more):
        words = self.predict_words("--sealed", "--serve", "--token-file", str(self.folder / "token"), *more)
        words.remove(str(self.folder / "alice.csv"))
        port = free_port()
        process = Process([*words, "--listen", f"127.0.0.1:{port}"], self.folder / "stay.out")
        return process, port

    def client(self, port):
        return Client(port, (self.folder / "token").read_text().strip())

    def rows(self, *places):
        table = self.table("alice")
        return [{"id": str(table.ids[i]), "a": float(table.values[i, 0])} for i in places]


@pytest.fixture
def resident(tmp_path, made):
    world = Resident(tmp_path, made)
    for name in PASSIVE:
        answers_beside(ledger_beside(world.ca / f"{name}.key")).unlink(missing_ok=True)
    return world


def test_local_clients_get_scores_and_reasons(resident, running):
    rules = MANY + '[disclose]\nb = "what bob knows"\n'
    running(resident.serve("bob", rules=rules))
    running(resident.serve("carol"))
    stay, port = resident.stay()
    running(stay).wait_for("Scoring rows at")
    client, expected = resident.client(port), resident.expected()
    assert client.ask("/health", headers={"Authorization": "Bearer none"})[0] == 401
    assert client.ask("/elsewhere")[0] == 404
    code, told = client.ask("/score", {"rows": resident.rows(3, 5), "reasons": ["a"]})
    assert code == 200, told
    np.testing.assert_allclose(np.array(told["scores"])[:, 0], expected[[3, 5]], atol=1e-3)
    assert {(one["party"], one["column"]) for one in told["reasons"]} == {("bob", "b"), ("alice", "a")}
    assert told["predictions"][0] in ("yes", "no")
    strange = [{"rows": []}, {"rows": [{"a": 1.0}]}, {"rows": [{"id": "row1", "z": 1}]}, {"row": []}]
    for wrong in (*strange, {"rows": resident.rows(1), "reasons": ["z"]}):
        code, told = client.ask("/score", wrong)
        assert (code, list(told)) == (400, ["error"])
    assert client.ask("/health")[1]["rows"] == 2
    stay.interrupt()
    assert stay.ended() == 0, stay.said


def test_an_unknown_id_answers_like_a_row_of_missing_values(resident, running):
    for name in PASSIVE:
        running(resident.serve(name))
    stay, port = resident.stay()
    running(stay).wait_for("Scoring rows at")
    code, told = resident.client(port).ask("/score", {"rows": [{"id": "nobody", "a": 0.5}]})
    assert code == 200
    values = np.array([[0.5, np.nan, np.nan, np.nan]], np.float32)
    leaves = resident.whole.forest.leaf_places(values, 1)
    np.testing.assert_allclose(told["scores"][0], resident.model.scores_at(leaves)[0], atol=1e-3)


def test_a_party_that_is_killed_and_started_again_is_told_all_anew(resident, running):
    bob = running(resident.serve("bob"))
    running(resident.serve("carol"))
    stay, port = resident.stay()
    running(stay).wait_for("Scoring rows at")
    client, expected = resident.client(port), resident.expected()
    assert client.ask("/score", {"rows": resident.rows(7)})[0] == 200
    bob.kill()
    running(resident.serve("bob"))
    code, told = client.ask("/score", {"rows": resident.rows(8)})
    assert code == 200, told
    np.testing.assert_allclose(told["scores"][0][0], expected[8], atol=1e-3)


def test_whatever_left_was_counted_when_either_side_is_killed(resident, running):
    """Requests go on while a side is killed: no score was told that the ledgers have not counted."""
    bob = running(resident.serve("bob"))
    carol = running(resident.serve("carol"))
    stay, port = resident.stay()
    running(stay).wait_for("Scoring rows at")
    client, told = resident.client(port), 0
    end = time.monotonic() + 3
    while time.monotonic() < end:
        told += client.ask("/score", {"rows": resident.rows(told % 200)})[0] == 200
    bob.kill()
    assert told > 0
    for name in PASSIVE:
        assert told <= resident.counted(name).answers <= told + 1
    stay.kill()
    carol.kill()


def test_an_address_that_others_could_reach_is_refused(resident):
    words = resident.predict_words("--sealed", "--serve", "--listen", "0.0.0.0:8000")
    words.remove(str(resident.folder / "alice.csv"))
    refused = Process(words, resident.folder / "refused.out")
    assert refused.ended() == 3
    assert "is no loopback address" in refused.said


def test_explain_gives_sealed_reasons(world, running):
    running(world.serve("bob", rules=MANY + '[disclose]\nb = "what bob knows"\n'))
    running(world.serve("carol"))
    words = [
        "explain",
        str(world.folder / "model.json"),
        "--data",
        str(world.folder / "alice.csv"),
        "--rows",
        "row3,row9",
    ]
    words += ["--with", str(world.file), *world.keys("alice"), "--own", "a", "--out", str(world.folder / "why")]
    explained = Process(words, world.folder / "explained.out")
    assert explained.ended() == 0, explained.said
    assert "b (bob)" in explained.said
    assert "a (alice)" in explained.said
    assert "less the score that the row would have if the column were missing" in explained.said
    assert "row9" in (world.folder / "why" / "explanation.html").read_text()


def test_an_owner_can_blur_scores(world, running):
    running(world.serve("bob", rules=MANY + "blur_permille = 100\n"))
    running(world.serve("carol"))
    assert world.scored().ended() == 0
    difference = np.abs(world.told() - world.expected())
    assert difference.max() > 1e-2
    assert len(np.unique(difference.round(6))) > 150


def test_a_refused_id_is_no_harm_to_the_next_request(resident, running):
    """The party refuses, and answers what it is asked after that."""
    for name in PASSIVE:
        running(resident.serve(name, rules=RULES.format(1)))
    stay, port = resident.stay()
    running(stay).wait_for("Scoring rows at")
    client, expected = resident.client(port), resident.expected()
    assert client.ask("/score", {"rows": resident.rows(4)})[0] == 200
    code, told = client.ask("/score", {"rows": resident.rows(4)})
    assert code == 403
    assert "most_answers_per_id = 1" in told["error"]
    assert str(resident.table("alice").ids[4]) not in told["error"]
    code, told = client.ask("/score", {"rows": resident.rows(5)})
    assert code == 200, told
    np.testing.assert_allclose(told["scores"][0][0], expected[5], atol=1e-3)


def test_logs_and_status_have_no_id(resident, running):
    for name in PASSIVE:
        running(resident.serve(name))
    stay, port = resident.stay()
    running(stay).wait_for("Scoring rows at")
    client, someone = resident.client(port), "somebody-quite-particular"
    assert client.ask("/score", {"rows": [{"id": someone, "a": 0.5}]})[0] == 200
    time.sleep(1.5)
    written = [file for file in resident.folder.rglob("*") if file.is_file()]
    assert any(file.name == "status.json" for file in written)
    assert any("signature" in file.read_text(errors="ignore") for file in written if file.suffix == ".log")
    assert not [file for file in written if someone.encode() in file.read_bytes()]
