"""What a passive party's owner allows to be told of its columns: numbers, or names too."""

from dataclasses import replace as with_

import msgspec
import numpy as np
import pytest

from federated import TINY, same, vertical
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor import messages as m
from hedgerow.errors import PolicyError, ProtocolError
from hedgerow.protocols.vertical import schema
from hedgerow.run.file.policy import read_policy
from hedgerow.run.folder.manifest import names_told

NAMES = with_(ALLOW_ALL, tell_columns="names")


def run(**policies):
    fed = vertical(TINY, policy={"party2": ALLOW_ALL, "party3": ALLOW_ALL, **policies})
    for name, table in fed.tables.items():
        columns = tuple(with_(c, name=f"income-{c.name}") for c in table.columns)
        fed.tables[name] = with_(table, columns=columns)
        if name != fed.plan.active:
            fed.restart(name)
    return fed


def heard_names(fed):
    return {name for name in ("income-f0", "income-f1", "income-f4") for one in fed.heard if name.encode() in one.frame}


def test_without_a_word_columns_go_by_number():
    fed = run()
    assert fed.model().names[1] == "party2:0"
    assert not heard_names(fed)
    assert not fed.of("NamedColumns")


def test_who_tells_names_is_shown_by_them_and_the_others_by_number():
    fed = run(party3=NAMES)
    own, *others = fed.model().names
    assert own == "income-f4"
    assert others == ["party2:0", "party3:income-f1", "party3:income-f2", "party3:income-f3"]
    assert [one.sender for one in fed.of("NamedColumns")] == ["party3"]
    assert heard_names(fed) == {"income-f1"}, "and none of party2's"


def test_names_change_nothing_but_names():
    told, silent = run(party2=NAMES, party3=NAMES), run()
    assert same(told.whole(), silent.whole())


@pytest.mark.parametrize("names", [("a", "b"), ("a", "a", "b"), ("a", "", "b")])
def test_names_that_do_not_fit_the_columns_are_refused(names):
    fed = run(party3=NAMES)
    fed.model()
    (answer,) = (one.message for one in fed.of("NamedColumns"))
    with pytest.raises(ProtocolError, match="Party 'party3' described columns that cannot be"):
        schema._check_columns("party3", msgspec.structs.replace(answer, names=names))


@pytest.mark.parametrize("more", [0, 1])
def test_a_party_cannot_describe_more_bins_than_there_is_memory_for(more):
    """A message of some megabytes would else take gigabytes of the active party's memory."""
    n = schema.MOST_TOLD_BINS // 256
    n_values = np.full(n + more, 256)
    none = np.zeros(n + more, np.bool_)
    if more:
        with pytest.raises(ProtocolError, match="Party 'party3' described columns of more than"):
            schema._check_columns("party3", m.OwnColumns(n_values, none, none))
    else:
        schema._check_columns("party3", m.OwnColumns(n_values, none, none))


def test_the_manifest_says_who_told_names():
    rows = [
        {"party": "shop", "type": "NamedColumns"},
        {"party": "post", "type": "OwnColumns"},
        {"party": "", "type": "NamedColumns"},
    ]
    assert names_told(rows[:2], "bank") == ["shop"]
    assert names_told(rows[2:], "shop") == ["shop"], "in the party's own log"
    assert names_told(rows[1:2], "post") == []


def test_a_policy_file_says_it_in_a_word(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text('tell_columns = "names"\n')
    assert read_policy(file).tell_columns == "names"
    assert Policy().tell_columns is None
    file.write_text("tell_columns = true\n")
    with pytest.raises(PolicyError, match='tell_columns must be "codes" or "names"'):
        read_policy(file)


def test_named_columns_are_columns():
    assert issubclass(m.NamedColumns, m.OwnColumns)
    assert set(m.travels(m.NamedColumns)) == {*m.travels(m.OwnColumns), "names"}
