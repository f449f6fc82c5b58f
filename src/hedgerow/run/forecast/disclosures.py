"""Who will see what in a run, before it runs: as `messages` declares it, and what no protection takes away."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from hedgerow.agreement import dp_vertical
from hedgerow.agreement.dp_words import NO_EPSILON, promise_of
from hedgerow.agreement.options import (
    LEAST_CUT_ROWS,
    Horizontal,
    Hybrid,
    Method,
    Prediction,
    SealedPrediction,
    Vertical,
    WholeTrees,
)
from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.data.names import some
from hedgerow.protocols.vertical.columns import ACTIVE_ONLY
from hedgerow.protocols.vertical.private_cuts import has_private_columns
from hedgerow.run.folder.manifest import told

HOW = {
    "clear": "as it is",
    "masked": "in sum only",
    "noised": "in sum only, with noise",
    "sealed": "sealed",
    "opened": "opened",
    "blinded": "not at all; equal ids match",
}
PASSIVE = "passive parties"
Kind = type[m.Request] | type[m.Answer]
JOINING: tuple[Kind, ...] = (m.Propose, m.Consent, m.Introduce, m.Facts, m.Agree, m.Done, m.Farewell)
DRIVERS = (m.DRIVER, m.ACTIVE)
ALIGNING: tuple[Kind, ...] = (
    m.AskSetSize, m.SetSize, m.BeginBlinding, m.AskBlinded, m.BlindedIds, m.BlindIds, m.MarkCommon, m.Marks,
)  # fmt: skip
_OF_SUMS = (
    "The driver reads the sums over all parties of a tree; "
    "if it colludes with all parties but one, it can compute that party's sums."
)


class Sight(NamedTuple):
    """What a role reads in a message."""

    who: str
    message: str
    how: str
    what: str


def used(plan: Plan) -> tuple[Kind, ...]:
    """The messages of this plan."""
    return MESSAGES[type(plan.method)](plan)


def _vertical_messages(plan: Plan) -> tuple[Kind, ...]:
    probed: tuple[Kind, ...] = (m.Probe, m.Echo) if plan.measures else ()
    joining = (*probed, *(kind for kind in JOINING if kind not in (m.Agree, m.Farewell)))
    ids = ALIGNING if plan.method.aligns else _linking(plan) if plan.method.links else ()
    sums = m.AllowedSums if plan.params.min_child_rows > 1 else m.SealedSums
    if has_private_columns(plan):
        return (*joining, *ids, m.AskColumns, m.OwnColumns, m.AskBatch, m.BatchSums, m.KeepPart)
    level: tuple[Kind, ...] = (m.AskSealedSums, sums, m.AskSides, m.Sides)
    if plan.method.draws_cuts:
        level = (m.AskDrawnSides, m.Sides)
    if plan.groups:
        counted = m.PlainSums if plan.method.plain else m.MaskedSums
        asked = () if _all_share(plan) else (m.AskColumns, m.OwnColumns)
        columns = (*asked, m.Agree, m.AskCounts, counted, m.ShareColumns)
        return (*joining, *ids, *columns, m.BeginSealed, *level, m.EndRound, m.KeepPart)
    if plan.method.hidden_rows:
        level = (m.AskHiddenSums, m.SealedSums, m.AskHiddenSides, m.HiddenSides)
    return (*joining, *ids, m.AskColumns, m.OwnColumns, m.BeginSealed, *level, m.EndRound, m.KeepPart)


def _all_share(plan: Plan) -> bool:
    """Whether no passive party has columns of its own."""
    return sum(map(len, plan.groups)) == len(plan.answering)


def _linking(plan: Plan) -> tuple[Kind, ...]:
    ids = (m.LinkIds, m.LinkedIds) if not plan.method.shows_ids else (m.ShowIds, m.HeldIds)
    return (m.BeginLink, m.LinkSize, *ids, m.LinkCounts)


def _horizontal_messages(plan: Plan) -> tuple[Kind, ...]:
    names = (*ALIGNING, m.AskProofs, m.Proofs, m.AskCommonColumns, m.CommonColumns)
    joining = (*JOINING, *names) if plan.method.private_names else JOINING
    dp = plan.method.dp
    if dp is not None and dp.promises:
        sums = (m.AskNoisedSums,) if dp.public_trees else (m.AskNoisedRoot, m.AskNoisedLevel)
        return (*joining, m.AskNoisedCounts, m.BeginNoised, *sums, m.NoisedSums)
    if plan.opener:
        return (*joining, m.Lead, m.FromOpener, m.SealedWords, m.PassSum, m.ToEveryParty, m.RoundGrown, m.GoOn, m.Led)
    summed = m.MaskedSums if plan.method.masked else m.PlainSums
    local = (m.AskLocalCuts, m.LocalCuts) if plan.method.local_cuts else ()
    moments = (m.AskMoments,) if plan.goal.base_score is None else ()
    ends = (m.FinishRound, *((m.NextRound,) if plan.joins_rounds else ()))
    noised = (m.NoisedSums,) if dp is not None else ()
    return (*joining, m.AskCounts, *local, *moments, m.Begin, m.AskHistograms, m.AskLeafSums, *ends, summed, *noised)


def _score_messages(plan: Plan) -> tuple[Kind, ...]:
    known = (m.AskKnown, m.Known) if plan.once else ()
    return (m.Propose, m.Consent, *known, m.BeginScores, m.ScoresReady, m.AskScores, m.Scores)


MESSAGES: Mapping[type[Method], Callable[[Plan], tuple[Kind, ...]]] = {
    Horizontal: _horizontal_messages,
    WholeTrees: lambda _: (*JOINING, m.AskTrees, m.OwnTrees),
    Vertical: _vertical_messages,
    Hybrid: _vertical_messages,
    SealedPrediction: _score_messages,
}


def sights(plan: Plan) -> list[Sight]:
    """What the driver reads of each party, then what parties read; a line for each message and how it travels."""
    routes = {kind.__name__: m.ROUTES[kind] for kind in used(plan)}
    lines = [line for line in told(plan.method) if line.message in routes]
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for line in sorted(lines, key=lambda line: routes[line.message].to not in DRIVERS):
        to = routes[line.message].to
        grouped.setdefault((_who(plan, to), line.message, HOW[_how(plan, to, line.how)]), []).append(line.tells)
    return [Sight(*key, " · ".join(dict.fromkeys(tells))) for key, tells in grouped.items()]


def _who(plan: Plan, to: m.Role) -> str:
    """The receivers in a run of this plan."""
    if to in DRIVERS:
        return plan.active or to.name
    if to == m.OPENER:
        return plan.opener
    return PASSIVE if to == m.EVERY_PASSIVE or (plan.active and to == m.EVERY_PARTY) else to.name


def _how(plan: Plan, to: m.Role, how: m.How) -> str:
    """How a field is read: what is sealed, the active party or opener opens; without encryption everybody reads it."""
    if how != "sealed":
        return how
    if plan.opener:
        return "opened" if to == m.OPENER else "sealed"
    if plan.method.plain:
        return "clear"
    return "opened" if to in DRIVERS else "sealed"


def leaks(plan: Plan) -> Iterator[str]:
    """What is still disclosed in spite of the protection, beside what the method's `warnings` say of two parties."""
    return LEAKS[type(plan.method)](plan)


def _of_names(plan: Plan) -> Iterator[str]:
    if not plan.method.private_names:
        yield "Everybody learns the columns' names, the categories and the classes of all parties together."
        return
    yield "Everybody learns the names of the columns that all parties have, their categories, and all classes."
    yield "Everybody learns how many columns each party has; the driver also how many any of them share."
    yield "A party that brings names which it only guesses learns which of them all others have."


def _by_rows(plan: Plan) -> Iterator[str]:
    if plan.method.dp is not None and not plan.method.dp.promises:
        yield from NO_EPSILON
    elif plan.method.dp is not None:
        yield from promise_of(plan, plan.method.dp)
        yield "Everybody learns names of columns, and what is made of noised sums: cut points, scores and the trees."
        yield "The driver sees sizes and times of messages; only the time that a party works depends on its rows."
        return
    yield from _of_names(plan)
    if plan.method.plain:
        yield "Nothing is protected: the driver reads each party's own sums, from which rows can be reconstructed."
    elif plan.opener:
        yield from _of_opener(plan)
    else:
        yield _OF_SUMS
    if plan.only_sums:
        yield from _of_sets(plan)
    if plan.method.local_cuts:
        yield "The driver reads each party's own quantiles, some of which are one person's value."
    elif plan.params.min_cut_rows < LEAST_CUT_ROWS:
        yield f"Cut points tell apart as few as {plan.params.min_cut_rows} rows, so some may be one person's value."
    if plan.goal.follow:
        yield "The metric on the validation rows of all parties together is known after every tree."
    yield "The driver sees sizes and times of messages; every party keeps all trees and cut points."


def _by_columns(plan: Plan) -> Iterator[str]:
    own = plan.active
    if plan.method.dp is not None:
        yield from dp_vertical.promise_of(plan.method.dp, plan)
    yield from _of_units(plan)
    described = _of_batch if has_private_columns(plan) else _of_draws if plan.method.draws_cuts else _of_sealed
    yield from described(plan)
    if plan.method.hidden_rows:
        yield f"{own} could ask for the sides of all rows at a cut, not only of those at its node; nothing shows it."
    if plan.params.min_child_rows > 1:
        yield (
            f"{own} learns of each node which cuts of numbered columns leave rows enough on both sides, and how many "
            "rows each category has (min_child_rows)."
        )
    if plan.params.min_cut_rows < LEAST_CUT_ROWS:
        yield f"Bins may hold as few as {plan.params.min_cut_rows} rows."
    if plan.vertical.local_trees:
        first = plan.vertical.local_trees
        yield f"Of the first {first} rounds of trees passive parties learn only that they were grown."
    if plan.method.party_share < 1:
        yield "Everybody knows which passive parties are drawn for a tree; the others learn only that it was grown."
    if plan.goes_on:
        yield "If a party is lost, the others are told, and sums and sides of the tree under way are asked for again."
    if plan.method.aligns:
        yield from _of_ids(plan)
    elif plan.method.links:
        yield from _of_links(plan)
    else:
        yield "All parties learn whether they have the same rows."
    yield "Everybody sees sizes and times of messages."


def _of_units(plan: Plan) -> Iterator[str]:
    if plan.units:
        yield "Trees depend on who holds a row: where that goes with the labels, holding a row tells of its label."
        yield "Rows that several parties hold are asked of one of them, by a hash of the id."


def _of_sealed(plan: Plan) -> Iterator[str]:
    own = plan.active
    if plan.method.plain:
        yield "Nothing is sealed: passive parties read every gradient, and with it the labels."
    yield from _of_nodes(plan)
    yield f"{own} learns the sums of gradients per node, numbered column and bin, some of them of one row."
    yield f"{own} learns the owner of each chosen cut and which rows go left there."
    yield "Sides and sums together tell most of which bin a row is in, of the columns that are cut often."
    if plan.method.passive_rows < 1:
        yield (
            f"Only {plan.method.passive_rows:g} of the rows, drawn for each round by a hash of the id, are sealed and "
            "summed, so a bin holds fewer of them at a node; a passive party knows which of its rows they are."
        )
    yield from _of_numbers(plan)
    yield f"{own} could seal made-up gradients that number the rows, and so read bins; the manifest bounds how many."


def _of_draws(plan: Plan) -> Iterator[str]:
    """Where cuts of passive columns are drawn: no gradient leaves the active party."""
    own = plan.active
    yield "No gradient leaves the active party, sealed or not, and no sums are opened."
    if ACTIVE_ONLY in plan.method.levels.rstrip(ACTIVE_ONLY):
        yield from _of_nodes(plan)
    else:
        yield "Passive parties learn nothing that depends on labels: no cut that does lies above theirs."
    yield f"{own} learns which rows go left at drawn cuts, and so the place of each linked row below its own cuts."
    yield "Sides of many trees together tell most of which bin a row is in."
    yield f"{own} cannot choose a cut, but it could move rows to nodes whose drawn cuts tell it more."
    yield "Whoever writes the plan could choose a seed by which some first cuts are what it likes."
    if plan.groups:
        yield f"Cut points of shared columns, among which cuts are drawn, are the word of {own}."
    yield from _of_numbers(plan)


def _of_batch(plan: Plan) -> Iterator[str]:
    """Where one batch of noised sums is all that is told of rows."""
    own = plan.active
    if plan.method.plain:
        yield "Nothing is sealed: passive parties read every gradient, and with it the labels."
    else:
        yield "Passive parties learn nothing of labels and gradients, nor how rows lie in any tree."
    yield f"{own} learns one sum of gradients and one of hessians for every numbered column and bin, with noise."
    yield f"{own} learns how many bins each column has; their cut points have noise, and stay with their owner."
    yield f"{own} could seal made-up gradients, longer than agreed, and so read bins of single rows."
    yield from _of_numbers(plan)


def _of_numbers(plan: Plan) -> Iterator[str]:
    for who in _sharing(plan):
        yield f"{_capital(who)} tell each other the names, kinds and categories of their columns, and share cut points."
    if plan.groups and _all_share(plan):
        return
    yield "Columns go by number, bins in true order; values and thresholds stay with their owner."
    yield "Names of columns stay with their owner too, unless its policy tells them (tell_columns)."


def _sharing(plan: Plan) -> list[str]:
    """Who shares columns, group by group."""
    all_alike = _all_share(plan) and len(plan.groups) == 1
    return ["all passive parties"] if all_alike else [some(group) for group in plan.groups]


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _of_ids(plan: Plan) -> Iterator[str]:
    yield "Everybody learns how many rows each party has, and which of its own rows all parties have."
    if len(plan.members) > 2:
        yield f"{plan.active} learns how many rows any of the parties share, and not which."
    most = plan.vertical.most_ids
    yield f"Whoever brings ids that it only guesses, at most {most:,}, learns which of them all others have."


def _of_links(plan: Plan) -> Iterator[str]:
    own = plan.active
    yield f"{own} learns which of its ids each passive party has, and how many ids that party has."
    yield f"A passive party learns how many different ids {own} has, which of its own are among them, and their rows."
    if plan.method.shows_ids:
        yield f"Passive parties read all ids of {own}."
    yield "A passive party sees of each tree where its own linked rows are, and that there are other nodes."
    if plan.method.shares and not plan.method.draws_cuts:
        for who in _sharing(plan):
            yield f"{own} opens sums over {who}; if it colludes with all but one, it can compute that one's."
    most = plan.vertical.most_ids
    yield f"Whoever brings ids that it only guesses, at most {most:,}, learns which of them the other side has."


def _of_paths(plan: Plan) -> Iterator[str]:
    own = plan.active
    yield f"{own} learns the path of every row through every tree, and which of the rows each party has."
    yield "Passive parties learn the ids of the rows, and which of them come to which of their own cuts."
    yield f"{own} could ask about cuts off a row's path, and so learn more of its bins; audit logs count what was told."
    bagged = plan.method.bagged if isinstance(plan.method, Prediction) else ()
    others = [one.active for one in bagged if one.active != own]
    if others:
        yield f"{own} has the trees that {', '.join(others)} gave it: thresholds of their columns, and leaf values."
        yield f"Passive parties learn that {own} predicts by models of {', '.join(others)}, who are not told of it."


def _of_scores(plan: Plan) -> Iterator[str]:
    own, bits = plan.active, math.log2(_modulus(plan))
    yield f"{own} learns a score for every row and class, of {bits:.3g} bits, and no row's way through the trees."
    yield "Passive parties learn the ids of the rows, and nothing of their scores."
    yield f"{own} could seal what it likes, and so choose what the bits of an answer tell; owners count answers by id."
    if len(plan.answering) > 1:
        yield f"{own} could ask one party alone, as if the others were absent, and so learn its part of a score."
        yield f"{own} and a passive party together can read what another chose in trees that both of them cut."
        yield f"If {own} makes slots up besides, they can read all that it chose, and its audit log shows only sizes."
    yield f"{own} learns by reasons what disclosed columns contribute, and where several answer, each one's own part."
    for group in plan.once:
        names, why = ", ".join(group), "have subtrees of their own" if plan.units else "share their columns"
        yield f"{own} learns which of the rows each of {names} has, which {why}; one of them is asked."
        yield f"Where {names} are not asked about a row that they have, they learn that another of them has it too."


def _modulus(plan: Plan) -> int:
    return plan.method.modulus if isinstance(plan.method, SealedPrediction) else 1


def _of_opener(plan: Plan) -> Iterator[str]:
    who = plan.opener
    colluding = "if it colludes with all others but one, it can compute that party's sums."
    yield f"{who} opens the sums over all parties of a tree; {colluding}"
    yield f"{who} and the driver together could open every party's own sums, from which rows can be reconstructed."
    yield "The driver reads no sums, but the cuts, and with the trees each node's gain, cover and value."


def _of_nodes(plan: Plan) -> Iterator[str]:
    if not plan.method.hidden_rows:
        alike = "something of the labels and of which rows are alike"
        yield f"Passive parties learn which rows share a node, and so {alike}."
        return
    yield "Passive parties do not learn which rows share a node, nor how many nodes there are."
    yield "Passive parties learn their own chosen cuts and the levels of these; the cuts depend on the labels."
    yield f"Passive parties do not see nodes; they hold {plan.active} to the number of sums and cuts of the plan."


def _of_sets(plan: Plan) -> Iterator[str]:
    if plan.method.party_share < 1:
        yield "Each tree sums over other parties, and comparing the sums tells something of those that differ."
    if plan.goes_on:
        yield "If a party is lost, sums before and after are over other parties, and comparing them tells of that one."


LEAKS: Mapping[type[Method], Callable[[Plan], Iterator[str]]] = {
    Horizontal: _by_rows,
    WholeTrees: _of_names,
    Vertical: _by_columns,
    Hybrid: _by_columns,
    Prediction: _of_paths,
    SealedPrediction: _of_scores,
}
"""What each method discloses."""
