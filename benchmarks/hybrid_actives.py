"""Several active parties, as the HybridTree paper has them in table 3: the active party's rows dealt to five.

Each trains with all passive parties that have some of its rows, and test rows are scored by all five models. The paper
lets the models vote; the mean of their probabilities stands beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, average_precision_score

from hedgerow import Bagged, GBDTClassifier, Hybrid, NoPrivacy
from hedgerow.data import partition
from hedgerow.data.hybrid_partition import HybridTables
from hedgerow.data.table import Table

ACTIVE = 5
PLAIN = NoPrivacy(i_accept_disclosure=True)
SHARED = Hybrid(PLAIN, shared=True)
"""Our default."""
SEPARATE = Hybrid(PLAIN, shared=False, levels="AAAAAPP")
"""The paper's: five levels of the active party's, two of each passive party's own."""
TREES: Mapping[str, Any] = {"n_estimators": 50, "max_depth": 7, "learning_rate": 0.1, "reg_lambda": 1.0, "max_bin": 32}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SeveralActive:
    """One row of table 3, by accuracy or the area under the precision-recall curve; ranges are over active parties."""

    vote: float
    """All models, the class that most choose; of the area under a curve, by shares of votes."""
    mean: float
    """All models, by their mean probability."""
    models: tuple[float, float]
    """Each active party's hybrid model by itself, least and most."""
    alone: tuple[float, float]
    """Each active party without passive parties, least and most."""


def dealt(active: Table, n: int = ACTIVE, seed: int = 0) -> dict[str, Table]:
    """The active party's rows, dealt to so many parties at random."""
    return partition.rows(active, n=n, how="even", seed=seed, names=[f"active{i + 1}" for i in range(n)])


def several_active(
    train: HybridTables,
    test: HybridTables,
    hybrid: Hybrid = SHARED,
    *,
    n: int = ACTIVE,
    seed: int = 0,
    threads: int = 1,
    auprc: bool = False,
    **trees: Any,
) -> SeveralActive:
    """Real runs in one process, without encryption, which changes no tree; labels are 0 and 1."""
    actives, settings = dealt(train.active, n, seed), {**TREES, "n_jobs": threads, **trees}
    model = GBDTClassifier(**settings, federation=Bagged(tuple(actives), hybrid)).fit({**actives, **train.passive})
    asked = {next(iter(actives)): test.active, **test.passive}
    each = [told[:, 1] for told in model._each(model.model_, asked, False)]  # of each model by itself
    alone = [
        GBDTClassifier(**{**settings, "min_cut_rows": 50}).fit(own, own.labels).predict_proba(test.active)[:, 1]
        for own in actives.values()
    ]
    labels = np.asarray(test.active.labels)
    votes: Floats = np.mean([told > 0.5 for told in each], axis=0)

    def measured(told: Floats) -> float:
        return float(average_precision_score(labels, told) if auprc else accuracy_score(labels, told > 0.5))

    models, solo = [measured(told) for told in each], [measured(told) for told in alone]
    mean: Floats = np.mean(each, axis=0)
    return SeveralActive(measured(votes), measured(mean), (min(models), max(models)), (min(solo), max(solo)))
