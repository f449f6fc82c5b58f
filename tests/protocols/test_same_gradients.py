"""A driver whose trees change nothing learns no party's own sums from sums over changing sets of parties."""

import numpy as np
import pytest

from federated import Federation, Lossy, params_of, step, two_class
from hedgerow.corridor import messages as m
from hedgerow.errors import PrivacyError
from hedgerow.protocols.horizontal.driver import HorizontalRows
from hedgerow.protocols.session.journal import Journal, NoLog
from hedgerow.storage.audit import AuditLog
from hedgerow.trees.splits import Nodes

PARAMS = params_of(n_estimators=8, max_depth=1)
SEALED = {"protection": "lattice", "opener": "party2"}
REFUSED = "gradients are those of an earlier round"


@pytest.fixture
def opened(monkeypatch):
    """Whoever chooses says values of zero; the sums at the root, by the set they are over."""
    found = {}
    histograms, finish_round = HorizontalRows.histograms, HorizontalRows.finish_round

    def summed(self, nodes):
        words = histograms(self, nodes)
        if self.level == 1:
            found[self.parties] = words
        return words

    monkeypatch.setattr(HorizontalRows, "histograms", summed)
    monkeypatch.setattr(
        HorizontalRows,
        "finish_round",
        lambda self, leaves, values: finish_round(self, leaves, np.zeros_like(values)),
    )
    return found


@pytest.mark.parametrize("how", [{}, SEALED], ids=["masked", "sealed"])
def test_the_same_gradients_are_not_summed_for_two_draws_of_parties(opened, how):
    fed = Federation(two_class(4, n=320), PARAMS, party_share=0.75, **how)
    with pytest.raises(PrivacyError, match=REFUSED):
        fed.run()
    assert len(opened) == 1


def test_were_they_summed_the_driver_would_know_every_partys_own_sums(opened, monkeypatch):
    monkeypatch.setattr(Journal, "give", lambda *_: None)
    fed = Federation(two_class(4, n=320), PARAMS, party_share=0.75)
    fed.run()
    assert len(opened) == 4
    total = sum(opened.values()) // 3
    for parties, words in opened.items():
        (out,) = {0, 1, 2, 3} - set(parties)
        own = fed.parties[f"party{out + 1}"].steps.growing.rows
        own.start_round(0)
        root = Nodes(np.zeros(1, np.int64), np.zeros(1, np.int64))
        assert np.array_equal((total - words).reshape(-1), own.histograms(root).reshape(-1))


def test_a_loss_that_the_run_goes_on_after_needs_other_gradients_too(opened):
    fed = Federation(two_class(5), PARAMS, on_loss="continue")
    lossy = Lossy(fed, lambda party, r: party == "party5" and step(m.AskHistograms, 2, 0)(r))
    lossy.returning = False
    with pytest.raises(PrivacyError, match=REFUSED):
        fed.run(transport=lossy)
    assert set(opened) == {(0, 1, 2, 3, 4)}


@pytest.mark.parametrize("how", [{"on_loss": "continue"}, {"party_share": 1.0}])
def test_the_same_gradients_may_be_summed_again_for_the_same_parties(opened, how):
    fed = Federation(two_class(5), PARAMS, **how)
    fed.run()
    assert set(opened) == {(0, 1, 2, 3, 4)}


def test_what_was_given_is_known_after_a_restart(tmp_path):
    for digest, parties, refused in ((b"one", (0, 1, 2), False), (b"one", (0, 1, 3), True), (b"two", (0, 1, 3), False)):
        log = AuditLog(tmp_path / "log", "a test", "party1")
        journal = Journal(log, "run")
        if refused:
            with pytest.raises(PrivacyError, match=REFUSED):
                journal.give(1, digest, parties)
        else:
            journal.give(len(digest) - 3, digest, parties)
        log.close()


def test_the_first_step_of_a_round_may_shrink_only_if_no_other_round_had_its_gradients():
    journal = Journal(NoLog(), "run")
    journal.give(0, b"one", (0, 1, 2, 3))
    journal.give(0, b"one", (0, 1, 2))
    journal.give(1, b"one", (0, 1, 2))
    with pytest.raises(PrivacyError, match="In round 1 this party's"):
        journal.give(1, b"one", (0, 1))
