"""Mistakes that beginners make: each gets one sentence of what, where and what to do, an exit code, no traceback."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.cli import app

REFUSED, USAGE, UNREADABLE = 3, 2, 4
ROWS = 60
BUILTIN = '[run]\nname = "a"\n[data]\ntask = "classify"\n[partition]\ndata = "builtin:iris"\nparties = 3\n'
TWO = (
    '[run]\nname = "a"\n{}[data]\ntask = "classify"\nlabel = "unpaid"\nid = "id"\n[[party]]\nname = "x"\ndata = "{}"\n'
)
OTHER = '[[party]]\nname = "y"\ndata = "good.csv"\n'

FILES = {
    "empty.csv": "",
    "header.csv": "id,age,unpaid\n",
    "ragged.csv": "id,age,unpaid\n1,2,yes\n1,2\n2,3,no\n",
    "twice.csv": "age,age,unpaid\n1,2,yes\n2,3,no\n",
    "not.parquet": "no parquet",
    "other.json": '{"trees": []}',
    "part.json": '{"hedgerow part":1}',
    "bracket.toml": "[run\nname = 1\n",
    "key.toml": '[run]\nname = "a"\nmehtod = "horizontal"\n[data]\ntask = "classify"\n',
    "section.toml": '[run]\nname = "a"\n[tress]\nmax_depth = 3\n',
    "nowhere.toml": TWO.format("", "nowhere.csv") + OTHER,
    "depth.toml": BUILTIN + "[trees]\nmax_depth = 0\n",
    "active.toml": TWO.format('method = "vertical"\nactive = "z"\n', "good.csv") + OTHER,
    "plain.toml": BUILTIN + '[privacy]\nprotection = "plain"\n',
    "one.toml": BUILTIN.replace("parties = 3", "parties = 1"),
    "good.toml": BUILTIN,
}

MISTAKES = [
    ("train nowhere.csv --label unpaid", "nowhere.csv does not exist; check the path"),
    ("train good.csv", "needs a label; name its column with --label"),
    ("train good.csv --label upaid", "no column 'upaid' (did you mean 'unpaid'?)"),
    ("train nan_label.csv --label unpaid", "1 of the labels are missing, the first at line 5"),
    ("train one_class.csv --label unpaid --id id", "The labels hold one class only"),
    ("train text.csv --label unpaid", "There is text in numeric column 'age' at line 7"),
    ("train infinite.csv --label unpaid", "Column 'age' holds an infinite value"),
    ("train empty.csv --label unpaid", "empty.csv is empty"),
    ("train header.csv --label unpaid", "has columns but no rows"),
    ("train ragged.csv --label unpaid", "Line 3 of ragged.csv has 2 columns where the header has 3"),
    ("train twice.csv --label unpaid", "Column name 'age' occurs more than once"),
    ("train not.parquet --label unpaid", "is not a whole Parquet file"),
    ("train builtin:irs", "builtin:irs is unknown"),
    ("train good.csv --label unpaid --max-depth 0", "max_depth must be a whole number from 1 to 30; it is 0"),
    ("train good.csv --label unpaid --id id --task regress", "The labels are text, where numbers are to be predicted"),
    ("train good.csv --label unpaid --model no/where.json", "the folder no does not exist; create it first"),
    ("train good.csv --label unpaid --early-stopping-rounds 3", "needs held-out rows; name their file with --valid"),
    ("train good.csv --label unpaid --id id --monotone ages=1", "no column 'ages' (did you mean 'age'?)"),
    ("predict none.json good.csv", "Cannot read the model none.json"),
    ("predict other.json good.csv", "is not a hedgerow model, or it is damaged"),
    ("predict ok.json header.csv", "has columns but no rows"),
    ("predict folder.json good.csv", "folder.json is a folder; name the file in it, such as folder.json/model.json"),
    ("predict part.json good.csv", "is a passive party's part of a model; the active party has the model"),
    ("evaluate ok.json no_label.csv", "no_label.csv has no column 'unpaid'"),
    ("show ok.json --tree 99", "The tree must be a number from 0 to 1; it is 99"),
    ("show good.csv", "is not a hedgerow model, or it is damaged"),
    ("train bracket.toml", "is not TOML"),
    ("train key.toml", "[run] has no key 'mehtod'; did you mean method?"),
    ("train section.toml", "There is no section '[tress]'; did you mean [trees]?"),
    ("train nowhere.toml", "'x' data names nowhere.csv, which is not a file"),
    ("train depth.toml", "[trees] max_depth must be a whole number"),
    ("train active.toml", "[run] active names 'z', which is no party; it is one of x, y"),
    ("train plain.toml", "add i_accept_disclosure = true if that is meant"),
    ("train one.toml", "there is one, with nobody to hide among"),
    ("train good.toml --label x", "--label does not go with a run file"),
    ("plan good.csv", "is no run file; its name must end in .toml"),
    ("join good.toml --as x --data good.csv --cert a.pem --key a.key", "Cannot read the certificate a.pem"),
    ("certs issue pki a", "There is no folder pki; make a CA there with 'hedgerow certs ca pki'"),
    ("init folder --mode vertical --party a", "--active is missing"),
    ("init folder --mode verticl", "The mode must be one of horizontal, vertical, hybrid; it is 'verticl'"),
    ("init folder --from nowhere.conf", "Cannot read nowhere.conf"),
    ("report good.csv", "is not a hedgerow model, or it is damaged"),
    ("watch good.csv", "good.csv is a file; name the run's folder"),
    ("report nothing", "nothing"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a good table, a model, and everything that goes wrong."""
    here = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (here / name).write_text(text)
    (here / "folder.json").mkdir()
    rows = [(f"c{i}", str(20 + i % 40), "yes" if i % 3 else "no") for i in range(ROWS)]
    tables = {
        "good": rows,
        "nan_label": [(a, b, "" if i == 3 else c) for i, (a, b, c) in enumerate(rows)],
        "one_class": [(a, b, "yes") for a, b, _ in rows],
        "text": [(a, "old" if i == 5 else b, c) for i, (a, b, c) in enumerate(rows)],
        "infinite": [(a, "inf" if i == 5 else b, c) for i, (a, b, c) in enumerate(rows)],
    }
    for name, table in tables.items():
        (here / f"{name}.csv").write_text("\n".join(["id,age,unpaid", *map(",".join, table)]) + "\n")
    (here / "no_label.csv").write_text("\n".join(["id,age", *(f"{a},{b}" for a, b, _ in rows)]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        words = ["train", "good.csv", "--label", "unpaid", "--id", "id", "--n-estimators", "2", "--model", "ok.json"]
        assert CliRunner().invoke(app, words).exit_code == 0
    return here


@pytest.mark.parametrize(("command", "sentence"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_gets_a_sentence_and_leaves_what_is_there(folder, monkeypatch, command, sentence):
    monkeypatch.chdir(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    found = CliRunner().invoke(app, command.split())
    said = " ".join(found.output.split())
    assert found.exit_code == REFUSED, said
    assert sentence in said
    assert "Traceback" not in said
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize(
    ("command", "code", "sentence"),
    [
        ("trian good.csv", USAGE, "No such command 'trian'"),
        ("predict ok.json good.csv --what shape", USAGE, "'shape' is not one of"),
        ("train good.csv --labl unpaid", USAGE, "No such option"),
        ("audit verify no.log", UNREADABLE, "Cannot read the audit log no.log"),
    ],
)
def test_a_mistyped_command_is_told_from_a_refusal_by_its_exit_code(folder, monkeypatch, command, code, sentence):
    monkeypatch.chdir(folder)
    found = CliRunner().invoke(app, command.split())
    assert found.exit_code == code
    assert sentence in " ".join(found.output.split())


def test_there_are_thirty_of_them():
    assert len(MISTAKES) >= 30
