"""The same gradients are never opened for two sets of parties or two sets of cuts, whatever the driver says."""

import msgspec
import numpy as np
import pytest

from federated import Federation, params_of, refuses, two_class, until
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Frame, encode
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.protocols.driver import State
from hedgerow.protocols.session.journal import Journal, NoLog
from hedgerow.storage.audit import AuditLog

replace = msgspec.structs.replace
PARAMS = params_of(n_estimators=3, max_depth=2)


def step(kind, round_=0, level=None):
    return lambda r: isinstance(r, kind) and r.round == round_ and level in (None, r.level)


def other_cut(party, request):
    """The same node, cut elsewhere on the grid."""
    cuts, grid = request.cuts, party.steps.growing.place.grid
    bin_ = int(cuts.bin[0]) + (1 if int(cuts.bin[0]) + 2 < int(grid.n_values[cuts.column[0]]) else -1)
    bits = (np.arange(256) <= bin_).astype(np.uint8)
    bits[int(grid.n_values[cuts.column[0]])] = cuts.missing_left[0] & grid.has_missing[cuts.column[0]]
    left = np.packbits(bits, bitorder="little").view(np.uint64)
    return replace(request, cuts=replace(cuts, bin=np.array([bin_], np.int32), left_bins=left))


def logged(path, names=("party1", "party2", "party3", "party4")):
    return {name: AuditLog(path / f"{name}.log", "a test", name) for name in names}


def close(logs):
    for log in logs.values():
        log.close()


def test_a_level_is_not_answered_for_other_cuts_in_a_later_attempt():
    fed = Federation(two_class(4), PARAMS)
    request = until(fed, step(m.AskHistograms, 0, 1))
    party = fed.parties["party1"]
    party.answer(encode(request))
    again = until(fed, step(m.AskHistograms, 0, 1), State(attempt=1))
    assert encode(again) == encode(request)
    refuses(party, other_cut(party, again), "Step 1 of round 0 was answered before for other cuts", PrivacyError)
    assert party.answer(encode(again)), "the same cuts are answered again"


def test_other_cuts_are_answered_where_none_were_before():
    """Without this the refusal above could have another reason."""
    fed = Federation(two_class(4), PARAMS)
    request = until(fed, step(m.AskHistograms, 0, 1))
    party = fed.parties["party1"]
    assert party.answer(encode(other_cut(party, request)))


def restarted(tmp_path, until_):
    """A party that answered up to a request and was then started again with its log."""
    logs = logged(tmp_path)
    fed = Federation(two_class(4), PARAMS, logs=logs)
    request = until(fed, until_)
    fed.parties["party1"].answer(encode(request))
    close(logs)
    fed = Federation(two_class(4), PARAMS, logs=logged(tmp_path))
    again = until(fed, until_, State(attempt=1))
    return fed.parties["party1"], request, again


def test_nor_by_a_new_process_of_the_party(tmp_path):
    party, request, again = restarted(tmp_path, step(m.AskHistograms, 0, 1))
    assert encode(again) == encode(request)
    with pytest.raises(PrivacyError, match="answered before for other cuts"):
        party.answer(encode(other_cut(party, again)))


def test_without_its_log_a_new_process_would_answer(tmp_path):
    """The sabotage: it is the log that knows."""
    party, _, again = restarted(tmp_path, step(m.AskHistograms, 0, 1))
    party.journal.answered.clear()
    assert party.answer(encode(other_cut(party, again)))


@pytest.mark.parametrize("kind", [m.AskCounts, m.AskMoments])
def test_counts_and_moments_are_not_answered_otherwise_either(tmp_path, kind):
    def here(request):
        return isinstance(request, kind) and getattr(request, "step", 3) == 3

    party, _, again = restarted(tmp_path, here)
    other = replace(again, high=2.0) if kind is m.AskMoments else replace(again, prefix=again.prefix[::-1])
    with pytest.raises(PrivacyError, match="of round -1 was answered before"):
        party.answer(encode(other))


def test_a_smaller_set_is_refused_once_the_next_level_was_answered():
    fed = Federation(two_class(5), PARAMS, on_loss="continue")
    request = until(fed, step(m.AskHistograms, 0, 1))
    root = next(one.message for one in fed.of("AskHistograms") if one.message.level == 0)
    party = fed.parties["party1"]
    party.answer(encode(request))
    with pytest.raises(PrivacyError, match="Step 0 of round 0 was answered before"):
        party.answer(encode(replace(root, parties=(0, 1, 2, 3))))


def test_a_set_may_shrink_and_never_grow():
    fed = Federation(two_class(5), PARAMS, on_loss="continue")
    root = until(fed, step(m.AskHistograms, 0, 0))
    party = fed.parties["party1"]
    for parties in ((0, 1, 2, 3, 4), (0, 1, 2, 3), (0, 1, 2)):
        assert party.answer(encode(replace(root, parties=parties)))
    for parties in ((0, 1, 2, 3), (0, 1, 4), (0, 1)):
        refuses(party, replace(root, parties=parties), "parties", (PrivacyError, ProtocolError))


def test_metric_sums_are_opened_for_one_set():
    fed = Federation(two_class(5), PARAMS, on_loss="continue")
    finish = until(fed, step(m.FinishRound))
    party = fed.parties["party1"]
    party.answer(encode(finish))
    party.answer(encode(replace(finish, parties=(0, 1, 2, 3))))
    with pytest.raises(ProtocolError, match="did not grow"):
        party.answer(encode(replace(finish, parties=(0, 1, 2), level=finish.level + 1)))


def test_other_trees_than_those_grown_are_refused_at_the_next_start(tmp_path):
    logs = logged(tmp_path)
    fed = Federation(two_class(4), PARAMS, logs=logs)
    until(fed, step(m.AskHistograms, 2, 1))
    states = []
    Federation(two_class(4), params_of(n_estimators=3, max_depth=2, learning_rate=0.3)).model(keep=states.append)
    close(logs)
    fed = Federation(two_class(4), PARAMS, logs=logged(tmp_path))
    with pytest.raises(PrivacyError, match="other trees of round 0 than this party helped to grow"):
        fed.model(state=State(5, common=states[2].common, start=states[2].start, parts=states[2].parts))


def test_a_log_of_another_run_does_not_matter(tmp_path):
    log = AuditLog(tmp_path / "a.log", "a test", "a")
    Journal(log, "one run").answer(0, 0, Frame(b"these cuts"), (0, 1, 2), False)
    with pytest.raises(PrivacyError, match="answered before"):
        Journal(log, "one run").answer(0, 0, Frame(b"other cuts"), (0, 1, 2), False)
    Journal(log, "another run").answer(0, 0, Frame(b"other cuts"), (0, 1, 2), False)


def test_a_step_is_known_by_all_that_was_told_before_it():
    journal = Journal(NoLog(), "run")
    journal.begin(b"state")
    journal.answer(0, 0, Frame(b"a"), (0, 1, 2), False)
    journal.answer(0, 1, Frame(b"b"), (0, 1, 2), False)
    journal.begin(b"another state")
    with pytest.raises(PrivacyError, match="Step 1 of round 0"):
        journal.answer(0, 1, Frame(b"b"), (0, 1, 2), False)
    journal.begin(b"state")
    journal.answer(0, 0, Frame(b"a"), (0, 1, 2), False)
    journal.answer(0, 1, Frame(b"b"), (0, 1, 2), False)
