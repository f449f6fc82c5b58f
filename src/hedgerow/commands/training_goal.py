"""What is to be learnt, and with which parameters: from labels and options to a loss and tree parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.commands.options import KindName, ObjectiveName, TaskName
from hedgerow.commands.print_tables import note
from hedgerow.data.names import no_column
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.labels import loss_of_classes
from hedgerow.model.model import ClassLabel, Model, classes_of
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import LIMITS, TreeParams, check

MOST_GUESSED_CLASSES = 20
NOT_FOR_FORESTS = ("learning_rate", "reg_alpha", "scale_pos_weight", "monotone", "early_stopping_rounds", "eval_metric")
NEED_VALID = ("early_stopping_rounds", "eval_metric")


@dataclass(frozen=True)
class Wanted:
    """What the options say about the goal."""

    task: TaskName
    kind: KindName
    objective: ObjectiveName | None
    tweedie_power: float | None
    huber_slope: float | None


def goal_of(labels: NDArray[Any] | None, wanted: Wanted, start: Model | None) -> tuple[Loss, tuple[ClassLabel, ...]]:
    """The loss, and the classes if there are any; those of the model that is continued, unless told otherwise."""
    _check_parameters(wanted)
    if labels is None:
        raise DataError("The table has no labels; name their column with --label.")
    if start is not None and wanted.task is TaskName.AUTO and wanted.objective is None:
        return start.loss, start.classes
    if _is_classes(labels, wanted):
        _check_for_classes(labels, wanted)
        whole = labels.dtype.kind == "f"
        classes = classes_of(labels.astype(np.int64) if whole else labels)
        return loss_of_classes(len(classes), wanted.kind is KindName.FOREST), classes
    return _loss_of_numbers(wanted), ()


def _is_classes(labels: NDArray[Any], wanted: Wanted) -> bool:
    if wanted.task is not TaskName.AUTO:
        return wanted.task is TaskName.CLASSIFY
    if wanted.objective is not None:
        return False
    text = labels.dtype.kind not in "iuf"
    distinct = len(np.unique(labels))
    if not text and (distinct > MOST_GUESSED_CLASSES or not _whole(labels)):
        note("The labels are numbers, so this is a regression; --task classify would take them as classes.")
        return False
    what = "text" if text else "whole numbers"
    other = "" if text else "; --task regress would take them as numbers"
    note(f"The labels are {what} with {distinct} different values, so this is a classification{other}.")
    return True


def _whole(labels: NDArray[Any]) -> bool:
    return bool((labels == np.rint(labels)).all() and (np.abs(labels) < 2**53).all())


def _check_for_classes(labels: NDArray[Any], wanted: Wanted) -> None:
    if wanted.objective is not None:
        raise ParameterError(
            f"--objective {wanted.objective} is a loss for numbers; leave it out, or use --task regress."
        )
    if labels.dtype.kind == "f" and not _whole(labels):
        raise DataError("Some labels are not whole numbers, so they are no classes; use --task regress.")


def _loss_of_numbers(wanted: Wanted) -> Loss:
    name = wanted.objective or ObjectiveName.SQUARED
    if wanted.kind is KindName.FOREST and name is not ObjectiveName.SQUARED:
        raise ParameterError(f"--objective {name} does not go with --kind forest, whose loss is squared.")
    defaults = {ObjectiveName.TWEEDIE: 1.5, ObjectiveName.HUBER: 1.0}
    given = {ObjectiveName.TWEEDIE: wanted.tweedie_power, ObjectiveName.HUBER: wanted.huber_slope}.get(name)
    return Loss(name.value, defaults.get(name, 0.0) if given is None else given)


def _check_parameters(wanted: Wanted) -> None:
    """A parameter of a loss is refused where another loss is used."""
    own = {
        "tweedie": ("--tweedie-variance-power", wanted.tweedie_power),
        "huber": ("--huber-slope", wanted.huber_slope),
    }
    for loss, (option, value) in own.items():
        if value is not None and wanted.objective != loss:
            raise ParameterError(f"{option} goes only with --objective {loss}; add that, or leave it out.")


def tree_params(given: Mapping[str, Any], kind: KindName, names: Sequence[str]) -> TreeParams:
    """The parameters given, and for the others the defaults of boosted trees or of random forests."""
    forest = kind is KindName.FOREST
    from hedgerow.estimators import ForestRegressor, GBDTClassifier  # slow to import

    defaults = (ForestRegressor() if forest else GBDTClassifier()).get_params()
    chosen = {name: defaults[name] for name in TreeParams.__dataclass_fields__ if name in defaults} | dict(given)
    monotone = chosen.pop("monotone", None)
    if chosen["colsample_bynode"] == "sqrt":
        chosen["colsample_bynode"] = min(1.0, len(names) ** -0.5)
    chosen["random_state"] = chosen["random_state"] or 0
    chosen["min_cut_rows"] = chosen["min_cut_rows"] or 1
    chosen["gradient_bits"] = chosen["gradient_bits"] or TreeParams.gradient_bits
    chosen["monotone_constraints"] = monotone_of(monotone, names) if monotone else ()
    return TreeParams(**chosen, average=forest)


def check_options(given: Mapping[str, Any], kind: KindName, has_valid: bool) -> None:
    """Refuse what can be refused before a file is read: limits, what a forest has no use for, what needs --valid."""
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if name in LIMITS:
            check(name, value)
        if name in NOT_FOR_FORESTS and kind is KindName.FOREST:
            raise ParameterError(f"{option} does not go with a random forest; leave it out.")
        if name in NEED_VALID and not has_valid:
            raise ParameterError(f"{option} needs held-out rows; name their file with --valid.")


def monotone_of(text: str, names: Sequence[str]) -> tuple[int, ...]:
    """A sign for each column, from "col=1,other=-1"."""
    signs = dict.fromkeys(names, 0)
    for part in text.split(","):
        name, _, sign = part.rpartition("=")
        if name.strip() not in signs:
            raise ParameterError(f"For --monotone, the table has {no_column(name.strip() or part, names)}.")
        if sign.strip() not in ("1", "+1", "-1", "0"):
            raise ParameterError(f"--monotone {part!r} must end in =1 (rising), =-1 (falling) or =0 (free).")
        signs[name.strip()] = int(sign)
    return tuple(signs.values())
