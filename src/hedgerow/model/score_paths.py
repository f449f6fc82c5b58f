"""Whether a score tells the ways that a row takes through a party's cuts: the models whose scores do are refused.

Whoever asks for sealed scores has the leaf values and knows its own columns of a row. In each tree that leaves it some
leaves, one for each way through the other party's cuts; the score is the sum of one leaf of each tree. A score that
only one combination of ways has tells all of them. The extreme scores always have one combination, so what counts is
how likely a row has a score that few combinations share: at most `MOST_TOLD`.

Taken for granted: the ways in different trees are independent of each other, and as likely as the covers say. In truth
they hang together, since the same columns are cut in many trees, and fewer combinations occur than are counted here. So
the rule refuses models that are too small for anybody, and promises nothing for others: against one who knows
the combinations of other rows, such as those it trained on, a score of many bits tells a combination that it knows.
`repeated_ways` tells an owner how many of its rows have such a one.

Sides at the cuts of all other parties are taken as known; they are drawn as likely as the covers say. Where parties
have subtrees of their own, a party is asked about rows of its unit only, which all come to the subtrees of that unit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.policy import Policy
from hedgerow.errors import PolicyError, PrivacyError
from hedgerow.model.candidates import leaves_of, reached
from hedgerow.model.fixed_scores import BITS, FixedScores, fixed_scores
from hedgerow.model.model import Model
from hedgerow.model.part import Part, ownership_of

LEAST_PATHS = Policy().least_paths
MOST_TOLD = 0.01
"""The largest share of rows that may have a score with fewer combinations than asked for."""
DRAWS = 16
"""Rows whose sides at the cuts of all others are drawn."""
MANY = 1e30
"""Combinations that are not counted further: below it, sums of counts are exact as far as anyone asks."""


@dataclass(frozen=True)
class Ways:
    """The ways of one row through a party's cuts in a tree: where they lead, and how likely."""

    weights: NDArray[np.int64]
    chances: NDArray[np.float64]


@dataclass(frozen=True)
class PathFigures:
    """What scores of a model tell of the ways through one party's cuts."""

    told: float
    """The share of rows with a score (of any class) that fewer combinations have than asked for."""
    guess: float
    """How often whoever takes the likeliest combination of all that have the score has the right one."""
    blind: float
    """How often the likeliest combination is right without a score."""
    n_trees: int
    """Trees that the party cuts."""


def path_figures(model: Model, party: str, least: int = LEAST_PATHS, bits: int = BITS) -> PathFigures:
    """What one score of each class tells."""
    fixed = fixed_scores(model, bits)
    found = np.array([_told(ways, least) for ways in _drawn_ways(model, fixed, party)])
    told, guess, blind = found.mean(axis=0) if len(found) else (0.0, 1.0, 1.0)
    return PathFigures(float(told), float(guess), float(blind), _n_trees(model, party))


def told_by_many(model: Model, party: str, answers: int, least: int = LEAST_PATHS, bits: int = BITS) -> float:
    """A bound of the share of rows whose answers, so many of each class, fewer combinations have than asked for."""
    drawn = _drawn_ways(model, fixed_scores(model, bits), party)
    shares = [min(1.0, sum(share_of_many(trees, least, answers * bits) for trees in classes)) for classes in drawn]
    return float(np.mean(shares)) if shares else 0.0


def share_of_many(trees: list[Ways], least: int, bits: float) -> float:
    """A bound of how likely the answers of a row, together of so many bits, are those of few combinations.

    There are at most two to the power of `bits` different tuples of answers. Those with fewer than `least` combinations
    have together at most so many times `least` of them, none likelier than the likeliest.
    """
    if least <= 0:
        return 0.0
    likeliest = sum(float(np.log2(ways.chances.max())) for ways in trees)
    return float(2.0 ** min(0.0, np.log2(least) + bits + likeliest))


def check_paths(model: Model, party: str, least: int = LEAST_PATHS, answers: int = 1, bits: int = BITS) -> None:
    """Refuse a model whose scores tell the ways of rows through a party's cuts; `answers` of each class to a row."""
    if answers == 1:
        told, how = path_figures(model, party, least, bits).told, "of its scores are"
    else:
        told, how = told_by_many(model, party, answers, least, bits), f"of its sets of {answers} answers may be"
    if told > MOST_TOLD:
        raise PrivacyError(
            f"Scores of this model would tell how rows go through the cuts of {party!r}: {told:.1%} {how} shared by "
            f"fewer than {least} combinations of ways, where {MOST_TOLD:.0%} is allowed (least_paths), with cuts in "
            f"{_n_trees(model, party)} of {model.forest.n_trees} trees; train more trees, or ask for fewer answers or "
            f"for scores of fewer bits than {bits}."
        )


def check_own_cuts(part: Part, policy: Policy) -> None:
    """Refuse, at the owner of a part, a model with so few of its cuts that each answer tells much of every one."""
    cuts, trees = len(part.tree), len(np.unique(part.tree))
    if not cuts:  # no answer depends on its values
        return
    if cuts < policy.least_own_cuts or trees < policy.least_own_trees:
        raise PolicyError(
            f"The model has {cuts} cuts of this party in {trees} trees, and its scores tell too much of each: this "
            f"party's policy asks for {policy.least_own_cuts} in {policy.least_own_trees} trees (least_own_cuts, "
            "least_own_trees); train more trees."
        )


def repeated_ways(part: Part, own_values: NDArray[np.float32], threads: int = 1) -> float:
    """The share of an owner's rows that go through all its cuts as another of its rows does.

    Their ways can be known from another row; those of rows with the same ways at the cuts that matter to a row of the
    active party are more.
    """
    if not len(own_values):
        return 0.0
    sides = np.packbits(reached(part, own_values, threads), axis=1)
    number = np.unique(sides, axis=0, return_counts=True)[1]
    return float(number[number > 1].sum() / number.sum())


def _n_trees(model: Model, party: str) -> int:
    return len(np.unique(np.searchsorted(model.forest.roots, np.flatnonzero(_own(model, party)), side="right")))


def _own(model: Model, party: str) -> NDArray[np.bool_]:
    """Which nodes are the party's cuts."""
    first, last = ownership_of(model).span(party)
    return (model.forest.columns >= first) & (model.forest.columns < last)


def _drawn_ways(model: Model, fixed: FixedScores, party: str) -> list[list[list[Ways]]]:
    """For each drawn row and class the ways in every tree that leaves more than one."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(DRAWS if model.forest.n_trees else 0):
        is_open, chance = _chances(model, party, rng)
        at = leaves_of(model)
        is_open, chance = is_open[at], chance[at]
        classes: list[list[Ways]] = [[] for _ in range(fixed.n_classes)]
        bounds = np.searchsorted(fixed.trees, np.arange(model.forest.n_trees + 1))
        for tree, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            open_here = np.flatnonzero(is_open[begin:end]) + begin
            if len(open_here) > 1:
                classes[tree % fixed.n_classes].append(Ways(fixed.weights[open_here], chance[open_here]))
        found.append(classes)
    return found


def _chances(model: Model, party: str, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which nodes a row may reach whose sides at all cuts but the party's are drawn, and how likely it does."""
    forest, own = model.forest, _own(model, party)
    is_open, chance = np.zeros(len(own), np.bool_), np.zeros(len(own))
    level = forest.roots[:-1].astype(np.int64)
    is_open[level], chance[level] = True, 1.0
    while len(level := level[forest.columns[level] >= 0]):
        left = forest.children[level].astype(np.int64)
        covers = forest.covers[np.stack([left, left + 1])].astype(np.float64)
        total = covers.sum(axis=0)
        share = np.where(total > 0, covers[0] / np.where(total > 0, total, 1), 0.5)
        goes_left = _dealt_left(model, party, level, rng.random(len(level)) < share)
        for child, part, goes in ((left, share, goes_left), (left + 1, 1 - share, ~goes_left)):
            is_open[child] = is_open[level] & (own[level] | goes)
            chance[child] = chance[level] * np.where(own[level], part, goes)
        level = np.concatenate([left, left + 1])
    return is_open, chance


def _dealt_left(model: Model, party: str, level: NDArray[np.int64], left: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Sides of a row that the party's unit holds, where some of these cuts are by who holds a row."""
    own, forest = ownership_of(model), model.forest
    if not own.units:
        return left
    unit = next(number for number, names in enumerate(own.units) if party in names)
    dealing = forest.columns[level] == own.span(own.active)[1] - 1
    words = forest.category_sets[forest.sets[level[dealing]], unit // 64]
    out = left.copy()
    out[dealing] = (words >> np.uint64(unit % 64)) & np.uint64(1) == 1
    return out


def _told(classes: list[list[Ways]], least: int) -> tuple[float, float, float]:
    """Of one row: how likely a class has a score with few combinations; how often a guess is right, and a blind one."""
    told, guess, blind = 0.0, 1.0, 1.0
    for trees in classes:
        counts, chances, best = _convolved(trees)
        told += float(chances[counts < least].sum())
        guess *= float(best.sum())
        blind *= float(best.max())
    return min(1.0, told), guess, blind


def _convolved(trees: list[Ways]) -> NDArray[np.float64]:
    """For every score, in order: combinations of ways, how likely all of them are, and the likeliest one."""
    found = np.ones((3, 1))
    for ways in trees:
        weights, which, number = np.unique(ways.weights, return_inverse=True, return_counts=True)
        shifts = weights - weights[0]
        chances, best = np.zeros(len(weights)), np.zeros(len(weights))
        np.add.at(chances, which, ways.chances)
        np.maximum.at(best, which, ways.chances)
        n = found.shape[1]
        wider = np.zeros((3, n + int(shifts[-1])))
        for shift, many, chance, top in zip(shifts.tolist(), number, chances, best, strict=True):
            wider[:2, shift : shift + n] += found[:2] * ((many,), (chance,))
            np.maximum(wider[2, shift : shift + n], found[2] * top, out=wider[2, shift : shift + n])
        np.minimum(wider[0], MANY, out=wider[0])
        found = wider
    return found
