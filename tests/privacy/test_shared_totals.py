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
from hedgerow.data.table import Table
from hedgerow.errors import CipherError, HedgerowError, ParameterError, ProtocolError
from hedgerow.privacy.pads import Pads
from hedgerow.privacy.unencrypted.values import HEAD
from hedgerow.protocols.hybrid.party import HybridParty
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
    """Tells some parties something else."""

    def __init__(self, fed, alter, *parties):
        super().__init__(fed.transport.answers)
        self.alter, self.parties = alter, parties or ("bank1",)

    def carry(self, frames, deadline, most_bytes):
        told = {}
        for name, frame in frames.items():
            request = decode_request(frame)
            changed = self.alter(request) if name in self.parties else None
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


def far_cuts(request):
    """Cut points below all values, so that all rows of whoever hears them lie in one bin of each column."""
    if not isinstance(request, m.ShareColumns):
        return None
    return msgspec.structs.replace(request, cuts=np.linspace(-3e38, -2e38, len(request.cuts), dtype=np.float32))


def opened_of_one(monkeypatch):
    """What opens if all banks but bank1 hear of cut points that put their rows out of the way."""
    from hedgerow.privacy.unencrypted.cipher import UnencryptedSecretKey

    seen, real = [], UnencryptedSecretKey.open_total
    monkeypatch.setattr(UnencryptedSecretKey, "open_total", lambda key, all_: seen.append(real(key, all_)) or seen[-1])
    fed = hybrid(banks_of()[0], params_of(max_depth=4), **SHARED)
    fed.model(transport=Altering(fed, far_cuts, "bank0", "bank2", "bank3"))
    return seen


def test_parties_that_are_told_other_cut_points_open_nothing(monkeypatch):
    with pytest.raises(CipherError, match="larger than any"):
        opened_of_one(monkeypatch)


def test_if_pads_did_not_depend_on_cut_points_the_sums_of_one_party_would_be_read(monkeypatch):
    """The sabotage, which nothing else would notice."""
    real = HybridParty._share

    def deaf(party, pads, request, frame):
        said = pads.said
        answer = real(party, pads, request, frame)
        pads.said = said
        return answer

    monkeypatch.setattr(HybridParty, "_share", deaf)
    assert len(opened_of_one(monkeypatch)) > 3


def test_what_was_told_apart_once_keeps_totals_closed():
    """Also where nothing is told apart any more."""
    one, other = (StepPads(number, {1 - number: bytes(32)}, bytes(32)) for number in (0, 1))
    none = np.empty(0, np.int64)
    first, later = (m.AskSealedSums(0, level, (), m.NodeList(none, none), b"", b"") for level in (0, 1))
    assert one.of(first).add == other.of(first).subtract
    one.of(later)
    other.of(msgspec.structs.replace(later, public_key=b"another"))
    last = msgspec.structs.replace(later, level=2)
    assert one.of(last).add != other.of(last).subtract


@pytest.mark.parametrize("kind", [m.AskSealedSums, m.AskCounts])
def test_after_a_refusal_there_is_no_part_of_a_total(kind):
    """Until all are introduced anew: here bank1 refuses a request, which the active party takes back."""
    fed = hybrid(banks_of()[0], params_of(max_depth=4), **SHARED)

    class Insists(InProcess):
        def carry(self, frames, deadline, most_bytes):
            if isinstance(decode_request(frames.get("bank1", b"")) if "bank1" in frames else None, kind):
                with pytest.raises(HedgerowError):
                    self.answers["bank1"](encode(m.KeepPart("x", 0, 10**6, b"y")))
            return super().carry(frames, deadline, most_bytes)

    with pytest.raises(ProtocolError, match="after a refusal"):
        fed.model(transport=Insists(fed.transport.answers))


@pytest.mark.parametrize(("kind", "most"), [("categorical", 4), ("numeric", 7)])
def test_shared_cut_points_are_no_more_than_the_plan_and_the_categories_allow(kind, most):
    """Column by column, whatever the others are."""
    split, _ = banks_of()
    shades = {name: table if name == "network" else _with_shade(table) for name, table in split.items()}

    def alter(request):
        if not isinstance(request, m.ShareColumns):
            return None
        column = 3 if kind == "categorical" else 0
        sizes = np.diff(request.cut_starts)
        sizes[column] = most + 1
        cuts = np.concatenate([np.arange(1, n + 1, dtype=np.float32) for n in sizes])
        return msgspec.structs.replace(request, cuts=cuts, cut_starts=np.concatenate([[0], np.cumsum(sizes)]))

    fed = hybrid(shades, params_of(max_depth=4, max_bin=8), **SHARED)
    with pytest.raises(ProtocolError, match="not in order, or too many"):
        fed.model(transport=Altering(fed, alter))


def _with_shade(table):
    """With a column of five categories."""
    values = np.column_stack([table.values, np.arange(table.n_rows) % 5]).astype(np.float32)
    return Table.of(values, names=[*table.names, "shade"], categorical=["shade"], ids=table.ids)


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
