"""[trees] of a run file: what is learnt, and with which parameters."""

from dataclasses import dataclass, fields
from math import inf
from typing import Any, Literal, cast

from hedgerow.agreement.options import LEAST_CUT_ROWS
from hedgerow.agreement.plan import Goal
from hedgerow.errors import ParameterError
from hedgerow.run.file.section import Section
from hedgerow.trees.losses import LabelFacts, Loss, LossName
from hedgerow.trees.params import LIMITS, TreeParams
from hedgerow.trees.watched_metrics import Metric

OF_NUMBERS = ("squared", "poisson", "tweedie", "huber")
PARAMETERS = {"tweedie": ("tweedie_variance_power", 1.5), "huber": ("huber_slope", 1.0)}
OF_PARAMS = tuple(field.name for field in fields(TreeParams) if field.name != "average")
OF_GOAL = ("base_score", "scale_pos_weight", "early_stopping_rounds", "eval_metric")
TREES = ("kind", "objective", "tweedie_variance_power", "huber_slope", *OF_PARAMS, *OF_GOAL)
NOT_FOR_FORESTS = ("learning_rate", "reg_alpha", "scale_pos_weight", "monotone_constraints", "early_stopping_rounds")
FOREST = {"max_depth": 12, "reg_lambda": 0.0, "subsample": 0.632, "colsample_bynode": 1 / 3}
"""A random forest's defaults where they are not those of boosted trees."""


@dataclass(frozen=True)
class TreeSection:
    """The checked section, apart from what other sections decide."""

    section: Section
    kind: Literal["boosted", "forest"]
    objective: LossName | None
    """The loss for numbers, if one is named."""

    @classmethod
    def of(cls, section: Section) -> "TreeSection":
        """Check what can be checked by itself."""
        kind = section.word("kind", ("boosted", "forest"), "boosted")
        objective = section.word("objective", OF_NUMBERS, "squared") if "objective" in section else None
        for loss, (key, _) in PARAMETERS.items():
            if key in section and objective != loss:
                raise section.wrong(key, f'goes only with objective = "{loss}"; add that, or leave it out.')
        if kind == "forest":
            _check_forest(section, objective)
        return cls(section, cast(Any, kind), cast(Any, objective))

    def params(self, summed: bool, few_bits: int | None = None) -> TreeParams:
        """The parameters of the trees; those not given as usual for boosted trees, or for random forests.

        `summed` says whether trees are grown from sums over parties, or else from one table; `few_bits` how
        many gradients have that are sealed, and of classes whose rows weigh the same.
        """
        section = self.section
        chosen: dict[str, Any] = {"min_cut_rows": LEAST_CUT_ROWS if summed else 1}
        chosen |= {"gradient_bits": few_bits} if few_bits and "scale_pos_weight" not in section else {}
        chosen |= (FOREST if self.kind == "forest" else {}) | {k: section.given[k] for k in OF_PARAMS if k in section}
        signs = chosen.pop("monotone_constraints", [])
        if not isinstance(signs, list) or any(type(sign) is not int for sign in signs):
            raise section.wrong("monotone_constraints", "must be a list of 1, -1 and 0, one for each column.")
        try:
            return TreeParams(**chosen, monotone_constraints=tuple(signs), average=self.kind == "forest")
        except ParameterError as error:
            raise ParameterError(f"[trees] {error}") from None

    def goal(self, task: str, label: str | None, validated: bool) -> Goal:
        """What is learnt; `validated` says whether there are validation rows to follow a metric on."""
        section = self.section
        if task == "classify" and self.objective is not None:
            raise section.wrong("objective", f'= "{self.objective}" is a loss for numbers; leave it out, or use '
                                             '[data] task = "regress".')  # fmt: skip
        for key in ("early_stopping_rounds", "scale_pos_weight"):
            if key in section and not LIMITS[key].allows(section.given[key]):
                raise section.wrong(key, f"must be {LIMITS[key]}; it is {section.given[key]!r}.")
        for key in ("early_stopping_rounds", "eval_metric"):
            if key in section and not validated:
                raise section.wrong(key, "needs validation rows; add [validation] share = 0.2, or valid = \"FILE\" to "
                                         "a [[party]].")  # fmt: skip
        if task == "regress":
            section.refuse("scale_pos_weight", why="is for two classes and the labels are numbers")
        name, parameter = self._loss(task)
        metric = section.text("eval_metric")
        if metric is not None:
            self._check_metric(metric, name, parameter)
        positive = float(section.given.get("scale_pos_weight", 1.0))
        base, patience = self._base_score(name), section.given.get("early_stopping_rounds")
        return Goal(name, parameter, base, positive, label, metric, patience, follow=validated)

    def _loss(self, task: str) -> tuple[LossName | None, float]:
        if task == "classify":
            return None, 0.0
        name: LossName = self.objective or "squared"
        if name not in PARAMETERS:
            return name, 0.0
        key, default = PARAMETERS[name]
        low, high, meaning = (1, 2, "between 1 and 2") if name == "tweedie" else (0, inf, "above 0")
        value = self.section.number(key, default, low, high, f"a number {meaning}")
        if value == high:
            raise self.section.wrong(key, f"must be a number {meaning}; it is {value!r}.")
        return name, value

    def _check_metric(self, metric: str, name: LossName | None, parameter: float) -> None:
        """How many classes there are is not known yet: the metric must go with two, or with more."""
        if name is not None:
            losses = [Loss(name, parameter)]
        elif self.kind == "forest":
            losses = [Loss("squared"), Loss("shares", n_classes=3)]
        else:
            losses = [Loss("logistic"), Loss("softmax", n_classes=3)]
        refused = []
        for loss in losses:
            try:
                Metric(metric, loss, LabelFacts(0.0, 1.0))
            except ParameterError as error:
                refused.append(str(error))
        if len(refused) == len(losses):
            raise ParameterError(f"[trees] {refused[0]}")

    def _base_score(self, name: LossName | None) -> float | None:
        section = self.section
        if "base_score" not in section:
            return None
        low, high, meaning = (-inf, inf, "a number")
        if name is None:
            low, high, meaning = (0.0, 1 - 2**-53, "a probability above 0 and below 1")
        elif name in ("poisson", "tweedie"):
            low, meaning = 0.0, "a number above 0"
        return section.number("base_score", 0.0, low, high, meaning)


def _check_forest(section: Section, objective: str | None) -> None:
    section.refuse(*NOT_FOR_FORESTS, why='does not go with kind = "forest", a random forest')
    if objective not in (None, "squared"):
        section.refuse("objective", why=f'= "{objective}" does not go with kind = "forest", whose loss is squared')
