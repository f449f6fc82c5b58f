"""A data owner's ledger in a file: processes take turns, the chain holds, and the owner resets guesses by a command."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.errors import RunError
from hedgerow.protocols.session.owner_ledger import Ledger
from hedgerow.run.folder.ledger_file import LedgerFile, ledger_beside, opened
from hedgerow.storage.audit import AuditLog, read, verify

WRITER = """
import sys
from pathlib import Path
from hedgerow.run.folder.ledger_file import LedgerFile
log = LedgerFile(Path(sys.argv[1]))
for n in range(50):
    log.note("rows predicted", model=sys.argv[2], rows=1)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "north.ledger"


def test_processes_that_write_at_the_same_time_keep_one_chain(path):
    own = LedgerFile(path)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), f"model {i}"]) for i in range(2)]
    while any(writer.poll() is None for writer in writers):
        own.note("rows predicted", model="own", rows=1)
    n = verify(path).n_lines
    predicted = Ledger(own).predicted
    assert [writer.returncode for writer in writers] == [0, 0]
    assert (predicted["model 0"], predicted["model 1"]) == (50, 50)
    assert n == 1 + predicted.total()


def test_a_process_that_does_not_look_what_others_wrote_breaks_the_chain(path, monkeypatch):
    """The sabotage: lines are added to what this process knows."""
    monkeypatch.setattr(LedgerFile, "_catch_up", lambda _: None)
    one, other = LedgerFile(path), LedgerFile(path)
    one.note("rows predicted", model="m", rows=1)
    other.note("rows predicted", model="m", rows=1)
    with pytest.raises(RunError, match=r"line 3 of .* was changed, removed or swapped"):
        verify(path)


def test_a_line_that_a_killed_process_left_half_written_is_cut_off(path):
    one, other = LedgerFile(path), LedgerFile(path)
    one.note("rows predicted", model="m", rows=1)
    with path.open("ab") as file:
        file.write(b'{"n":2,"at')
    other.note("rows predicted", model="m", rows=1)
    assert [line["event"] for line in read(path)][1:] == ["rows predicted", "torn line removed", "rows predicted"]
    assert Ledger(one).predicted == {"m": 2}


def test_it_is_its_owners_alone_and_lies_beside_the_key(path):
    with opened(path):
        assert path.stat().st_mode & 0o777 == 0o600
    assert ledger_beside(path.with_suffix(".key")) == path


def test_the_log_of_a_run_is_no_ledger(path):
    AuditLog(path, "a run", "north").close()
    with (
        pytest.raises(RunError, match=r"of another party, 'north', .* may lie elsewhere \(--ledger\)"),
        opened(path),
    ):
        pass


def test_a_folder_that_cannot_be_written_is_said_with_the_option(tmp_path):
    with pytest.raises(RunError, match=r"Cannot write the audit log .*--ledger"), opened(tmp_path / "no" / "n.ledger"):
        pass


# The owner's commands


def said(*words, code=0):
    result = CliRunner().invoke(app, ["ledger", *map(str, words)])
    assert result.exit_code == code, result.output
    return result.stdout + result.stderr


@pytest.mark.parametrize("of_run", [False, True])
def test_the_owner_resets_guesses_and_the_ledger_says_so(path, of_run):
    log = AuditLog(path, "a run", "north") if of_run else LedgerFile(path)
    for told in (b"a", b"b", b"c"):
        Ledger(log).guess(told, False)
    log.close()
    assert "3 of 3" in said("show", path)
    assert f"reset: 3 wrong hashes forgotten, noted in {path}" in said("reset-guesses", path)
    assert "0 of 3" in said("show", path)
    assert [line["event"] for line in read(path)][-1] == "guesses reset"
    verify(path)


def test_rows_that_were_predicted_are_shown_by_model(path):
    with opened(path) as log:
        Ledger(log).predict("abc", 1200, 10_000)
    assert "1,200" in said("show", path)


def test_a_ledger_that_is_not_there_or_was_changed_is_refused(path):
    assert "There is no ledger" in said("show", path, code=3)
    with opened(path) as log:
        Ledger(log).guess(b"a", False)
    path.write_bytes(path.read_bytes().replace(b"wrong hash", b"right hash"))
    assert "was changed, removed or swapped" in said("reset-guesses", path, code=3)
