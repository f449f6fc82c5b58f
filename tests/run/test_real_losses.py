"""Every loss, with missing values, learnt by real parties under encryption: the model is the pooled one."""

import csv

import numpy as np
import pytest
from test_vertical_parties import Columns, run
from test_vertical_sealed import ALLOWED, pooled, whole

from federated import same

TREES = "n_estimators = 2\nmax_depth = 3\nmin_cut_rows = 1\nmax_bin = 16\n"
NUMBERS = {
    "squared": "",
    "poisson": "",
    "tweedie": "tweedie_variance_power = 1.5",
    "huber": "huber_slope = 1.0",
}
LOSSES = {
    "logistic": "",
    "softmax": "",
    "forest": 'kind = "forest"',
    **{loss: f'objective = "{loss}"\n{more}' for loss, more in NUMBERS.items()},
}
HIDDEN = ("softmax", "squared")


def change(world, loss):
    """Labels of the loss, and every seventh value of every column missing."""
    rng = np.random.default_rng(1)
    for number, name in enumerate(("alice", "bob", "carol")):
        file = world.folder / f"{name}.csv"
        header, *rows = csv.reader(file.read_text().splitlines())
        for i, row in enumerate(rows):
            label = row[-1]
            own = row[1:-1] if name == "alice" else row[1:]
            row[1 : 1 + len(own)] = ["" if (i + number + k) % 7 == 0 else value for k, value in enumerate(own)]
            if name == "alice" and loss in NUMBERS:
                row[-1] = str(rng.integers(0, 4) + 3 * (label == "yes"))
            elif name == "alice" and loss == "softmax":
                row[-1] = label if i % 3 else "perhaps"
        with file.open("w", newline="") as out:
            csv.writer(out).writerows([header, *rows])
    if loss in NUMBERS:
        world.file.write_text(world.file.read_text().replace('task = "classify"', 'task = "regress"'))


@pytest.mark.parametrize(("loss", "hidden"), [*((loss, False) for loss in LOSSES), *((loss, True) for loss in HIDDEN)])
def test_real_parties_make_the_pooled_model(tmp_path, made, loss, hidden):
    world = Columns(tmp_path, made, f"[privacy]\nhidden_rows = {str(hidden).lower()}", TREES + LOSSES[loss])
    change(world, loss)
    run(world, ALLOWED)
    model = whole(world)
    assert same(model, pooled(world))
    assert (model.forest.columns > 0).any(), "there must be cuts of passive columns"
