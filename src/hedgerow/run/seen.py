"""Who will see what in a run, before it runs: as `messages` declares it, and what no protection takes away."""

from collections.abc import Iterator
from typing import NamedTuple

from hedgerow import messages as m
from hedgerow.federation import LEAST_CUT_ROWS
from hedgerow.plan import Plan
from hedgerow.run.manifest import told

HOW = {
    "clear": "as it is",
    "masked": "in sum only",
    "sealed": "sealed",
    "opened": "opened",
    "blinded": "not at all; equal ids match",
}
PASSIVE = "passive parties"


class Sight(NamedTuple):
    """What a role reads in a message."""

    who: str
    message: str
    how: str
    what: str


def used(plan: Plan) -> tuple[type[m.Request] | type[m.Answer], ...]:
    """The messages of this plan."""
    joining: tuple[type[m.Request] | type[m.Answer], ...] = (
        m.Propose, m.Consent, m.Introduce, m.Facts, m.Agree, m.Done, m.Farewell,
    )  # fmt: skip
    if plan.method == "vertical":
        kept = tuple(kind for kind in joining if kind not in (m.Agree, m.Farewell))
        level = (m.AskHiddenSums, m.SealedSums, m.AskHiddenSides, m.HiddenSides) if plan.hidden_rows else (
            m.AskSealedSums, m.SealedSums, m.AskSides, m.Sides,
        )  # fmt: skip
        return (*kept, m.AskColumns, m.OwnColumns, m.BeginSealed, *level, m.EndRound, m.KeepPart)
    if plan.method != "horizontal":
        return (*joining, m.AskTrees, m.OwnTrees)
    sums = m.MaskedSums if plan.protection == "masked" else m.PlainSums
    local = (m.AskLocalCuts, m.LocalCuts) if plan.cut_points == "local" else ()
    moments = (m.AskMoments,) if plan.goal.base_score is None else ()
    return (*joining, m.AskCounts, *local, *moments, m.Begin, m.AskHistograms, m.AskLeafSums, m.FinishRound, sums)


def sights(plan: Plan) -> list[Sight]:
    """What the driver reads of each party, then what every party reads; a line for each message and how it travels."""
    names = {message.__name__ for message in used(plan)}
    roles = {"party to driver": "driver", "driver to every party": "every party"}
    if plan.active:
        roles = {"party to driver": plan.active, "driver to every party": PASSIVE}
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for direction, who in roles.items():
        for line in told(plan.method):
            if line.direction == direction and line.message in names:
                grouped.setdefault((who, line.message, HOW[_how(plan, line)]), []).append(line.tells)
    return [Sight(*key, " · ".join(dict.fromkeys(tells))) for key, tells in grouped.items()]


def _how(plan: Plan, line: m.Disclosure) -> str:
    """How a field is read: what is sealed, the active party opens, and without encryption everybody reads it."""
    if line.how != "sealed":
        return line.how
    if plan.protection == "plain":
        return "clear"
    return "opened" if line.direction == "party to driver" else "sealed"


def leaks(plan: Plan) -> Iterator[str]:
    """What remains to be known in spite of the protection, beside what `RunFile.disclosed` says of two parties."""
    if plan.method == "vertical":
        yield from _by_columns(plan)
        return
    yield "Everybody learns the columns' names, the categories and the classes of all parties together."
    if plan.method != "horizontal":
        return
    if plan.protection == "plain":
        yield "Nothing is protected: the driver reads each party's own sums, from which rows can be reconstructed."
    else:
        yield from _of_sums(plan)
    if plan.cut_points == "local":
        yield "The driver reads each party's own quantiles, some of which are one person's value."
    elif plan.params.min_cut_rows < LEAST_CUT_ROWS:
        yield f"Cut points tell apart as few as {plan.params.min_cut_rows} rows, so some may be one person's value."
    if plan.goal.follow:
        yield "The metric on the validation rows of all parties together is known after every tree."
    yield "The driver sees sizes and times of messages; every party keeps all trees and cut points."


def _by_columns(plan: Plan) -> Iterator[str]:
    own = plan.active
    if plan.protection == "plain":
        yield "Nothing is sealed: passive parties read every gradient, and with it the labels."
    yield from _of_nodes(plan)
    yield f"{own} learns the sums of gradients per node, numbered column and bin, some of them of one row."
    yield f"{own} learns the owner of each chosen cut and which rows go left there."
    yield "Sides and sums together tell most of which bin a row is in, of the columns that are cut often."
    yield "Columns go by number and bins in true order; names, values and thresholds stay with their owner."
    yield f"{own} could seal made-up gradients that number the rows, and so read bins; nothing prevents it."
    if plan.hidden_rows:
        yield f"{own} could ask for the sides of all rows at a cut, not only of those at its node; nothing shows it."
    if plan.params.min_cut_rows < LEAST_CUT_ROWS:
        yield f"Bins may hold as few as {plan.params.min_cut_rows} rows."
    yield "All parties learn whether they have the same rows; everybody sees sizes and times of messages."


def _of_nodes(plan: Plan) -> Iterator[str]:
    if not plan.hidden_rows:
        alike = "something of the labels and of which rows are alike"
        yield f"Passive parties learn which rows share a node, and so {alike}."
        return
    yield "Passive parties do not learn which rows share a node, nor how many nodes there are."
    yield "Passive parties learn their own chosen cuts and the levels of these; the cuts depend on the labels."
    yield f"Passive parties do not see nodes; they hold {plan.active} to the number of sums and cuts of the plan."


def _of_sums(plan: Plan) -> Iterator[str]:
    yield "The driver reads the sums over all parties of a tree; with all parties but one it could learn that one's."
    if plan.party_share < 1:
        yield "Each tree sums over other parties, and comparing the sums tells something of those that differ."
    if plan.on_loss == "continue":
        yield "If a party is lost, sums before and after are over other parties, and comparing them tells of that one."
