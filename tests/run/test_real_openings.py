"""The openings of sealed predictions by real parties, and `hedgerow audit opening` on them."""

from dataclasses import replace
from pathlib import Path

import pytest
from real_parties import Process
from test_real_sealed import Resident
from test_vertical_parties import PASSIVE, refused
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.model import commitment as c
from hedgerow.model import part as parts
from hedgerow.model.file import load_model, save
from hedgerow.protocols.session.answer_ledger import answers_beside
from hedgerow.run.folder.ledger_file import ledger_beside


class Auditable(Resident):
    """Parties whose active one has committed to the leaf values, and keeps openings."""

    def commit(self):
        model, salt = load_model(self.folder / "model.json"), c.new_salt()
        c.keep_salt(self.folder / "model.salt", model, salt)
        for name in PASSIVE:
            part = replace(parts.load_part(self.folder / f"{name}.json"), commitment=c.commit(model, salt))
            (self.folder / f"{name}.json").write_bytes(parts.encoded(part))

    @property
    def openings(self):
        return sorted((self.folder / "openings").glob("*.opening"))

    def audit_words(self, opening, name="bob", **other):
        files = {"model": "model.json", "salt": "model.salt", "part": f"{name}.json", **other}
        log = next((self.folder / f"{name}-serving").glob("*.log"), self.folder / "none.log")
        words = [word for option, file in files.items() for word in (f"--{option}", self.folder / file)]
        return [str(word) for word in ["audit", "opening", opening, *words, "--log", log]]

    def audited(self, *words, **more):
        return CliRunner().invoke(app, self.audit_words(*words, **more))


@pytest.fixture
def world(tmp_path, made):
    world = Auditable(tmp_path, made)
    world.commit()
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


def test_an_opening_of_real_parties_holds_and_a_changed_model_or_log_does_not(world, running):
    for name in PASSIVE:
        running(world.serve(name))
    scored = world.scored("--keep-openings", str(world.folder / "openings"))
    assert scored.ended() == 0, scored.said
    [opening] = world.openings
    assert opening.stat().st_mode & 0o777 == 0o600
    for name in PASSIVE:
        told = world.audited(opening, name)
        assert told.exit_code == 0, told.output
        assert told.output.startswith(f"ok: session {opening.stem}, 1 batch of 200 rows sealed as committed to")
    other = load_model(world.folder / "model.json")
    other = replace(other, forest=replace(other.forest, values=other.forest.values * 2))
    save(other, world.folder / "other.json")
    told = world.audited(opening, model="other.json")
    assert told.exit_code == 1
    assert "not those that the active party committed to" in told.output
    assert "is not the audit log of 'carol'" in refused(*swapped(world.audit_words(opening, "bob"), "carol.json"))
    log = Path(world.audit_words(opening)[-1])
    log.write_bytes(log.read_bytes().replace(b'"rows":200', b'"rows":100'))
    told = world.audited(opening)
    assert told.exit_code == 1
    assert "was changed, removed or swapped" in told.output


def swapped(words, part):
    at = words.index("--part") + 1
    return [*words[:at], str(words[at]).replace("bob.json", part), *words[at + 1 :]]


def test_a_party_that_stays_keeps_a_session_for_each_key(world, running):
    bob = running(world.serve("bob"))
    running(world.serve("carol"))
    stay, port = world.stay("--keep-openings", str(world.folder / "openings"))
    running(stay).wait_for("Scoring rows at")
    client = world.client(port)
    assert client.ask("/score", {"rows": world.rows(7, 8)})[0] == 200
    bob.kill()
    running(world.serve("bob"))
    assert client.ask("/score", {"rows": world.rows(9)})[0] == 200
    stay.interrupt()
    assert stay.ended() == 0, stay.said
    told = sorted(world.audited(opening).output.partition(", ")[2].split(" rows")[0] for opening in world.openings)
    assert told == ["1 batch of 1", "1 batch of 2"]


def test_openings_are_kept_of_sealed_predictions_in_the_committed_bits_only(world):
    words = world.predict_words("--keep-openings", str(world.folder / "openings"))
    assert "--keep-openings goes with --sealed" in refused(*words)
    assert "--keep-openings goes with --bits 19" in refused(*words, "--sealed", "--bits", "12")
    assert not world.openings


def test_what_is_no_opening_is_refused(world):
    assert "Cannot read the opening" in refused(*world.audit_words(world.folder / "none"))
    assert "is not the opening of a sealed prediction" in refused(*world.audit_words(world.folder / "model.json"))


def test_the_process_of_an_audit_says_one_sentence(world):
    ended = Process(world.audit_words(world.folder / "none"), world.folder / "audit.out")
    assert ended.ended() == 3
    assert "Traceback" not in ended.said
