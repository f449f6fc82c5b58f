"""Rows that an alignment leaves out are counted, and so are ids that differ only in how they are written."""

import json

import numpy as np
import pytest
from test_aligned_runs import ALIGNED, DATA, PARTIES, RUN, TREES, columns, write
from test_vertical_parties import ALLOWED, PASSIVE, Columns
from test_vertical_runs import read, said

from hedgerow import GBDTClassifier, NoPrivacy, Table, Vertical
from hedgerow.data.ids import nearly_common, own_shape
from hedgerow.errors import DataError
from hedgerow.protocols.align import lists, progress

N = 200
PLAIN = [str(i) for i in range(N)]
PADDED = [f"{i:03d}" for i in range(N)]
TEXT = "ids are compared as text, in which '7', '007' and '7.0' differ"
MORE = f"100 more ids would be common to all parties without leading zeros; {TEXT}, so write them alike everywhere."


def test_what_ids_may_differ_in_is_counted_for_their_owner():
    assert own_shape(["7", "8"]) == ""
    assert (
        own_shape(["007", "08", " 9", "9 ", "A1", "0"]) == "2 with blanks, 2 with leading zeros, 1 with capital letters"
    )


@pytest.mark.parametrize(
    ("theirs", "more"),
    [
        (["7", "8", "9"], (0, "")),
        (["7", "8", "10"], (0, "")),
        (["007", "08", "9"], (2, "leading zeros")),
        ([" 7", "8 ", "9"], (2, "blanks")),
        ([" 007", "8", "9"], (1, "blanks and leading zeros")),
        (["0", "00", "9"], (0, "")),
        (["7.0", "8.00", "9"], (2, "'.0' at the end")),
    ],
)
def test_ids_that_would_be_common_if_written_alike_are_counted(theirs, more):
    assert nearly_common([["7", "8", "9"], theirs]) == more
    assert nearly_common([theirs, ["7", "8", "9"], ["9", "8", "7"]]) == more


def test_all_differences_together_are_named_where_no_fewer_explain_it():
    assert nearly_common([["a7"], [" 0A7"]]) == (1, "blanks, leading zeros and capital letters")
    assert nearly_common([["a7"], ["A7"]]) == (1, "capital letters")


# Where all tables are here


def tables(theirs):
    X, y = columns(N)
    return {"bank": Table.of(X[:, :2], y, ids=PLAIN), "shop": Table.of(X[:, 2:], ids=theirs)}


def fitted(theirs):
    return GBDTClassifier(2, federation=Vertical(NoPrivacy(i_accept_disclosure=True))).fit(tables(theirs))


def test_an_estimator_counts_the_rows_that_are_used_and_those_that_nearly_were():
    assert fitted(PADDED).notes_ == [
        MORE,
        "Only rows are used whose ids all parties have: 100 of the 200 of 'bank', 100 of the 200 of 'shop'.",
    ]
    shuffled = PLAIN[1:] + PLAIN[:1]
    assert fitted(shuffled).notes_ == ["All parties have the same 200 rows, found by their ids."]


def test_where_no_id_is_common_it_is_said_how_many_would_be():
    with pytest.raises(DataError) as refusal:
        fitted([f"0{one}" for one in PLAIN[1:]] + ["000"])
    assert str(refusal.value) == (
        f"No id is common to all parties' rows, and 200 would be without leading zeros; {TEXT}, so write them alike "
        "everywhere."
    )
    with pytest.raises(DataError, match=f"check that all of them name the same kind of id; {TEXT}\\."):
        fitted([f"stranger {one}" for one in PLAIN])


def test_a_simulated_run_says_it_and_keeps_it_in_its_manifest(tmp_path):
    X, y = columns(N)
    write(tmp_path / "bank.csv", ("id", "a", "y"), zip(PLAIN, X[:, 0], y, strict=True))
    write(tmp_path / "shop.csv", ("id", "b"), zip(PADDED, X[:, 1], strict=True))
    two = PARTIES[: PARTIES.index('[[party]]\nname = "post"')]
    read(tmp_path, RUN + DATA + two + ALIGNED + TREES)
    shown = said(tmp_path, "train").stderr.splitlines()
    counts = "Only rows are used whose ids all parties have: 100 of the 200 of 'bank', 100 of the 200 of 'shop'."
    assert [shown.count(one) for one in (MORE, counts)] == [1, 1]
    kept = json.loads((tmp_path / "runs" / "credit" / "manifest.json").read_text())
    assert kept["notes"][-2:] == [MORE, counts]


# Real parties: each looks at its own ids only


class Padded(Columns):
    """Bob writes his ids with zeros; all of them have every tenth id alike, and alice her own beside."""

    def __init__(self, folder, made):
        super().__init__(folder, made, more=ALIGNED)
        X, y = columns(N)
        alike = [f"person {i}" for i in range(N)]
        ids = {"alice": alike, "bob": [one if i % 10 == 0 else PADDED[i] for i, one in enumerate(alike)]}
        write(folder / "alice.csv", ("id", "a", "y"), zip(ids["alice"], X[:, 0], y, strict=True))
        write(folder / "bob.csv", ("id", "b"), zip(ids["bob"], X[:, 1], strict=True))
        write(folder / "carol.csv", ("id", "c", "d"), zip(alike, X[:, 2], X[:, 3], strict=True))
        self.file.write_text(self.file.read_text().replace("share = 0.2", "share = 0"))


def hints(folder, made):
    """What alice and bob are told of ids."""
    world, told = Padded(folder, made), {"alice": [], "bob": []}
    driver = world.drive(say=told["alice"].append)
    others = [world.join(name, policy=ALLOWED, say=told.get(name, []).append) for name in PASSIVE]
    driver.ended(60)
    assert [party.ended(60) for party in others] == [folder / name for name in PASSIVE]
    return {name: [one for one in sentences if "compared as text" in one] for name, sentences in told.items()}


def test_a_real_party_is_told_of_the_shape_of_its_own_ids_and_of_nobody_elses(tmp_path, made):
    found = hints(tmp_path, made)
    few = f"Only 10% of this party's ids are common to all parties; {TEXT}"
    assert found == {"alice": [f"{few}."], "bob": [f"{few} (this party has 90 with leading zeros)."]}
    counts = ", ".join(f"20 of the 200 of '{name}'" for name in ("alice", "bob", "carol"))
    kept = json.loads((tmp_path / "alice" / "manifest.json").read_text())
    assert kept["notes"] == [f"Only rows are used whose ids all parties have: {counts}."]


def test_a_hint_at_anothers_ids_would_be_seen(tmp_path, made, monkeypatch):
    """The sabotage: what a party hears is of bob's ids too."""
    real = lists.few_common
    monkeypatch.setattr(lists, "few_common", lambda common, own_ids: real(common, [*own_ids, *PADDED]))
    assert "with leading zeros" in hints(tmp_path, made)["alice"][0]


def test_nobody_is_told_where_at_least_half_of_the_ids_are_common():
    assert progress.few_common(2, ["1", "2", "03", "04"]) == ""
    assert progress.few_common(1, ["1", "2", "03"]).startswith("Only 33% of this party's ids are common")


def test_numbers_are_ids_by_their_digits():
    X, y = columns(N)
    own = {"bank": Table.of(X[:, :2], y, ids=np.arange(N)), "shop": Table.of(X[:, 2:], ids=PADDED)}
    model = GBDTClassifier(2, federation=Vertical(NoPrivacy(i_accept_disclosure=True))).fit(own)
    assert model.notes_[0] == MORE
