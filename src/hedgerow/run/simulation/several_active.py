"""Several active parties in this process: a hybrid run of each, with the passive parties that have some of its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hedgerow.agreement.active_parties import Bagged
from hedgerow.agreement.plan import Goal
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.bag import Bag
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.session.notify import Tell, silent
from hedgerow.run.simulation.fit import fit_parties
from hedgerow.run.simulation.party_tables import tables_of, unused_labels
from hedgerow.trees.boost import Callback
from hedgerow.trees.params import TreeParams


def fit_bag(
    parties: Any,
    eval_set: Any,
    bagged: Bagged,
    goal: Goal,
    params: TreeParams,
    *,
    notes: list[str],
    threads: int = 1,
    callbacks: Sequence[Callback] = (),
    tell: Tell = silent,
) -> Bag:
    """A model of each active party; nothing passes from one of them to another."""
    tables = tables_of(parties)
    valid = {} if eval_set is None else tables_of(eval_set)
    check_actives(bagged.active, tables)
    passive = {name: table for name, table in tables.items() if name not in bagged.active}
    notes += unused_labels(None, passive)
    passive = {name: replace(table, labels=None) for name, table in passive.items()}
    models = {}
    for active in bagged.active:
        beside, said = sharing_rows(active, tables[active], passive), list[str]()
        own_valid = {name: table for name, table in valid.items() if name not in set(bagged.active) - {active}}

        def named(sentence: str, active: str = active) -> None:
            tell(f"{active}: {sentence}")

        models[active] = fit_parties(
            {active: tables[active], **beside}, own_valid or None, bagged.of(active, beside), goal, params,
            notes=said, threads=threads, callbacks=callbacks, tell=named,
        )  # fmt: skip
        notes += [f"{active}: {sentence}" for sentence in (*left_out(active, passive, beside), *said)]
    return Bag(models, bagged.vote)


def check_actives(active: Sequence[str], tables: Mapping[str, Table]) -> None:
    """Refuse active parties that are not there, or whose columns differ."""
    for name in active:
        if name not in tables:
            raise ParameterError(f"The active party {name!r} is not among the parties; give its table.")
    first, *others = active
    known = {column.name: column.kind for column in tables[first].columns}
    for name in others:
        own = {column.name: column.kind for column in tables[name].columns}
        odd = sorted(set(known.items()) ^ set(own.items()))
        if odd:
            raise DataError(
                f"Active parties have the same columns, but {odd[0][0]!r} is not the same at {first!r} and {name!r}; "
                "make it the same at both, or leave it out."
            )


def sharing_rows(active: str, own: Table, passive: Mapping[str, Table]) -> dict[str, Table]:
    """The passive parties that have some of an active party's rows; only whoever simulates all parties can compare."""
    ids = set(texts_of(own))
    beside = {name: table for name, table in passive.items() if not ids.isdisjoint(texts_of(table))}
    if not beside:
        raise DataError(
            f"No passive party has any of the rows of {active!r}; check that all write ids alike, or leave {active!r} "
            "out of the active parties."
        )
    return beside


def left_out(active: str, passive: Mapping[str, Table], beside: Mapping[str, Table]) -> list[str]:
    """Which passive parties take no part in an active party's run, in sentences."""
    return [
        f"Party {name!r} has none of the rows of {active!r} and is left out." for name in passive if name not in beside
    ]
