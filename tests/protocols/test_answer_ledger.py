"""Answers about ids are counted over models, runs and processes, on disk before anything is sent, and limited."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.agreement.policy import ALLOW_ALL, AnswerLimits, Policy
from hedgerow.errors import ParameterError, PolicyError, RunError
from hedgerow.protocols.session import answer_counts
from hedgerow.protocols.session.answer_counts import AnswerCounts, Charges
from hedgerow.protocols.session.answer_ledger import AnswerLedger, answers_beside
from hedgerow.storage.shared_records import HEAD

LIMITS = AnswerLimits(3, 365, 60)
DAY = 86_400


class Clock:
    """Days that pass when the test says so."""

    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def path(tmp_path):
    return tmp_path / "north.answers"


@pytest.fixture(params=["file", "memory"])
def ledger(request, path):
    return AnswerLedger(path if request.param == "file" else None, LIMITS, Clock())


TOO_MANY = r"more answers about an id within 365 days than .* \(most_answers_per_id = 3\)"
TOO_WIDE = r"more bits about an id within 365 days than .* \(most_bits_per_id = 60\)"


def test_the_fourth_answer_about_an_id_is_refused_whatever_model_it_is_of(ledger):
    for model in ("a", "b", "a"):
        ledger.charge(model, ["x", "y"], 1, 17)
    with pytest.raises(PolicyError, match=TOO_MANY):
        ledger.charge("c", ["x"], 1, 17)
    ledger.charge("c", ["z"], 3, 17)


def test_each_reason_is_an_answer(ledger):
    ledger.charge("a", ["x"], 2, 10)
    with pytest.raises(PolicyError, match=TOO_MANY):
        ledger.charge("a", ["x"], 2, 10)


def test_bits_are_limited_beside_answers_and_exactly(ledger):
    ledger.charge("a", ["x"], 3, 20)
    ledger.charge("a", ["y"], 2, 20)
    with pytest.raises(PolicyError, match=TOO_WIDE):
        ledger.charge("a", ["y"], 1, 20.001)
    ledger.charge("a", ["y"], 1, 20)


def test_an_id_that_is_in_a_batch_twice_is_counted_twice(ledger):
    with pytest.raises(PolicyError, match=TOO_MANY):
        ledger.charge("a", ["x"] * 4, 1, 1)
    ledger.charge("a", ["x", "y", "x"], 1, 1)
    assert ledger.counted("x")["a"].answers == 2
    with pytest.raises(PolicyError, match=TOO_MANY):
        ledger.charge("a", ["x", "x"], 1, 1)


def test_a_batch_is_charged_whole_or_not_at_all(ledger):
    ledger.charge("a", ["x"], 3, 1)
    with pytest.raises(PolicyError, match=TOO_MANY):
        ledger.charge("a", ["y", "z", "x"], 1, 1)
    assert ledger.summary().total.ids == 1


def test_a_refusal_is_the_same_sentence_whichever_id_it_is_about(ledger):
    said = set()
    for one in ("x", "a very long id", "y"):
        ledger.charge("a", [one], 3, 1)
        with pytest.raises(PolicyError, match=TOO_MANY) as refused:
            ledger.charge("a", ["other", one], 1, 1)
        said.add(str(refused.value))
    assert len(said) == 1


@pytest.mark.parametrize(("answers", "bits"), [(0, 1), (-1, 1), (1, 0), (1, -5), (1, float("nan")), (1, float("inf"))])
def test_what_would_lower_a_count_or_escape_it_is_refused(ledger, answers, bits):
    with pytest.raises(ParameterError, match="cannot be counted"):
        ledger.charge("a", ["x"], answers, bits)


def test_no_ids_cost_nothing(ledger):
    ledger.charge("a", [], 1, 1)
    assert ledger.summary().by_model == {}


def test_the_summary_tells_ids_answers_bits_and_the_most_asked_by_model(ledger):
    ledger.charge("a", ["x", "y"], 1, 12.5)
    ledger.charge("b", ["x"], 2, 10)
    found = ledger.summary()
    assert (found.total.ids, found.total.answers, found.total.bits) == (2, 4, 45.0)
    assert (found.total.most_answers, found.total.most_bits) == (3, 32.5)
    assert {name: (one.ids, one.answers, one.bits) for name, one in found.by_model.items()} == {
        "a": (2, 2, 25.0),
        "b": (1, 2, 20.0),
    }
    assert {name: one.answers for name, one in ledger.counted("x").items()} == {"a": 1, "b": 2}
    assert ledger.counted("nobody") == {}


# The period


def test_answers_count_for_the_period_and_not_longer(path):
    clock = Clock()
    ledger = AnswerLedger(path, LIMITS, clock)
    ledger.charge("a", ["x"], 3, 1)
    clock.now += 365 * DAY
    with pytest.raises(PolicyError, match=TOO_MANY):
        ledger.charge("a", ["x"], 1, 1)
    clock.now += DAY
    ledger.charge("a", ["x"], 3, 1)
    assert ledger.summary().total.answers == 3
    with pytest.raises(PolicyError, match=TOO_MANY):
        AnswerLedger(path, LIMITS, clock).charge("a", ["x"], 1, 1)


def test_answers_do_not_stop_counting_when_the_clock_is_put_back(ledger):
    ledger.charge("a", ["x"], 3, 1)
    ledger._clock.now -= 1000 * DAY
    with pytest.raises(PolicyError, match=TOO_MANY):
        ledger.charge("a", ["x"], 1, 1)


def test_compacting_forgets_what_no_longer_counts_and_nothing_else(path):
    clock = Clock()
    ledger = AnswerLedger(path, LIMITS, clock)
    other = AnswerLedger(path, LIMITS, clock)
    ledger.charge("old", [f"{i}" for i in range(1000)], 1, 1)
    other.charge("old", ["x"], 1, 1)
    clock.now += 200 * DAY
    ledger.charge("new", ["x", "x", "5"], 1, 1)
    clock.now += 200 * DAY
    size = path.stat().st_size
    assert ledger.compact() == 1001
    assert path.stat().st_size < size / 10
    assert path.stat().st_mode & 0o777 == 0o600
    for each in (other, ledger, AnswerLedger(path, LIMITS, clock)):  # others had the old file open
        assert each.counted("x")["new"].answers == 2
        with pytest.raises(PolicyError, match=TOO_MANY):
            each.charge("a", ["x"] * 2, 1, 1)
    other.charge("a", ["x"], 1, 1)
    with pytest.raises(PolicyError, match=TOO_MANY):
        ledger.charge("a", ["x"], 1, 1)


def test_a_compaction_that_fails_leaves_the_file_as_it_was(path, monkeypatch):
    ledger = AnswerLedger(path, LIMITS)
    ledger.charge("a", ["x"], 3, 1)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(RunError, match="No space left"):
            ledger.compact()
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with pytest.raises(PolicyError, match=TOO_MANY):
        ledger.charge("a", ["x"], 1, 1)


# The file


def test_counts_are_kept_over_restarts(path):
    for _ in range(3):
        ledger = AnswerLedger(path, LIMITS)
        ledger.charge("a", ["x"], 1, 1)
        ledger.close()
    with pytest.raises(PolicyError, match=TOO_MANY):
        AnswerLedger(path, LIMITS).charge("a", ["x"], 1, 1)


def test_the_file_is_its_owners_alone_and_has_no_id_in_it(path):
    AnswerLedger(path, LIMITS).charge("a", ["somebody"], 1, 1)
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"somebody" not in path.read_bytes()
    assert answers_beside(path.with_suffix(".ledger")) == path


def test_the_same_id_has_another_hash_in_another_file(tmp_path):
    ends = set()
    for name in ("a", "b"):
        AnswerLedger(tmp_path / name, LIMITS, Clock()).charge("m", ["x"], 1, 1)
        ends.add((tmp_path / name).read_bytes()[HEAD:])
    assert len(ends) == 2


@pytest.mark.parametrize("n", [1, 7, 8, 9, 20, -1])
def test_a_torn_last_record_is_left_out_and_the_file_goes_on(path, n):
    one, other = AnswerLedger(path, LIMITS), AnswerLedger(path, LIMITS)
    one.charge("a", ["x", "y"], 1, 1)
    whole = path.read_bytes()
    one.charge("a", ["x"], 1, 1)
    last = path.read_bytes()[len(whole) :]
    path.write_bytes(whole + last[:n])
    other.charge("b", ["y"], 1, 1)
    again = AnswerLedger(path, LIMITS)
    assert {name: of.answers for name, of in again.counted("y").items()} == {"a": 1, "b": 1}
    assert again.counted("x")["a"].answers == 1


@pytest.mark.parametrize("zeros", [3, 8, 5000])
def test_zeros_that_a_loss_of_power_leaves_are_no_record(path, zeros):
    AnswerLedger(path, LIMITS).charge("a", ["x"], 2, 1)
    with path.open("ab") as file:
        file.write(bytes(zeros))
    again = AnswerLedger(path, LIMITS)
    again.charge("a", ["x"], 1, 1)
    with pytest.raises(PolicyError, match=TOO_MANY):
        AnswerLedger(path, LIMITS).charge("a", ["x"], 1, 1)


def test_every_damaged_byte_is_noticed_and_refused_in_one_sentence(path):
    ledger = AnswerLedger(path, LIMITS)
    for one in ("x", "y"):
        ledger.charge("a", [one], 1, 1)
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        with pytest.raises(RunError, match=r"^The ledger of answers .* is damaged \([^.]*\); put back|is no ledger of"):
            AnswerLedger(path, LIMITS).charge("a", ["x"], 1, 1)
        assert len(path.read_bytes()) == len(whole)


def test_a_record_that_was_taken_out_is_noticed(path):
    ledger = AnswerLedger(path, LIMITS)
    sizes = []
    for one in ("x", "y", "z"):
        ledger.charge("a", [one], 1, 1)
        sizes.append(path.stat().st_size)
    whole = path.read_bytes()
    path.write_bytes(whole[: sizes[0]] + whole[sizes[1] :])
    with pytest.raises(RunError, match="damaged"):
        AnswerLedger(path, LIMITS).charge("a", ["x"], 1, 1)


def test_a_file_of_another_kind_is_not_touched(path):
    path.write_bytes(b"my notes")
    with pytest.raises(RunError, match="is no ledger of answers"):
        AnswerLedger(path, LIMITS).charge("a", ["x"], 1, 1)
    assert path.read_bytes() == b"my notes"


@pytest.mark.parametrize("n", [0, 5, 19, 40, HEAD - 1])
def test_a_file_that_was_only_begun_is_begun_again(path, n):
    AnswerLedger(path, LIMITS).charge("a", ["x"], 1, 1)
    path.write_bytes(path.read_bytes()[:n])
    AnswerLedger(path, LIMITS).charge("a", ["x"], 3, 1)


def test_a_file_of_which_a_loss_of_power_left_zeros_before_its_first_record_is_begun_again(path):
    path.write_bytes(bytes(HEAD))
    AnswerLedger(path, LIMITS).charge("a", ["x"], 3, 1)
    with pytest.raises(PolicyError, match=TOO_MANY):
        AnswerLedger(path, LIMITS).charge("a", ["x"], 1, 1)
    path.write_bytes(bytes(HEAD + 1))
    with pytest.raises(RunError, match="is no ledger of answers"):
        AnswerLedger(path, LIMITS)


def test_a_file_that_cannot_be_used_is_refused_before_anyone_asks(path):
    path.mkdir()
    with pytest.raises(RunError, match="Cannot use the ledger of answers"):
        AnswerLedger(path, LIMITS)


def test_limits_that_are_larger_than_any_number_are_none(path):
    AnswerLedger(path, AnswerLimits(10**30, 10**30, 10**30)).charge("a", ["x"], 1000, 1000)


@pytest.mark.parametrize("how", ["removed", "cut"])
def test_a_file_that_vanishes_while_it_is_used_is_not_begun_anew(path, how):
    ledger = AnswerLedger(path, LIMITS)
    ledger.charge("a", ["x"], 3, 1)
    if how == "removed":
        path.unlink()
    else:
        os.truncate(path, HEAD)
    with pytest.raises(RunError, match=r"Cannot use the ledger of answers|its end was cut off"):
        ledger.charge("a", ["x"], 1, 1)
    if how == "removed":
        with pytest.raises(RunError, match="Cannot use the ledger of answers"):
            ledger.charge("a", ["x"], 1, 1)


def test_a_full_disk_is_said_and_nothing_is_counted(path, monkeypatch):
    ledger = AnswerLedger(path, LIMITS)
    ledger.charge("a", ["x"], 1, 1)
    write = os.pwrite
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", lambda file, data, at: write(file, data[:-9], at))
        with pytest.raises(RunError, match="No space left"):
            ledger.charge("a", ["x"], 1, 1)
    assert ledger.counted("x")["a"].answers == 1
    ledger.charge("a", ["x"], 2, 1)


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(RunError, match=r"Cannot use the ledger of answers .*No such file"):
        AnswerLedger(tmp_path / "no" / "a.answers", LIMITS).charge("a", ["x"], 1, 1)


# Processes

ANSWERING = """
import os, sys
from pathlib import Path
from hedgerow.agreement.policy import AnswerLimits
from hedgerow.errors import PolicyError
from hedgerow.protocols.session.answer_ledger import AnswerLedger
path, who, order, limit = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
ledger = AnswerLedger(path, AnswerLimits(limit, 365, 10**9))
os.write(1, b"ready\\n")
sys.stdin.readline()
n = 0
while n < 10**6:
    ids = [f"{who}{n // 3}"] if who else ["shared"]
    try:
        if order == "send first":
            os.write(1, b"sent\\n")
        ledger.charge("m", ids, 1, 1)
        if order == "charge first":
            os.write(1, b"sent\\n")
    except PolicyError:
        break
    n += 1
"""


def answering(path, who, order="charge first", limit=3):
    words = [sys.executable, "-c", ANSWERING, str(path), who, order, str(limit)]
    # Without a buffer: `communicate` would not see what `readline` has read ahead.
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdout.readline() == b"ready\n"
    return process


def goes(process):
    process.stdin.write(b"go\n")
    process.stdin.flush()


def test_processes_at_the_same_time_give_together_no_more_than_one_may(path):
    both = [answering(path, "", limit=1000) for _ in range(2)]
    for process in both:
        goes(process)
    sent = [process.communicate()[0].count(b"sent") for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(sent) == 1000
    assert min(sent) > 0


@pytest.mark.parametrize("looks", [True, False])
def test_a_process_looks_what_others_have_given_meanwhile(path, monkeypatch, looks):
    """The sabotage is one that counts its own answers only."""
    one, other = AnswerLedger(path, LIMITS), AnswerLedger(path, LIMITS)
    one.charge("m", ["y"], 1, 1)
    other.charge("m", ["y"], 1, 1)
    if not looks:
        monkeypatch.setattr(AnswerLedger, "_catch_up", lambda *_: None)
    one.charge("m", ["x"], 3, 1)
    try:
        other.charge("m", ["x"], 3, 1)
        refused = False
    except PolicyError:
        refused = True
    assert refused == looks


def killed(path, order, seed):
    """Start one that answers, and kill it at an instant of chance; returns what it sent."""
    process = answering(path, "id", order)
    goes(process)
    process.stdout.readline()
    time.sleep(random.Random(seed).random() / 20)  # noqa: S311
    process.send_signal(signal.SIGKILL)
    return 1 + process.communicate()[0].count(b"sent")


def test_whatever_was_sent_before_a_kill_is_counted(path):
    sent = 0
    for seed in range(5):
        file = path.with_suffix(f".{seed}")
        sent = killed(file, "charge first", seed)
        assert AnswerLedger(file, LIMITS).summary().total.answers in (sent, sent + 1)
    assert sent > 1


def test_who_sends_before_it_counts_is_seen_to(tmp_path):
    """The sabotage: killed between the two, an answer was sent that nothing counts."""
    lost = {}
    for when in ("charge first", "send first"):
        file = tmp_path / when
        AnswerLedger(file, LIMITS).charge("m", ["another"], 1, 1)
        words = [sys.executable, "-c", DIES + ANSWERING, str(file), "id", when, "3"]
        sent = subprocess.run(words, input=b"go\n", capture_output=True, check=False).stdout.count(b"sent")
        lost[when] = sent - (AnswerLedger(file, LIMITS).summary().total.answers - 1)
    assert lost["charge first"] <= 0 < lost["send first"]


DIES = """
import os
write = os.pwrite
def half(file, data, at):
    write(file, data[: len(data) // 2], at)
    os.kill(os.getpid(), 9)
os.pwrite = half
"""


def test_a_process_that_is_killed_in_the_middle_of_a_record_costs_that_record_alone(path):
    AnswerLedger(path, LIMITS).charge("m", ["id0"], 1, 1)
    size = path.stat().st_size
    words = [sys.executable, "-c", DIES + ANSWERING, str(path), "id", "charge first", "3"]
    ended = subprocess.run(words, input=b"go\n", capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout == b"ready\n"
    assert path.stat().st_size > size
    again = AnswerLedger(path, LIMITS)
    again.charge("m", ["id0"], 2, 1)
    assert AnswerLedger(path, LIMITS).counted("id0")["m"].answers == 3


# Counting


class Naive:
    """The specification: every charge in a list."""

    def __init__(self):
        self.kept = []

    def add(self, ids, day, answers, bits):
        self.kept += [(one, day, answers, bits) for one in ids]

    def of(self, one, since):
        own = [entry for entry in self.kept if entry[0] == one and entry[1] >= since]
        return sum(entry[2] for entry in own), sum(entry[3] for entry in own)


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 12), max_size=20), st.integers(0, 3), st.integers(1, 5)), max_size=20),
    st.integers(1, 6),
)
def test_counts_are_those_of_a_list_of_all_charges(steps, few):
    was = answer_counts.FEW
    answer_counts.FEW = few
    try:
        counts, naive, today = AnswerCounts(), Naive(), 100
        for ids, later, answers in steps:
            today += later
            since = today - 4
            n = len(ids)
            counts.add(
                Charges(
                    np.array(ids, np.uint64), np.full(n, today, np.int32), np.full(n, answers), np.full(n, 7 * answers)
                ),
                since,
            )
            naive.add(ids, today, answers, 7 * answers)
            found = counts.of(np.arange(13, dtype=np.uint64), since)
            assert list(zip(*(one.tolist() for one in found), strict=True)) == [naive.of(i, since) for i in range(13)]
    finally:
        answer_counts.FEW = was


def test_a_ledger_that_holds_all_it_can_refuses_more(path, monkeypatch):
    monkeypatch.setattr("hedgerow.protocols.session.answer_ledger.MOST_CHARGES", 5)
    ledger = AnswerLedger(path, LIMITS)
    ledger.charge("a", list("abcde"), 1, 1)
    with pytest.raises(PolicyError, match=r"more answers about all ids .* its ledger can hold"):
        ledger.charge("a", ["f"], 1, 1)


# The policy


def test_an_owner_without_a_policy_allows_three_answers_of_together_sixty_bits_a_year():
    assert Policy().answer_limits == LIMITS
    limits = ALLOW_ALL.answer_limits
    ledger = AnswerLedger(None, limits)
    for _ in range(10):
        ledger.charge("a", ["x"], 1000, 1000)


def test_a_policy_refuses_sealed_scores_or_answers_that_are_too_wide():
    Policy().check_sealed(24)
    ALLOW_ALL.check_sealed(1000)
    with pytest.raises(PolicyError, match=r"\(allow_sealed\)"):
        Policy(allow_sealed=False).check_sealed(1)
    for bits in (24.5, float("nan"), float("inf")):
        with pytest.raises(PolicyError, match=r"most_score_bits = 24\)"):
            Policy().check_sealed(bits)
