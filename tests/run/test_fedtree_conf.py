"""FedTree's files run unchanged: each key is honoured, refused by name, or remarked upon."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hedgerow.agreement.options import DP, NoPrivacy
from hedgerow.cli import app
from hedgerow.errors import ParameterError, RunError
from hedgerow.model.file import load_model
from hedgerow.run.file.fedtree import read_conf
from hedgerow.run.file.fedtree_keys import ALIASES
from hedgerow.run.file.read import RunFile, open_run
from hedgerow.run.simulation.parties import members

SETS = Path(os.environ.get("HEDGEROW_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
needs_sets = pytest.mark.skipif(not SETS.is_dir(), reason=f"the real data sets are not at {SETS}; set HEDGEROW_DATA")

TWO = "data=a,b\n"
THREE = "data=a,b,c\nn_parties=3\nprivacy_tech=sa\n"
EXAMPLE = """\
# a9a, two parties with the same columns
data=./a9a_horizontal_p0,./a9a_horizontal_p1
test_data=./a9a.t
n_parties=2
mode=horizontal
privacy_tech=sa
propose_split=server
n_features=123
n_trees=50
max_depth=6
learning_rate=0.1
max_num_bin=64
lambda=0.1
gamma=0.001
min_child_weight=0
objective=binary:logistic
num_class=1
tree_method=hist
model_path=fedtree.model
"""


def read(folder: Path, text: str) -> RunFile:
    path = folder / "example.conf"
    path.write_text(text)
    return read_conf(path)


# What keys mean


def test_a_file_without_parameters_has_fedtrees_defaults(tmp_path: Path) -> None:
    run = read(tmp_path, TWO)
    params = run.params
    assert (params.n_estimators, params.max_depth, params.max_bin, params.learning_rate) == (40, 6, 32, 1.0)
    assert (params.reg_lambda, params.gamma, params.min_child_weight, params.random_state) == (1.0, 1.0, 1.0, 42)
    assert (run.method.word, run.goal.objective, run.data.task) == ("horizontal", "squared", "regress")
    assert (run.data.format, run.data.absent, run.data.label) == ("libsvm", "missing", None)
    assert [entry.name for entry in run.parties] == ["party1", "party2"]


def test_every_parameter_of_the_trees_is_taken_over_also_by_its_other_names(tmp_path: Path) -> None:
    text = (
        "num_round=7\ndepth=3\nmax_bin=16\neta=0.3\nreg_lambda=2\nmin_split_loss=0.5\nmin_child_weight=0.5\n"
        "ins_bagging_fraction=0.8\ncolsample=0.7\nseed=9\nconstant_h=1\n"
    )
    params = read(tmp_path, TWO + text).params
    assert (params.n_estimators, params.max_depth, params.max_bin, params.learning_rate) == (7, 3, 16, 0.3)
    assert (params.reg_lambda, params.gamma, params.min_child_weight) == (2.0, 0.5, 0.5)
    assert (params.subsample, params.colsample_bytree, params.random_state) == (0.8, 0.7, 9)
    assert params.constant_hessian


@pytest.mark.parametrize(
    ("mode", "method"),
    [("horizontal", "horizontal"), ("ensemble", "bagging"), ("solo", "alone"), ("centralized", "pooled")],
)
def test_modes_are_methods(tmp_path: Path, mode: str, method: str) -> None:
    assert read(tmp_path, TWO + f"mode={mode}\n").method.word == method


@pytest.mark.parametrize("objective", ["binary:logistic", "reg:logistic", "multi:softmax", "multi:softprob"])
def test_objectives_of_classes_are_classifications(tmp_path: Path, objective: str) -> None:
    run = read(tmp_path, TWO + f"objective={objective}\n")
    assert (run.data.task, run.goal.objective) == ("classify", None)


@pytest.mark.parametrize(
    ("word", "cuts"), [("server", "counts"), ("party", "local"), ("client_pre", "local"), ("client_post", "local")]
)
def test_whoever_proposes_splits_decides_the_cut_points(tmp_path: Path, word: str, cuts: str) -> None:
    assert read(tmp_path, THREE + f"propose_split={word}\n").method.cut_points == cuts


def test_no_privacy_is_taken_as_consent_and_it_is_said(tmp_path: Path) -> None:
    run = read(tmp_path, TWO)
    assert run.method.privacy == NoPrivacy(i_accept_disclosure=True)
    assert any("privacy_tech=none is taken as consent" in sentence for sentence in run.notes)


def test_secure_aggregation_of_two_parties_runs_and_the_leak_is_said(tmp_path: Path) -> None:
    run = read(tmp_path, TWO + "privacy_tech=sa\n")
    assert run.plan(members(run.names)[0]).method.allow_two
    assert any("learns the other's" in sentence for sentence in run.notes)


def test_encryption_of_rows_is_opened_by_the_first_party_and_it_is_said(tmp_path: Path) -> None:
    run = read(tmp_path, THREE.replace("=sa", "=he"))
    plan = run.plan(members(run.names)[0])
    assert (plan.method.protection, plan.opener) == ("lattice", "party1")
    assert any("party1 opens the sums over all parties" in sentence for sentence in run.notes)


def test_one_file_is_cut_evenly_into_the_parties(tmp_path: Path) -> None:
    run = read(tmp_path, "data=all.csv\npartition=1\nn_clients=4\ndata_format=csv\nseed=3\n")
    assert run.partition is not None
    assert (run.partition.data, run.partition.parties, run.partition.how) == (Path("all.csv"), 4, "even")
    assert run.partition.seed == 3
    assert (run.data.label, run.data.id, run.data.format) == ("y", "id", "csv")


def test_several_files_are_not_cut_and_it_is_said(tmp_path: Path) -> None:
    run = read(tmp_path, TWO + "partition=1\n")
    assert run.partition is None
    assert any("partition has no effect" in sentence for sentence in run.notes)


def test_a_file_for_each_party_says_how_many_there_are(tmp_path: Path) -> None:
    run = read(tmp_path, "data=a, b, c\n")
    assert run.names == ("party1", "party2", "party3")
    assert any("n_parties is not given; there are 3" in sentence for sentence in run.notes)


def test_bagging_is_a_random_forest_that_draws_rows(tmp_path: Path) -> None:
    run = read(tmp_path, TWO + "bagging=1\nlearning_rate=1\nn_trees=5\n")
    assert run.params.average
    assert (run.params.subsample, run.params.max_depth) == (0.632, 6)
    assert any("learning_rate has no effect with bagging=1" in sentence for sentence in run.notes)


def test_paths_begin_where_the_command_is_run(tmp_path: Path) -> None:
    run = read(tmp_path, TWO + "test_data=t\nmodel_path=fedtree.model\n")
    assert (run.parties[0].data, run.data.test, run.model) == (Path("a"), Path("t"), Path("fedtree.model"))
    assert run.folder == Path("runs/example")
    assert any("model_path: the model is also written there" in sentence for sentence in run.notes)


def test_without_test_data_it_is_said_what_metrics_are_of(tmp_path: Path) -> None:
    assert any("metrics are those of the training rows" in sentence for sentence in read(tmp_path, TWO).notes)
    assert not any("training rows" in sentence for sentence in read(tmp_path, TWO + "test_data=t\n").notes)


# Keys that change nothing here

REMARKS = {
    "n_gpus": "1", "verbose": "1", "verbosity": "2", "profiling": "1", "ip_address": "localhost",
    "server_ip_address": "10.0.0.1", "joint_prediction": "1", "pred_output": "out.txt", "num_class": "2",
    "tree_method": "auto", "n_hori": "2", "n_verti": "2", "alpha": "0.5", "privacy_budget": "10", "key_length": "512",
    "partition_mode": "vertical", "metric": "rmse", "reorder_label": "1",
}  # fmt: skip


@pytest.mark.parametrize("key", REMARKS)
def test_a_key_that_changes_nothing_is_remarked_upon(tmp_path: Path, key: str) -> None:
    run = read(tmp_path, THREE + f"{key}={REMARKS[key]}\n")
    assert any(sentence.startswith(key) for sentence in run.notes)


def test_no_key_is_without_a_meaning_a_refusal_or_a_remark(tmp_path: Path) -> None:
    meant = {
        "mode", "n_parties", "partition", "privacy_tech", "propose_split", "merge_histogram", "data_format",
        "n_features", "ins_bagging_fraction", "seed", "data", "test_data", "model_path", "max_depth", "n_trees",
        "max_num_bin", "learning_rate", "objective", "min_child_weight", "lambda", "gamma", "column_sampling_rate",
        "bagging", "n_parallel_trees", "constant_h",
    }  # fmt: skip
    aliases = {"verbosity", "server_ip_address"}
    assert set(ALIASES) == meant | set(REMARKS) - aliases


def test_fedtrees_noise_is_honoured_and_said_to_promise_nothing(tmp_path: Path) -> None:
    run = read(tmp_path, THREE.replace("privacy_tech=sa", "privacy_tech=dp\nprivacy_budget=2"))
    method = run.plan(members(["party1", "party2", "party3"])[0]).method
    assert method.dp == DP(2, method="laplace")
    assert not method.promises_dp
    notes = " ".join(run.notes)
    assert "privacy_budget=2 is the epsilon of each histogram, not of the model, which has none" in notes
    assert "epsilon = 2 in [privacy] is then that of everything" in notes
    assert "privacy_budget has no effect" not in notes
    assert read(tmp_path, TWO + "privacy=dp").plan(members(["party1", "party2"])[0]).method.dp.epsilon == 10


def test_fedtrees_noise_is_honoured_in_a_vertical_run_too(tmp_path: Path) -> None:
    run = read(tmp_path, TWO + "mode=vertical\nprivacy_tech=dp\nprivacy_budget=2")
    method = run.plan(members(["party1", "party2"])[0]).method
    assert method.dp == DP(2, method="laplace")
    assert method.encrypted
    assert not method.promises_dp
    notes = " ".join(run.notes)
    assert "privacy_budget=2 is the epsilon of each histogram, not of the model, which has none" in notes
    assert "sides of rows at chosen cuts are told without noise" in notes


# What is refused

REFUSED = {
    "mode=vertical\nprivacy_tech=sa": "privacy_tech=sa is not for mode=vertical",
    "mode=ensemble\nprivacy_tech=dp": "privacy_tech=dp goes only with mode=horizontal or mode=vertical",
    "mode=vertical\nprivacy_tech=dp\nprivacy_budget=0": "privacy_budget=0 is out of range",
    "mode=vertical\npartition=1\ndata=all\npartition_mode=horizontal": "does not go with mode=vertical; use partition",
    "mode=hybrid": "mode=hybrid is not available yet; use mode=horizontal for parties with the same columns, or",
    "mode=hybrid\nn_hori=2\nn_verti=3\nalpha=0.5": "use mode=horizontal, without n_hori and n_verti and alpha, for",
    "mode=hybrid\nn_hori=2\nprivacy_tech=he": "use mode=horizontal, without n_hori, for parties",
    "partition=1\ndata=all\npartition_mode=hybrid\nn_hori=2": "partition_mode=hybrid is not available yet; use",
    "partition=1\ndata=all\nmode=vertical\npartition_mode=hybrid": "or partition_mode=vertical for parties with the",
    "partition_mode=hybrid": "partition_mode=hybrid is not available yet; use partition_mode=horizontal for",
    "mode=diagonal": "is unknown; it is one of horizontal",
    "mode=ensemble\nprivacy_tech=he": "goes only with mode=horizontal or mode=vertical",
    "privacy_tech=he\npropose_split=party": "propose_split=party shows every party's quantiles",
    "security_tech=dp\npropose_split=party": "propose_split=party shows every party's quantiles",
    "security_tech=dp\nprivacy_budget=0": "privacy_budget=0 is out of range",
    "security_tech=dp\nprivacy_budget=500": "privacy_budget=500 is out of range",
    "privacy_tech=yes": "privacy_tech=yes is unknown",
    "objective=rank:ndcg": "objective=rank:ndcg is not available",
    "objective=binary": "objective=binary is unknown",
    "n_parallel_trees=4": "use bagging=1 and n_trees",
    "merge_histogram=client": "use merge_histogram=server",
    "tree_method=exact": "tree_method=exact is unknown; it is one of auto, hist",
    "partition=1\ndata=all\npartition_mode=vertical": "partition_mode=vertical does not go with mode=horizontal",
    "metric=auc": "metric=auc is unknown; it is one of default, rmse",
    "test_data=s,t": "test_data=s,t names 2 files",
    "max_num_bin=1000": "max_num_bin=1000 is out of range; it must be a whole number from 2 to 255",
    "depth=six": "depth=six is out of range",
    f"seed={'9' * 400}": "is out of range",
    "n_trees=2.5": "n_trees=2.5 is out of range",
    "bagging=yes": "bagging=yes is unknown; it is one of 0, 1",
    "n_parties=3": "data names 2 files for 3 parties (n_parties)",
    "n_tree=3": "FedTree has no key 'n_tree'; did you mean n_trees?",
    "depth=3\nmax_depth=4": "max_depth is given, but depth, which is the same, had another value before",
    "mode=ensemble\nprivacy_tech=sa": "cannot be had with mode=ensemble",
    "no equals sign": "is not key=value",
    "propose_split=nobody": "propose_split=nobody is unknown",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_names_the_key_and_is_one_sentence_with_exit_code_3(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.conf"
    path.write_text(text + "\n" + ("" if "data=all" in text else TWO))
    result = CliRunner().invoke(app, ["plan", str(path)])
    assert result.exit_code == 3, result.output
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"hedgerow: {path}: ")
    assert REFUSED[text] in last


def test_data_must_be_named_and_fit_the_number_of_parties(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="data is missing"):
        read(tmp_path, "n_trees=3\n")
    with pytest.raises(ParameterError, match="data names 1 file for 2 parties"):
        read(tmp_path, "data=all\n")
    assert read(tmp_path, "data=all\nmode=centralized\n").method.word == "pooled"


def test_remarks_and_repeated_lines_are_no_matter(tmp_path: Path) -> None:
    run = read(tmp_path, "# all of it\n\n" + TWO + "n_trees=3  # few\nnum_round=3\nprivacy_tech = sa\n")
    assert (run.params.n_estimators, run.method.protection) == (3, "masked")
    with pytest.raises(RunError, match="No such file"):
        open_run(tmp_path / "none.conf")


# Parties with other columns


def test_one_file_is_cut_by_columns(tmp_path: Path) -> None:
    run = read(tmp_path, "data=all\npartition_mode=vertical\nmode=vertical\nn_parties=3\nobjective=binary:logistic\n")
    assert (run.method.word, run.active, run.names) == ("vertical", "party1", ("party1", "party2", "party3"))
    assert run.method.protection == "plain"
    assert any("taken as consent: passive parties read every gradient" in sentence for sentence in run.notes)
    assert any("is taken for partition=1" in sentence for sentence in run.notes)


def test_encryption_is_the_lattice_and_its_keys_are_not_paillier_s(tmp_path: Path) -> None:
    run = read(tmp_path, TWO + "mode=vertical\nprivacy_tech=he\nkey_length=512\n")
    assert (run.active, run.method.protection) == ("party1", "lattice")
    assert any("key_length has no effect: it is the length of Paillier keys" in sentence for sentence in run.notes)
    assert any("lattice encryption" in sentence for sentence in run.notes)


@pytest.mark.parametrize("tech", ["none", "dp\nprivacy_budget=100"])
def test_files_that_number_their_own_columns_are_measured_on_all_of_them(tmp_path: Path, tech: str) -> None:
    """As FedTree's a9a example has them: each file begins with column 1 and has the labels."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 6))
    y = (X[:, 0] + X[:, 4] + rng.integers(0, 2, 300) > 1).astype(int)
    X[0] = 1
    for name, own in (("p0", X[:, :3]), ("p1", X[:, 3:]), ("test", X)):
        lines = (f"{b} " + " ".join(f"{j + 1}:1" for j in np.flatnonzero(row)) for b, row in zip(y, own, strict=True))
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    conf = tmp_path / "run.conf"
    conf.write_text(
        f"data={tmp_path / 'p0'},{tmp_path / 'p1'}\ntest_data={tmp_path / 'test'}\nn_parties=2\nmode=vertical\n"
        f"n_features=6\nobjective=binary:logistic\nprivacy_tech={tech}\nn_trees=5\nmax_depth=3\n"
    )
    result = CliRunner().invoke(app, ["train", str(conf), "--folder", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    auc = next(line for line in result.stdout.splitlines() if line.startswith("AUC = "))
    assert float(auc.removeprefix("AUC = ")) > 0.8
    assert "n_features has no effect" in result.stderr
    assert ("No epsilon" in result.stderr) == (tech != "none")
    assert len(load_model(tmp_path / "run" / "model.json").names) == 6


# A whole run


@needs_sets
def test_fedtrees_a9a_example_reaches_its_documented_auc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = gzip.decompress((SETS / "a9a.libsvm.gz").read_bytes()).splitlines(keepends=True)
    for i in (0, 1):
        (tmp_path / f"a9a_horizontal_p{i}").write_bytes(b"".join(lines[i::2]))
    (tmp_path / "a9a.t").write_bytes(gzip.decompress((SETS / "a9a.t.libsvm.gz").read_bytes()))
    (tmp_path / "a9a.conf").write_text(EXAMPLE)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["train", "a9a.conf"])
    assert result.exit_code == 0, result.output
    auc = next(line for line in result.stdout.splitlines() if line.startswith("AUC = "))
    assert float(auc.removeprefix("AUC = ")) >= 0.902
    assert load_model(tmp_path / "fedtree.model").forest.n_trees == 50
