"""Where one party opens the sums, nobody else can: searched for in every frame, as sums of all and as each party's."""

import numpy as np
import pytest

from federated import Federation, params_of, two_class
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.privacy.lattice.cipher import Lattice, LatticePublicKey, LatticeSecretKey
from hedgerow.privacy.unencrypted.cipher import Unencrypted
from hedgerow.protocols.opener import relay, relayed_group, sender
from hedgerow.protocols.opener.packing import SealedVector, word_bits
from hedgerow.protocols.opener.relay import Relay
from opener_view import LimbedVector, opener_view

PARAMS = params_of(n_estimators=1, max_depth=2, min_child_rows=2)


@pytest.fixture
def sums(monkeypatch):
    """What is sealed by the parties and opened by the opener."""
    kept: list[np.ndarray] = []
    seal, opened = SealedVector.seal, SealedVector.open

    def sealing(self, public, own_words):
        kept.append(own_words.reshape(-1).copy())
        return seal(self, public, own_words)

    def opening(self, secret, sealed_sum):
        words = opened(self, secret, sealed_sum)
        kept.append(words)
        return words

    monkeypatch.setattr(SealedVector, "seal", sealing)
    monkeypatch.setattr(SealedVector, "open", opening)
    return kept


def run():
    training, validation = partition.hold_out(two_class(3), 0.2)
    fed = Federation(training, PARAMS, Goal(follow=True), validation, protection="lattice", opener="party3")
    fed.model()
    return fed


def windows(words):
    """Neighbours as they would stand in a frame."""
    telling = np.flatnonzero((np.abs(words[:-1]) > 0xFFF) & (np.abs(words[1:]) > 0xFFF))
    yield from (words[i : i + 2].tobytes() for i in telling[:: max(1, len(telling) // 3)])


def found(fed, kept):
    """How many pieces of what should be hidden stand in some frame."""
    frames = {heard.frame for heard in fed.heard}
    wanted = {window for words in kept for window in windows(words)}
    assert len(wanted) > 20, "there must be something to look for"
    return sum(any(window in frame for frame in frames) for window in wanted)


def test_no_sum_and_no_party_s_part_of_one_stands_in_any_frame(sums):
    fed = run()
    assert found(fed, sums) == 0


def test_sums_that_are_not_encrypted_are_found(sums, monkeypatch):
    """The sabotage: a cipher that seals nothing."""
    for module in (relay, relayed_group, sender):
        monkeypatch.setattr(module, "cipher_of", lambda plan: Unencrypted())
    assert found(run(), sums) > 10


def test_the_driver_holds_no_secret_key(monkeypatch):
    """Keys are made by the opener alone, one for the counts and one a tree, and what the driver has is public."""
    made, relays = [], []
    new_key, start = Lattice.new_key, Relay.__init__

    def starting(self, group, threads):
        start(self, group, threads)
        relays.append(self)

    def making(self, threads, **uses):
        made.append(new_key(self, threads, **uses))
        return made[-1]

    monkeypatch.setattr(Relay, "__init__", starting)
    monkeypatch.setattr(Lattice, "new_key", making)
    fed = run()
    assert len(made) == 1 + PARAMS.n_estimators
    assert all(isinstance(key, LatticeSecretKey) for key in made)
    assert isinstance(relays[0].public, LatticePublicKey)
    assert not any(isinstance(thing, LatticeSecretKey) for thing in vars(relays[0]).values())
    secrets = [key._own_slots._own_secret.tobytes()[:64] for key in made]
    assert not any(secret in heard.frame for secret in secrets for heard in fed.heard)


def test_only_ciphertexts_leave_a_party_once_it_is_introduced():
    answers = {h.kind for h in run().heard if h.sender not in ("driver", "party3")}
    assert answers == {"Consent", "Facts", "Done", "SealedWords"}


def test_every_party_hears_the_same_and_sealed_sums_go_to_the_opener_alone():
    fed, by_party = run(), {}
    for heard in fed.heard:
        if heard.sender == "driver":
            by_party.setdefault(heard.receiver, []).append(heard)
    alone = ("Lead", "PassSum", "GoOn")
    said = {name: tuple(h.frame for h in all_ if h.kind not in alone) for name, all_ in by_party.items()}
    assert len(set(said.values())) == 1
    assert {h.receiver for h in fed.of(*alone)} == {"party3"}


RANDOM = {("Consent", "public_key"), ("Consent", "signature"), ("Introduce", "keys")}
FRESH = {(kind, field) for kind in ("FromOpener", "ToEveryParty") for field in ("public_key", "signature")}


def clear(fed):
    """Every clear field that crossed, but for keys and signatures, which are fresh in every run."""
    for one in fed.heard:
        for field, how in m.travels(type(one.message)).items():
            if how.how == "clear" and (one.kind, field) not in RANDOM | FRESH:
                value = m.msgspec.to_builtins(getattr(one.message, field), enc_hook=lambda array: array.tobytes())
                yield one.sender, one.receiver, one.kind, field, value


def moved(parties):
    """Half of the rows of two parties change places."""
    both = partition.pooled({"a": parties["party1"], "b": parties["party2"]})
    side = np.arange(both.n_rows) % 2 == 0
    return {**parties, "party1": both.take(side), "party2": both.take(~side)}


def decrypted(monkeypatch, parties, form):
    """All plaintexts that the opener of a run can decrypt, ciphertext by ciphertext."""
    kept, opened = [], form.open

    def opening(self, secret, sealed_sum):
        kept.append(opener_view(self, secret, sealed_sum))
        return opened(self, secret, sealed_sum)

    with monkeypatch.context() as patch:
        patch.setattr(SealedVector, "of", lambda *asked: form(asked[0], asked[2], word_bits(asked[0], type(asked[1]))))
        patch.setattr(form, "open", opening)
        Federation(parties, PARAMS, protection="lattice", opener="party3").model()
    return kept


def test_rows_that_change_places_change_nothing_that_the_opener_can_decrypt(monkeypatch):
    before, after = (decrypted(monkeypatch, parties, SealedVector) for parties in (two_class(4), moved(two_class(4))))
    assert len(before) > 5
    assert before == after


def test_sums_in_limbs_would_show_the_opener_where_rows_are(monkeypatch):
    """The sabotage: the same trees, but carries that depend on every party's part."""
    before, after = (decrypted(monkeypatch, parties, LimbedVector) for parties in (two_class(4), moved(two_class(4))))
    assert len(before) == len(after)
    assert sum(one != other for one, other in zip(before, after, strict=True)) > 2


def test_rows_that_change_places_change_no_clear_field():
    runs = []
    for parties in (two_class(4), moved(two_class(4))):
        fed = Federation(parties, params_of(n_estimators=1, min_cut_rows=1), protection="lattice", opener="party3")
        fed.model()
        runs.append(list(clear(fed)))
    assert runs[0] == runs[1]
    assert len(runs[0]) > 100
