import shutil

import pytest
from kept_runs import SCRIPT, train, write_run

from hedgerow.report.page.cases import Case, Cases, Step

FIGURES = {"alone party1": {"auc": 0.71}, "together": {"auc": 0.82, "accuracy": 0.7}, "pooled": {"auc": 0.83}}


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A horizontal and a vertical run, and beside the first what is reached alone and pooled."""
    rows, columns = tmp_path_factory.mktemp("rows"), tmp_path_factory.mktemp("columns")
    found = {method: train(write_run(rows, method, method)) for method in ("horizontal", "alone", "pooled")}
    found["vertical"] = train(write_run(columns, "vertical", "vertical", 'active = "party1"'))
    return found


@pytest.fixture(scope="session")
def several(runs, tmp_path_factory):
    """A folder of both runs with what they reach; names try to be HTML."""
    here = tmp_path_factory.mktemp("several")
    for name in ("horizontal", "vertical"):
        shutil.copytree(runs[name], here / name)
    (here / "reasons.csv").write_text('row,column,contribution\n7,"<b>debt</b> (party1)",0.5\n')
    cases = tuple(
        Case(name, f"{name} {SCRIPT}", "A story.", run=name, rows="90 new rows", figures=FIGURES,
             steps=(Step("trained", 2.0, 3_000_000), Step("scored", 1.0, 500)),
             reasons="reasons.csv" if name == "vertical" else "", about_reasons="How they were found.")
        for name in ("horizontal", "vertical")
    )  # fmt: skip
    Cases("Two runs", "About both.", "auc", cases).write(here)
    return here
