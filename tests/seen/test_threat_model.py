"""What the threat model says of messages and limits is true of the code."""

import re
from pathlib import Path

import pytest

from hedgerow.agreement.options import FEWEST_MASKED, LEAST_CUT_ROWS
from hedgerow.agreement.policy import Policy
from hedgerow.corridor import messages as m
from hedgerow.protocols.align.lists import MOST_NAMES
from hedgerow.protocols.session.journal import MOST_TIMES
from hedgerow.protocols.session.owner_ledger import MOST_WRONG
from hedgerow.transports.grpc.connections import HANDSHAKE_SECONDS, OWN_FILES
from runs import run_of

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs/threat-model.md").read_text()
JOINING = {m.Probe, m.Echo, m.Propose, m.Consent, m.Introduce, m.Facts, m.Agree, m.Done, m.Farewell}
ALIGNED = "alignment of rows"
ROWS = {
    "horizontal, masked": ["masked", "unfollowed", "sampled", "continuing"],
    "horizontal, with differential privacy": ["noised", "noised, greedy"],
    "horizontal, with an opener": ["encrypted", "encrypted by Paillier"],
    "horizontal, plain": ["plain"],
    '`cut_points = "local"`': ["local cuts"],
    "whole trees": ["bagging", "sequential"],
    "vertical": ["vertical", "counted", "told names", "vertical by a lattice", "vertical by Paillier", "other rows"],
    "vertical, hidden rows": ["hidden", "hidden by Paillier"],
    'vertical, `protects = "passive"`': ["one batch"],
    "prediction": ["predict"],
    "sealed prediction": ["sealed", "sealed by Paillier"],
    "sealed prediction, shared columns": ["sealed, shared"],
    ALIGNED: [],
    "linkage of rows": ["linked", "linked by ids that are shown"],
    "hybrid, shared columns": ["shared", "shared, unencrypted"],
    "hybrid, random cuts": ["drawn"],
    "names of columns": ["private names"],
}
"""The rows of the table, and the runs that show them."""
REFERRED = {
    "horizontal, plain": ["horizontal, masked"],
    '`cut_points = "local"`': ["horizontal, masked"],
    "names of columns": [ALIGNED, "horizontal, masked"],
    "vertical": [ALIGNED],
    "hybrid, shared columns": ["linkage of rows"],
    "hybrid, random cuts": ["linkage of rows"],
    "vertical, hidden rows": [ALIGNED],
}
"""Rows that a row speaks of, or whose messages a run of it has, too."""


def table():
    """Messages by mode, as the page has them."""
    lines = PAGE.partition("| mode | the driver is told by |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {mode: set(re.findall(r"`([A-Z]\w+)`", " ".join(said))) for mode, *said in cells}


def crossed(name):
    kinds = {type(one.message) for one in run_of(name).heard}
    return {kind.__name__ for kind in kinds - JOINING}


def test_the_table_has_every_message_and_no_other():
    said = table()
    assert set(said) == set(ROWS)
    assert set.union(*said.values()) == {kind.__name__ for kind in set(m.ROUTES) - JOINING}


@pytest.mark.parametrize("mode", [mode for mode in ROWS if ROWS[mode]])
def test_a_mode_has_the_messages_that_its_row_lists(mode):
    said = table()
    own, referred = said[mode], set.union(set(), *(said[other] for other in REFERRED.get(mode, ())))
    found = set.union(*map(crossed, ROWS[mode]))
    assert own <= found | {"NamedColumns"}, "hidden runs may tell names, too"
    assert found <= own | referred


def test_a_message_that_is_not_listed_is_noticed():
    """The sabotage: the row of plain sums has no room for quantiles."""
    said = table()
    assert not crossed("local cuts") <= said["horizontal, plain"] | said["horizontal, masked"]


def test_limits_on_the_page_are_those_of_the_code():
    words = {3: "three", 5: "five"}
    for said in (
        f"at least {words[FEWEST_MASKED]} parties",
        f"({LEAST_CUT_ROWS} by default)",
        f"at most {words[MOST_TIMES]} of rows and {words[MOST_TIMES]} of validation rows",
        f"after {words[MOST_WRONG]} different ones",
        f"at most {MOST_NAMES:,} names a list",
        f"`most_classes` ({Policy().most_classes})",
        f"handshake in {HANDSHAKE_SECONDS} seconds, and {OWN_FILES} descriptors",
    ):
        assert said in PAGE


def test_tests_that_the_page_names_exist():
    named = re.findall(r"`(tests/[\w/.]+)`", PAGE)
    assert named
    assert all((Path(__file__).resolve().parent.parent.parent / name).exists() for name in named)
