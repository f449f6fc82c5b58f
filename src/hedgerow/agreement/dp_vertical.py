"""What differential privacy can promise where parties have columns, of whom and against whom; all else is refused.

Every party of a vertical run learns exact data of single rows: the active one on which side of a cut a row is, the
others which rows share a node. So no promise is of whole rows against the parties. What can be promised:

*drawn*: no label is in anything that passive parties see, because all cuts above theirs are drawn by a hash. Epsilon 0.
*labels*: passive parties see what follows from noised sums of gradients; that of leaves is noised, too.
*model*: who has the finished model, all parts together, and was no party, sees noised sums and noised cut points only.
*passive*: the active party sees one batch of noised sums of the others' columns, in noised bins, and no side of a row.

*laplace* promises nothing: it is FedTree's noise, for comparison.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from hedgerow.agreement.dp import DP, PrivateMethod, Protects
from hedgerow.agreement.dp_hybrid import UNIT_OF_LINKS, refused_of_links
from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from hedgerow.agreement.plan import Plan

Way = Literal["drawn", "labels", "model", "passive", "laplace"]
BY_METHOD: dict[tuple[Protects, bool], tuple[Way, PrivateMethod]] = {
    ("labels", False): ("drawn", "random"),
    ("labels", True): ("labels", "greedy"),
    ("model", True): ("model", "random"),
    ("passive", True): ("passive", "additive"),
}
"""By what is protected, and whether there is an epsilon above 0: how, and what that way to grow trees is called."""
REPLACED, LINKED = "replace one", "add or remove one"
_TOLD = "all that passive parties are told while the model is trained"
WORDS: dict[Way, tuple[str, str, str]] = {
    "drawn": (REPLACED, "all passive parties together", _TOLD),
    "labels": (REPLACED, "all passive parties together", _TOLD),
    "model": (LINKED, "whoever has the finished model and was no party of the run", "the model, all parts together"),
    "passive": (
        REPLACED,
        "the active party, as long as it seals gradients no longer than agreed",
        "all that it is told while the model is trained, and the model, all parts together",
    ),
}
"""Neighbours, adversary and scope."""
AS_KNOWN = "where {0} come from a table, they are taken as known to everybody"
NO_ROWS = (
    "In a vertical run parties learn exact data of single rows, sides of cuts or who shares a node, so no epsilon can "
    'be promised of whole rows against them; say what it is for, protects = "labels", "model" or "passive".'
)


def way_of(dp: DP) -> Way:
    """How a vertical run keeps the promise; refused where none can be kept, unless none is asked for."""
    if dp.protects == "rows" and not dp.promises:
        return "laplace"
    if dp.protects == "rows":
        raise ParameterError(NO_ROWS)
    way, method = BY_METHOD[dp.protects, dp.epsilon > 0]
    if dp.method not in ("auto", method):
        raise ParameterError(
            f'With protects = "{dp.protects}"{" and epsilon = 0" if way == "drawn" else ""} trees of a vertical run '
            f'are grown by "{method}"; use that or "auto", not {dp.method!r}.'
        )
    return way


def words_of(plan: "Plan") -> tuple[str, str, str]:
    """Neighbours, adversary and scope of a plan's promise; with what is taken as known because it was not declared."""
    dp = plan.vertical.dp
    if dp is None:
        raise ParameterError(NO_ROWS)
    neighbours, adversary, scope = WORDS[way_of(dp)]
    if plan.method.links:
        scope = f"{scope}; {UNIT_OF_LINKS[dp.unit].format(dp.rows_per_id)}"
    taken = _taken(dp, plan)
    return neighbours, adversary, f"{scope} ({AS_KNOWN.format(' and '.join(taken))})" if taken else scope


def _taken(dp: DP, plan: "Plan") -> list[str]:
    """What comes from tables of a simulation, where a rare one would tell of a single row."""
    found = ["classes"] if plan.goal.objective is None and not dp.classes else []
    open_ones = dp.protects in ("model", "passive") and not dp.categories and not plan.coordinator
    return [*(() if dp.protects == "passive" else found), *(("categories",) if open_ones else ())]


def levels_of(dp: DP, max_depth: int) -> str:
    """Whose each level is, where nobody says so."""
    way = way_of(dp)
    if way == "drawn":
        passive = max(1, max_depth // 2)
        return "P" * passive + "A" * (max_depth - passive)
    return {"model": "J", "passive": "A"}.get(way, "") * max_depth


def check_vertical(dp: DP, plan: "Plan") -> None:
    """Refuse what would be told without noise, or has none of the meaning that the promise gives it."""
    way = way_of(dp)
    for is_set, what, why in (*refused_of_links(plan), *_refused(dp, plan), *OF_WAY[way](plan)):
        if is_set:
            raise ParameterError(f"Differential privacy in a {plan.method.word} run does not go with {what}: {why}.")
    needs = dp.promises and dp.protects != "passive"
    if needs and plan.goal.objective is None and plan.coordinator and len(dp.classes) < 2:
        raise ParameterError(
            "Differential privacy between real parties needs the classes declared, because a rare one would tell of a "
            "single row; name them, like classes = [0, 1]."
        )


def _refused(dp: DP, plan: "Plan") -> Iterator[tuple[bool, str, str]]:
    method, goal = plan.vertical, plan.goal
    followed = goal.follow or goal.early_stopping_rounds is not None or goal.eval_metric is not None
    passive = dp.protects == "passive"
    early = "they would be of own columns alone" if passive else "when training ends must not depend on labels"
    yield followed, "validation rows", f"{early}; measure the model afterwards"
    yield method.hidden_rows, "hidden_rows", "what it hides is public here, or noised; leave it out"
    yield method.goes_on, 'on_loss = "continue"', "trees that are grown again would be paid again; use wait"
    yield method.passive_rows < 1, "passive_rows below 1", "everybody can compute which rows are drawn"
    counts = plan.params.min_child_rows > 1 and not passive
    yield counts, "min_child_rows above 1", "rows of nodes would be counted without noise"
    yield dp.rows_per_id > 1 and not method.links, "rows_per_id", "each linked row is protected by itself"
    yield dp.max_nonzero is not None, "max_nonzero", "it lowers the noise where parties have rows of their own"
    yield bool(dp.categories) and dp.protects == "labels", "categories", "only labels are protected"
    yield goal.objective is None and dp.label_range is not None, "label_range and classes", "it is the range of numbers"
    yield goal.objective is not None and bool(dp.classes), "classes and numbers", "a regression has no classes"


def _drawn(plan: "Plan") -> Iterator[tuple[bool, str, str]]:
    levels, dp = plan.method.levels, plan.vertical.dp
    late = levels.lstrip("P").strip("A") or not levels.startswith("P")
    yield (
        bool(late),
        f"levels = {levels!r}",
        ('below a cut that labels chose, who shares a node tells of labels; put passive levels first, like "PPAAA"'),
    )
    yield dp is not None and dp.label_range is not None, "label_range", "nothing is noised, so no range matters"


def _labels(plan: "Plan") -> Iterator[tuple[bool, str, str]]:
    objective, dp = plan.goal.objective, plan.vertical.dp
    without = "or use epsilon = 0, by which nothing that passive parties see depends on labels"
    yield (
        objective is not None and objective != "squared",
        f"the {objective} loss",
        f"its gradients have no bound; use the squared loss, or classes, {without}",
    )
    yield (
        objective is not None and dp is not None and dp.label_range is None,
        "numbers of unknown range",
        f"declare it, like label_range = [0, 100], {without}",
    )
    yield plan.vertical.plain, "plain gradients", "passive parties would read every label; use lattice or paillier"
    yield from _noised(plan)


def _noised(plan: "Plan") -> Iterator[tuple[bool, str, str]]:
    params, goal = plan.params, plan.goal
    yield goal.scale_pos_weight != 1, "scale_pos_weight", "a label of more weight needs more noise; leave it out"
    yield params.average, "a random forest", "its trees all have the same gradients; use boosted trees"
    yield params.subsample < 1, "subsample below 1", "everybody can compute which rows are drawn, so it hides nothing"
    yield bool(params.monotone_constraints), "monotone_constraints", "they are not kept under noise"


def _model(plan: "Plan") -> Iterator[tuple[bool, str, str]]:
    levels, method = plan.method.levels, plan.vertical
    yield set(levels) != {"J"}, f"levels = {levels!r}", "all cuts are drawn, of all columns alike; leave levels out"
    yield method.local_trees > 0, "local_trees", "their cuts would be chosen without noise"
    yield method.party_share < 1, "party_share below 1", "everybody knows who is drawn; leave it out"
    yield plan.params.colsample_bytree < 1 or plan.params.colsample_bynode < 1, "drawn columns", "they are drawn anyway"
    yield plan.goal.objective is not None, "labels that are numbers", "the noise on leaves is for classes"
    yield from _noised(plan)


def _passive(plan: "Plan") -> Iterator[tuple[bool, str, str]]:
    levels, method, goal, dp = plan.method.levels, plan.vertical, plan.goal, plan.vertical.dp
    numbers = goal.objective is not None
    yield (
        set(levels) != {"A"},
        f"levels = {levels!r}",
        "cuts of the others' columns would tell sides of single rows; leave levels out",
    )
    yield method.local_trees > 0, "local_trees", "all trees that are grown are of own columns anyway"
    yield method.party_share < 1, "party_share below 1", "all are asked, once"
    yield plan.params.average, "a random forest", "the batch is of what boosted trees leave; use boosted trees"
    yield goal.scale_pos_weight != 1, "scale_pos_weight", "a row of more weight needs more noise; leave it out"
    yield bool(plan.params.monotone_constraints), "monotone_constraints", "they are not kept under noise"
    yield (
        numbers and goal.objective != "squared",
        f"the {goal.objective} loss",
        "its gradients have no bound; use the squared loss, or classes",
    )
    yield (
        numbers and dp is not None and dp.label_range is None,
        "numbers of unknown range",
        "declare it, like label_range = [0, 100]",
    )


def _laplace(plan: "Plan") -> Iterator[tuple[bool, str, str]]:
    objective, dp = plan.goal.objective, plan.vertical.dp
    without = 'with DP(method="laplace")'
    squared = objective is None or objective == "squared"
    yield not squared, f"the {objective} loss {without}", "FedTree cuts gradients of classes and squared losses"
    ranged = dp is not None and dp.label_range is not None
    yield ranged, f"label_range {without}", "its gradients are cut to 1, whatever the labels are; leave it out"
    yield from _noised(plan)


OF_WAY = {"drawn": _drawn, "labels": _labels, "model": _model, "passive": _passive, "laplace": _laplace}
"""What each way refuses beside."""


def promise_of(dp: DP, plan: "Plan") -> Iterator[str]:
    """Before the run, in sentences: the promise, what keeps it, and what it leaves out."""
    way = way_of(dp)
    if way == "laplace":
        yield from FEDTREES
        return
    neighbours, adversary, scope = words_of(plan)
    price = "epsilon 0" if way == "drawn" else f"epsilon {dp.epsilon:g} at delta {dp.delta:g}"
    yield f"Differential privacy: {price} for one {dp.unit} ({neighbours}), against {adversary}; for {scope}."
    yield from KEPT[way]


FEDTREES = (
    "No epsilon: FedTree's noise is on sums of gradients alone. On which side of a chosen cut each row is, and numbers "
    "of rows, are told without noise, so that nothing is promised; what it calls epsilon is that of one histogram, and "
    "there is one for each column, level and tree.",
    "Sums with noise cannot be held against the rows that go left, so passive parties that make up sums can read "
    "labels unseen. This method is for comparison only.",
)
"""Of FedTree's noise in a vertical run."""
KEPT: dict[Way, tuple[str, ...]] = {
    "drawn": (
        "Cuts that passive parties know are drawn by a public hash, and cuts that labels choose lie below them, where "
        "nobody else hears of them: nothing that is told to passive parties depends on a label, so no noise is needed.",
        "The number of trees is the plan's, whatever the labels are; callbacks cannot end training early.",
        "Not covered: when messages come, which anything that computes tells; predictions; a model that is handed out.",
    ),
    "labels": (
        "The active party adds noise to gradients of opened and own histograms, and of leaves, before anything follows "
        "from them: passive parties see ciphertexts, and cuts chosen by noised sums. Hessians do not depend on labels.",
        "Not covered: passive parties that make up sums; when messages come; predictions; the active party's model, if "
        "it is handed out; the others' columns.",
    ),
    "model": (
        "Every owner finds its cut points from noised counts; all cuts are drawn by a public hash; the active party "
        "adds noise to the sums of leaves and to the first score. Nothing else is in the model.",
        "Not covered: what parties see of each other (the active party learns on which side of each cut a row is, the "
        "others which rows share a node), and so nobody who is told by one of them.",
    ),
    "passive": (
        "The active party grows trees of its own columns alone, and seals the gradients that they leave, once. Every "
        "owner sums them in bins whose cut points it found from noised counts, and adds noise to each sum before it is "
        "opened; no side of a row is told to anybody. Trees of one column each are made of these sums.",
        "Each owner counts this in its own ledger, with an equal part of the budget.",
        "Not covered: an active party that seals longer gradients than agreed, which owners cannot see: it could read "
        "bins of single rows (their logs count the bits that sums have room for); predictions, which tell sides or "
        "scores of the rows that are predicted; when messages come; which ids all have in common.",
    ),
}  # fmt: skip
"""What keeps each promise, and what it is not about."""
