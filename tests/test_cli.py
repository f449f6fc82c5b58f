"""The command line, from the outside."""

import csv
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

import hedgerow
from hedgerow.cli import app
from hedgerow.commands import predict as predict_command
from hedgerow.commands import training_goal
from hedgerow.commands.options import KindName
from hedgerow.model.file import load_model

COLUMNS = ["patient", "size", "colour", "code", "grade", "ill", "cost"]
COMMAND = [sys.executable, "-m", "hedgerow"]
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
Run = Callable[..., Result]


def rows(n: int, seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    out = []
    for i in range(n):
        size, colour = rng.normal(), str(rng.choice(["red", "green", "blue"]))
        code, grade = str(rng.choice(["007", "08", "9"])), int(rng.integers(0, 3))
        ill = "yes" if size + (colour == "red") + (code == "007") + 0.5 * rng.normal() > 0.7 else "no"
        out.append([f"p{seed}-{i}", f"{size:.4f}", colour, code, str(grade), ill, f"{3 * size + grade + 0.25:.3f}"])
    return out


def write(path: Path, cells: list[list[str]], header: list[str] = COLUMNS) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *cells])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "train.csv", rows(200, 1))
    write(tmp_path / "test.csv", rows(80, 2))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here: Path) -> Run:
    def run(*words: str, code: int = 0) -> Result:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return run


LEARN = ("train", "train.csv", "--label", "ill", "--id", "patient", "--categorical", "code", "--n-estimators", "12")

NUMBERS = ("train", "train.csv", "--label", "cost", "--id", "patient")


def refusal(result: Result) -> str:
    """The one sentence of a refused command."""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("hedgerow: ")
    assert sum(line.startswith("hedgerow: ") for line in result.stderr.splitlines()) == 1
    return last.removeprefix("hedgerow: ")


# Training


def test_training_writes_a_model_and_tells_the_metrics_of_the_test_rows(run: Run, here: Path) -> None:
    result = run(*LEARN, "--test", "test.csv")
    assert "test rows" in result.stdout
    assert "auc" in result.stdout
    assert "model: model.json" in result.stdout
    model = load_model(here / "model.json")
    assert model.classes == ("no", "yes")
    assert model.label == "ill"
    assert model.names == ("size", "colour", "code", "grade", "cost")


def test_without_other_rows_the_metrics_are_named_as_those_of_the_training_rows(run: Run) -> None:
    result = run(*LEARN)
    assert "training rows" in result.stdout
    assert "accuracy" in result.stdout


def test_the_command_line_trains_the_forest_that_the_estimator_trains(run: Run, here: Path) -> None:
    run("train", "builtin:wine", "--n-estimators", "5", "--max-depth", "3", "--subsample", "0.5")
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    fitted = hedgerow.GBDTClassifier(n_estimators=5, max_depth=3, subsample=0.5).fit(X, y)
    assert load_model(here / "model.json").forest == fitted.model_.forest


def test_the_help_of_train_tells_the_defaults_that_are_used() -> None:
    options = {option.name: option.help or "" for option in typer.main.get_command(app).commands["train"].params}
    used = training_goal.tree_params({}, KindName.BOOSTED, ["a"])
    said = {name: re.search(r"\(default ([0-9.]+)", text) for name, text in options.items() if hasattr(used, name)}
    told = {name: float(found[1]) for name, found in said.items() if found is not None}
    assert told == {name: float(getattr(used, name)) for name in told}
    assert told["gradient_bits"] == 20
    assert len(told) >= 12


def test_a_random_forest_has_the_defaults_of_its_estimator(run: Run, here: Path) -> None:
    run("train", "builtin:iris", "--kind", "forest", "--n-estimators", "4")
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    assert load_model(here / "model.json").forest == hedgerow.ForestClassifier(n_estimators=4).fit(X, y).model_.forest


@pytest.mark.parametrize(
    ("label", "said"), [("ill", "text with 2"), ("grade", "whole numbers with 3"), ("cost", "a regression")]
)
def test_what_is_learnt_is_guessed_from_the_labels_and_said(run: Run, here: Path, label: str, said: str) -> None:
    result = run("train", "train.csv", "--label", label, "--n-estimators", "2", "--id", "patient")
    assert said in result.stderr
    assert bool(load_model(here / "model.json").classes) == (label != "cost")


def test_numbers_of_classes_can_be_learnt_as_numbers(run: Run, here: Path) -> None:
    words = ("--id", "patient", "--task", "regress", "--objective", "poisson", "--n-estimators", "2")
    run("train", "train.csv", "--label", "grade", *words)
    assert load_model(here / "model.json").loss.name == "poisson"


def test_training_stops_early_and_says_so(run: Run, here: Path) -> None:
    words = ("--n-estimators", "300", "--valid", "test.csv", "--eval-metric", "logloss", "--early-stopping-rounds", "3")
    result = run(*LEARN, *words)
    model = load_model(here / "model.json")
    assert f"the first {model.n_rounds}, which were best, are kept" in result.stderr
    assert model.n_rounds < 300


def test_training_goes_on_from_a_model(run: Run, here: Path) -> None:
    run(*LEARN)
    run(*LEARN, "--continue-from", "model.json", "--model", "more.json")
    first, more = load_model(here / "model.json"), load_model(here / "more.json")
    assert more.n_rounds == 24
    assert more.forest.first(first.forest.n_trees) == first.forest


def test_a_monotone_column_is_named(run: Run, here: Path) -> None:
    run(*LEARN, "--monotone", "size=1,cost=-1")
    assert load_model(here / "model.json").params.monotone_constraints == (1, 0, 0, 0, -1)


def test_a_libsvm_file_needs_no_label_column(run: Run, here: Path) -> None:
    (here / "a.libsvm").write_text("".join(f"{i % 2} 1:{i % 2 + i / 100} 3:{i}\n" for i in range(60)))
    (here / "narrow.libsvm").write_text("".join(f"{i % 2} 1:{i % 2}\n" for i in range(20)))
    run("train", "a.libsvm", "--n-estimators", "3", "--absent", "zero")
    run("evaluate", "model.json", "narrow.libsvm")


def test_test_rows_of_one_class_do_not_cost_the_model(run: Run, here: Path) -> None:
    write(here / "no.csv", [row for row in rows(80, 2) if row[5] == "no"])
    result = run(*LEARN, "--test", "no.csv")
    assert "1 of the 2 classes have no row here" in result.stderr
    assert (here / "model.json").exists()


# Predicting, measuring, showing


def test_predictions_are_the_models_with_the_ids_of_the_rows(run: Run, here: Path) -> None:
    run(*LEARN)
    lines = run("predict", "model.json", "test.csv", "--id", "patient").stdout.splitlines()
    table = hedgerow.read_table(here / "test.csv", categorical=["code"])
    expected = load_model(here / "model.json").predict_labels(table)
    assert lines[0] == "patient,prediction"
    assert lines[1:] == [f"p2-{i},{label}" for i, label in enumerate(expected)]


@pytest.mark.parametrize(
    ("what", "header"),
    [("label", "prediction"), ("probability", "probability_no,probability_yes"), ("raw", "score"), ("leaf", "tree_0,")],
)
def test_each_kind_of_prediction_has_its_header_and_a_line_a_row(run: Run, here: Path, what: str, header: str) -> None:
    run(*LEARN)
    run("predict", "model.json", "test.csv", "--what", what, "--out", "out.csv")
    lines = (here / "out.csv").read_text().splitlines()
    assert lines[0].startswith(header)
    assert len(lines) == 81


def test_written_probabilities_are_exact_across_batches(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict_command, "ROWS_AT_ONCE", 7)
    run(*LEARN)
    text = run("predict", "model.json", "test.csv", "--what", "probability").stdout
    written = np.loadtxt(text.splitlines()[1:], delimiter=",")
    table = hedgerow.read_table(here / "test.csv", categorical=["code"])
    np.testing.assert_array_equal(written, load_model(here / "model.json").predict(table))


def test_leading_zeros_of_a_category_survive_prediction(run: Run, here: Path) -> None:
    run(*LEARN)
    model = load_model(here / "model.json")
    assert model.columns[2].categories == ("007", "08", "9")
    write(here / "only.csv", [row for row in rows(80, 2) if row[3] != "9"])
    predicted = run("predict", "model.json", "only.csv", "--what", "raw").stdout.splitlines()[1:]
    table = hedgerow.read_table(here / "only.csv", categorical=["code"])
    assert predicted == [str(score) for score in model.scores(table)[:, 0]]


def test_evaluating_uses_the_label_of_training_and_writes_json(run: Run, here: Path) -> None:
    trained = run(*LEARN, "--test", "test.csv").stdout
    run("evaluate", "model.json", "test.csv", "--json", "metrics.json")
    report = json.loads((here / "metrics.json").read_text())
    assert report["rows"] == 80
    assert f"{report['metrics']['auc']:.5g}" in trained


def test_a_model_of_numbers_is_measured_in_numbers(run: Run) -> None:
    run("train", "builtin:diabetes", "--n-estimators", "3")
    assert "rmse" in run("evaluate", "model.json", "builtin:diabetes").stdout


def test_showing_a_model_tells_trees_importances_and_writes_files(run: Run, here: Path) -> None:
    run(*LEARN)
    assert "Boosted trees" in run("show", "model.json").stdout
    assert run("show", "model.json", "--tree", "3").stdout.startswith("tree 3 of 12 (round 4)")
    assert "share of cuts" in run("show", "model.json", "--importances", "split").stdout
    run("show", "model.json", "--picture", "a.png", "--xgboost", "x.json")
    assert (here / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "learner" in json.loads((here / "x.json").read_text())


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version").stdout == f"hedgerow {hedgerow.__version__}\n"


# Refusals: exit code 3 and one sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("train", "nowhere.csv", "--label", "ill"), "nowhere.csv does not exist"),
        (("train", "train.csv"), "name its column with --label"),
        (("train", "train.csv", "--label", "il"), "For --label, train.csv has no column 'il' (did you mean 'ill'?)"),
        ((*LEARN, "--valid", "test.csv", "--eval-metric", "gini"), "eval_metric 'gini'"),
        ((*LEARN, "--eval-metric", "auc"), "--eval-metric needs held-out rows; name their file with --valid"),
        ((*LEARN, "--max-depth", "99"), "max_depth must be a whole number from 1 to 30; it is 99"),
        ((*LEARN, "--kind", "forest", "--learning-rate", "0.3"), "--learning-rate does not go with a random forest"),
        ((*LEARN, "--monotone", "sise=1"), "no column 'sise' (did you mean 'size'?)"),
        ((*LEARN, "--monotone", "size=up"), "must end in =1"),
        ((*LEARN, "--monotone", "colour=1"), "categorical and cannot have a monotone constraint"),
        ((*LEARN, "--objective", "huber"), "The labels are text"),
        ((*LEARN, "--task", "classify", "--objective", "huber"), "is a loss for numbers"),
        ((*LEARN, "--huber-slope", "2"), "--huber-slope goes only with --objective huber"),
        ((*NUMBERS, "--objective", "huber", "--huber-slope", "0"), "Huber slope must be above 0; it is 0"),
        ((*NUMBERS, "--task", "classify"), "not whole numbers"),
        ((*LEARN, "--model", "nowhere/model.json"), "the folder nowhere does not exist"),
        ((*LEARN, "--model", "."), "it is a folder or a device"),
        ((*LEARN, "--continue-from", "train.csv"), "not a hedgerow model"),
        (("train", "builtin:roses"), "builtin:roses is unknown"),
        (("train", "builtin:iris", "--label", "species"), "has its own label"),
        (("predict", "model.json", "test.csv"), "Cannot read the model model.json"),
    ],
)
def test_a_mistake_is_refused_in_one_sentence(run: Run, here: Path, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in refusal(run(*words, code=3))
    assert not (here / "model.json").exists()


def test_missing_labels_are_refused_with_their_line(run: Run, here: Path) -> None:
    cells = rows(50, 1)
    cells[6][5] = ""
    write(here / "train.csv", cells)
    assert "1 of the labels are missing, the first at line 8 of train.csv" in refusal(run(*LEARN, code=3))


def test_text_among_numbers_is_refused_with_its_line(run: Run, here: Path) -> None:
    cells = rows(50, 1)
    cells[6][1] = "large"
    write(here / "train.csv", cells)
    sentence = refusal(run(*LEARN, code=3))
    assert "text in numeric column 'size' at line 8 of train.csv" in sentence
    assert "--categorical" in sentence
    assert "large" not in sentence


def test_labels_unknown_to_the_model_are_refused_before_training(run: Run, here: Path) -> None:
    write(here / "test.csv", [[*row[:5], "maybe", row[6]] for row in rows(20, 2)])
    assert "In the test rows: 20 labels" in refusal(run(*LEARN, "--test", "test.csv", code=3))
    assert not (here / "model.json").exists()


def test_a_table_without_a_column_of_the_model_is_refused(run: Run, here: Path) -> None:
    run(*LEARN)
    write(here / "narrow.csv", [row[:3] + row[4:] for row in rows(20, 2)], COLUMNS[:3] + COLUMNS[4:])
    for command in ("predict", "evaluate"):
        assert "narrow.csv: The table lacks column 'code'" in refusal(run(command, "model.json", "narrow.csv", code=3))


def test_a_label_that_the_model_predicts_from_is_refused(run: Run) -> None:
    run(*LEARN)
    sentence = refusal(run("evaluate", "model.json", "test.csv", "--label", "cost", code=3))
    assert sentence.startswith("--label cost is a column from which the model predicts")


def test_a_damaged_model_is_refused(run: Run, here: Path) -> None:
    run(*LEARN)
    whole = (here / "model.json").read_bytes()
    (here / "model.json").write_bytes(whole.replace(b"size", b"sise"))
    assert "changed or damaged" in refusal(run("show", "model.json", code=3))
    (here / "model.json").write_bytes(whole[:-20])
    assert "damaged" in refusal(run("predict", "model.json", "test.csv", code=3))


def test_outputs_that_cannot_be_written_are_refused(run: Run) -> None:
    run(*LEARN)
    for words in (
        ("predict", "model.json", "test.csv", "--out", "no/a.csv"),
        ("evaluate", "model.json", "test.csv", "--json", "no/a.json"),
        ("show", "model.json", "--picture", "no/a.png"),
        ("show", "model.json", "--xgboost", "no/a.json"),
    ):
        assert "the folder no does not exist" in refusal(run(*words, code=3))
    assert "must end in" in refusal(run("show", "model.json", "--picture", "a.txt", code=3))


def test_a_model_of_numbers_has_no_probabilities(run: Run) -> None:
    run("train", "builtin:diabetes", "--n-estimators", "2")
    sentence = refusal(run("predict", "model.json", "builtin:diabetes", "--what", "probability", code=3))
    assert "has no probabilities" in sentence


def test_wrong_usage_has_exit_code_2(run: Run) -> None:
    run("train", "train.csv", "--depth", "3", code=2)
    run("train", "train.csv", "--max-depth", "deep", code=2)
    run("prune", code=2)


def test_a_fault_is_one_sentence_without_private_values(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("Mrs Smith")

    monkeypatch.setattr("hedgerow.commands.train._trained", fail)
    result = run(*LEARN, code=70)
    assert "An unexpected KeyError" in refusal(result)
    assert "--traceback" in result.stderr
    assert "Mrs Smith" not in result.output
    shown = CliRunner().invoke(app, ["--traceback", *LEARN])
    assert shown.exit_code == 70
    assert "Traceback" in shown.stderr


# Real processes


def test_the_module_is_a_command_and_is_quiet_without_a_terminal(here: Path) -> None:
    done = subprocess.run([*COMMAND, *LEARN, "--valid", "test.csv"], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [
        "note: The labels are text with 2 different values, so this is a classification."
    ]


def test_a_command_starts_without_what_takes_long_to_load() -> None:
    slow = {"scipy", "sklearn", "pyarrow", "matplotlib", "grpc"}
    code = f"import sys, hedgerow.cli; print(*sorted({slow} & {{*sys.modules}}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_a_reader_that_goes_away_is_no_error_on_the_screen(here: Path, run: Run) -> None:
    run(*LEARN)
    write(here / "many.csv", rows(80, 2) * 600)
    command = [*COMMAND, "predict", "model.json", "many.csv", "--what", "probability"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=BUFFERED) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"probability_no,probability_yes\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.parametrize("words", [("show", "model.json"), ("evaluate", "model.json", "test.csv")])
def test_a_reader_that_was_never_there_is_no_error_on_the_screen(here: Path, run: Run, words: tuple[str, ...]) -> None:
    run(*LEARN)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*COMMAND, *words], stdout=writing, stderr=subprocess.PIPE, check=False, env=BUFFERED)
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 141


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_control_c_ends_training_with_one_sentence_and_no_model(here: Path) -> None:
    command = [*COMMAND, *LEARN[:-1], "1000000", "--max-depth", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("note: ")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "hedgerow: Stopped. No partial file was left.\n"
        assert process.wait() == 130
    assert sorted(path.name for path in here.iterdir()) == ["test.csv", "train.csv"]


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_control_c_while_a_library_is_loaded_ends_with_the_same_code(here: Path) -> None:
    """Libraries run code made from strings, and Python remembers an interrupt that leaves it."""
    spoilt = 'cli.TyperCommand.invoke = lambda *_: exec("raise KeyboardInterrupt")'
    (here / "interrupted.py").write_text(f"from hedgerow import cli\n{spoilt}\ncli.main()\n")
    command = [sys.executable, "-m", "interrupted", "train", "train.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == "hedgerow: Stopped. No partial file was left.\n"
    assert done.returncode == 130


def test_the_demo_runs_three_organisations_as_processes_and_ends_in_a_page(here: Path, run: Run) -> None:
    command = [sys.executable, "-m", "hedgerow.demo", "--out", "shown", "--only", "loans"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=400)
    assert done.stdout.count("the same forest, bit for bit.") == 1
    assert re.findall(r"^Loans: other columns +(\w+)", done.stdout, re.MULTILINE) == ["alone", "together", "pooled"]
    certificates = {file.read_bytes() for file in (here / "shown" / "loans").glob("*/own.pem")}
    assert len(certificates) == 3
    page = (here / "shown" / "report.html").read_text()
    assert page.index('alt="Bars of the auc. Loans: other columns: alone alder 0.7') < page.index(
        "Reasons of single rows"
    )
    for shown in ("late_bills (birch)", "debt (alder)", "disclosed", "Who saw what", "SealedSums"):
        assert shown in page
    again = run("report", "shown", "--trees", "1", "--out", "again.html")
    assert again.output == "page: again.html\n"
    assert (here / "again.html").read_text() == page


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_the_demo_leaves_no_process_when_it_is_stopped(here: Path) -> None:
    command = [sys.executable, "-m", "hedgerow.demo", "--out", "shown", "--only", "digits"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("Digits. ")
        assert "start" in process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "hedgerow: Stopped; the processes of the organisations have ended.\n"
        assert process.wait() == 130
    folder = str((here / "shown").resolve())
    working = [Path(place).resolve() for place in glob.glob("/proc/[0-9]*/cwd") if os.access(place, os.R_OK)]
    assert not [place for place in working if str(place).startswith(folder)]


def test_the_demo_leaves_a_folder_alone_that_is_none_of_its_own(here: Path) -> None:
    (here / "shown" / "digits").mkdir(parents=True)
    (here / "shown" / "digits" / "mine.txt").write_text("mine")
    command = [sys.executable, "-m", "hedgerow.demo", "--out", "shown"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.endswith("no demonstration; name another folder with --out.\n")
    assert (here / "shown" / "digits" / "mine.txt").read_text() == "mine"
