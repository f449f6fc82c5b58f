"""The examples run, and print what they say."""

import ast
import re
import runpy
import shutil
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.cli import app

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
RUN_FILES = sorted(EXAMPLES.glob("*/*.toml"))
NOTEBOOK = EXAMPLES / "first-federation.ipynb"


def said(script):
    """What a script prints by its own account; `...` stands for any end of a line."""
    account = (ast.get_docstring(ast.parse(script.read_text())) or "").partition("Prints:\n")[2]
    return [line.removeprefix("    ") for line in account.splitlines()]


def is_so(lines, printed):
    wanted = ["[^\n]*".join(map(re.escape, line.split("..."))) for line in lines]
    return re.fullmatch("\n".join(wanted), printed.strip()) is not None


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_prints_what_it_says(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert is_so(said(script), capsys.readouterr().out)


def test_a_script_that_prints_something_else_is_found():
    assert is_so(["AUC 0.9..."], "AUC 0.987\n")
    assert not is_so(["AUC 0.9..."], "AUC 0.887\n")
    assert not is_so(["AUC 0.9..."], "AUC 0.987\nand more\n")


@pytest.mark.parametrize("run_file", RUN_FILES, ids=lambda file: file.stem)
def test_a_run_file_trains_on_the_tables_beside_it(run_file, tmp_path, monkeypatch):
    shutil.copytree(run_file.parent, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    if Path("tables.py").exists():
        runpy.run_path("tables.py", run_name="__main__")
    ran = CliRunner().invoke(app, ["train", run_file.name])
    assert ran.exit_code == 0, ran.output
    assert Path(f"runs/{run_file.stem}/model.json").exists()


def test_the_notebook_runs_from_its_first_cell_to_its_last(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the notebook's own machinery
        import nbformat  # a slow import that no other test needs
        from nbclient import NotebookClient

        notebook = nbformat.read(NOTEBOOK, 4)
        assert all(not cell.get("outputs") for cell in notebook.cells)
        NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    printed = "".join(output.get("text", "") for output in shown)
    assert re.search(r"^together +0\.9\d+$", printed, re.MULTILINE)
    assert "True\n" in printed
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"image/png", "text/html"} <= kinds


def test_the_list_of_examples_is_complete():
    named = set(re.findall(r"^\| `([^`]+)` \|", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    there = {f"{file.name}/" if file.is_dir() else file.name for file in EXAMPLES.iterdir()}
    assert named == {name for name in there if not name.startswith(("__", "."))} - {"README.md", "ruff.toml"}
