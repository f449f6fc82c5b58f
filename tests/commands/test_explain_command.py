"""`hedgerow disclose` and `hedgerow explain`, from the outside."""

import csv
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow
from federated import params_of, pooled_model
from hedgerow.cli import app
from hedgerow.model.file import load_model, save
from hedgerow.report.explain import explain_model
from hedgerow.report.explain_page import page, reasons_csv
from hedgerow.report.explain_reasons import Reason, Reasons, largest
from report.disclosing import NAMES, PLANS, table_of, trained

POLICY = """
most_bins = 6
[disclose]
income = "monthly net income in euros"
plan = "kind of <contract>"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the bank's model, the telco's part and policy, both tables and a whole model."""
    folder = tmp_path_factory.mktemp("made")
    fed, model, _, whole = trained()
    save(model, folder / "model.json")
    save(whole, folder / "whole.json")
    (folder / "part.json").write_bytes(fed.kept["telco"])
    (folder / "policy.toml").write_text(POLICY)
    table = table_of()
    cells = [[*row[:4], PLANS[int(row[4])]] for row in table.values.tolist()]
    for name, columns in (("bank", [0]), ("telco", [1, 2, 3, 4]), ("all", [0, 1, 2, 3, 4])):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            head = ["id", *(NAMES[j] for j in columns)]
            rows = [[f"c{i}", *("" if row[j] != row[j] else row[j] for j in columns)] for i, row in enumerate(cells)]
            csv.writer(file).writerows([head, *rows])
    return folder


@pytest.fixture
def run(made, tmp_path, monkeypatch):
    for file in made.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)

    def run(*words, code=0):
        result = CliRunner().invoke(app, list(words), env={"COLUMNS": "160"})
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return run


DISCLOSE = ("disclose", "part.json", "--policy", "policy.toml", "--out", "meanings.json")


def lines_of(path):
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def refusal(result):
    last = result.stderr.splitlines()[-1]
    assert last.startswith("hedgerow: ")
    return last


def test_disclosing_prints_what_is_told_and_what_follows(run):
    result = run(*DISCLOSE, "--data", "telco.csv", "--id", "id")
    assert re.search(r"0 +income +monthly net income in euros +6 bins \(", result.stdout)
    assert re.search(r"3 +plan +kind of <contract> +3 groups of categories", result.stdout)
    assert "Not disclosed: 2 of 4 columns." in result.stdout
    assert "can place rows of the training in them" in result.stderr
    assert "secret" not in result.output + Path("meanings.json").read_text()


def test_names_alone_are_disclosed_without_a_warning(run):
    Path("policy.toml").write_text(POLICY.replace("= 6", "= 1"))
    result = run(*DISCLOSE)
    assert "nothing" in result.stdout
    assert result.stderr == ""


def test_explaining_a_part_shows_what_was_disclosed_and_numbers_for_the_rest(run):
    run(*DISCLOSE)
    before, after = (run("explain", "model.json", *more).stdout for more in ((), ("--meanings", "meanings.json")))
    assert re.search(r"column 0 +telco +number", before)
    assert "income" not in before
    assert re.search(r"income +telco +disclosed +(mostly )?rises +monthly net income in euros", after)
    assert re.search(r"column 1 +telco +number", after)
    assert re.search(r"age +bank +own", after)


def test_the_folder_has_a_page_that_needs_no_other_file(run):
    run(*DISCLOSE)
    words = ("--meanings", "meanings.json", "--data", "bank.csv", "--id", "id", "--rows", "c3,c5", "--out", "why")
    result = run("explain", "model.json", *words)
    assert "page: why/explanation.html" in result.stdout
    text = Path("why/explanation.html").read_text()
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert "kind of &lt;contract&gt;" in text
    assert "<contract>" not in text
    assert text.count("data:image/png;base64,") == 4, "importances and three effects"
    assert "row c3" in text
    assert {file.name for file in Path("why").iterdir()} == {
        "explanation.html", "columns.csv", "reasons.csv", "importances.png",
        "effect-0.png", "effect-1.png", "effect-4.png",
    }  # fmt: skip
    columns = lines_of("why/columns.csv")
    forest = load_model("model.json").forest
    assert sum(int(row["splits"]) for row in columns) == (forest.columns >= 0).sum()
    assert {(row["party"], row["known_by"]) for row in columns} == {
        ("bank", "own"), ("telco", "disclosed"), ("telco", "number"),
    }  # fmt: skip


def test_reasons_of_a_part_are_of_own_columns_and_it_is_said(run):
    result = run("explain", "model.json", "--data", "bank.csv", "--id", "id", "--rows", "c3", "--out", "why")
    assert "the active party's own columns alone" in result.stderr
    rows = lines_of("why/reasons.csv")
    assert [(row["row"], row["column"]) for row in rows] == [("c3", "age")]
    own = hedgerow.read_table("bank.csv", id_column="id")
    expected = load_model("model.json").own_shap_values(own)[3, 0]
    assert float(rows[0]["contribution"]) == pytest.approx(expected)


def test_reasons_of_a_whole_model_add_up_to_the_score(run):
    run("explain", "whole.json", "--data", "all.csv", "--id", "id", "--rows", "c0, c7", "--out", "why")
    rows = lines_of("why/reasons.csv")
    model = load_model("whole.json")
    table = hedgerow.read_table("all.csv", id_column="id", categorical=["plan"])
    start = model.shap_values(table)[0, -1]
    of_row = [float(row["contribution"]) for row in rows if row["row"] == "c7"]
    assert start + sum(of_row) == pytest.approx(float(model.scores(table)[7, 0]), abs=1e-4)


@pytest.mark.parametrize(("rows", "shown"), [(None, "0 1 2 3 4"), ("7-9,2", "7 8 9 2"), ("1,1", "1")])
def test_rows_are_chosen_by_number(run, rows, shown):
    run("train", "builtin:iris", "--n-estimators", "3", "--model", "iris.json")
    words = () if rows is None else ("--rows", rows)
    run("explain", "iris.json", "--data", "builtin:iris", *words, "--out", "why")
    found = lines_of("why/reasons.csv")
    assert list(dict.fromkeys(row["row"] for row in found)) == shown.split()
    model, table = load_model("iris.json"), hedgerow.data.builtin.read_builtin("builtin:iris")
    first = [row for row in found if row["row"] == shown.split()[0]]
    values = model.shap_values(table)[int(shown.split()[0])]
    likeliest = values[values.sum(axis=1).argmax()]
    names = list(model.names)
    assert [float(row["contribution"]) for row in first] == pytest.approx(
        [likeliest[names.index(row["column"])] for row in first]
    )


REFUSED = [
    (("explain", "none.json"), "Cannot read the model none.json"),
    (("explain", "part.json"), "passive party's part of a model, without scores"),
    (("explain", "policy.toml"), "not a hedgerow model"),
    (("explain", "model.json", "--meanings", "part.json"), "part.json is not a file of meanings"),
    (("explain", "model.json", "--rows", "1"), "name it with --data"),
    (("explain", "model.json", "--data", "bank.csv", "--id", "id", "--rows", "c3,x"), "the id 'x', which no row"),
    (("explain", "model.json", "--data", "bank.csv", "--ignore", "id", "--rows", "1-x"), "'1-x' is neither"),
    (("explain", "model.json", "--data", "bank.csv", "--ignore", "id", "--rows", "600"), "has rows 0 to 599"),
    (("explain", "model.json", "--data", "bank.csv", "--ignore", "id", "--rows", "0-200"), "from 1 to 100 can be"),
    (("explain", "model.json", "--data", "bank.csv", "--ignore", "id", "--rows", ","), "names 0 rows"),
    (("explain", "whole.json", "--data", "bank.csv", "--ignore", "id"), "lacks column"),
    (("explain", "model.json", "--out", "no/why"), "no does not exist"),
    (("explain", "model.json", "--out", "bank.csv"), "it is not a folder"),
    (("disclose", "model.json", "--policy", "policy.toml", "--out", "m.json"), "not a passive party's part"),
    (("disclose", "part.json", "--policy", "none.toml", "--out", "m.json"), "Cannot read the policy"),
    (("disclose", "part.json", "--policy", "policy.toml", "--out", "no/m.json"), "folder no does not exist"),
    ((*DISCLOSE, "--data", "bank.csv", "--ignore", "id"), "lacks column"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED)
def test_what_cannot_be_is_refused_in_one_sentence(run, words, sentence):
    assert sentence in refusal(run(*words, code=3))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "discloses no column"),
        ('[disclose]\nincme = "x"', "discloses 'incme', which is no column"),
        ("[disclose]\nincome = 3", "disclose must be a section [disclose]"),
        ('disclose = "income"', "disclose must be a section [disclose]"),
        ('[disclose]\nincome = " "', "disclose must be a section [disclose]"),
        ("most_bins = 0", "most_bins must be a whole number from 1 on"),
        ("most_bin = 3", "no key 'most_bin'"),
    ],
)
def test_a_mistyped_policy_is_refused_in_one_sentence(run, text, sentence):
    Path("policy.toml").write_text(text)
    assert sentence in refusal(run(*DISCLOSE, code=3))


def test_meanings_of_another_model_are_refused(run, made):
    run(*DISCLOSE)
    _, model, *_ = trained(table_of(300, seed=1), n_trees=2)
    save(model, "other.json")
    assert "belongs to another model" in refusal(run("explain", "other.json", "--meanings", "meanings.json", code=3))


def test_without_matplotlib_a_folder_is_refused_and_the_table_is_not(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    run("explain", "model.json")
    assert "pip install" in refusal(run("explain", "model.json", "--out", "why", code=3))


def test_names_cannot_move_the_cursor_or_add_markup(run):
    Path("policy.toml").write_text('[disclose]\nincome = "<b>\\u001b[2J & more"\n')
    run(*DISCLOSE)
    result = run("explain", "model.json", "--meanings", "meanings.json", "--out", "why")
    text = Path("why/explanation.html").read_text()
    assert "\x1b" not in result.output + text
    assert "&lt;b&gt;" in text
    assert "<b>" not in text


def test_reasons_from_elsewhere_are_shown_by_the_same_page():
    """The seam: a row, a label of a column or of a group, and a number."""
    reasons = [Reason("7", "telco: all columns", -0.25), Reason("7", "income", 1.5), Reason("8", "income", 0.0)]
    explanation = explain_model(pooled_model(table_of(), params_of()))
    text = page(explanation.with_reasons(Reasons(reasons, "Scores with columns missing.")), {})
    assert text.index("row 7") < text.index("+1.5000") < text.index("-0.2500") < text.index("row 8")
    assert "Scores with columns missing." in text
    assert reasons_csv(reasons).splitlines()[1] == "7,telco: all columns,-0.25"
    by_column = [Reason("1", "a", 1.0), Reason("2", "a", 2.0), Reason("1", "b", -3.0)]
    assert [reason.row for reason in largest(by_column, 5)] == ["1", "1", "2"]
    many = [Reason("1", f"c{i}", float(i)) for i in range(5)]
    assert largest(many, 2) == [many[4], many[3], Reason("1", "3 more", 3.0)]
    assert np.isclose(sum(r.contribution for r in largest(many, 2)), 10)
