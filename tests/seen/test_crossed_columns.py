"""A vertical run: no gradient, label, value or threshold in the frames, and what must not depend on them does not."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from federated import TINY, Federation, labels, values
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model import part as parts
from hedgerow.protocols.vertical.active import VerticalRows

PAILLIER = {"protection": "paillier", "key_bits": 2048}
PLAIN = {"protection": "plain"}
ONE = replace(TINY, n_estimators=1, min_cut_rows=1)
N = 60


def tables(flip=False, scale=1.0):
    """Three parties with columns of their own; the first has labels."""
    X, signal = values(N, n_columns=4, missing=0)
    X[:, 1:] *= np.float32(scale)
    y = labels("two", signal)
    return partition.columns(Table.of(X, 1 - y if flip else y), share=[[0], [1], [2, 3]])


def run(parties=None, **plan):
    fed = Federation(parties or tables(), ONE, method="vertical", active="party1", **plan)
    fed.model()
    return fed


@pytest.fixture(scope="module")
def sealed():
    """A run under encryption, with the gradients that were sealed in it."""
    with pytest.MonkeyPatch.context() as patch:
        return gradients_of(patch, **PAILLIER)


def gradients_of(patch, **plan):
    kept, start = [], VerticalRows.start_round

    def noting(self, round_):
        start(self, round_)
        kept.append(self.now.own_gradients.copy())

    patch.setattr(VerticalRows, "start_round", noting)
    return run(**plan), kept


def traces(gradients):
    """Bytes that a frame with these gradients would hold: of some rows in a row, as integers of any width."""
    out = []
    for array in gradients:
        for kind in ("<i8", "<i4", "<f4", "<f8"):
            pairs = array[0, :4].astype(kind)
            out += [pairs.tobytes(), np.ascontiguousarray(pairs.T).tobytes()]
    return out


def holds(fed, needles):
    return [needle for needle in needles if any(needle in heard.frame for heard in fed.heard)]


def test_no_gradient_is_in_the_frames_of_a_sealed_run(sealed):
    fed, gradients = sealed
    assert len(gradients) == 1
    assert not holds(fed, traces(gradients))


def test_without_encryption_they_are_there(monkeypatch):
    """The sabotage: the same search finds them."""
    assert holds(*(lambda found: (found[0], traces(found[1])))(gradients_of(monkeypatch, **PLAIN)))


@pytest.mark.parametrize("kind", ["<i8", "<i4", "<u1", "<f4", "<f8"])
def test_no_label_and_no_column_is_in_the_frames(sealed, kind):
    fed, _ = sealed
    every = [fed.tables["party1"].labels, *(c for t in fed.tables.values() for c in t.values.T)]
    needles = [column[at : at + 16].astype(kind).tobytes() for column in every for at in (0, 16, 32)]
    texts = [",".join(map(str, column[:4])).encode() for column in every]
    assert not holds(fed, [*(needle for needle in needles if len(set(needle)) > 2), *texts])


def clear_bytes(fed):
    """Everything but ciphertexts and keys, in which four bytes can be anything."""
    out = b""
    for heard in fed.heard:
        random = {"public_key", "signature", "certificate", "keys", "plan"}
        for field, how in m.travels(type(heard.message)).items():
            if how.how == "clear" and field not in random:
                out += msgspec.msgpack.encode(getattr(heard.message, field), enc_hook=lambda array: array.tobytes())
    return out


def test_no_threshold_is_in_what_travels_in_the_clear(sealed):
    fed, _ = sealed
    own = [parts.decoded(content, name) for name, content in fed.kept.items()]
    thresholds = np.concatenate([part.thresholds for part in own])
    assert len(thresholds)
    said = clear_bytes(fed)
    assert not [t for t in thresholds for kind in ("<f4", "<f8") if np.array(t, kind).tobytes() in said]
    assert not [name for part in own for name in (c.name for c in part.columns) if f'"{name}"'.encode() in said]


# Non-interference

RANDOM = {("Consent", "public_key"), ("Consent", "signature"), ("Introduce", "keys"), ("AskSealedSums", "public_key")}
RANDOM |= {("KeepPart", "model"), ("KeepPart", "commitment")}


def fields(heard, *hows):
    """Every field that travels so, in order, but for keys, signatures and ids, which are fresh in every run."""
    out = []
    for one in heard:
        for field, how in m.travels(type(one.message)).items():
            if how.how in hows and (one.kind, field) not in RANDOM:
                value = msgspec.to_builtins(getattr(one.message, field), enc_hook=lambda array: array.tobytes())
                out.append((one.sender, one.receiver, one.kind, field, value))
    return out


def first_step(fed):
    """Everything up to the first sealed sums."""
    last = next(i for i, heard in enumerate(fed.heard) if heard.kind == "SealedSums")
    return fed.heard[: last + 1]


def test_other_labels_change_nothing_in_the_clear_before_the_first_sums_are_opened(sealed):
    assert fields(first_step(sealed[0]), "clear") == fields(first_step(run(tables(flip=True), **PAILLIER)), "clear")


def test_without_encryption_other_labels_show_at_once():
    """The sabotage: what is called sealed is read by everybody."""
    one, other = (fields(first_step(run(tables(flip), **PLAIN)), "clear", "sealed") for flip in (False, True))
    assert {a[2] for a, b in zip(one, other, strict=True) if a != b} >= {"AskSealedSums"}


def test_labels_of_passive_parties_change_nothing():
    parties = tables()
    other = {**parties, "party2": replace(parties["party2"], labels=np.arange(N))}
    hows = ("clear",)
    assert fields(run(parties, **PLAIN).heard, *hows) == fields(run(other, **PLAIN).heard, *hows)


def test_other_values_in_the_same_order_change_no_clear_field():
    """Only which bin a row is in matters, never the value."""
    one, other = run(**PLAIN), run(tables(scale=3.0), **PLAIN)
    assert fields(one.heard, "clear") == fields(other.heard, "clear")
    assert one.kept["party2"] != other.kept["party2"]
