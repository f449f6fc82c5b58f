"""What crosses as a key holds those keys for merging that the party's sizes ask for, and a party refuses any other."""

import numpy as np
import pytest
from test_hybrid import banks_of, hybrid

from federated import Federation, labels, params_of, same, values
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import CipherError
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.lattice.merging import SWITCH_BYTES
from hedgerow.protocols.vertical.active import VerticalRows

BARE = Lattice().key_bytes(slots=False)
ASKED = "AskSealedSums", "AskHiddenSums"


def federation(n=300, link_mbit=50.0, protection="lattice", n_columns=9, **more):
    X, signal = values(n, n_columns=n_columns)
    table = Table.of(X, labels("two", signal))
    parties = partition.columns(table, share=[[n_columns - 1], list(range(n_columns - 1))])
    params = params_of(n_estimators=2, max_depth=more.pop("max_depth", 4), max_bin=32)
    given = {"link_mbit": link_mbit} if protection == "lattice" else {}
    return Federation(parties, params, method="vertical", active="party1", protection=protection, **given, **more)


def keys_of(fed) -> dict[str, set[int]]:
    """The lengths of the keys that each party got."""
    found: dict[str, set[int]] = {}
    for heard in fed.of(*ASKED):
        if heard.message.public_key:
            found.setdefault(heard.receiver, set()).add(len(heard.message.public_key))
    return found


@pytest.mark.parametrize("link_mbit", [None, 1e6])
def test_where_nothing_is_merged_a_party_gets_a_key_of_less_than_200_kb(link_mbit):
    fed = federation(max_depth=2, n_columns=3, link_mbit=link_mbit)
    assert same(fed.whole(), federation(max_depth=2, n_columns=3, protection="plain").whole())
    assert keys_of(fed) == {"party2": {BARE}}
    assert BARE <= 200_000


def test_over_a_slow_link_a_party_gets_some_keys_for_merging_and_the_forest_is_the_same():
    fed = federation(max_depth=5)
    assert same(fed.whole(), federation(max_depth=5, protection="plain").whole())
    (size,) = keys_of(fed)["party2"]
    assert (size - BARE) % SWITCH_BYTES == 0
    assert BARE < size < Lattice(50.0).key_bytes(slots=False)


def test_with_hidden_rows_too():
    fed = federation(n=120, hidden_rows=True, max_depth=3)
    assert same(fed.whole(), federation(n=120, protection="plain", max_depth=3).whole())
    (size,) = keys_of(fed)["party2"]
    more = size - Lattice().key_bytes()
    assert more % SWITCH_BYTES == 0
    assert size < Lattice(50.0).key_bytes()


def test_parties_of_a_group_get_the_same_key_however_many_rows_each_has():
    split, _ = banks_of(n=400, n_accounts=120, n_banks=4)
    split["bank3"] = split["bank3"].take(np.arange(4))
    params = params_of(max_depth=4, n_estimators=2, max_bin=32)
    one = hybrid(split, params, levels="AJJJ", shared=True).whole()
    fed = hybrid(split, params, protection="lattice", link_mbit=50.0, shared=True, levels="AJJJ")
    assert fed.whole().forest == one.forest
    found = keys_of(fed)
    assert set(found) == {f"bank{i}" for i in range(4)}
    assert all((size - BARE) % SWITCH_BYTES == 0 for sizes in found.values() for size in sizes)
    keys = {heard.message.public_key for heard in fed.of(*ASKED) if heard.message.public_key}
    assert len(keys) == params.n_estimators, "one key a tree, on which the pads of all depend"


@pytest.mark.parametrize("given", [(), (4096, 2048, 1024, 512, 256, 128, 64, 32, 16)])
def test_a_party_refuses_a_key_with_less_or_more_than_it_needs(given, monkeypatch):
    """The sabotage: an active party that sends every party the same."""
    honest = VerticalRows.start_round

    def start(self, round_):
        honest(self, round_)
        if self.now.asked:
            self._sealing = self.sealing._replace(secret=self.cipher.new_key(1, slots=False))

    monkeypatch.setattr(VerticalRows, "start_round", start)
    monkeypatch.setattr(VerticalRows, "_key", lambda self, party: self.sealing.secret.public.encode(given))
    with pytest.raises(CipherError, match="other keys for merging than the plan and the link ask for"):
        federation(max_depth=5).model()
