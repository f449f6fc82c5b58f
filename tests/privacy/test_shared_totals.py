"""Passive parties that share their columns: the active party reads totals over all of them, and no party's part.

Runs are without encryption, so that a test reads what an active party that opens every part would read.
"""

import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from federated import params_of
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_request, encode
from hedgerow.errors import CipherError, ParameterError, ProtocolError
from hedgerow.privacy.pads import Pads
from hedgerow.privacy.unencrypted.values import HEAD
from hedgerow.protocols.hybrid.step_pads import StepPads
from hedgerow.transports.inproc import InProcess

sys.path.insert(0, str(Path(__file__).parents[1] / "equal"))
from test_hybrid import SHARED, banks_of, hybrid

LARGE = 1 << 48
"""No sum of a test is nearly so large."""


def parts(fed):
    """The words of every part of a total that crossed, by party."""
    out = {}
    for heard in fed.of("SealedSums"):
        words = np.frombuffer(heard.message.sealed_sums, "<i8", offset=HEAD.size)
        out.setdefault(heard.sender, []).append(words)
    return {party: np.concatenate(words) for party, words in out.items()}


def trained(split, **more):
    fed = hybrid(split, params_of(max_depth=4), **{**SHARED, **more})
    return fed, fed.model()


def share_of_large(fed):
    words = np.concatenate(list(parts(fed).values()))
    return float((np.abs(words.astype(np.float64)) > LARGE).mean())


def test_every_word_of_a_part_is_noise():
    fed, _ = trained(banks_of()[0])
    assert len(parts(fed)) == 4
    assert share_of_large(fed) > 0.99


def test_without_pads_the_parts_are_seen(monkeypatch):
    monkeypatch.setattr(Pads, "wide_words", lambda _, n: np.zeros(n, np.int64))
    fed, _ = trained(banks_of()[0])
    assert share_of_large(fed) == 0


def opened_totals(split, monkeypatch):
    from hedgerow.privacy.unencrypted.cipher import UnencryptedSecretKey

    seen, real = [], UnencryptedSecretKey.open_total
    with monkeypatch.context() as patch:
        patch.setattr(UnencryptedSecretKey, "open_total", lambda key, all_: seen.append(real(key, all_)) or seen[-1])
        trained(split)
    return seen


def test_what_is_opened_does_not_depend_on_who_has_which_account(monkeypatch):
    """Random splits of the same accounts give the active party the same view."""
    split, merged = banks_of(n_banks=3)
    rng = np.random.default_rng(5)
    account = rng.integers(0, 3, merged["bank0"].n_rows)
    other = {f"bank{i}": merged["bank0"].take(np.flatnonzero(account == i)) for i in range(3)}
    one, two = opened_totals(split, monkeypatch), opened_totals({"network": split["network"], **other}, monkeypatch)
    assert len(one) == len(two) > 3
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_no_pad_serves_two_steps_or_two_runs():
    one, two = trained(banks_of()[0])[0], trained(banks_of()[0])[0]
    for party, words in parts(one).items():
        assert len(np.unique(words)) == len(words)
        assert not np.isin(words, parts(two)[party]).any()


class Altering(InProcess):
    """Tells one party something else."""

    def __init__(self, fed, alter, party="bank1"):
        super().__init__(fed.transport.answers)
        self.alter, self.party = alter, party

    def carry(self, frames, deadline, most_bytes):
        told = {}
        for name, frame in frames.items():
            request = decode_request(frame)
            changed = self.alter(request) if name == self.party else None
            told[name] = frame if changed is None else encode(changed)
        return super().carry(told, deadline, most_bytes)


def test_parties_that_are_told_other_nodes_open_nothing():
    """The active party asks one party for the sums of two nodes the other way round."""

    def alter(request):
        if isinstance(request, m.AskSealedSums) and len(request.nodes.node) == 2:
            return msgspec.structs.replace(
                request, nodes=m.NodeList(request.nodes.tree, request.nodes.node[::-1].copy())
            )
        return None

    fed = hybrid(banks_of()[0], params_of(max_depth=4), **SHARED)
    with pytest.raises((CipherError, ProtocolError), match=r"larger than any|refuses|not at the lowest"):
        fed.model(transport=Altering(fed, alter))


def test_parties_with_other_keys_open_nothing():
    from hedgerow.privacy.unencrypted.cipher import Unencrypted

    def alter(request):
        if isinstance(request, m.AskSealedSums) and request.public_key:
            return msgspec.structs.replace(request, public_key=Unencrypted().new_key(1).public.encode())
        return None

    fed = hybrid(banks_of()[0], params_of(max_depth=4), **SHARED)
    with pytest.raises(CipherError, match="belong to another key"):
        fed.model(transport=Altering(fed, alter))


def test_a_step_is_padded_once():
    pads = StepPads(0, {1: bytes(32), 2: bytes(32)}, bytes(32))
    none = np.empty(0, np.int64)
    request = m.AskSealedSums(0, 0, (), m.NodeList(none, none), b"", b"")
    first = pads.of(request)
    with pytest.raises(ProtocolError, match="twice for the same part"):
        pads.of(request)
    pads.begun += 1
    assert pads.of(request) != first


def test_a_part_without_pads_is_refused_by_the_party():
    """The active party says that sums are opened one by one."""

    def alter(request):
        return msgspec.structs.replace(request, together=0) if isinstance(request, m.BeginSealed) else None

    fed = hybrid(banks_of()[0], params_of(max_depth=4), **SHARED)
    with pytest.raises(ProtocolError, match="in another way than the plan says"):
        fed.model(transport=Altering(fed, alter))


@pytest.mark.parametrize(("n", "more"), [(2, {}), (1, {"allow_two": True})])
def test_too_few_parties_to_hide_among_are_refused(n, more):
    with pytest.raises(ParameterError, match="would show one party's"):
        hybrid(banks_of(n_banks=n)[0], params_of(max_depth=4), **SHARED, **more)


@pytest.mark.parametrize("more", [{"party_share": 0.5}, {"on_loss": "continue"}])
def test_sums_over_different_sets_of_parties_are_refused(more):
    with pytest.raises(ParameterError, match="different sets of parties"):
        hybrid(banks_of()[0], params_of(max_depth=4), **SHARED, **more)


def test_counts_for_cut_points_are_masked():
    fed, _ = trained(banks_of()[0], protection="lattice")
    words = [heard.message.masked_words for heard in fed.of("MaskedSums")]
    assert len(words) > 8
    assert (np.concatenate(words).astype(np.float64) > LARGE).mean() > 0.99
