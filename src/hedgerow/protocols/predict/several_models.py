"""The active party's side of a prediction by the models of several active parties, asked about together.

    active (drives)                          passive (each)
    Propose(plan, the models' ids) ------->  checks that it has its part of each that names it
                               <-----------  Consent
    AskKnown(ids)              ----------->  once for all models
                               <-----------  Known
  at most once a level, for all rows and all trees of all models:
    AskWays(cuts, rows)  to the owners --->  trees are counted over all models, as the plan lists them
                               <-----------  Sides

Sees in the clear.  As with one model: the active party the path of its rows through every tree, its own and those that
                    other active parties gave it; a passive party the ids of the rows, and which of them come to which
                    of its own cuts. The other active parties take no part, and learn nothing.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import BaggedModel, Prediction
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.corridor.messages import AskWays, Sides
from hedgerow.data.table import Table
from hedgerow.errors import ModelError
from hedgerow.model.bagged_part import bag_id
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.predict.active import Asking, Question, Walk, asked, batches, known_of, told_by
from hedgerow.protocols.predict.runs import ToldWays
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.session.notify import Tell
from hedgerow.trees.params import TreeParams

Leaves = NDArray[np.int32]


def bagged_plan(
    run: str, members: tuple[Member, ...], active: str, models: Sequence[Model], coordinator: str = ""
) -> Plan:
    """What the parties of a prediction by these models agree to."""
    listed = tuple(
        BaggedModel(own.model, own.active, model.forest.n_trees, asked(model))
        for model, own in ((model, ownership_of(model)) for model in models)
    )
    method = Prediction(active, bag_id([one.model for one in listed]), listed)
    return Plan(run, members, Goal(), TreeParams(), method, coordinator)


def present_in(models: Sequence[Model], active: str, absent: Sequence[str]) -> tuple[str, ...]:
    """Who is asked when these are absent; refuses a name that is no passive party's, and models that `active` answers.

    That is one in which it was a passive party: its part and its model would have to be asked in one process.
    """
    everyone = {party for model in models for party in ownership_of(model).parties}
    actives = {ownership_of(model).active for model in models}
    for name in absent:
        if name not in everyone - actives:
            raise ModelError(
                f"{name!r} is no passive party of the models; they have "
                f"{', '.join(map(repr, sorted(everyone - actives)))}."
            )
    present = tuple(dict.fromkeys(party for model in models for party in asked(model) if party not in absent))
    if active in present:
        raise ModelError(f"{active!r} is a passive party of one of the models, and cannot predict by it.")
    return present


class AskingAll:
    """All models' ways down at once: each exchange has the questions of all of them."""

    def __init__(self, group: PartyGroup, models: Sequence[Model]) -> None:
        first = np.cumsum([0] + [model.forest.n_trees for model in models])
        self.group, self.models = group, models
        self.askings = [Asking(group, model, int(tree)) for model, tree in zip(models, first, strict=False)]

    def leaves(self, own_table: Table) -> list[Leaves]:
        """The node at which each row ends, for every tree of each model.

        What becomes known here: the way of each row at each cut on its path, and which rows the others have.
        """
        for model in self.models:
            model.check_gaps(own_table)
        own = [own_table.aligned(asking.own_columns) for asking in self.askings]
        ids, sizes = texts_of(own_table), [model.forest.n_trees for model in self.models]
        out = [np.empty((own_table.n_rows, n), np.int32) for n in sizes]
        for batch in batches(own_table.n_rows, sum(sizes)):
            keys, told = own_table.take(batch).row_keys(), known_of(self.group, ids[batch])
            walks = []
            for asking, table, n in zip(self.askings, own, sizes, strict=True):
                speakers = asking.speakers(told, keys)
                walks.append(asking.places(asking.values(table.take(batch), speakers), speakers, np.arange(n)))
            for into, leaves in zip(out, self._together(walks), strict=True):
                into[batch] = leaves
        return out

    def _together(self, walks: Sequence[Walk]) -> list[Leaves]:
        """All ways to their ends, one exchange for the questions that all have next."""
        ends: dict[int, Leaves] = {}
        questions: dict[int, dict[str, Question]] = {}
        answers: dict[int, dict[str, ToldWays]] = {}
        while len(ends) < len(walks):
            for i, walk in enumerate(walks):
                if i in ends:
                    continue
                try:
                    questions[i] = walk.send(answers[i]) if i in answers else next(walk)
                except StopIteration as end:
                    ends[i] = end.value
                    questions.pop(i, None)
            answers = self._exchange(questions)
        return [ends[i] for i in range(len(walks))]

    def _exchange(self, questions: Mapping[int, Mapping[str, Question]]) -> dict[int, dict[str, ToldWays]]:
        """Ask each party once what the models would ask it, and give each model the answers to its own questions."""
        of: dict[str, dict[int, Question]] = {}
        for i, own in questions.items():
            for party, question in own.items():
                of.setdefault(party, {})[i] = question
        answers: dict[int, dict[str, ToldWays]] = {i: {} for i in questions}
        requests = {party: _merged([one.request for one in asked_for.values()]) for party, asked_for in of.items()}
        for party, answer in (self.group.ask(requests, Sides) if requests else {}).items():
            for i, told in self._split(party, answer, of[party]).items():
                answers[i][party] = told
        return answers

    def _split(self, party: str, answer: Sides, questions: Mapping[int, Question]) -> dict[int, ToldWays]:
        """The ways that a party told, model by model: it tells the first of all models, then those that follow."""
        told = told_by(party, answer)
        counts = {i: self.askings[i].ways(party, one.cuts) for i, one in questions.items()}
        sizes = {i: next(count) for i, count in counts.items()}
        found: dict[int, list[NDArray[np.bool_]]] = {i: [] for i in questions}
        while sizes:
            step = {i: told.next(n) for i, n in sizes.items()}
            sizes = {}
            for i, left in step.items():
                found[i].append(left)
                with suppress(StopIteration):
                    sizes[i] = counts[i].send(left)
        told.end()
        return {
            i: told_by(party, Sides(np.packbits(np.concatenate(ways), bitorder="little"))) for i, ways in found.items()
        }


def _merged(requests: Sequence[AskWays]) -> AskWays:
    fields = ("tree", "node", "n_rows", "rows")
    return AskWays(**{name: np.concatenate([getattr(one, name) for one in requests]) for name in fields})


def ask_all(group: PartyGroup, models: Sequence[Model], own_table: Table, tell: Tell) -> list[Leaves]:
    """The leaves of all rows in each model; says of each party how many of the rows it does not have."""
    asking = AskingAll(group, models)
    leaves = asking.leaves(own_table)
    unknown = {party: n for one in asking.askings for party, n in one.unknown.items()}
    for party, n in unknown.items():
        if n and party in group.present:
            tell(f"{party!r} does not have {n} of the {own_table.n_rows} rows, which go the default way at its cuts.")
    return leaves
