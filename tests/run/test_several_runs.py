"""A run file with several active parties, all in one process."""

import csv
import json

import pytest
from typer.testing import CliRunner

from hedgerow import load_bag, load_model, read_table
from hedgerow.cli import app
from hedgerow.model.part import ownership_of
from several_active import BANKS, NETWORKS
from several_files import HEAD, PLAIN, REST, sections, write


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def file(tmp_path):
    write(tmp_path)
    return tmp_path / "run.toml"


VALID = "[validation]\nshare = 0.25\n"


def test_each_active_party_has_a_run_of_its_own_and_all_models_are_measured_together(file):
    file.write_text(HEAD + REST + PLAIN + VALID + sections())
    result = run("train", file)
    assert result.exit_code == 0, result.output
    place = file.parent / "runs" / "payments"
    bag = load_bag(place / "bag.json")
    for name, beside in (("net1", ("bank1", "bank2")), ("net2", ("bank2", "bank3"))):
        model = load_model(place / "parties" / name / "model.json")
        assert ownership_of(model).parties == (name, *beside)
        assert bag.models[name].forest == model.forest
        assert json.loads((place / "parties" / name / "manifest.json").read_text())["status"] == "finished"
    found = json.loads((place / "metrics.json").read_text())
    assert found["rows"] == "validation"
    assert list(found["final"]) == ["net1", "net2", "together"]
    assert "together" in result.output
    assert "mean" not in result.output
    assert "net1: Party 'bank3' has none of the rows of 'net1' and is left out." in result.output.replace("\n", " ")


def test_the_models_are_those_of_runs_with_one_active_party(file):
    file.write_text(HEAD + REST + PLAIN + VALID + sections())
    assert run("train", file).exit_code == 0
    for name, beside in (("net1", ("bank1", "bank2")), ("net2", ("bank2", "bank3"))):
        one = HEAD.replace('["net1", "net2"]', f'"{name}"').replace('"payments"', f'"{name}"')
        alone = file.with_name(f"{name}.toml")
        alone.write_text(one + REST + PLAIN + VALID + sections((name, *beside)))
        assert run("train", alone).exit_code == 0
        own = load_model(file.parent / "runs" / name / "model.json")
        assert own.forest == load_model(file.parent / "runs" / "payments" / "parties" / name / "model.json").forest


def test_metrics_together_are_those_of_the_bag_on_the_same_rows(file):
    """On test rows of the first network alone: a joined table has what the banks know of them."""
    rows = [line.split(",") for line in (file.parent / "net1.csv").read_text().splitlines()]
    with (file.parent / "test.csv").open("w", newline="") as out:
        csv.writer(out).writerows([rows[0], *rows[1:81]])
    text = HEAD + REST.replace("[trees]", 'test = "test.csv"\n[trees]') + PLAIN + sections()
    file.write_text(text)
    assert run("train", file).exit_code == 0
    place = file.parent / "runs" / "payments"
    told = json.loads((place / "metrics.json").read_text())
    assert told["rows"] == "test"
    banks = {bank: read_table(file.parent / f"{bank}.csv", id_column="account") for bank in BANKS}
    of = {bank: dict(zip(t.ids, t.values.tolist(), strict=True)) for bank, t in banks.items()}
    with (file.parent / "joined.csv").open("w", newline="") as out:
        header = [*rows[0], *(name for table in banks.values() for name in table.names)]
        lines = [[*row, *(cell for bank in BANKS for cell in of[bank].get(row[0], ["", ""]))] for row in rows[1:81]]
        csv.writer(out).writerows([header, *lines])
    json_file = file.parent / "again.json"
    joined, told_as = file.parent / "joined.csv", ("--ignore", "account", "--json", json_file)
    result = run("evaluate", place / "bag.json", joined, *told_as)
    assert result.exit_code == 0, result.output
    assert json.loads(json_file.read_text())["metrics"] == pytest.approx(told["final"]["together"])


def test_a_finished_run_is_not_overwritten_and_one_that_stopped_between_goes_on(file):
    file.write_text(HEAD + REST + PLAIN + VALID + sections())
    assert run("train", file).exit_code == 0
    place = file.parent / "runs" / "payments"
    again = run("train", file)
    assert again.exit_code == 3
    assert "is finished and not overwritten" in again.output
    before = (place / "metrics.json").read_text()
    (place / "bag.json").unlink()
    (place / "metrics.json").unlink()
    second = place / "parties" / "net2"
    second.rename(file.parent / "gone")
    kept = (place / "parties" / "net1" / "model.json").read_bytes()
    assert run("train", file, "--resume").exit_code == 0
    assert (place / "parties" / "net1" / "model.json").read_bytes() == kept
    assert json.loads((place / "metrics.json").read_text()) == json.loads(before)


def test_a_column_that_a_network_and_a_bank_call_alike_is_refused(file):
    for name in NETWORKS:
        path = file.parent / f"{name}.csv"
        path.write_text(path.read_text().replace("amount,", "turnover,", 1))
    file.write_text(HEAD + REST + PLAIN + VALID + sections())
    result = run("train", file)
    assert result.exit_code == 3
    assert "'net1' and 'bank2' both have a column 'turnover'" in result.output


def test_labels_in_a_bank_s_file_are_not_used_and_it_is_said_once(file):
    file.write_text(HEAD + REST + PLAIN + sections())
    assert run("train", file).exit_code == 0
    path = file.parent / "bank2.csv"
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([f"{header},fraud", *(f"{line},yes" for line in lines)]) + "\n")
    result = run("train", file, "--folder", file.parent / "again")
    assert result.exit_code == 0, result.output
    assert " ".join(result.output.split()).count("is a passive party's; its column 'fraud' is not used.") == 1
    first, again = (
        load_bag(place / "bag.json") for place in (file.parent / "runs" / "payments", file.parent / "again")
    )
    for name in NETWORKS:
        assert first.models[name].forest == again.models[name].forest


def test_the_plan_shows_each_run(file):
    file.write_text(HEAD + REST + sections())
    result = run("plan", file)
    assert result.exit_code == 0, result.output
    for name in NETWORKS:
        assert f"The run of {name}, with every passive party that has some of its rows" in result.output
        assert f"{name} learns which of its ids each passive party has" in result.output


def test_show_lists_the_models_of_a_bag(file):
    file.write_text(HEAD + REST + PLAIN + sections())
    assert run("train", file).exit_code == 0
    bag = file.parent / "runs" / "payments" / "bag.json"
    shown = run("show", bag)
    assert shown.exit_code == 0, shown.output
    assert "2 models of active parties; the mean of what they predict" in shown.output
    assert "net2: Boosted trees" in shown.output
    assert "column" in run("show", bag, "--importances", "gain").output
    refused = run("show", bag, "--tree", "0")
    assert refused.exit_code == 3
    assert "show one of its models" in refused.output


WRONG = {
    "an active party that is none": (('["net1", "net2"]', '["net1", "net3"]'),  "names 'net3', which is no party"),
    "one twice": (('["net1", "net2"]', '["net1", "net1"]'), "names one party, or one twice"),
    "one in brackets": (('["net1", "net2"]', '["net1"]'), "names one party, or one twice"),
    "another method": (('"hybrid"', '"vertical"'), "names several parties, which goes with method hybrid"),
    "votes of one": (('active = ["net1", "net2"]', 'active = "net1"\nvote = true'), "is for several active parties"),
    "real parties": (("[data]", '[driver]\naddress = "localhost:5000"\n[data]'),
                     "between real parties each active one has a run file of its own"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_told_in_one_sentence(file, case):
    (old, new), sentence = WRONG[case]
    file.write_text((HEAD + REST + PLAIN + sections()).replace(old, new))
    result = run("train", file)
    assert result.exit_code == 3
    assert sentence in result.output.replace("\n", " ")
