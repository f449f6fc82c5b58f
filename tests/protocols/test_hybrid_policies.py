"""What a bank's owner can refuse of a hybrid run, and what its rules count: own rows, however often each is linked."""

import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from federated import params_of, until
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor.messages import ShareColumns
from hedgerow.corridor.wire import encode
from hedgerow.data.table import Table
from hedgerow.errors import PolicyError, PrivacyError
from hedgerow.protocols.hybrid.party import SHARED as SHARED_CUTS
from hedgerow.protocols.session.journal import Journal
from hedgerow.protocols.vertical import passive_table
from hedgerow.run.folder.manifest import told

sys.path.insert(0, str(Path(__file__).parents[1] / "equal"))
from test_hybrid import SHARED, banks_of, hybrid

STRICT = Policy(allow_plain=True, min_cut_rows=5)


def banks(n=4, policy=STRICT, max_bin=32, split=None, **more):
    parties = split or banks_of(n_banks=n)[0]
    return hybrid(parties, params_of(max_depth=4, max_bin=max_bin), policy=policy, **{**SHARED, **more})


def test_an_owner_with_the_default_rules_shares_with_two_others_or_more():
    assert banks(3).model().forest.n_trees


def test_two_banks_take_the_consent_of_their_owners_even_if_nothing_is_counted():
    """Where all columns are categorical no counts are asked for, before which parties are counted anyway."""
    split, _ = banks_of(n_banks=2)
    shades = {name: table if name == "network" else shaded(table) for name, table in split.items()}
    with pytest.raises(PolicyError, match=r"adds up 2 parties' sums, .* \(fewest_parties or allow_two\)"):
        banks(split=shades, allow_two=True).model()
    assert banks(split=shades, policy=replace(STRICT, allow_two=True), allow_two=True).model().forest.n_trees


def shaded(table):
    """An account's only column: one of five categories."""
    values = (np.arange(table.n_rows) % 5).astype(np.float32).reshape(-1, 1)
    return Table.of(values, names=["shade"], categorical=["shade"], ids=table.ids)


def test_an_owner_may_ask_for_more_banks_to_hide_among():
    assert banks(4, replace(STRICT, fewest_parties=4)).model().forest.n_trees
    with pytest.raises(PolicyError, match="adds up 4 parties' sums"):
        banks(4, replace(STRICT, fewest_parties=5)).model()


def test_names_are_not_told_by_an_owner_who_refuses_that():
    codes = replace(STRICT, tell_columns="codes")
    with pytest.raises(PolicyError, match=r"tells names of shared columns, .* \(tell_columns\)"):
        banks(policy=codes).model()
    assert not banks(policy=codes, shared=False).model().names[3].endswith("c0")


def test_an_owner_who_shares_with_nobody_is_not_asked_what_it_thinks_of_that():
    alone = replace(STRICT, tell_columns="codes", fewest_parties=9)
    groups = (("bank0", "bank1", "bank2"),)
    rules = {**dict.fromkeys(groups[0], STRICT), "bank3": alone}
    assert banks(policy=rules, shared=groups).model().forest.n_trees


def test_the_manifest_says_that_names_of_shared_columns_are_told():
    shared, alone = banks().plan.method, banks(shared=False).plan.method
    facts = [{line.field for line in told(method) if line.message == "Facts"} for method in (shared, alone)]
    assert facts[0] - facts[1] == {"columns"}


def test_an_owner_who_asks_for_rows_in_every_node_takes_no_part():
    with pytest.raises(PolicyError, match=r"opens smaller nodes, .* \(min_child_rows\)"):
        banks(policy=replace(STRICT, min_child_rows=2), shared=False).model()


def fullest(fed, name="bank0"):
    """The fewest accounts of a bin that has any, among the bins of a bank."""
    fed.model()
    table, accounts = fed.parties[name].passive.run.table, fed.parties[name].sets.places[False]
    codes = table.own_codes[:, np.unique(accounts, return_index=True)[1]]
    return min(int(count) for column in codes for count in np.unique(column, return_counts=True)[1])


def many_accounts():
    split, _ = banks_of(n_banks=2, n_accounts=150, n=1500)
    return banks(split=split, policy=replace(STRICT, min_bin_rows=8), shared=False)


def test_missing_values_of_few_accounts_have_no_bin_though_others_lack_rows_too():
    fed = banks(2, replace(STRICT, min_bin_rows=8), shared=False)
    fed.model()
    table = fed.parties["bank0"].passive.run.table
    assert table.lacks
    assert not table.own_codes.size, "each column has some missing values, and fewer than eight"


def test_bins_have_so_many_accounts_however_often_each_is_linked():
    assert fullest(many_accounts()) >= 8


def test_if_linked_rows_were_counted_bins_would_be_smaller(monkeypatch):
    """The sabotage: whoever links an account with eight rows would read it from a bin of its own."""
    monkeypatch.setattr(passive_table, "_firsts", lambda linked: np.arange(linked.n_rows))
    assert fullest(many_accounts()) < 8


def test_shared_cut_points_that_leave_fewer_own_rows_in_a_bin_are_refused():
    rows = replace(STRICT, min_bin_rows=3)
    with pytest.raises(PolicyError, match=r"fewer of this party's rows in a bin than its policy allows"):
        banks(policy={**dict.fromkeys(("bank0", "bank1", "bank2", "bank3"), ALLOW_ALL), "bank1": rows}).model()
    split, _ = banks_of(n_accounts=400, n=2000)
    assert banks(split=split, max_bin=3, policy=rows).model().forest.n_trees


def tried_out():
    """How many cut points an active party tries out on a bank that wants three rows in a bin, and gets an answer to."""
    others = dict.fromkeys(("bank1", "bank2", "bank3"), ALLOW_ALL)
    fed = banks(policy={**others, "bank0": replace(STRICT, min_bin_rows=3)})
    shared = until(fed, lambda request: isinstance(request, ShareColumns))
    party, told, moves = fed.parties["bank0"], 0, 5
    for i in range(moves):
        try:
            party.answer(encode(msgspec.structs.replace(shared, cuts=shared.cuts + np.float32(i / 100))))
            told += 1
        except PolicyError:
            told += 1
        except PrivacyError as error:
            assert "changes shared cut points" in str(error)  # noqa: PT017  # others would be a fault of the test
    return told, moves


def test_cut_points_are_not_tried_out_one_after_the_other():
    """Each refusal, or none, tells whether some bin has fewer rows than the owner's policy allows."""
    assert tried_out()[0] == 1


def test_if_cut_points_were_not_settled_first_each_would_be_answered(monkeypatch):
    """The sabotage."""
    settle = Journal.settle
    monkeypatch.setattr(Journal, "settle", lambda self, what, digest: what == SHARED_CUTS or settle(self, what, digest))
    told, tried = tried_out()
    assert told == tried
