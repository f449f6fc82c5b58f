"""Run files with hidden rows: what they mean, what is foretold, and that a stopped run goes on."""

import json
from pathlib import Path

import pytest

from hedgerow.commands.print_tables import measured
from hedgerow.errors import ParameterError
from hedgerow.run.file.read import RunFile, read_run_file
from hedgerow.run.file.tables import party_tables
from hedgerow.run.forecast.cost import Shape, cost
from hedgerow.run.forecast.disclosures import leaks, sights, used
from hedgerow.run.simulation import run_file
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.simulate import simulate

RUN = '[run]\nname = "credit"\nmethod = "vertical"\n[data]\ntask = "classify"\n'
CUT = '[partition]\ndata = "builtin:iris"\nparties = 2\n'
TREES = "[trees]\nn_estimators = 2\nmax_depth = 2\nmin_cut_rows = 5\n"
HIDDEN = "[privacy]\nhidden_rows = true\n"
PAILLIER = '[privacy]\nprotection = "paillier"\nkey_bits = 2048\nhidden_rows = true\n'
SMALL = "[trees]\nn_estimators = 1\nmax_depth = 1\n"


def read(folder: Path, text: str) -> RunFile:
    (folder / "run.toml").write_text(text)
    return read_run_file(folder / "run.toml")


class Stopped(Exception):
    pass


def trained(folder, into, stop=None, **more):
    def watch(told):
        if told.round.number == stop:
            raise Stopped

    run = read_run_file(folder / "run.toml")
    return run_file.train(run, run_file.Options(measured, folder / into, watch=watch, **more)).models[""]


def test_a_run_that_was_stopped_goes_on_to_the_same_model_and_its_manifest_says_what_was_hidden(tmp_path):
    read(tmp_path, RUN + CUT + HIDDEN + TREES + "[validation]\nshare = 0.3\n")
    whole = trained(tmp_path, "whole")
    with pytest.raises(Stopped):
        trained(tmp_path, "stopped", stop=1)
    again = trained(tmp_path, "stopped", resume=True)
    assert again.forest == whole.forest
    assert again.history == whole.history
    manifest = json.loads((tmp_path / "stopped" / "manifest.json").read_text())
    told = {line["message"] for line in manifest["known"]}
    assert {"AskHiddenSums", "AskHiddenSides", "HiddenSides"} <= told
    assert not told & {"AskSealedSums", "AskSides", "Sides"}


def test_without_hidden_rows_the_model_is_the_same(tmp_path):
    read(tmp_path, RUN + CUT + HIDDEN + TREES)
    hidden = trained(tmp_path, "hidden")
    read(tmp_path, RUN + CUT + TREES)
    assert trained(tmp_path, "shown").forest == hidden.forest


@pytest.mark.parametrize(("privacy", "trees"), [(HIDDEN, TREES), (PAILLIER, SMALL)])
def test_what_crosses_is_what_was_foretold(tmp_path, privacy, trees):
    run = read(tmp_path, RUN + CUT + privacy + trees)
    who, identities = members(run.names)
    plan, tables = run.plan(who), party_tables(run)
    heard = []
    listeners = (lambda *what: heard.append((type(what[2]).__name__, len(what[3]))),)
    simulate(plan, Simulation(tables.training, listeners=listeners, identities=identities))
    reckoned = cost(plan, Shape.by_columns(tables.training, plan))
    assert {name for name, _ in heard} == {message.__name__ for message in used(plan)}
    assert {name for name, _ in heard} == {line.message for line in reckoned.lines}
    real = sum(size for _, size in heard)
    assert real / 2 < reckoned.total < 2 * real


def test_what_remains_to_be_known_is_said(tmp_path):
    plan = read(tmp_path, RUN + CUT + HIDDEN + TREES).plan(members(("party1", "party2"))[0])
    said = " ".join(leaks(plan))
    assert "do not learn which rows share a node" in said
    assert "learn which rows share a node, and so" not in said
    assert "their own chosen cuts" in said
    seen = [(sight.who, sight.message, sight.how) for sight in sights(plan)]
    assert ("every passive party drawn for the tree", "AskHiddenSums", "sealed") in seen
    assert ("owner of the cuts", "AskHiddenSides", "sealed") in seen


def test_other_methods_have_no_hidden_rows(tmp_path):
    with pytest.raises(ParameterError, match="is for method vertical"):
        read(tmp_path, RUN.replace("vertical", "horizontal") + CUT + HIDDEN + TREES)
    plain = HIDDEN + 'protection = "plain"\ni_accept_disclosure = true\n'
    with pytest.raises(ParameterError, match="would hide nothing"):
        read(tmp_path, RUN + CUT + plain + TREES).plan(members(("party1", "party2"))[0])
