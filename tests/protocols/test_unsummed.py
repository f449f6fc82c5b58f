"""Parties of one process that make their sums together say what each would say alone."""

from functools import partial
from hashlib import sha256

import numpy as np
import pytest
from msgspec.structs import replace

from federated import Federation, params_of, same, step, two_class, until
from hedgerow.corridor.messages import AskHistograms
from hedgerow.corridor.wire import encode
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.protocols.horizontal.batch import PendingSums, worked_out
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.storage.audit import AuditLog
from hedgerow.transports.inproc import InProcess
from statistics_of_noise import looks_like_noise
from unpadded import leave_unpadded


def together(fed, threads=2):
    return InProcess({name: party.begin for name, party in fed.parties.items()}, partial(worked_out, threads=threads))


def federation(**more):
    return Federation(two_class(3, n=600), params_of(max_bin=64, min_cut_rows=1), **more)


@pytest.mark.parametrize("more", [{}, {"party_share": 0.67}, {"cut_points": "local"}], ids=["all", "drawn", "local"])
def test_they_leave_the_same_frames(more):
    """Plain, where frames can be compared; masked ones are under new keys in every run."""
    alone, side_by_side = federation(protection="plain", **more), federation(protection="plain", **more)
    assert same(alone.model(), side_by_side.model(transport=together(side_by_side)))
    told = [[(h.sender, h.kind, h.frame) for h in fed.of("PlainSums", "Done")] for fed in (alone, side_by_side)]
    assert told[0] == told[1]


def words_of(fed, sender):
    return np.concatenate([h.message.masked_words for h in fed.of("MaskedSums") if h.sender == sender])


def test_masked_words_of_each_are_noise_and_open_the_same_sums():
    fed = federation()
    assert same(fed.model(transport=together(fed)), federation().model())
    assert all(looks_like_noise(words_of(fed, name)) for name in fed.parties)


def test_without_pads_they_would_not_be_noise(monkeypatch):
    """The sabotage."""
    leave_unpadded(monkeypatch)
    fed = federation()
    fed.model(transport=together(fed))
    assert not any(looks_like_noise(words_of(fed, name)) for name in fed.parties)


@pytest.mark.parametrize("more", [{}, {"party_share": 0.67, "allow_two": True}], ids=["all", "drawn"])
def test_sums_hidden_by_the_kernel_open_as_those_hidden_afterwards(monkeypatch, more):
    one, other = federation(**more), federation(**more)
    model = one.model(transport=together(one))
    monkeypatch.setattr(PendingSums, "by_kernel", False)
    assert same(model, other.model(transport=together(other)))


def test_each_notes_its_own_answers_before_they_leave(tmp_path):
    logs = {name: AuditLog(tmp_path / f"{name}.log", "a test", name) for name in ("party1", "party2", "party3")}
    fed = federation(logs=logs)
    fed.model(transport=together(fed))
    for name, log in logs.items():
        sent = [line["sha256"] for line in log.lines() if line["event"] == "sent"]
        assert sent == [sha256(h.frame).hexdigest() for h in fed.heard if h.sender == name]
        log.close()


def test_what_one_refuses_ends_the_run_of_all():
    fed = federation()
    request = until(fed, step(AskHistograms, 1, 1))
    wrong = replace(request, cuts=replace(request.cuts, child=request.cuts.child + 1))
    frames = {name: encode(wrong if name == "party2" else request) for name in fed.parties}
    with pytest.raises(ProtocolError, match="numbers the children"):
        together(fed).carry(frames, 1.0, 1 << 26)


def noisy(fed, noise):
    """Parties whose words leave with the noise that `noise(name)` draws."""

    def begin(name, party, frame):
        begun = party.begin(frame)
        if isinstance(begun, bytes) or not begun.gives:
            return begun
        return begun._replace(noise=noise(name))

    begins = {name: partial(begin, name, party) for name, party in fed.parties.items()}
    return InProcess(begins, partial(worked_out, threads=1))


def words_at_root(fed):
    """How many words a party says of the roots."""
    return 2 * (int(next(iter(fed.parties.values())).steps.growing.place.grid.offsets[-1]) + 1)


@pytest.mark.parametrize("protection", ["masked", "plain"])
@pytest.mark.parametrize("cut_points", ["counts", "local"])
def test_noise_of_all_parties_is_in_the_sum_that_is_opened(protection, cut_points):
    """The seam of differential privacy: own sums, then noise, then masks."""
    fed = federation(protection=protection, cut_points=cut_points)
    request = until(fed, step(AskHistograms, 0, 0))
    rng, added = np.random.default_rng(0), {}

    def noise(name):
        added[name] = rng.integers(-(2**40), 2**40, words_at_root(fed))
        return added[name]

    group = SummingGroup(fed.driver(transport=noisy(fed, noise)).corridor, fed.plan, fed.plan.names, 1.0)
    opened = group.opened_sum(request, words_at_root(fed), request.parties)
    bare = federation(protection=protection, cut_points=cut_points)
    until(bare, step(AskHistograms, 0, 0))
    quiet = SummingGroup(bare.driver().corridor, bare.plan, bare.plan.names, 1.0)
    assert (opened - sum(added.values()) == quiet.opened_sum(request, words_at_root(bare), request.parties)).all()


def test_noise_for_fewer_words_than_leave_is_refused():
    fed = federation(cut_points="local")
    request = until(fed, step(AskHistograms, 0, 0))
    transport = noisy(fed, lambda name: np.zeros(1, np.int64))
    with pytest.raises(PrivacyError, match="Noise is needed for every word"):
        transport.carry(dict.fromkeys(fed.parties, encode(request)), 1.0, 1 << 26)
