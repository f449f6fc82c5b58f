"""Options of hybrid runs: each leads to the forest that one table, one bank or a vertical run would have led to."""

from dataclasses import replace

import numpy as np
import pytest
from test_hybrid import DEPTH, banks_of, hybrid, network
from test_vertical_choices import SAMPLED, mask_of, masked_model

from federated import Federation, labels, params_of, same, values
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from learnt import CASES

PARAMS = params_of(max_depth=DEPTH, n_estimators=6)


# Rounds that ask some parties, or none: the table with gaps from which the others' columns are kept away


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("kind", ["two", "many"])
@pytest.mark.parametrize(
    "plan", [{"local_trees": 2}, {"party_share": 0.5}, {"party_share": 0.4, "local_trees": 2}], ids=str
)
def test_rounds_that_ask_some_banks_are_those_of_one_table_without_the_others_columns(plan, kind, sampled):
    parties, whole = network(kind)
    params = replace(PARAMS, **(SAMPLED if sampled else {}))
    fed = hybrid(parties, params, **plan)
    mask = own_and(mask_of(fed))
    assert len({tuple(mask(round_)) for round_ in range(6)}) > 1
    assert same(fed.whole(), masked_model(whole, params, kind, mask))


def own_and(mask):
    """The active party's columns, which are never kept away, and those of the mask."""
    return lambda round_: mask(round_) | (np.arange(len(mask(round_))) < 3)


def test_a_bank_hears_of_a_round_without_it_only_that_it_was_grown():
    parties, _ = network()
    fed = hybrid(parties, PARAMS, local_trees=2)
    fed.model()
    assert {h.kind for h in fed.heard if getattr(h.message, "round", 9) < 2} == {"EndRound"}


# Banks that have all rows: the vertical run with the same options


ALIKE = {
    "local trees and a schedule": {"local_trees": 2, "levels": "AJPJ"},
    "drawn parties and a schedule": {"party_share": 0.5, "levels": "PJAA"},
    "both, and the passive parties last": {"party_share": 0.5, "local_trees": 1, "levels": "AAPP"},
    "nobody but the active party": {"levels": "AAAA"},
}


@pytest.mark.parametrize("case", ALIKE)
@pytest.mark.parametrize("kind", ["two", "many"])
def test_where_banks_have_all_rows_it_is_the_vertical_forest(case, kind):
    X, signal = values(250)
    table = Table.of(X, labels(kind, signal), ids=np.arange(250))
    parts = dict(zip(["network", "bank0", "bank1"], partition.columns(table, n=3).values(), strict=True))
    train, valid = np.arange(200), np.arange(200, 250)
    rng, options = np.random.default_rng(0), {"active": "network", **ALIKE[case]}
    params, goal = replace(PARAMS, subsample=0.7, learning_rate=0.9), Goal(follow=True, early_stopping_rounds=3)
    aligned = Federation(
        {name: part.take(train) for name, part in parts.items()}, params, goal, method="vertical", protection="plain",
        valid={name: part.take(valid) for name, part in parts.items()}, **options,
    )  # fmt: skip
    shuffled = {name: part.take(rng.permutation(250)) for name, part in parts.items()}
    shuffled["network"] = parts["network"].take(train)
    linked = hybrid(shuffled, params, goal, valid={"network": parts["network"].take(valid)}, **ALIKE[case])
    assert same(linked.whole(), aligned.whole())


# Banks that share columns: one bank that has the rows of all


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_model_is_that_of_one_bank_if_banks_share_their_columns(case):
    kind, goal, more = CASES[case]
    if more.get("min_child_rows", 1) > 1:
        pytest.skip("no passive party can count rows that it lacks")
    if "monotone_constraints" in more:
        more = {**more, "monotone_constraints": (1, 0, -1, 1, 0, -1)}
    params = params_of(**{"max_depth": DEPTH, **more})
    levels = ("A" + "J" * (params.max_depth - 1))[-params.max_depth :] if params.max_depth > 1 else "J"
    split, merged = banks_of(kind=kind, covered=0.8)
    one = hybrid(merged, params, Goal(**goal), levels=levels, shared=False).whole()
    several = hybrid(split, params, Goal(**goal), levels=levels, shared=True).whole()
    assert several.forest == one.forest
    assert several.history == one.history
    assert (one.forest.columns >= 3).any()


@pytest.mark.parametrize("levels", ["PPAA", "AAPP", "AJPJ", "JJJJ"])
@pytest.mark.parametrize("kind", ["two", "many", "numbers"])
def test_schedules_local_trees_samples_and_early_stopping_go_together(levels, kind):
    split, merged = banks_of(n=500, kind=kind, covered=0.8)
    own, train, valid = split["network"], np.arange(350), np.arange(350, 500)
    params = params_of(max_depth=DEPTH, n_estimators=12, subsample=0.7, learning_rate=1.2)
    goal = Goal("squared" if kind == "numbers" else None, follow=True, early_stopping_rounds=2)

    def trained(parties, **options):
        fed = hybrid(
            {**parties, "network": own.take(train)}, params, goal, valid={"network": own.take(valid)},
            levels=levels, local_trees=2, **options,
        )  # fmt: skip
        return fed.whole()

    one, several = trained(merged, shared=False), trained(split, shared=True)
    assert (several.forest, several.history) == (one.forest, one.history)
    assert (several.forest.first(2 * several.loss.n_trees).columns < 3).all()
    assert (several.forest.columns >= 3).any()


SHADES = ("red", "blue", "green", "grey", "black", "white")


def shaded(tables, known=SHADES):
    """Accounts with a category that labels depend on, and gaps; a bank need not know of all."""
    every = sorted({one for name, table in tables.items() if name != "network" for one in table.ids.tolist()})
    drawn = np.random.default_rng(3).integers(0, len(known) + 1, len(every))
    out, shade = {}, dict(zip(every, drawn.tolist(), strict=True))
    for name, table in tables.items():
        if name == "network":
            dark = np.array([shade.get(one, 0) % 3 == 0 for one in table.ids.tolist()])
            out[name] = replace(table, labels=np.where(dark, 1 - np.asarray(table.labels), table.labels))
            continue
        codes = np.array([shade[one] for one in table.ids.tolist()])
        cells = np.array([*known, None], object)[codes]
        frame = {n: np.asarray(table.values)[:, i] for i, n in enumerate(table.names)} | {"shade": cells}
        out[name] = Table.of(pandas.DataFrame(frame), ids=table.ids)
    return out


pandas = pytest.importorskip("pandas")


@pytest.mark.parametrize("protection", ["plain", "lattice", "paillier"])
def test_categories_and_gaps_are_those_of_all_banks(protection):
    """Not every bank has accounts of every category."""
    n = 400 if protection == "plain" else 150
    split, merged = banks_of(n_banks=3, n=n, covered=0.8, n_accounts=40)
    split, merged = shaded(split), shaded(merged)
    kinds = [{c for c in t.values[:, 3].tolist() if c == c} for name, t in split.items() if name != "network"]
    assert len({frozenset(found) for found in kinds}) > 1
    params = params_of(max_depth=3, n_estimators=2, min_cut_rows=1)
    one = hybrid(merged, params, levels="JJJ", shared=False).whole()
    several = hybrid(split, params, levels="JJJ", shared=True, protection=protection, key_bits=2048).whole()
    assert several.forest == one.forest
    assert (one.forest.columns == 6).any(), "categories must be cut"


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
def test_under_encryption_classes_and_local_trees_are_the_same(protection):
    split, merged = banks_of(n_banks=3, n=120, n_accounts=40, kind="many", covered=0.8)
    params = params_of(max_depth=3, n_estimators=2)
    one = hybrid(merged, params, levels="AJJ", local_trees=1, shared=False).whole()
    several = hybrid(
        split, params, protection=protection, levels="AJJ", local_trees=1, shared=True, key_bits=2048
    ).whole()
    assert several.forest == one.forest


# What cannot be


REFUSED = {
    "as many local trees as trees": ({"local_trees": 6}, "local_trees must be from 0 to below n_estimators"),
    "a share of nobody": ({"party_share": 0.0}, "party_share must be above 0"),
    "drawn parties that share": ({"party_share": 0.5, "shared": True}, "over different sets of parties"),
    "going on without one that shares": ({"on_loss": "continue", "shared": True}, "over different sets of parties"),
    "hidden rows": ({"hidden_rows": True}, "hidden_rows needs rows that all parties have"),
    "a word for a loss": ({"on_loss": "go on"}, "on_loss must be"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_in_one_sentence(case):
    options, sentence = REFUSED[case]
    split, _ = banks_of()
    with pytest.raises(ParameterError, match=sentence):
        hybrid(split, PARAMS, **options)
