"""`hedgerow train RUN.toml`: all parties in this process, a folder of what came of it, and going on after a stop."""

import csv
import json
import re
import resource
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.commands.print_tables import measured
from hedgerow.model.file import load_model
from hedgerow.run.file.read import open_run
from hedgerow.run.simulation import run_file as local_run
from hedgerow.storage import audit

CANCER = {"data": 'task = "classify"', "partition": 'data = "builtin:breast_cancer"\nparties = 3'}
TREES = "n_estimators = 5\nmax_depth = 3\nmin_cut_rows = 5"
PARAMS = "subsample = 0.8\ncolsample_bytree = 0.7\n"


def run_file(path, method="horizontal", **sections):
    """A run file of a small simulation; a section given replaces the one there is."""
    parts = {"run": f'name = "small"\nmethod = "{method}"', **CANCER, "trees": TREES, **sections}
    path.write_text("\n".join(f"[{name}]\n{text}" for name, text in parts.items() if text))
    return path


def hedgerow(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


class Stopped(Exception):
    pass


def stopping_after(n):
    def watch(told):
        if told.round.number == n:
            raise Stopped

    return watch


def train(path, folder, **more):
    options = local_run.Options(measured, folder, **more)
    return local_run.train(open_run(path), options)


def forest_in(folder):
    return load_model(folder / "model.json").forest


def test_a_run_leaves_a_model_metrics_logs_and_a_manifest(tmp_path):
    path = run_file(tmp_path / "run.toml", validation="share = 0.2")
    said = hedgerow("train", path)
    folder = tmp_path / "runs" / "small"
    assert "tree 5/5" in said.stderr
    assert f"model: {folder / 'model.json'}" in said.stdout
    kept = json.loads((folder / "manifest.json").read_text())
    metrics = json.loads((folder / "metrics.json").read_text())
    assert kept["status"] == "finished"
    assert [party["name"] for party in kept["parties"]] == ["party1", "party2", "party3"]
    assert len(metrics["history"]) == len(metrics["seconds_per_tree"]) == 5
    assert metrics["final"]["auc"] > 0.85
    for name, last in kept["audit"].items():
        assert audit.verify(folder / name, last).n_lines > 20
    assert load_model(folder / "model.json").n_rounds == 5


def test_what_became_known_is_what_really_crossed(tmp_path):
    masked, plain = tmp_path / "masked", tmp_path / "plain"
    path = run_file(tmp_path / "run.toml")
    hedgerow("train", path, "--folder", masked)
    run_file(path, privacy='protection = "plain"\ni_accept_disclosure = true')
    hedgerow("train", path, "--folder", plain)
    known = [
        {line["message"] for line in json.loads((f / "manifest.json").read_text())["known"]} for f in (masked, plain)
    ]
    assert known[0] - known[1] == {"MaskedSums"}
    assert known[1] - known[0] == {"PlainSums"}
    assert forest_in(masked) == forest_in(plain)


def test_bytes_are_those_of_the_messages(tmp_path):
    outcome = train(run_file(tmp_path / "run.toml"), tmp_path / "run")
    lines = list(audit.read(tmp_path / "run" / "parties" / "party2" / "audit.log"))
    assert sum(line["bytes"] for line in lines if line["event"] == "sent") == outcome.bytes["party2"][1]


def test_the_federation_gives_the_forest_of_all_rows_together(tmp_path):
    path = run_file(tmp_path / "run.toml", trees=TREES + "\n" + PARAMS, validation="share = 0.2")
    hedgerow("train", path, "--folder", tmp_path / "federated")
    run_file(path, "pooled", trees=TREES + "\n" + PARAMS, validation="share = 0.2")
    hedgerow("train", path, "--folder", tmp_path / "pooled")
    assert forest_in(tmp_path / "federated") == forest_in(tmp_path / "pooled")


def test_each_party_alone_has_its_own_model_and_the_mean_is_shown(tmp_path):
    said = hedgerow("train", run_file(tmp_path / "run.toml", "alone"), "--folder", tmp_path / "run")
    assert "mean" in said.stdout
    final = json.loads((tmp_path / "run" / "metrics.json").read_text())["final"]
    mean = np.mean([final[f"party{i}"]["auc"] for i in (1, 2, 3)])
    assert f"{mean:.5g}" in said.stdout
    assert load_model(tmp_path / "run" / "parties" / "party3" / "model.json").n_rounds == 5


@pytest.mark.parametrize("method", ["bagging", "sequential"])
def test_whole_trees_are_a_run_too(tmp_path, method):
    said = hedgerow("train", run_file(tmp_path / "run.toml", method), "--folder", tmp_path / "run")
    assert "Whole trees of each party are shared" in said.stderr
    known = json.loads((tmp_path / "run" / "manifest.json").read_text())["known"]
    assert "OwnTrees" in {line["message"] for line in known}


RESUMED = {
    "masked": {},
    "followed": {"validation": "share = 0.3", "trees": f'{TREES}\neval_metric = "auc"\n{PARAMS}'},
    "stopping": {"validation": "share = 0.3", "trees": f"{TREES}\nlearning_rate = 0.9\nearly_stopping_rounds = 1"},
    "many classes": {"partition": 'data = "builtin:iris"\nparties = 3'},
    "forest": {"trees": 'kind = "forest"\nn_estimators = 5\nmin_cut_rows = 5'},
    "numbers": {"data": 'task = "regress"', "partition": 'data = "builtin:diabetes"\nparties = 4'},
}


@pytest.mark.parametrize("kind", RESUMED)
def test_a_run_stopped_after_any_tree_goes_on_to_the_same_model(tmp_path, kind):
    path = run_file(tmp_path / "run.toml", **RESUMED[kind])
    train(path, tmp_path / "whole")
    for n in (1, 3):
        folder = tmp_path / f"stopped{n}"
        with pytest.raises(Stopped):
            train(path, folder, watch=stopping_after(n))
        train(path, folder, resume=True)
        assert (folder / "model.json").read_bytes() == (tmp_path / "whole" / "model.json").read_bytes()
        kept = json.loads((folder / "manifest.json").read_text())
        for name, last in kept["audit"].items():
            audit.verify(folder / name, last)


def test_a_run_stopped_twice_still_has_all_its_seconds_and_messages(tmp_path):
    path = run_file(tmp_path / "run.toml")
    whole = train(path, tmp_path / "whole")
    for n, resume in ((1, False), (3, True)):
        with pytest.raises(Stopped):
            train(path, tmp_path / "run", resume=resume, watch=stopping_after(n))
    outcome = train(path, tmp_path / "run", resume=True)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert len(metrics["seconds_per_tree"]) == 5
    assert all(sum(outcome.bytes[name]) > sum(whole.bytes[name]) for name in whole.bytes)
    attempts = [line for line in audit.read(tmp_path / "run" / "audit.log") if line.get("type") == "Introduce"]
    assert len(attempts) == 3 * 3


def test_a_stopped_run_is_not_begun_again_by_mistake(tmp_path):
    path = run_file(tmp_path / "run.toml")
    with pytest.raises(Stopped):
        train(path, tmp_path / "run", watch=stopping_after(2))
    said = hedgerow("train", path, "--folder", tmp_path / "run", code=3)
    assert "go on with --resume, or name another --folder" in said.stderr
    run_file(path, trees=TREES.replace("max_depth = 3", "max_depth = 4"))
    said = hedgerow("train", path, "--folder", tmp_path / "run", "--resume", code=3)
    assert "another plan: max_depth was 3, now 4; put the run file back as it was" in said.stderr
    run_file(path, partition=CANCER["partition"] + "\nseed = 1")
    said = hedgerow("train", path, "--folder", tmp_path / "run", "--resume", code=3)
    assert "rows of 'party1' are not those" in said.stderr
    run_file(path)
    hedgerow("train", path, "--folder", tmp_path / "run", "--resume")
    said = hedgerow("train", path, "--folder", tmp_path / "run", "--resume", code=3)
    assert "finished and not overwritten" in said.stderr


def test_options_that_the_run_file_has_words_for_are_refused_by_name(tmp_path):
    path = run_file(tmp_path / "run.toml")
    for words in (("--max-depth", "3"), ("--label", "x"), ("--model", "x.json"), ("--task", "classify")):
        said = hedgerow("train", path, *words, code=3)
        assert f"{words[0]} does not go with a run file" in said.stderr
    for words in (("--resume",), ("--folder", "x")):
        assert f"{words[0]} goes with a run file" in hedgerow("train", "builtin:iris", *words, code=3).stderr
    assert not (tmp_path / "runs").exists()


def test_two_parties_run_and_it_is_said_what_each_learns(tmp_path):
    path = run_file(tmp_path / "run.toml", partition='data = "builtin:breast_cancer"\nparties = 2')
    said = hedgerow("train", path, "--folder", tmp_path / "run")
    assert "each can subtract its own sums" in said.stderr
    assert "each can subtract" in json.loads((tmp_path / "run" / "manifest.json").read_text())["notes"][0]


# Named parties with files of their own


def write_csv(path, names, columns):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *zip(*columns, strict=True)])


def party_files(folder, names=("alice", "bob", "carol"), header=("a", "b", "y"), n=120):
    for i, name in enumerate(names):
        rng = np.random.default_rng(i)
        a, b = rng.normal(size=n).round(3), rng.normal(size=n).round(3)
        write_csv(folder / f"{name}.csv", header, [a, b, np.where(a * b > 0, "yes", "no")])


def named(names=("alice", "bob", "carol"), **more):
    parties = "".join(f'[[party]]\nname = "{n}"\ndata = "{more.get(n, n)}.csv"\n' for n in names)
    return f"{TREES}\n{parties}"


def test_parties_with_files_of_their_own_are_compared_on_test_rows(tmp_path):
    party_files(tmp_path)
    party_files(tmp_path, ["test"])
    data = 'label = "y"\ntask = "classify"\ntest = "test.csv"'
    path = run_file(tmp_path / "run.toml", data=data, partition="", trees=named())
    said = hedgerow("train", path)
    assert "test rows" in said.stdout
    metrics = json.loads((tmp_path / "runs" / "small" / "metrics.json").read_text())
    assert metrics["rows"] == "test"
    assert "log loss" in metrics["final"]


WRONG = {
    "no common column": (None, "The parties have no column in common; compare their headers"),
    "missing file": ({"bob": "bert"}, r"\[\[party\]\] 'bob' data names .*bert.csv, which is not a file"),
    "two with one name": ({"names": ("alice", "bob", "bob")}, "the name 'bob'"),
    "no such label": ({}, r"no column 'z'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_run_is_refused_in_one_sentence(tmp_path, what):
    more, sentence = WRONG[what]
    party_files(tmp_path)
    if more is None:
        for name in ("bob", "carol"):
            party_files(tmp_path, [name], header=(f"{name}1", f"{name}2", "y"))
    data = f'label = "{"z" if what == "no such label" else "y"}"\ntask = "classify"'
    path = run_file(tmp_path / "run.toml", data=data, partition="", trees=named(**(more or {})))
    said = hedgerow("train", path, code=3)
    assert len(said.stderr.strip().splitlines()) == 1
    assert said.stderr.startswith("hedgerow: ")

    assert re.search(sentence, said.stderr)


def test_what_is_wrong_with_one_partys_rows_is_said_with_its_name(tmp_path):
    party_files(tmp_path)
    (tmp_path / "strange.csv").write_text("a,b,y\n1,2,perhaps\n")
    trees = named().replace('data = "bob.csv"', 'data = "bob.csv"\nvalid = "strange.csv"')
    path = run_file(tmp_path / "run.toml", data='label = "y"\ntask = "classify"', partition="", trees=trees)
    assert "Party 'bob': 1 labels" in hedgerow("train", path, code=3).stderr


def test_columns_that_only_some_have_are_missing_elsewhere(tmp_path):
    party_files(tmp_path)
    party_files(tmp_path, ["bob"], header=("a", "extra", "y"))
    data = 'label = "y"\ntask = "classify"'
    path = run_file(tmp_path / "run.toml", data=data, partition="", privacy='columns = "all"', trees=named())
    hedgerow("train", path)
    assert set(load_model(tmp_path / "runs" / "small" / "model.json").names) == {"a", "b", "extra"}


def test_libsvm_files_are_as_wide_as_the_widest(tmp_path):
    rng = np.random.default_rng(0)
    for name, width in (("alice", 3), ("bob", 5), ("carol", 4)):
        lines = [
            f"{int(x[0] > 0)} " + " ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(x))
            for x in rng.normal(size=(80, width))
        ]
        (tmp_path / f"{name}.libsvm").write_text("\n".join(lines) + "\n")
    trees = named().replace(".csv", ".libsvm")
    path = run_file(tmp_path / "run.toml", data='task = "classify"\nabsent = "zero"', partition="", trees=trees)
    hedgerow("train", path)
    assert len(load_model(tmp_path / "runs" / "small" / "model.json").names) == 5


def test_a_file_of_fedtrees_prints_its_metric_as_fedtree_does(tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{int(x[0] + x[1] > 0)} " + " ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(x))
        for x in rng.normal(size=(300, 3))
    ]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    conf = tmp_path / "run.conf"
    conf.write_text(
        f"data={tmp_path / 'train.txt'}\ntest_data={tmp_path / 'train.txt'}\nn_parties=3\npartition=1\n"
        "mode=horizontal\ndata_format=libsvm\nobjective=binary:logistic\nn_trees=3\ndepth=3\nprivacy_tech=sa\n"
    )
    said = hedgerow("train", conf, "--folder", tmp_path / "run")
    line = next(line for line in said.stdout.splitlines() if line.startswith("AUC = "))
    found = json.loads((tmp_path / "run" / "metrics.json").read_text())["final"]["auc"]
    assert line == f"AUC = {found:.4f}"


# A full disk


LIMITED = """
import resource, sys
from hedgerow.cli import main
from hedgerow.run.folder import checkpoint

def full_at(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

class Checkpoint(checkpoint.Checkpoint):
    def keep(self, state):
        if len(state.parts) == 3:
            full_at(self._size + 100)
        super().keep(state)

if sys.argv.pop(1) == "checkpoint":
    from hedgerow.run.simulation import run_file
    run_file.Checkpoint = Checkpoint
else:
    full_at(60_000)
main()
"""


@pytest.mark.parametrize("file", ["checkpoint", "audit.log"])
def test_a_full_disk_ends_a_run_in_one_sentence_and_it_can_go_on_afterwards(tmp_path, file):
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    path, folder = run_file(tmp_path / "run.toml"), tmp_path / "run"
    words = [sys.executable, "-c", LIMITED, file, "train", str(path), "--folder", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("hedgerow: Cannot write the ")
    assert str(folder / file) in last
    assert ("2 trees are kept" in last) == (file == "checkpoint")
    train(path, folder, resume=True)
    train(path, tmp_path / "whole")
    assert (folder / "model.json").read_bytes() == (tmp_path / "whole" / "model.json").read_bytes()
