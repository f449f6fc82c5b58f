"""Keys of later rounds are made while others work; each is given once, and for what is asked."""

import pytest

from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.protocols.vertical.keys_ahead import KeysAhead, KeyUse


class Counting:
    """A cipher whose keys are numbered, with what they were made for."""

    def __init__(self, fails_at=0):
        self.made, self.fails_at = [], fails_at

    def new_key(self, threads, slots, merging):
        self.made.append((threads, slots, merging))
        if len(self.made) == self.fails_at:
            raise OSError("no randomness")
        return len(self.made) - 1, merging


def for_rows(*merging):
    return KeyUse(2, False, merging)


def test_every_round_has_a_key_of_its_own_made_for_what_it_merges():
    cipher = Counting()
    keys = KeysAhead(cipher)
    wanted = [for_rows((8, 4)), for_rows((8, 4)), for_rows((8, 4), ()), for_rows((8, 4), ())]
    given = [keys.take(use, more=i < 3) for i, use in enumerate(wanted)]
    assert [merging for _, merging in given] == [use.merging for use in wanted]
    assert len({number for number, _ in given}) == 4
    assert len(cipher.made) == 5, "the one that was made ahead for another round's parties is not used"


def test_after_the_last_round_no_key_is_made():
    cipher = Counting()
    keys = KeysAhead(cipher)
    keys.take(for_rows(()), more=True)
    keys.take(for_rows(()), more=False)
    assert cipher.made == [for_rows(())] * 2


def test_what_fails_beside_a_round_stops_the_next():
    keys = KeysAhead(Counting(fails_at=2))
    keys.take(for_rows(()), more=True)
    with pytest.raises(OSError, match="no randomness"):
        keys.take(for_rows(()), more=True)


def test_a_key_whose_giving_failed_is_not_given_later(monkeypatch):
    cipher = Counting()
    keys = KeysAhead(cipher)
    keys.take(for_rows(()), more=True)
    with monkeypatch.context() as patch:
        patch.setattr(keys, "_begun", lambda _: (_ for _ in ()).throw(RuntimeError("no more threads")))
        with pytest.raises(RuntimeError, match="no more threads"):
            keys.take(for_rows(()), more=True)
    assert keys.take(for_rows(()), more=False) == (2, ((),))


def test_real_keys_differ():
    keys = KeysAhead(Lattice())
    one, other = (keys.take(for_rows(()), more=more) for more in (True, False))
    assert one.public.name != other.public.name
