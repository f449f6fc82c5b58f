"""What differential privacy promises in a run, against whom, and what it does not cover, in sentences."""

from collections.abc import Iterator, Sequence

from hedgerow.agreement.dp import DP
from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Column

SCOPE = "every sum that is opened in the run, and the model"
NO_EPSILON = (
    "No epsilon: FedTree's noise leaves numbers of rows, cut points and the first score as they are, so that nothing "
    "is promised of the model; what it calls epsilon is that of one histogram, and there is one for each column, level "
    "and tree.",
    "This method is for comparison only; for a promise that holds use another, like DP(epsilon=1), in a run file "
    "epsilon = 1.",
)
"""Of FedTree's method, wherever it is used."""
NEIGHBOURS = "add or remove one"


def adversary(plan: Plan) -> str:
    """Against whom the promise holds."""
    dp, n = plan.method.dp, len(plan.members)
    if dp is None or not dp.colluders:
        return "the driver and outsiders who have the model, but not against the parties, who know their own noise"
    some = "one party" if dp.colluders == 1 else f"{dp.colluders} parties"
    return f"the driver with up to {some} of the {n}, and whoever has the model"


def taken_from_tables(dp: DP, columns: Sequence[Column], classes: Sequence[object]) -> tuple[str, ...]:
    """What tables tell without noise because nobody has declared it."""
    declared = dict(dp.categories)
    bare = any(column.kind == "categorical" and column.name not in declared for column in columns)
    taken = {"categories": bare, "classes": bool(classes) and not dp.classes}
    return tuple(what for what, is_taken in taken.items() if is_taken)


def scope_without(taken: Sequence[str], scope: str = SCOPE) -> str:
    """What is promised, but for what was taken from tables."""
    return f"{scope}; not for the {' and '.join(taken)}, taken from the tables as known" if taken else scope


def promise_of(plan: Plan, dp: DP) -> Iterator[str]:
    """Before the run: the promise, the noise behind it and its price."""
    yield (
        f"Differential privacy: epsilon {dp.epsilon:g} at delta {dp.delta:g} for one {dp.unit} ({NEIGHBOURS}), against "
        f"{adversary(plan)}; for {SCOPE}."
    )
    if dp.unit == "person":
        yield (
            f"A person has at most {dp.rows_per_id} rows in the tables of all parties together. A party whose table "
            "has ids checks that none has more rows there; over several parties, or without ids, nobody checks it."
        )
    yield from _of_noise(plan, dp)
    yield from conditions(dp)


def _of_noise(plan: Plan, dp: DP) -> Iterator[str]:
    n, honest = len(plan.members), dp.honest(len(plan.members))
    less = "Nobody sees less noise than promised." if dp.colluders else "A party that takes its own away sees less."
    yield (
        f"Each of the {n} parties adds 1/{honest} of the variance that is needed, under masks: {honest} of them are "
        f"enough, and all together are {n / honest:.3g} times as much. {less}"
    )
    if dp.public_trees:
        yield "The shape of every tree is public, so that trees cost nothing but the noise of their sums."
    elif dp.method == "greedy":
        yield "Cuts are chosen by noised histograms of every level, for which most of the budget is spent."


def conditions(dp: DP) -> Iterator[str]:
    """What the promise takes as known to everybody."""
    known = "names and kinds of columns, categories and classes, declared options, who takes part and when"
    yield f"Taken as known to everybody, and so not covered: {known}."
    if not dp.classes and dp.label_range is None:
        yield "Classes are not declared: those in the tables are told, where a rare one may be of a single row."
