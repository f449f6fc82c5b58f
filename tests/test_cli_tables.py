"""Tables on the command line, as the first user has them: semicolons, decimal commas, a column of ids."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from hedgerow.cli import app
from hedgerow.commands import training_tables
from hedgerow.model.file import load_model


def lines(n: int = 60, seed: int = 1) -> list[str]:
    rng = np.random.default_rng(seed)
    out = ["customer,account,size,height,y"]
    for i in range(n):
        size, height = rng.normal(size=2)
        out.append(f"c{i},{90_000_000 + 3 * i},{size:.3f},{height:.3f},{'yes' if size + height > 0 else 'no'}")
    return out


def german(text: str) -> str:
    return text.replace(",", ";").replace(".", ",")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    text = "\n".join(lines()) + "\n"
    (tmp_path / "plain.csv").write_text(text)
    (tmp_path / "data.csv").write_text(german(text))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


TRAIN = ("--label", "y", "--n-estimators", "3")
KNOWN = (*TRAIN, "--id", "customer", "--ignore", "account")


def test_a_file_with_semicolons_and_decimal_commas_gives_the_same_model_and_is_remarked_on(here: Path) -> None:
    run("train", "plain.csv", *KNOWN, "--model", "plain.json")
    said = run("train", "data.csv", *KNOWN, "--model", "german.json").stderr.splitlines()
    assert "note: data.csv uses ';' between fields and ',' for decimals." in said
    assert (here / "plain.json").read_bytes() == (here / "german.json").read_bytes()


def test_what_is_said_on_the_command_line_needs_no_remark(here: Path) -> None:
    said = run("train", "data.csv", *KNOWN, "--delimiter", ";", "--decimal", ",", "--model", "m.json").stderr
    assert "between fields" not in said


def test_predict_and_evaluate_read_such_files_too(here: Path) -> None:
    run("train", "plain.csv", *KNOWN)
    said = run("predict", "model.json", "data.csv", "--id", "customer")
    assert said.stderr == "note: data.csv uses ';' between fields and ',' for decimals.\n"
    assert said.stdout == run("predict", "model.json", "plain.csv", "--id", "customer").stdout
    for file in ("data.csv", "plain.csv"):
        run("evaluate", "model.json", file, "--json", f"{file}.json")
    assert (
        json.loads(Path("data.csv.json").read_text())["metrics"]
        == json.loads(Path("plain.csv.json").read_text())["metrics"]
    )
    explicit = run("predict", "model.json", "data.csv", "--delimiter", ";", "--decimal", ",", "--ignore", "account")
    assert explicit.stderr == ""


def test_a_column_of_text_ids_is_refused_and_one_of_numbers_asked_about(here: Path) -> None:
    said = run("train", "plain.csv", *TRAIN, code=3).stderr.strip()
    assert said == (
        "hedgerow: Every value of column 'customer' differs, so that each row would be a category of its own: is it an "
        "id? Use --id customer, or --ignore customer. If that is meant, name it in --categorical."
    )
    said = run("train", "plain.csv", *TRAIN, "--ignore", "customer").stderr
    assert "note: Every value of column 'account' differs: is it an id? Use --id account, or --ignore account." in said
    said = run("train", "plain.csv", *TRAIN, "--id", "customer").stderr
    assert "note: Every value of column 'account' differs: is it an id? Use --ignore account." in said
    assert "Every value" not in run("train", "plain.csv", *KNOWN).stderr
    run("train", "plain.csv", *TRAIN, "--categorical", "customer")


def test_several_columns_are_ignored_at_once(here: Path) -> None:
    run("train", "plain.csv", *TRAIN, "--ignore", "customer,account")
    assert load_model(here / "model.json").names == ("size", "height")
    run("train", "plain.csv", *TRAIN, "--ignore", "customer", "--ignore", "account")
    assert load_model(here / "model.json").names == ("size", "height")


MISTAKES = {
    "For --ignore, plain.csv has no column 'acount' (did you mean 'account'?)": ("train", *KNOWN[:-1], "acount"),
    "--delimiter must be one sign, like ';', or the word tab; it is 'comma'.": (
        "train",
        *KNOWN,
        "--delimiter",
        "comma",
    ),
    "--decimal must be '.' or ','; it is ';'.": ("train", *KNOWN, "--decimal", ";"),
    "Column 'y' is named both by --label and by --ignore; leave out one.": ("train", *KNOWN, "--ignore", "y"),
}


@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_mistake_is_refused_in_one_sentence(here: Path, sentence: str) -> None:
    command, *words = MISTAKES[sentence]
    assert sentence in run(command, "plain.csv", *words, code=3).stderr


def test_a_column_of_the_model_cannot_be_ignored(here: Path) -> None:
    run("train", "plain.csv", *KNOWN)
    said = run("predict", "model.json", "plain.csv", "--ignore", "size", code=3).stderr
    assert "--ignore size is a column from which the model predicts; name another." in said


def test_a_built_in_set_has_no_signs_to_speak_of(here: Path) -> None:
    said = run("train", "builtin:iris", "--delimiter", ";", code=3).stderr
    assert "builtin:iris is no file; leave out --ignore, --delimiter and --decimal." in said


# Runs


def run_file(here: Path, data: str = "", method: str = "horizontal") -> None:
    parts = lines()[1:]
    for k, name in enumerate("abc"):
        text = "\n".join([lines()[0], *parts[20 * k : 20 * k + 20]]) + "\n"
        (here / f"{name}.csv").write_text(german(text))
    parties = "".join(f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\n' for name in "abc")
    (here / "run.toml").write_text(
        f'[run]\nname = "small"\nmethod = "{method}"\n[data]\nlabel = "y"\ntask = "classify"\n{data}\n'
        f"[trees]\nn_estimators = 2\nmax_depth = 2\nmin_cut_rows = 1\n{parties}"
    )


def test_a_run_tells_how_each_file_was_read_and_asks_about_ids(here: Path) -> None:
    run_file(here, 'id = "customer"')
    said = run("train", "run.toml").stderr
    for name in "abc":
        assert f"note: {name}.csv uses ';' between fields and ',' for decimals." in said
    asked = """note: Every value of column 'account' differs: is it an id? Set [data] ignore = ["account"]."""
    assert said.count(asked) == 1
    assert json.loads((here / "runs/small/manifest.json").read_text())["notes"]


def test_a_run_whose_file_says_it_all_needs_no_remark(here: Path) -> None:
    run_file(here, 'id = "customer"\nignore = ["account"]\ndelimiter = ";"\ndecimal = ","')
    said = run("train", "run.toml").stderr
    assert "between fields" not in said
    assert "Every value" not in said
    assert load_model(here / "runs/small/model.json").names == ("size", "height")


def test_ids_do_not_become_categories_that_every_party_is_told(here: Path) -> None:
    run_file(here)
    said = run("train", "run.toml", code=3).stderr
    assert (
        "a.csv: Every value of column 'customer' differs, so that each row would be a category of its own: is it an "
        """id? Set [data] id = "customer", or ignore = ["customer"]. If that is meant, name it in [data] categorical."""
    ) in said


def test_a_sign_that_cannot_be_is_refused_by_its_key(here: Path) -> None:
    run_file(here, 'delimiter = "ab"')
    said = run("train", "run.toml", code=3).stderr
    assert "[data] delimiter must be one sign, like ';', or the word tab; it is 'ab'." in said


def test_a_table_read_in_pieces_gives_the_same_model_file(here: Path) -> None:
    words = ("train", "plain.csv", "--label", "y", "--ignore", "customer,account", "--n-estimators", "3")
    run(*words, "--model", "whole.json")
    said = run(*words, "--model", "pieces.json", "--in-pieces").output
    assert (here / "whole.json").read_bytes() == (here / "pieces.json").read_bytes()
    for part in ("Reading the table in pieces: cut points.", "Reading the table in pieces: bins.", "not measured on"):
        assert part in said
    more = run(*words, "--in-pieces", "--continue-from", "whole.json", code=3).output
    assert "--continue-from needs the whole table in memory; leave out --in-pieces." in more
    assert "builtin:iris is no file" in run("train", "builtin:iris", "--in-pieces", code=3).output


def test_a_column_that_looks_like_an_id_is_asked_about_in_pieces_too(here: Path) -> None:
    asked = run("train", "plain.csv", "--label", "y", "--in-pieces", code=3).output
    assert "'customer' differs" in asked


def test_a_table_too_large_for_half_of_memory_is_read_in_pieces(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("train", "plain.csv", "--label", "y", "--ignore", "customer", "--n-estimators", "1")
    monkeypatch.setattr(training_tables, "SHARE", 0.0)
    assert "so it is read in pieces; --no-in-pieces reads it whole." in run(*words).output
    assert "in pieces" not in run(*words, "--no-in-pieces").output
