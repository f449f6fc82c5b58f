"""A data owner's ledger in a file: processes take turns, the chain holds, and the owner resets guesses by a command."""

import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from hedgerow.agreement.policy import AnswerLimits
from hedgerow.cli import app
from hedgerow.errors import RunError
from hedgerow.privacy.accountant import mu_of_budget, spent, whole
from hedgerow.privacy.ledger import Budget
from hedgerow.privacy.ledger import Ledger as PrivacyLedger
from hedgerow.privacy.lifetime import LifetimeLimit, OwnerBudget
from hedgerow.privacy.promise import at_most
from hedgerow.protocols.session.answer_ledger import AnswerLedger, answers_beside
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


@pytest.fixture
def answers(path):
    """A ledger of answers: two ids, one of them asked about with two models."""
    ledger = AnswerLedger(answers_beside(path), AnswerLimits(3, 365, 60))
    ledger.charge("abc", ["7", "8"], 1, 20)
    ledger.charge("def", ["7"], 1, 17.5)
    ledger.close()
    return answers_beside(path)


def grid(text):
    return [line.split() for line in text.splitlines() if line.strip() and "─" not in line]


def test_answers_about_ids_are_shown_beside_the_ledger_or_alone(path, answers):
    with opened(path):
        pass
    both, alone = said("show", path), said("show", answers)
    assert "wrong hashes" in both
    assert "wrong hashes" not in alone
    for text in (both, alone):
        assert ["abc", "2", "2", "40", "1", "20"] in grid(text)
        assert ["all", "2", "3", "57.5", "2", "37.5"] in grid(text)
        assert "Each id may be answered 3 times in 365 days, with at most 60 bits." in " ".join(text.split())


def test_what_is_counted_of_one_id_is_shown(path, answers):
    text = said("show", answers, "--id", "7")
    assert ["def", "1", "17.5"] in grid(text)
    assert ["all", "2", "37.5"] in grid(text)
    assert ["all", "0", "0"] in grid(said("show", answers, "--id", "9"))
    assert "There is no ledger of answers" in said("show", path.with_name("no.ledger"), "--id", "7", code=3)


def test_the_limits_shown_are_those_of_the_policy(answers, tmp_path):
    rules = tmp_path / "policy.toml"
    rules.write_text("most_answers_per_id = 5\nanswer_days = 30\nleast_own_cuts = 0\n")
    assert "5 times in 30 days" in " ".join(said("show", answers, "--policy", rules).split())
    rules.write_text("most_answers_per_id = 0\n")
    assert "must be a whole number from 1 on" in said("show", answers, "--policy", rules, code=3)


def test_old_answers_are_removed_by_a_command(path, answers):
    assert "removed: 0 answers about ids" in said("compact", answers, "--days", 365)
    year_ago = AnswerLedger(answers, AnswerLimits(3, 365, 60), lambda: 1e9)
    year_ago.charge("old", ["9"], 1, 1)
    assert "removed: 1 answers about ids" in said("compact", answers, "--days", 365)
    assert ["all", "2", "3", "57.5", "2", "37.5"] in grid(said("show", answers))
    with opened(path):
        pass
    assert "is no ledger of answers" in said("compact", path, "--days", 365, code=3)


def counted_runs(path, epsilon_budget=""):
    """Two runs of an epsilon of 1 each, of which one is not over."""
    with opened(path) as log:
        for number in range(2):
            limit = LifetimeLimit(epsilon_budget)
            run = PrivacyLedger(Budget(1, 1e-6), [], lifetime=OwnerBudget(log, limit), more_to_come=True)
            if number:
                run.plan([whole(mu_of_budget(1, 1e-6))])
                run.release("all of it", whole(mu_of_budget(1, 1e-6)))
                run.finish()


def together(delta):
    """Of two such runs; less than twice one."""
    found = spent([whole(mu_of_budget(1, 1e-6))] * 2, delta).epsilon
    assert found < 1.5
    return found


def test_what_runs_tell_together_is_shown_by_budget(path, tmp_path):
    counted_runs(path)
    counted_runs(path, "visitors")
    shown, twice = said("show", path), at_most(together(1e-6))
    assert ["(all", "runs", "without", "a", "name)", "row", "2", "1", twice] in grid(shown)
    assert ["visitors", "row", "2", "1", twice] in grid(shown)
    assert "a delta of 1e-06, of all runs together" in " ".join(shown.split())
    rules = tmp_path / "policy.toml"
    rules.write_text('most_epsilon = 3\nmost_delta = 1e-5\nepsilon_budget = "visitors"\n')
    shown = said("show", path, "--policy", rules)
    assert ["visitors", "row", "2", "1", at_most(together(1e-5)), "of", "3"] in grid(shown)
    assert "most_epsilon" not in shown


def test_a_ledger_without_such_runs_shows_none(path):
    with opened(path):
        pass
    assert "epsilon" not in said("show", path)


def test_a_run_that_was_stopped_for_good_is_ended_by_its_log(path, tmp_path):
    release = replace(whole(0.05), what="counts")
    with opened(path) as log, closing(AuditLog(tmp_path / "audit.log", "a run", "north")) as own:
        limit = LifetimeLimit("visitors")
        run = PrivacyLedger(Budget(1, 1e-6), [release], own, "a run", OwnerBudget(log, limit), more_to_come=True)
        run.release("counts", release)
    assert ["visitors", "row", "1", "1", "1.000"] in grid(said("show", path))
    assert "ended: the run counts with 1 release," in said("end-run", path, tmp_path / "audit.log")
    assert ["visitors", "row", "1", "0", at_most(spent([release], 1e-6).epsilon)] in grid(said("show", path))
    verify(path)


def test_a_run_that_the_ledger_does_not_know_cannot_be_ended(path, tmp_path):
    with opened(path), closing(AuditLog(tmp_path / "audit.log", "a run", "north")) as own:
        own.note("something")
    assert "has never begun to release noised sums" in said("end-run", path, tmp_path / "audit.log", code=3)
    with closing(AuditLog(tmp_path / "audit.log", "a run", "north")) as own:
        PrivacyLedger(Budget(1, 1e-6), [], own, "a run")
    assert "knows nothing of this run" in said("end-run", path, tmp_path / "audit.log", code=3)
