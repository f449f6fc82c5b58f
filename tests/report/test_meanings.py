"""What an owner discloses of its columns, and that nothing else of its part is in the file."""

import hashlib
import json
from dataclasses import replace
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from disclosing import NAMES, TOLD, policy, table_of, trained
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.agreement.policy import Policy
from hedgerow.data import partition
from hedgerow.errors import ModelError, ParameterError, PolicyError
from hedgerow.model import meanings as module
from hedgerow.model.agreed_bins import agreed_edges, category_groups, edge_labels, rounded
from hedgerow.model.meanings import by_column, decoded, disclosed, edges_of_cuts, load_meanings, save_meanings
from hedgerow.model.part import active_part_of
from hedgerow.trees.bins import GREATEST

INCOME, SECRET, PLAN = 0, 1, 3  # among the telco's columns


@pytest.fixture(scope="module")
def run():
    return trained()


@pytest.fixture
def part(run):
    return run[2]


def body_of(meanings, tmp_path):
    save_meanings(meanings, tmp_path / "m.json")
    return json.loads((tmp_path / "m.json").read_text())["body"]


def leaves_in(thing):
    """Every text and number in a document, and every key."""
    if isinstance(thing, dict):
        return [*thing, *(leaf for value in thing.values() for leaf in leaves_in(value))]
    return [leaf for value in thing for leaf in leaves_in(value)] if isinstance(thing, list) else [thing]


# What is in the file


def test_the_file_holds_the_disclosed_columns_and_their_own_bins_only(part, tmp_path):
    body = body_of(disclosed(part, policy(most_bins=5)), tmp_path)
    assert set(body) == {"model", "party", "tells", "columns"}
    assert [(c["number"], c["name"], c["description"]) for c in body["columns"]] == [
        (INCOME, "income", TOLD["income"]),
        (PLAN, "plan", TOLD["plan"]),
    ]
    income, plan = body["columns"]
    assert len(income["edges"]) <= 4
    own = np.flatnonzero(part.column == INCOME)
    assert sorted(map(tuple, income["cuts"])) == sorted(
        (*place, edge)
        for place, edge in zip(
            zip(part.tree[own].tolist(), part.node[own].tolist(), strict=True),
            agreed_edges(part.thresholds[own], 5)[1].tolist(),
            strict=True,
        )
    )
    assert plan["groups"] == [
        {"names": [name], "codes": [code]} for code, name in enumerate(part.columns[PLAN].categories)
    ]


def spoilt(part):
    """The part with all that is not disclosed changed: names, thresholds, ways of missing values, order of cuts."""
    hidden = ~np.isin(part.column, [INCOME, PLAN])
    columns = tuple(
        column if j in (INCOME, PLAN) else replace(column, name=f"other {j}") for j, column in enumerate(part.columns)
    )
    moved = np.where(hidden, part.thresholds * 3 + 1, part.thresholds).astype(np.float32)
    return replace(
        part, columns=columns, thresholds=moved, missing_left=~part.missing_left, after=None, hidden=not part.hidden
    )


def tells_more(part, tmp_path) -> bool:
    """Whether a file depends on what is not disclosed."""
    for path, of in ((tmp_path / "a.json", part), (tmp_path / "b.json", spoilt(part))):
        save_meanings(module.disclosed(of, policy()), path)
    return (tmp_path / "a.json").read_bytes() != (tmp_path / "b.json").read_bytes()


def test_what_is_not_disclosed_does_not_change_a_byte_of_the_file(part, tmp_path):
    assert (~np.isin(part.column, [INCOME, PLAN])).sum() > 5, "there must be hidden cuts"
    assert not tells_more(part, tmp_path)


def _names_all(part, rules, own_table=None):
    everything = {column.name: "?" for column in part.columns}
    return _disclosed(part, replace(rules, disclose=everything), own_table)


def _with_missing(part, rules, own_table=None):
    told = _disclosed(part, rules, own_table)
    return msgspec.structs.replace(told, tells=told.tells + str(part.missing_left.sum()))


def _with_all_thresholds(part, rules, own_table=None):
    told = _disclosed(part, rules, own_table)
    first = msgspec.structs.replace(told.columns[0], edges=tuple(np.unique(part.thresholds).tolist()))
    return msgspec.structs.replace(told, columns=(first, *told.columns[1:]))


_disclosed = disclosed


@pytest.mark.parametrize("sabotage", [_names_all, _with_missing, _with_all_thresholds])
def test_a_file_that_tells_more_is_noticed(part, tmp_path, monkeypatch, sabotage):
    monkeypatch.setattr(module, "disclosed", sabotage)
    assert tells_more(part, tmp_path)


def test_no_threshold_of_any_column_is_in_the_file_to_its_last_digit(part, tmp_path):
    numbers = {
        leaf for leaf in leaves_in(body_of(disclosed(part, policy(most_bins=6)), tmp_path)) if isinstance(leaf, float)
    }
    assert numbers
    assert not numbers & set(part.thresholds[part.thresholds != 0].astype(float).tolist())


def test_thresholds_between_the_same_edges_leave_the_same_file(part, tmp_path):
    """Nothing finer than the bins is told: cuts may move as long as they keep their edge."""
    told = disclosed(part, policy(most_bins=4))
    own = np.flatnonzero((part.column == INCOME) & (part.thresholds < GREATEST))
    chosen = {float(f"{t:.9g}") for t in told.columns[0].edges}
    places, counts = np.unique(part.thresholds[own], return_counts=True)
    inner = [t for t in places if min(abs(float(t) - edge) / edge for edge in chosen) > 0.1]
    assert inner, "some cut must lie apart from the edges"
    moved = part.thresholds.copy()
    moved[part.thresholds == inner[0]] *= np.float32(1 + 1e-6)
    assert disclosed(replace(part, thresholds=moved), policy(most_bins=4)) == told
    assert counts.sum() == len(own)


def test_with_one_bin_nothing_is_told_of_cuts(part, tmp_path):
    for column in body_of(disclosed(part, policy(most_bins=1)), tmp_path)["columns"]:
        assert (column["edges"], column["cuts"], column["groups"]) == ([], [], [])


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (Policy(), "discloses no column; name those"),
        (Policy(disclose={}), "discloses no column"),
        (Policy(disclose={"incme": "typo"}), "discloses 'incme', which is no column of this party"),
    ],
)
def test_a_policy_that_discloses_nothing_or_what_is_not_there_is_refused(part, rules, sentence):
    with pytest.raises(PolicyError, match=sentence):
        disclosed(part, rules)


def test_the_owners_rows_make_bins_of_about_equal_counts():
    """With many cuts: each of four bins has between an eighth and a half of the rows."""
    _, _, part, _ = trained(n_trees=30)
    own_table = partition.columns(table_of(), share=[[0], [1, 2, 3, 4]])["party2"]
    edges = disclosed(part, policy(most_bins=4), own_table).columns[0].edges
    rows = own_table.values[:, INCOME]
    counts = np.histogram(rows[~np.isnan(rows)], [-np.inf, *edges, np.inf])[0] / (~np.isnan(rows)).sum()
    assert len(counts) == 4
    assert counts.min() > 1 / 8
    assert counts.max() < 1 / 2


# Reading it back


def test_a_file_is_read_back_as_it_was_written(part, tmp_path):
    told = disclosed(part, policy())
    save_meanings(told, tmp_path / "m.json")
    assert load_meanings(tmp_path / "m.json") == told


def test_a_damaged_or_strange_file_is_refused(part, tmp_path):
    save_meanings(disclosed(part, policy()), tmp_path / "m.json")
    content = (tmp_path / "m.json").read_bytes()
    with pytest.raises(ModelError, match="changed or damaged"):
        decoded(content.replace(b"euros", b"francs"), "m.json")
    with pytest.raises(ModelError, match="of version 9; this hedgerow reads version 1"):
        decoded(content.replace(b'"hedgerow meanings":1', b'"hedgerow meanings":9'), "m.json")
    for strange in (b"", b"{}", b"[1]", content[:-9], b"\xff"):
        with pytest.raises(ModelError, match="not a file of meanings"):
            decoded(strange, "m.json")
    with pytest.raises(ModelError, match="Cannot read"):
        load_meanings(tmp_path / "none.json")


@given(st.data())
def test_a_file_with_any_bytes_changed_is_refused(run, data):
    told = disclosed(run[2], policy(most_bins=4))
    body = msgspec.json.encode(told)
    file = module._File(1, hashlib.sha256(body).hexdigest(), msgspec.Raw(body))
    content = bytearray(msgspec.json.encode(file))
    at = data.draw(st.integers(0, len(content) - 1))
    before = bytes(content)
    content[at] = data.draw(st.integers(0, 255))
    if bytes(content) != before:
        with pytest.raises(ModelError, match=r"not a file of meanings|changed or damaged|of version"):
            decoded(bytes(content), "m.json")


WRONG = {
    "falling edges": {"edges": (3.0, 1.0)},
    "an edge that is not there": {"cuts": ((0, 0, 99),)},
    "a cut twice": {"cuts": ((0, 0, 0), (0, 0, 0))},
    "groups of numbers": {"groups": (module.Group(("a",), (0,)),)},
    "a number below zero": {"number": -1},
}


@pytest.mark.parametrize("how", WRONG)
def test_bins_that_cannot_be_are_refused(part, tmp_path, how):
    told = disclosed(part, policy())
    first = msgspec.structs.replace(told.columns[0], **WRONG[how])
    save_meanings(msgspec.structs.replace(told, columns=(first, *told.columns[1:])), tmp_path / "m.json")
    with pytest.raises(ModelError, match="its bins of 'income' cannot be"):
        load_meanings(tmp_path / "m.json")


@pytest.mark.parametrize("hidden", [False, True])
def test_the_active_party_finds_the_edge_of_every_cut(hidden):
    plan = {"protection": "lattice", "hidden_rows": True} if hidden else {}
    _, model, part, whole = trained(table_of(200), n_trees=3, **plan)
    assert part.hidden == hidden
    told = disclosed(part, policy(most_bins=200))
    found = by_column(model, {"m": told})
    assert {column: meaning.name for column, meaning in found.items()} == {1: "income", 4: "plan"}
    nearest, at = edges_of_cuts(model, 1, found[1]), np.flatnonzero(model.forest.columns == 1)
    real = whole.forest.thresholds[at] < GREATEST
    assert real.sum() > 2
    edges = np.array(found[1].edges)
    assert np.array_equal(
        np.argsort(edges[nearest[real]], kind="stable"), np.argsort(whole.forest.thresholds[at][real], kind="stable")
    )


def test_the_active_part_of_a_whole_model_is_what_the_active_party_has(run):
    _, model, _, whole = run
    alone = active_part_of(whole)
    assert alone.forest == model.forest
    assert (alone.columns, alone.ownership) == (model.columns, model.ownership)


def test_files_of_another_model_party_or_column_are_refused(run):
    _, model, part, _ = run
    told = disclosed(part, policy())
    with pytest.raises(ModelError, match="belongs to another model"):
        by_column(model, {"m": msgspec.structs.replace(told, model="x")})
    with pytest.raises(ModelError, match="'shop' is no party of the model"):
        by_column(model, {"m": msgspec.structs.replace(told, party="shop")})
    with pytest.raises(ModelError, match="another file tells of"):
        by_column(model, {"m": told, "n": told})
    far = msgspec.structs.replace(told.columns[0], number=4)
    with pytest.raises(ModelError, match="a column that 'telco' does not have"):
        by_column(model, {"m": msgspec.structs.replace(told, columns=(far,))})
    fewer = msgspec.structs.replace(told.columns[0], cuts=told.columns[0].cuts[1:])
    with pytest.raises(ModelError, match="do not tell of every cut"):
        edges_of_cuts(model, 1, fewer)
    with pytest.raises(ModelError, match="not one of a vertical run"):
        by_column(replace(model, ownership=None), {"m": told})


# Bins


@given(st.lists(st.floats(-1e6, 1e6, width=32), max_size=60), st.integers(1, 20))
def test_edges_are_few_rise_and_stay_near_places_of_cuts(thresholds, most):
    cuts = np.array(thresholds, np.float32)
    edges, nearest = agreed_edges(cuts, most)
    assert len(edges) < most
    assert list(edges) == sorted(set(edges))
    assert len(nearest) == len(cuts)
    if edges:
        assert nearest.min() >= 0
        assert nearest.max() < len(edges)
        assert (np.diff(nearest[np.argsort(cuts, kind="stable")]) >= 0).all(), "cuts keep their order"


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20, unique=True))
def test_rounded_edges_keep_apart(edges):
    ordered = np.sort(np.array(edges, np.float32).astype(np.float64))
    ordered = np.unique(ordered)
    found = rounded(ordered)
    assert len(found) == len(ordered)
    assert all(low < high for low, high in pairwise(found))


def test_edges_have_as_few_digits_as_keep_them_apart():
    assert rounded(np.array([1987.43, 4021.7, 9949.1])) == (2000.0, 4000.0, 10000.0)
    assert rounded(np.array([1987.43, 1999.9])) == (1990.0, 2000.0)
    assert rounded(np.array([0.0])) == (0.0,)


def test_a_cut_that_tells_missing_values_apart_is_behind_all_edges():
    edges, nearest = agreed_edges(np.array([1, GREATEST, 2], np.float32), 16)
    assert edges == (1.0, 2.0)
    assert nearest.tolist() == [0, 2, 1]


def test_bins_are_named_by_their_edges():
    assert edge_labels(()) == ("any value",)
    assert edge_labels((1.0, 2.5)) == ("below 1", "1 to 2.5", "2.5 and more")
    assert edge_labels((0.0, 5e-10, 3.0)) == ("below 0", "about 0", "0 to 3", "3 and more")


def test_categories_that_go_the_same_way_are_grouped():
    sets = np.array([[0b010101, 0, 0, 0], [0b010101, 0, 0, 0]], np.uint64)
    assert category_groups(6, sets, 2) == [[1, 3, 5], [0, 2, 4]]
    assert category_groups(6, sets, 1) == []
    assert category_groups(3, sets, 16) == [[0], [1], [2]]
    with pytest.raises(ParameterError, match="from 1 on; it is 0"):
        category_groups(3, sets, 0)


def test_the_names_of_the_table_are_those_of_the_run(run):
    assert tuple(NAMES[1:]) == tuple(column.name for column in run[2].columns)
