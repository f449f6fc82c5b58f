"""What a data owner counts over all its runs: guesses of its ids are stopped, whatever run or process they come in."""

import numpy as np
import pytest

from federated import Federation, MemoryLog, identity, labels, params_of, until, values
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_answer, encode
from hedgerow.data.table import Table
from hedgerow.errors import DataError, HedgerowError, PolicyError, PrivacyError
from hedgerow.protocols.align.lists import rows_digest
from hedgerow.protocols.driver import State
from hedgerow.protocols.party import Owner, Party
from hedgerow.protocols.session.owner_ledger import MOST_WRONG, Ledger
from hedgerow.storage.audit import AuditLog

IDS = [f"{i:04d}" for i in np.random.default_rng(3).permutation(10_000)[:60]]
STOPPED = "has heard 3 wrong hashes of its rows"


def federation(ledger=None, logs=None, run="a test", ids=IDS[:1]):
    """An active party, and a passive one with a single row, whose id the active party does not know."""
    X, signal = values(len(ids), n_columns=3, missing=0)
    tables = {"party1": Table.of(X[:, :1], labels("numbers", signal), ids=ids), "party2": Table.of(X[:, 1:], ids=ids)}
    plan = {"method": "vertical", "protection": "plain", "active": "party1", "run": run}
    fed = Federation(tables, params_of(), Goal(objective="squared"), logs=logs, **plan)
    owner = fed.parties["party2"].owner
    party = Party(Owner("party2", owner.own_table, None, ALLOW_ALL, identity("party2"), owner.log, ledger=ledger), 1)
    fed.parties["party2"] = party
    until(fed, lambda request: isinstance(request, m.AskColumns), State())
    return fed


def asked(fed, text):
    """Whether the party answers where this id is its row's."""
    guess = rows_digest(fed.plan, Table.of(np.zeros((1, 1), np.float32), ids=[text]))
    answer = fed.parties["party2"].answer(encode(m.AskColumns(guess, rows_digest(fed.plan, None))))
    return isinstance(decode_answer(answer, 1 << 20), m.OwnColumns)


def found(fed, tries):
    """Which of these ids the active party finds, and how the first refusal reads that is none of a wrong guess."""
    for text in tries:
        try:
            if asked(fed, text):
                return text, ""
        except DataError:
            continue
        except HedgerowError as error:
            return None, str(error)
    return None, ""


GUESSES = [*IDS[1 : MOST_WRONG + 10], IDS[0]]


def test_an_id_is_not_found_by_trying_out_hashes():
    text, why = found(federation(), GUESSES)
    assert text is None
    assert STOPPED in why


def test_a_party_that_does_not_count_is_searched(monkeypatch):
    """The sabotage: every wrong hash is forgotten."""
    monkeypatch.setattr(Ledger, "wrong", 0)
    assert found(federation(), GUESSES) == (IDS[0], "")


def test_the_right_hash_is_no_longer_told_from_a_wrong_one():
    fed = federation()
    found(fed, GUESSES[:MOST_WRONG])
    with pytest.raises(PrivacyError, match=STOPPED):
        asked(fed, IDS[0])


def test_after_two_wrong_hashes_the_right_one_is_answered():
    assert found(federation(), [*IDS[1:MOST_WRONG], IDS[0]]) == (IDS[0], "")


def test_the_same_wrong_hash_again_is_no_other_guess():
    """A driver with the wrong rows that is started again and again tries out nothing."""
    assert found(federation(), [*[IDS[1]] * 9, IDS[0]]) == (IDS[0], "")


@pytest.mark.parametrize("same_ledger", [True, False])
def test_guesses_are_counted_over_runs_where_the_owner_has_one_ledger(same_ledger):
    """The sabotage is an owner whose every run has a ledger of its own."""
    ledger = MemoryLog()
    for number, text in enumerate(GUESSES[:MOST_WRONG]):
        found(federation(ledger if same_ledger else MemoryLog(), run=f"run {number}"), [text])
    text, why = found(federation(ledger if same_ledger else MemoryLog(), run="one more"), [IDS[0]])
    assert (text is None) == same_ledger
    assert (STOPPED in why) == same_ledger


def test_without_a_ledger_they_are_counted_in_the_log_of_the_run_over_processes():
    log = MemoryLog()
    for text in GUESSES[:MOST_WRONG]:
        found(federation(logs={"party2": log}, run="a test"), [text])
        log.kept = [line for line in log.kept if line["event"] != "introduced"]  # each is a first attempt
    assert STOPPED in found(federation(logs={"party2": log}), [IDS[0]])[1]


def test_other_requests_of_the_run_are_not_answered_either():
    fed = federation()
    asked(fed, IDS[0])
    found(fed, GUESSES[:MOST_WRONG])
    with pytest.raises(PrivacyError, match=STOPPED):
        fed.parties["party2"].answer(encode(m.EndRound(0)))


def test_a_reset_by_the_owner_is_noted_and_lets_it_answer_again():
    log = AuditLog(None, "all runs", "their data owner")
    assert found(federation(log), GUESSES)[0] is None
    assert Ledger(log).wrong == MOST_WRONG
    assert Ledger(log).reset_guesses() == MOST_WRONG
    assert [line["wrong"] for line in log.lines() if line["event"] == "guesses reset"] == [MOST_WRONG]
    assert found(federation(log, run="another"), [IDS[0]]) == (IDS[0], "")


def test_a_wrong_hash_is_on_disk_before_it_is_refused():
    log, synced = MemoryLog(), []
    log.sync = lambda: synced.append([line["event"] for line in log.kept])
    with pytest.raises(DataError, match="are not those of the active party"):
        asked(federation(log), IDS[1])
    assert synced == [["wrong hash"]]


# Rows that are predicted


def test_rows_are_counted_by_model_and_over_processes():
    log = MemoryLog()
    Ledger(log).predict("one", 60, 100)
    Ledger(log).predict("another", 100, 100)
    with pytest.raises(PolicyError, match="more rows of this model than"):
        Ledger(log).predict("one", 41, 100)
    Ledger(log).predict("one", 40, 100)
    assert Ledger(log).predicted == {"one": 100, "another": 100}


def test_what_two_processes_count_at_the_same_time_is_refused_to_both_rather_than_to_none():
    log, noted = MemoryLog(), []
    note = log.note

    def beside(event, **facts):
        if not noted:  # another process writes between this one's look and its line
            noted.append(note(event, **facts))
        note(event, **facts)

    log.note = beside
    with pytest.raises(PolicyError, match="most_predicted_rows"):
        Ledger(log).predict("one", 60, 100)
