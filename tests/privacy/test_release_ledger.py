"""A ledger of releases never counts less than what left, wherever a process is killed."""

import itertools
import os
import stat
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from federated import MemoryLog
from hedgerow.errors import PolicyError, PrivacyError, RunError
from hedgerow.privacy import noised_words
from hedgerow.privacy.accountant import Release, calibrated, spent
from hedgerow.privacy.ledger import RELEASED, Budget, Ledger
from hedgerow.privacy.lifetime import ENDED, PLANNED, LifetimeLimit, OwnerBudget, runs_in, total_of
from hedgerow.privacy.noised_words import KeptWords, NoisedWords
from hedgerow.run.folder.ledger_file import LedgerFile
from hedgerow.storage.audit import AuditLog

DELTA = 1e-6


def schedule(mu):
    """Two counts and four trees, all with the same share."""
    sigma = 1000 / mu * 6**0.5
    return [Release("counts", "gaussian", 1000, sigma, 2), Release("tree", "gaussian", 1000, sigma, 4)]


PLANNED_RELEASES = schedule(calibrated(schedule, 1, DELTA))
COUNTS, TREE = (replace(release, times=1) for release in PLANNED_RELEASES)
BUDGET = Budget(1, DELTA)


def ledger(**more):
    return Ledger(BUDGET, PLANNED_RELEASES, **more)


def make_all(one):
    for number, release in enumerate([COUNTS, COUNTS, TREE, TREE, TREE, TREE]):
        one.release(f"{release.what} {number}", release)


def test_a_plan_beyond_the_budget_is_refused_before_it_begins():
    log = MemoryLog()
    with pytest.raises(PrivacyError, match=r"planned would cost an epsilon of 1\.\d+ at a delta of 1e-06, more than"):
        Ledger(BUDGET, [*PLANNED_RELEASES, COUNTS], log)
    assert not log.kept


def test_all_that_is_planned_can_be_released_and_costs_what_it_says():
    one = ledger()
    make_all(one)
    assert 0.999 < one.spent().epsilon <= 1
    assert one.finish().releases == tuple(PLANNED_RELEASES)


def test_a_release_more_is_stopped_before_it_is_made():
    one = ledger()
    make_all(one)
    with pytest.raises(PrivacyError, match="With the release 'tree' once more, all releases would cost an epsilon of"):
        one.release("tree 6", TREE)
    assert one.spent().epsilon <= 1


def test_a_release_more_is_stopped_although_others_that_are_planned_were_not_made_yet():
    one = ledger()
    one.release("counts 0", COUNTS)
    one.release("counts 1", COUNTS)
    with pytest.raises(PrivacyError, match="'counts' once more"):
        one.release("counts 2", COUNTS)


@pytest.mark.parametrize("other", [{"what": "row counts"}, {"scale": 9.0}, {"sensitivity": 999}, {"mechanism": "none"}])
def test_a_release_that_is_not_planned_is_refused(other):
    with pytest.raises(PrivacyError, match="is not among those that the run has planned"):
        ledger().release("a key", replace(COUNTS, **other))


def test_a_release_is_on_disk_before_anything_leaves():
    log, synced = MemoryLog(), []
    one = ledger(log=log)
    log.sync = lambda: synced.append([line["event"] for line in log.kept])
    one.release("counts 0", COUNTS)
    assert synced == [["releases begun", RELEASED]]


def test_what_was_released_is_known_to_the_next_process():
    log = MemoryLog()
    make_all(ledger(log=log, run="a run"))
    later = ledger(log=log, run="a run")
    assert later.again("tree 5", TREE)
    assert later.spent().epsilon == spent(PLANNED_RELEASES, DELTA).epsilon
    with pytest.raises(PrivacyError, match="once more"):
        later.release("tree 5", TREE)
    assert not ledger(log=log, run="another run").made


def test_a_key_is_the_same_release_only_with_the_same_request_noise_and_draw():
    one = ledger()
    one.release("counts 0", COUNTS, b"a request", "a draw")
    assert one.again("counts 0", COUNTS, b"a request", "a draw")
    assert not one.again("counts 0", COUNTS, b"another", "a draw")
    assert not one.again("counts 0", COUNTS, b"a request", "another")
    assert not one.again("counts 0", TREE, b"a request", "a draw")
    assert not one.again("counts 1", COUNTS, b"a request", "a draw")


def test_what_is_planned_later_must_fit_into_the_budget_too():
    one = Ledger(BUDGET, PLANNED_RELEASES[:1], more_to_come=True)
    with pytest.raises(PrivacyError, match="is not among those that the run has planned"):
        one.release("tree 0", TREE)
    one.plan(PLANNED_RELEASES[1:])
    make_all(one)
    with pytest.raises(PrivacyError, match="planned would cost"):
        one.plan([TREE])
    with pytest.raises(PrivacyError, match="once more"):
        one.release("tree 7", TREE)


def test_what_is_planned_otherwise_after_a_restart_is_added_to_what_was_made():
    log = MemoryLog()
    one = Ledger(BUDGET, PLANNED_RELEASES[:1], log, more_to_come=True)
    one.plan(PLANNED_RELEASES[1:])
    make_all(one)
    later = Ledger(BUDGET, PLANNED_RELEASES[:1], log, more_to_come=True)
    with pytest.raises(PrivacyError, match="planned would cost"):
        later.plan([replace(TREE, scale=TREE.scale * 1.01, times=4)])
    later.plan(PLANNED_RELEASES[1:])


def test_only_gaussian_noise_may_be_planned_later():
    with pytest.raises(PrivacyError, match="must have Gaussian noise"):
        Ledger(BUDGET, [], more_to_come=True).plan([Release("sums", "laplace", 1, 1000)])


# Words that are kept


def draws():
    """Ever other words, as noise is."""
    numbers = itertools.count()
    return lambda: np.array([next(numbers), -1], np.int64)


def words_of(one, folder=None, run=""):
    return NoisedWords(one, KeptWords(folder, run))


@pytest.mark.parametrize("on_disk", [False, True])
def test_the_same_release_gives_the_same_words_until_it_is_forgotten(tmp_path, on_disk):
    words, draw = words_of(ledger(), tmp_path / "noised" if on_disk else None), draws()
    first = words.words("counts 0", COUNTS, b"told", draw)
    assert words.holds("counts 0", COUNTS, b"told")
    assert np.array_equal(words.words("counts 0", COUNTS, b"told", draw, anew=False), first)
    assert words.ledger.made == (COUNTS,)
    words.kept.forget()
    assert not words.holds("counts 0", COUNTS, b"told")
    assert not np.array_equal(words.words("counts 0", COUNTS, b"told", draw), first)
    assert words.ledger.made == (replace(COUNTS, times=2),)


def test_another_request_of_the_same_key_is_another_release():
    words, draw = words_of(ledger()), draws()
    first = words.words("counts 0", COUNTS, b"told", draw)
    assert not np.array_equal(words.words("counts 0", COUNTS, b"told otherwise", draw), first)
    assert words.ledger.made == (replace(COUNTS, times=2),)


def test_where_one_party_has_to_draw_anew_all_do_and_pay():
    words, draw = words_of(ledger()), draws()
    first = words.words("counts 0", COUNTS, b"told", draw)
    assert not np.array_equal(words.words("counts 0", COUNTS, b"told", draw, anew=True), first)
    assert words.ledger.made == (replace(COUNTS, times=2),)


def test_a_party_that_cannot_send_the_same_again_as_the_others_refuses():
    words, draw = words_of(ledger()), draws()
    words.words("counts 0", COUNTS, b"told", draw, anew=False)
    words.kept.forget()
    with pytest.raises(PrivacyError, match="cannot send the same again as others do"):
        words.words("counts 0", COUNTS, b"told", draw, anew=False)


def test_words_can_be_read_by_their_owner_alone_and_are_gone_after_the_round(tmp_path):
    words = words_of(ledger(), tmp_path / "noised")
    words.words("counts 0", COUNTS, b"told", draws())
    (file,) = (tmp_path / "noised").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    words.kept.forget()
    assert not list((tmp_path / "noised").iterdir())


def test_words_of_another_run_are_not_taken(tmp_path):
    words_of(ledger(), tmp_path, "a run").words("counts 0", COUNTS, b"told", draws())
    assert KeptWords(tmp_path, "a run").read("counts 0", COUNTS, b"told") is not None
    assert KeptWords(tmp_path, "another").read("counts 0", COUNTS, b"told") is None


def test_damaged_words_are_refused(tmp_path):
    words_of(ledger(), tmp_path).words("counts 0", COUNTS, b"told", draws())
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(RunError, match="is damaged"):
        KeptWords(tmp_path).read("counts 0", COUNTS, b"told")


def test_words_that_left_cannot_be_changed_by_whoever_masks_them():
    words = words_of(ledger())
    with pytest.raises(ValueError, match="read-only"):
        words.words("counts 0", COUNTS, b"told", draws())[0] = 7


# Killed anywhere


class Killed(BaseException):
    """As by kill -9."""


def trip(monkeypatch, at):
    """The process ends at this write, sync or rename, even before it or odd after it, and does nothing any more."""
    calls = itertools.count()

    def tripping(normal):
        def tripped(*given, **more):
            number = next(calls)
            if number > at // 2 or (number == at // 2 and at % 2 == 0):
                raise Killed
            done = normal(*given, **more)
            if number == at // 2:
                raise Killed
            return done

        return tripped

    for name in ("write", "fsync", "replace", "chmod", "unlink"):
        monkeypatch.setattr(os, name, tripping(getattr(os, name)))


ROUNDS = [["counts 0", "tree 0"], ["tree 1"]]
FEW = [COUNTS, replace(TREE, times=2)]
ROOMY = Budget(3, DELTA)


class Left:
    """What left the party, and the rounds that were finished, whoever was killed."""

    def __init__(self):
        self.words, self.finished, self.draw = [], 0, draws()


def process(tmp_path, left, kept=None):
    """A process of the party: it takes up the first round that is not finished."""
    run = "a run"
    with (
        closing(LedgerFile(tmp_path / "own.ledger")) as all_runs,
        closing(AuditLog(tmp_path / "audit.log", run, "north")) as log,
    ):
        one = Ledger(ROOMY, FEW, log, run, OwnerBudget(all_runs, LifetimeLimit(epsilon=3)))
        words = NoisedWords(one, KeptWords(tmp_path / "noised", run) if kept is None else kept)
        while left.finished < len(ROUNDS):
            for key in ROUNDS[left.finished]:
                release = COUNTS if key.startswith("counts") else TREE
                left.words.append((key, tuple(words.words(key, release, b"told", left.draw))))
            left.finished += 1
            words.kept.forget()
        return words.finish()


def owners_count(tmp_path):
    with closing(LedgerFile(tmp_path / "own.ledger")) as log:
        (run,) = runs_in(log).values()
    return run


def runs_killed_everywhere(tmp_path, monkeypatch, kept=lambda: None):
    """The run, killed at one point after the other and started again."""
    for at in itertools.count():
        folder, left = tmp_path / str(at), Left()
        folder.mkdir()
        with monkeypatch.context() as patched:
            trip(patched, at)
            try:
                process(folder, left, kept())
            except Killed:
                pass
            else:
                return
        yield folder, left, process(folder, left, kept())


def different(left):
    return Counter(key.split()[0] for key, _ in set(left.words))


def counted(releases):
    return Counter({release.what: release.times for release in releases})


def test_wherever_a_process_is_killed_the_ledgers_count_what_left_and_no_less(tmp_path, monkeypatch):
    points = 0
    for folder, left, cost in runs_killed_everywhere(tmp_path, monkeypatch):
        assert different(left) == counted(cost.releases) == counted(FEW)
        run = owners_count(folder)
        assert counted(replace(release, times=n) for release, n in run.releases.items()) == different(left)
        assert not run.is_open
        assert not list((folder / "noised").iterdir())
        points += 1
    assert points > 40


PARTY = """
import os, sys
from contextlib import closing
from pathlib import Path
import numpy as np
from hedgerow.privacy.accountant import Release
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.privacy.noised_words import KeptWords, NoisedWords
from hedgerow.storage.audit import AuditLog
release = Release("tree", "gaussian", 1000, 1e5, 500)
folder = Path(sys.argv[1])
with closing(AuditLog(folder / "audit.log", "a run", "north")) as log:
    words = NoisedWords(Ledger(Budget(3, 1e-6), [release], log, "a run"), KeptWords(folder / "noised", "a run"))
    for n in range(500):
        one = Release("tree", "gaussian", 1000, 1e5)
        own = words.words(f"tree {n}", one, b"%d" % n, lambda: np.frombuffer(os.urandom(16), np.int64))
        print(n, own.tobytes().hex(), flush=True)
"""


def test_a_process_that_is_really_killed_has_counted_what_it_sent_and_sends_the_same_again(tmp_path):
    sent = []
    for asked in (3, 17):
        with subprocess.Popen([sys.executable, "-c", PARTY, str(tmp_path)], stdout=subprocess.PIPE, text=True) as party:
            heard = [party.stdout.readline() for _ in range(asked)]
            party.kill()
            heard += party.stdout.read().splitlines(keepends=True)
            sent += [tuple(line.split()) for line in heard if line.endswith("\n")]
    with closing(AuditLog(tmp_path / "audit.log", "a run", "north")) as log:
        noted = Counter(bytes.fromhex(line["told"]).decode() for line in log.lines() if line["event"] == RELEASED)
    assert Counter(number for number, _ in set(sent)) <= noted
    assert len(set(sent)) == len({number for number, _ in sent}) < len(sent)


def test_the_kills_show_a_ledger_that_is_written_after_words_leave(tmp_path, monkeypatch):
    """The sabotage: it counts only once the next words are asked for, or the run is over."""
    release, finish = Ledger.release, Ledger.finish

    def late(self, *given):
        flush(self)
        self.waiting = given

    def flush(self):
        if hasattr(self, "waiting"):
            release(self, *self.waiting)
            del self.waiting

    monkeypatch.setattr(Ledger, "release", late)
    monkeypatch.setattr(Ledger, "finish", lambda self: (flush(self), finish(self))[1])
    killed = runs_killed_everywhere(tmp_path, monkeypatch)
    assert any(different(left) > counted(cost.releases) for _, left, cost in killed)


def test_the_kills_show_words_that_are_taken_for_others_that_left(tmp_path, monkeypatch):
    """The sabotage: a draw has no id, so words that were drawn anew and not counted look as if they had been."""
    monkeypatch.setattr(noised_words.secrets, "token_hex", lambda n: "the same")
    words, draw = words_of(Ledger(ROOMY, FEW), tmp_path), draws()
    first = words.words("counts 0", COUNTS, b"told", draw)
    with monkeypatch.context() as patched:
        patched.setattr(words.ledger, "release", Mock(side_effect=Killed))
        with pytest.raises(Killed):
            words.words("counts 0", COUNTS, b"told", draw, anew=True)
    assert words.holds("counts 0", COUNTS, b"told")
    assert not np.array_equal(words.words("counts 0", COUNTS, b"told", draw, anew=False), first)


def test_words_drawn_anew_and_not_counted_are_not_taken_for_those_that_left(tmp_path, monkeypatch):
    words, draw = words_of(Ledger(ROOMY, FEW), tmp_path), draws()
    words.words("counts 0", COUNTS, b"told", draw)
    with monkeypatch.context() as patched:
        patched.setattr(words.ledger, "release", Mock(side_effect=Killed))
        with pytest.raises(Killed):
            words.words("counts 0", COUNTS, b"told", draw, anew=True)
    assert not words.holds("counts 0", COUNTS, b"told")
    with pytest.raises(PrivacyError, match="cannot send the same again"):
        words.words("counts 0", COUNTS, b"told", draw, anew=False)


def test_without_kept_words_a_restart_pays_again(tmp_path, monkeypatch):
    class Forgetful(KeptWords):
        def read(self, key, release, told):
            return None

    counts = [(different(left), counted(cost.releases))
              for _, left, cost in runs_killed_everywhere(tmp_path, monkeypatch, Forgetful)]  # fmt: skip
    assert all(paid >= words for words, paid in counts)
    assert any(paid > counted(FEW) for _, paid in counts)


# Over runs


def one_run(log, limit, run="a run", planned=PLANNED_RELEASES, budget=BUDGET):
    one = Ledger(budget, planned, MemoryLog(), run, OwnerBudget(log, limit))
    make_all(one)
    return one.finish()


def test_runs_add_up_and_one_that_would_cost_too_much_is_refused_before_anything_is_released():
    log, limit = MemoryLog(), LifetimeLimit(epsilon=1.3)
    one_run(log, limit)
    n_lines = len(log.kept)
    with pytest.raises(
        PolicyError, match=r"over 2 runs, to an epsilon of 1\.\d+ at a delta of 1e-06, .*most_epsilon = 1\.3"
    ):
        Ledger(BUDGET, PLANNED_RELEASES, MemoryLog(), "another run", OwnerBudget(log, limit))
    assert len(log.kept) == n_lines


def test_runs_cost_together_what_one_run_with_all_releases_would():
    log = MemoryLog()
    for number in range(3):
        one_run(log, LifetimeLimit(), f"run {number}")
    found = total_of(list(runs_in(log).values()), DELTA)
    assert found.epsilon == spent(PLANNED_RELEASES * 3, DELTA).epsilon
    assert (found.runs, found.open_runs, found.unit) == (3, 0, "row")


def test_a_run_is_entered_with_all_that_it_plans_until_it_is_over():
    log = MemoryLog()
    one = Ledger(BUDGET, PLANNED_RELEASES, MemoryLog(), "a run", OwnerBudget(log, LifetimeLimit()))
    assert sum(runs_in(log)[one.id].releases.values()) == 6
    one.release("counts 0", COUNTS)
    one.finish()
    assert runs_in(log)[one.id].releases == Counter({COUNTS: 1})


def test_a_run_that_plans_later_enters_all_of_its_budget():
    log, limit = MemoryLog(), LifetimeLimit(epsilon=1)
    one = Ledger(BUDGET, PLANNED_RELEASES[:1], MemoryLog(), "a run", OwnerBudget(log, limit), more_to_come=True)
    assert total_of(list(runs_in(log).values()), DELTA).epsilon == pytest.approx(1, rel=1e-6)
    with pytest.raises(PolicyError, match="over 2 runs"):
        Ledger(Budget(0.1, DELTA), [], MemoryLog(), "another", OwnerBudget(log, limit), more_to_come=True)
    one.plan(PLANNED_RELEASES[1:])
    make_all(one)
    one.finish()
    assert sum(runs_in(log)[one.id].releases.values()) == 6
    assert total_of(list(runs_in(log).values()), DELTA).epsilon <= 1


def test_a_run_that_is_resumed_is_the_same_run():
    own, log = MemoryLog(), MemoryLog()
    for _ in range(3):
        Ledger(BUDGET, PLANNED_RELEASES, own, "a run", OwnerBudget(log, LifetimeLimit(epsilon=1.1)))
    assert len(runs_in(log)) == 1
    assert [line["event"] for line in log.kept] == [PLANNED]


def test_the_same_plan_begun_anew_is_another_run():
    log = MemoryLog()
    for _ in range(2):
        Ledger(BUDGET, PLANNED_RELEASES, MemoryLog(), "a run", OwnerBudget(log, LifetimeLimit()))
    assert len(runs_in(log)) == 2


def test_what_is_paid_again_counts_over_all_runs():
    log = MemoryLog()
    one = Ledger(ROOMY, PLANNED_RELEASES, MemoryLog(), "a run", OwnerBudget(log, LifetimeLimit(epsilon=1.05)))
    make_all(one)
    with pytest.raises(PolicyError, match="over 1 run, to an epsilon of"):
        one.release("tree 9", TREE)
    assert sum(runs_in(log)[one.id].releases.values()) == 6


def test_tables_that_share_no_row_have_budgets_of_their_own():
    log = MemoryLog()
    one_run(log, LifetimeLimit("patients", 1.1))
    one_run(log, LifetimeLimit("visitors", 1.1))
    with pytest.raises(PolicyError, match="over 2 runs"):
        one_run(log, LifetimeLimit("patients", 1.1))


def test_rows_and_persons_are_not_added_up():
    log = MemoryLog()
    one_run(log, LifetimeLimit(epsilon=5))
    with pytest.raises(PolicyError, match="promise privacy to a person and to a row, which cannot be added up"):
        one_run(log, LifetimeLimit(epsilon=5), budget=replace(BUDGET, unit="person"))


def test_two_runs_that_begin_at_the_same_time_do_not_exceed_the_limit_together():
    log, other = MemoryLog(), []
    note = log.note

    def beside(event, **facts):
        if not other:  # another process writes between this one's look and its line
            other.append(1)
            note(PLANNED, **{**facts, "id": "another"})
        note(event, **facts)

    log.note = beside
    with pytest.raises(PolicyError, match="over 2 runs"):
        Ledger(BUDGET, PLANNED_RELEASES, MemoryLog(), "a run", OwnerBudget(log, LifetimeLimit(epsilon=1.1)))
    assert [line["event"] for line in log.kept] == [PLANNED, PLANNED, ENDED]
    assert total_of(list(runs_in(log).values()), DELTA).epsilon <= 1


def test_after_the_end_nothing_that_was_planned_is_released_any_longer():
    """It is no longer in the owner's count."""
    log = MemoryLog()
    one = ledger(log=log, run="it", lifetime=OwnerBudget(log, LifetimeLimit(epsilon=1)))
    one.release("counts 0", COUNTS)
    one.finish()
    with pytest.raises(PrivacyError, match="'counts' is asked for after the end of the run"):
        one.release("counts 1", COUNTS)
    (cost,) = runs_in(log).values()
    assert cost.releases == Counter([COUNTS])


def test_a_run_that_is_resumed_after_its_end_has_all_of_its_budget_again_and_no_more():
    """Its last answer was lost; it must not be refused as if it cost twice as much."""
    log, runs = MemoryLog(), MemoryLog()
    limit = LifetimeLimit(epsilon=1)

    def process():
        return Ledger(BUDGET, [COUNTS], log, "it", OwnerBudget(runs, limit), more_to_come=True)

    begun = process()
    begun.release("counts 0", COUNTS)
    before = runs_in(runs)[begun.id].releases
    begun.finish()
    assert runs_in(runs)[begun.id].releases == Counter([COUNTS])
    again = process()
    assert runs_in(runs)[again.id].releases == before
    again.finish()
    assert runs_in(runs)[again.id].releases == Counter([COUNTS])
