"""What differential privacy promises in a run, against whom, and what it does not cover, in sentences."""

from collections.abc import Iterator

from hedgerow.agreement.dp import DP
from hedgerow.agreement.plan import Plan

SCOPE = "every sum that is opened in the run, and the model"
NEIGHBOURS = "add or remove one"


def adversary(plan: Plan) -> str:
    """Against whom the promise holds."""
    dp, n = plan.method.dp, len(plan.members)
    if dp is None or not dp.colluders:
        return "the driver and whoever has the model, if no party tells them anything"
    some = "one party" if dp.colluders == 1 else f"{dp.colluders} parties"
    return f"the driver with up to {some} of the {n}, and whoever has the model"


def promise_of(plan: Plan, dp: DP) -> Iterator[str]:
    """Before the run: the promise, the noise behind it and its price."""
    yield (
        f"Differential privacy: epsilon {dp.epsilon:g} at delta {dp.delta:g} for one {dp.unit} ({NEIGHBOURS}), against "
        f"{adversary(plan)}; for {SCOPE}."
    )
    if dp.unit == "person":
        yield f"A person has at most {dp.rows_per_id} rows in the tables of all parties together; nobody checks that."
    yield from _of_noise(plan, dp)
    yield from conditions(dp)


def _of_noise(plan: Plan, dp: DP) -> Iterator[str]:
    n, honest = len(plan.members), dp.honest(len(plan.members))
    yield (
        f"Each of the {n} parties adds 1/{honest} of the variance that is needed, under masks: {honest} of them are "
        f"enough, and all together are {n / honest:.3g} times as much. Nobody sees less noise than promised."
    )
    if dp.public_trees:
        yield "The shape of every tree is public, so that trees cost nothing but the noise of their sums."


def conditions(dp: DP) -> Iterator[str]:
    """What the promise takes as known to everybody."""
    taken = [what for what, given in (("categories", dp.categories), ("classes", dp.classes)) if not given]
    if dp.label_range is not None and "classes" in taken:
        taken.remove("classes")
    known = "names and kinds of columns, declared options, who takes part, and when"
    yield f"Taken as known to everybody, and so not covered: {known}{''.join(f', the {what}' for what in taken)}."
    if taken:
        yield (
            f"The {' and the '.join(taken)} come from the tables, where a rare one may be of one row; declare them "
            "([privacy] categories, classes)."
        )
