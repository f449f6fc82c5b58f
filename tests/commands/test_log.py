"""`--quiet`, `--log-file`, `--log-format`: what happens is told on stderr, in a file, for people or for programs."""

import json
import re

import pytest
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.commands import log

RUN = """
[run]
name = "small"
[data]
task = "classify"
[partition]
data = "builtin:breast_cancer"
parties = 3
[validation]
share = 0.2
[trees]
n_estimators = 3
max_depth = 2
"""


def hedgerow(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def run(tmp_path):
    (tmp_path / "small.toml").write_text(RUN)
    return tmp_path / "small.toml"


def test_a_quiet_run_prints_results_alone(run):
    loud = hedgerow("train", run, "--folder", run.parent / "loud")
    quiet = hedgerow("train", run, "--folder", run.parent / "quiet", "--quiet")
    assert "tree 1/3" in loud.stderr
    assert quiet.stderr == ""
    seconds = re.compile(r"seconds .*|(folder|model): .*")
    assert seconds.sub("", quiet.stdout) == seconds.sub("", loud.stdout)


def test_errors_are_printed_even_by_a_quiet_command(run):
    assert hedgerow("train", run.parent / "none.toml", "--quiet", code=3).stderr.startswith("hedgerow: ")


def test_a_log_of_lines_of_json_has_every_tree_and_the_error_that_ended_it(run):
    file, folder = run.parent / "small.log", run.parent / "run"
    words = ("train", run, "--folder", folder, "--log-file", file, "--log-format", "json")
    shown = hedgerow(*words).stderr
    assert "tree 1/3" in shown, "stderr is as it was"
    hedgerow(*words, code=3)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    trees = [line for line in lines if line["kind"] == "tree"]
    assert [line["number"] for line in trees] == [1, 2, 3]
    history = json.loads((folder / "metrics.json").read_text())["history"]
    assert [line["value"] for line in trees] == history
    assert all(line["bytes"] > 0 and line["of"] == 3 and line["metric"] == "logloss" for line in trees)
    assert lines[-1]["kind"] == "error"
    assert "is finished and not overwritten" in lines[-1]["sentence"]
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)


def test_without_a_file_json_goes_to_stderr_and_nothing_else_does(run):
    said = hedgerow("train", run, "--log-format", "json").stderr
    assert [json.loads(line)["kind"] for line in said.splitlines()] == ["tree"] * 3


def test_a_table_is_logged_too_as_text_with_times(tmp_path):
    words = (
        "train",
        "builtin:iris",
        "--n-estimators",
        2,
        "--model",
        tmp_path / "m.json",
        "--log-file",
        tmp_path / "log",
    )
    assert "note: The labels are text" in hedgerow(*words).stderr
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == 3
    assert all(re.match(r"20\d\d-\d\d-\d\dT[\d:.]+Z (note|tree): ", line) for line in lines)


def test_a_name_cannot_break_a_line_of_a_log(tmp_path):
    with log.log_to(True, tmp_path / "log", log.LogFormat.TEXT) as own:
        own.note("a\nb\x1b[2J")
    assert (tmp_path / "log").read_text().endswith("note: a\\nb\\x1b[2J\n")
    with log.log_to(True, tmp_path / "json", log.LogFormat.JSON) as own:
        own.note("a\nb")
    assert json.loads((tmp_path / "json").read_text())["sentence"] == "a\nb"


def test_a_log_that_cannot_be_written_is_told_before_anything_is_done(run):
    said = hedgerow("train", run, "--log-file", run.parent / "no" / "log", code=3).stderr
    assert "Cannot write the log" in said
    assert not (run.parent / "runs").exists()


def test_a_log_ends_with_its_command(run, tmp_path):
    hedgerow("train", run, "--log-file", tmp_path / "log", "--quiet")
    before = (tmp_path / "log").read_text()
    hedgerow("train", "builtin:iris", "--n-estimators", 1, "--model", tmp_path / "m.json")
    assert (tmp_path / "log").read_text() == before
    assert not log.current().bare
