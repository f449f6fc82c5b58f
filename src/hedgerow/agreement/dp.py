"""How much a trained model may tell of one row: the options of differential privacy, as a plan carries them."""

from collections.abc import Collection, Mapping
from dataclasses import fields
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from hedgerow.errors import ParameterError
from hedgerow.trees.params import TreeParams

if TYPE_CHECKING:
    from hedgerow.agreement.plan import Plan

PrivateMethod = Literal["auto", "random", "additive", "greedy", "laplace"]
Protects = Literal["rows", "labels", "model", "passive"]
UNITS: dict[Protects, str] = {"labels": "label", "model": "linked row", "passive": "row's passive columns"}
"""Whose presence or value a promise of a vertical run is about."""
PUBLIC_TREES: tuple[PrivateMethod, ...] = ("auto", "random", "additive")
"""Where every tree's shape is a public function of the cut points, the seed and the round, and only sums are noised."""
MOST_EPSILON = 100.0
"""Beyond it nothing is promised that anybody would call privacy."""
KEPT = ("random_state", "monotone_constraints", "average", "min_cut_rows", "gradient_bits")
"""Parameters of trees that do not differ from the default without being asked for, or are refused for other reasons."""
SET_BY_USERS = (
    "n_estimators", "max_depth", "learning_rate", "max_bin", "reg_lambda", "reg_alpha", "gamma", "min_child_weight",
    "colsample_bytree", "colsample_bynode",
)  # fmt: skip
"""What greedy trees take from the user; what is not set of the first four is set by the rule."""
Class = int | float | str | bool


class DP(msgspec.Struct, frozen=True):
    """Differential privacy: everything that is released of the rows has noise, and one epsilon holds for all of it.

    `method` is a way to grow trees: "auto" (additive rounds, then random trees where that pays), "random", "additive",
    "greedy" (cuts chosen from noised histograms) or "laplace" (FedTree's, for comparison). So many `colluders` among
    the parties may pool what they know without seeing less noise than promised. An id has at most `rows_per_id` rows.
    Regression needs the range of labels, `label_range`, declared; where each row has at most `max_nonzero` columns of
    a value other than 0, declaring that lowers the noise. `classes`, and `categories` by the name of their column, are
    declared because a rare one would tell of a single row; without, those in the tables are taken as known to everybody
    (between real parties they must be declared).

    What is `protects`ed is "rows" where parties have rows of their own. Where they have columns (a vertical run) one
    promise cannot hold against everybody, so it is said which: "labels" against passive parties (with epsilon = 0
    nothing that they see depends on labels), "model" against whoever has the finished model and was no party, or
    "passive", the passive parties' columns against the active party.
    """

    epsilon: float
    delta: float = 1e-6
    method: PrivateMethod = "auto"
    colluders: int = 1
    rows_per_id: int = 1
    label_range: tuple[float, float] | None = None
    max_nonzero: int | None = None
    classes: tuple[Class, ...] = ()
    categories: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Of each categorical column, by name; may be given as a mapping."""
    protects: Protects = "rows"

    def __post_init__(self) -> None:
        if self.protects not in get_args(Protects):
            raise ParameterError(f"protects must be one of {', '.join(get_args(Protects))}; it is {self.protects!r}.")
        if not (self.protects == "labels" and type(self.epsilon) in (int, float) and self.epsilon == 0):
            _check_between("epsilon", self.epsilon, 0, MOST_EPSILON)
        _check_between("delta", self.delta, 0, 0.1)
        if self.method not in get_args(PrivateMethod):
            raise ParameterError(f"method must be one of {', '.join(get_args(PrivateMethod))}; it is {self.method!r}.")
        for name, least in (("colluders", 0), ("rows_per_id", 1)):
            _check_whole(name, getattr(self, name), least)
        if self.max_nonzero is not None:
            _check_whole("max_nonzero", self.max_nonzero, 1)
        _check_range(self.label_range)
        self._keep("epsilon", float(self.epsilon))
        self._keep("delta", float(self.delta))
        if self.label_range is not None:
            self._keep("label_range", tuple(map(float, self.label_range)))
        self._keep("classes", _in_order(self.classes))
        self._keep("categories", _sorted_categories(self.categories))

    def _keep(self, name: str, value: object) -> None:
        """As a plan's text has it, so that all read the same."""
        msgspec.structs.force_setattr(self, name, value)

    @property
    def public_trees(self) -> bool:
        """Whether the shape of every tree is known before any sum, so that nothing but sums is released."""
        return self.method in PUBLIC_TREES

    @property
    def promises(self) -> bool:
        """Whether one epsilon holds for all that is released; FedTree's noise leaves some of it as it is."""
        return self.method != "laplace"

    @property
    def unit(self) -> str:
        """Whose presence the promise is about."""
        if self.rows_per_id > 1 and self.protects in ("rows", "model"):
            return "person"
        return UNITS.get(self.protects, "row")

    @property
    def of_persons(self) -> bool:
        """Whether the promise is of all rows of an id."""
        return self.promises and self.unit == "person"

    def honest(self, n_parties: int) -> int:
        """Parties whose share of the noise is there whoever else pools what they know."""
        return n_parties - self.colluders

    def check_params(self, params: TreeParams) -> None:
        """Refuse parameters that would have no effect, where the rule sets what trees are grown."""
        if not self.promises:
            return
        default, free = TreeParams(), (*KEPT, *(SET_BY_USERS if self.method == "greedy" else ()))
        for field in fields(TreeParams):
            if field.name not in free and getattr(params, field.name) != getattr(default, field.name):
                raise ParameterError(
                    f"{field.name} has no effect with differential privacy: its rule sets what trees are grown, from "
                    "the epsilon and the number of rows; leave it out."
                )

    def check(self, plan: "Plan") -> None:
        """Refuse what would be released without noise, or would leave less noise than promised."""
        if self.protects != "rows":
            raise ParameterError(
                f'protects = "{self.protects}" is for vertical runs, whose parties have columns; where they have rows '
                "of their own a promise is of these, so leave it out."
            )
        if self.promises and self.honest(len(plan.members)) < 1:
            raise ParameterError(
                f"With {self.colluders} colluders among {len(plan.members)} parties no honest party is left to add "
                "noise; name fewer colluders, or take more parties."
            )
        for is_set, what, why in _refused(self, plan):
            if is_set:
                raise ParameterError(f"Differential privacy does not go with {what}: {why}.")
        self.check_params(plan.params)
        if self.promises and plan.goal.objective is None and plan.coordinator and len(self.classes) < 2:
            raise ParameterError(
                "Differential privacy between real parties needs the classes declared, because a rare one would tell "
                "of a single row; name them, like classes = [0, 1]."
            )


def checked_way(dp: DP, known: Collection[PrivateMethod]) -> PrivateMethod:
    """The way to grow trees, if it is among those that there are here."""
    if dp.method not in known:
        raise ParameterError(
            f"Differential privacy by {dp.method!r} trees is not available for several parties yet; use "
            f"{', '.join(known)}."
        )
    return dp.method


def _refused(dp: DP, plan: "Plan") -> list[tuple[bool, str, str]]:
    method, goal, params = plan.method, plan.goal, plan.params
    regression = goal.objective is not None
    return [
        (method.plain, "plain sums", "each party's own have only its own share of the noise; use masks"),
        (method.encrypted, "encryption and an opener", "parties add their noise under masks; leave them out"),
        (method.party_share < 1, "party_share below 1", "everybody knows who is drawn, so it hides nothing and needs "
         "more noise"),
        (method.goes_on, 'on_loss = "continue"', "a lost party's share of the noise would be missing; use wait"),
        (method.local_cuts, 'cut_points = "local"', "they are values of single rows; use counts"),
        (method.private_names, 'column_names = "private"', "how many names are common is told without noise"),
        (goal.follow or goal.early_stopping_rounds is not None or goal.eval_metric is not None,
         "a metric that is followed on validation rows", "it would be told without noise after every tree; leave out "
         "validation rows and measure the model once it is trained"),
        (goal.scale_pos_weight != 1, "scale_pos_weight", "a row of more weight needs more noise; leave it out"),
        (params.min_child_rows > 1, "min_child_rows above 1", "rows would be counted without noise"),
        (params.average, "a random forest", "its trees are noised as boosted ones; use boosted trees, whose DP method "
         '"random" draws trees too'),
        (params.subsample < 1, "subsample below 1", "everybody can compute which rows are drawn, so it hides nothing"),
        (bool(params.monotone_constraints), "monotone_constraints", "they are not kept under noise"),
        (regression and goal.objective != "squared", f"the {goal.objective} loss", "its gradients have no bound; use "
         "the squared loss, or classes"),
        (regression and dp.promises and dp.label_range is None, "numbers of unknown range", "declare it, like "
         "label_range = [0, 100]"),
        (not regression and dp.label_range is not None, "label_range and classes", "it is the range of numbers"),
        (regression and bool(dp.classes), "classes and numbers", "a regression has no classes; leave them out"),
        (dp.promises and goal.base_score is not None, "base_score", "the rule finds it from a release; "
         "leave it out"),
    ]  # fmt: skip


def _check_between(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low < value <= high:
        raise ParameterError(f"{name} must be a number above {low:g} and at most {high:g}; it is {value!r}.")


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}; it is {value!r}.")


def _check_range(given: object) -> None:
    if given is None:
        return
    if not isinstance(given, tuple) or len(given) != 2 or not all(isinstance(x, int | float) for x in given):
        raise ParameterError(f"label_range must be two numbers, the least and the greatest label; it is {given!r}.")
    if not all(map(isfinite, given)) or given[0] >= given[1]:
        raise ParameterError(f"label_range must go from a smaller to a greater number; it is {given!r}.")


def _in_order(given: Any) -> tuple[Class, ...]:
    """Classes, each once, in order."""
    fits = isinstance(given, tuple | list) and all(isinstance(label, Class) for label in given)
    if not fits or len({isinstance(label, str) for label in given}) > 1:
        raise ParameterError(f"classes must be a list of numbers, or of texts, like [0, 1]; it is {given!r}.")
    return tuple(sorted(set(given)))


def _sorted_categories(given: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Columns with their categories, both sorted by text."""
    columns: dict[Any, Any] = dict(given) if isinstance(given, Mapping | tuple | list) else {"": None}
    for name, categories in columns.items():
        texts = isinstance(categories, tuple | list) and all(isinstance(one, str) for one in categories)
        if not isinstance(name, str) or not texts or not categories:
            raise ParameterError(
                f'categories must name columns with lists of texts, like job = ["clerk", "other"]; they are {given!r}.'
            )
    return tuple((name, tuple(sorted(set(columns[name])))) for name in sorted(columns))
