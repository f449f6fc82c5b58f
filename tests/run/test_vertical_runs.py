"""Vertical run files: what they mean, what does not go with them, and what a run of one leaves behind."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from federated import TINY, vertical
from hedgerow.cli import app
from hedgerow.commands.print_tables import measured
from hedgerow.errors import DataError, ParameterError, ProtocolError, RunError
from hedgerow.model import part as parts
from hedgerow.model.file import load_model
from hedgerow.run.file.read import RunFile, read_run_file
from hedgerow.run.file.tables import party_tables
from hedgerow.run.folder.private_state import CutsFile
from hedgerow.run.forecast.cost import Shape, cost
from hedgerow.run.forecast.disclosures import leaks, sights, used
from hedgerow.run.simulation import run_file
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.simulate import simulate

RUN = '[run]\nname = "credit"\nmethod = "vertical"\n'
DATA = '[data]\ntask = "classify"\n'
CUT = '[partition]\ndata = "builtin:breast_cancer"\nparties = 3\n'
PLAIN = '[privacy]\nprotection = "plain"\ni_accept_disclosure = true\n'
TREES = "[trees]\nn_estimators = 4\nmax_depth = 3\nmin_cut_rows = 5\n"
WHOLE = RUN + DATA + CUT
FILES = RUN + 'active = "bank"\n[data]\ntask = "classify"\nlabel = "y"\nid = "id"\n'
PARTIES = "".join(f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\n' for name in ("bank", "shop"))


def read(folder: Path, text: str) -> RunFile:
    (folder / "run.toml").write_text(text)
    return read_run_file(folder / "run.toml")


def said(folder: Path, *words: str, code: int = 0):
    result = CliRunner().invoke(app, [words[0], str(folder / "run.toml"), *words[1:]], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result


def write(path: Path, header, *columns) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *zip(*columns, strict=True)])


def two_files(folder: Path, n: int = 200) -> None:
    """A bank with labels and a column, a shop with two more and a copy of the labels."""
    rng = np.random.default_rng(0)
    ids, a, b = np.arange(n), rng.normal(size=n).round(3), rng.normal(size=n).round(3)
    c = rng.integers(0, 4, n)
    y = np.where(a + b + (c == 2) > 0.3, "yes", "no")
    write(folder / "bank.csv", ("id", "a", "y"), ids, a, y)
    write(folder / "shop.csv", ("id", "a", "c", "y"), ids, b, c, y)


# What is read


def test_a_vertical_run_file_of_a_few_lines_has_the_safe_choices(tmp_path):
    run = read(tmp_path, WHOLE)
    plan = run.plan(members(run.names)[0])
    assert (plan.method.word, plan.method.protection, plan.active) == ("vertical", "lattice", "party1")
    assert plan.answering == ("party2", "party3")
    assert plan.params.min_cut_rows == 50


def test_paillier_has_keys_of_3072_bits_unless_it_is_said(tmp_path):
    text = WHOLE + '[privacy]\nprotection = "paillier"\n'
    assert read(tmp_path, text).plan(members(["party1", "party2", "party3"])[0]).method.privacy.bits == 3072
    assert read(tmp_path, text + "key_bits = 2048\n").method.privacy.bits == 2048


def test_the_link_reaches_the_plan(tmp_path):
    run = read(tmp_path, WHOLE + "[privacy]\nlink_mbit = 100\n")
    assert run.plan(members(run.names)[0]).method.privacy.link_mbit == 100


def test_what_a_round_uses_and_what_happens_to_a_lost_party_reach_the_plan(tmp_path):
    text = WHOLE + '[privacy]\nlocal_trees = 3\nparty_share = 0.5\non_loss = "continue"\n'
    run = read(tmp_path, text + "[trees]\nmin_child_rows = 5\n")
    plan = run.plan(members(run.names)[0])
    assert (plan.method.local_trees, plan.method.party_share, plan.method.on_loss) == (3, 0.5, "continue")
    said_of = " ".join(leaks(plan))
    assert "Of the first 3 rounds of trees passive parties learn only that they were grown" in said_of
    assert "which passive parties are drawn" in said_of
    assert "which cuts of numbered columns leave rows enough on both sides, and how many rows each category" in said_of
    assert "sides of the tree under way are asked for again" in said_of


BITS = {
    "sealed": ("", 8),
    "plain": (PLAIN, 20),
    "as said": (TREES + "gradient_bits = 12\n", 12),
    "heavy positives": (TREES + "scale_pos_weight = 9.0\n", 20),
}


@pytest.mark.parametrize("case", BITS)
def test_sealed_gradients_of_classes_have_few_bits_unless_it_is_said_or_rows_weigh_more_than_others(tmp_path, case):
    more, bits = BITS[case]
    assert read(tmp_path, WHOLE + more).params.gradient_bits == bits


def test_numbers_and_weighted_rows_keep_all_their_bits(tmp_path):
    assert read(tmp_path, WHOLE.replace('"classify"', '"regress"')).params.gradient_bits == 20
    weighted = (FILES + PARTIES).replace('id = "id"', 'id = "id"\nweight = "w"')
    assert read(tmp_path, weighted).params.gradient_bits == 20


def test_columns_are_cut_in_order_or_shuffled_by_a_seed(tmp_path):
    in_order = party_tables(read(tmp_path, WHOLE)).training
    shuffled = party_tables(read(tmp_path, WHOLE + "seed = 1\n")).training
    names = [name for table in in_order.values() for name in table.names]
    assert [table.n_columns for table in in_order.values()] == [10, 10, 10]
    assert names == sorted(names, key=names.index)
    assert in_order["party2"].names != shuffled["party2"].names
    assert in_order["party1"].labels is not None
    assert in_order["party2"].labels is None


def test_only_the_active_partys_file_gives_labels_and_a_copy_elsewhere_is_left_out(tmp_path):
    two_files(tmp_path)
    split = party_tables(read(tmp_path, FILES + PARTIES + PLAIN))
    assert split.training["bank"].names == ("bank.a",)
    assert split.training["shop"].names == ("shop.a", "c")
    assert split.training["shop"].labels is None
    assert any("its column 'y' is not used" in sentence for sentence in split.notes)
    assert any("PARTY.NAME" in sentence for sentence in split.notes)


def test_categorical_columns_may_be_any_partys_and_must_be_somebodys(tmp_path):
    two_files(tmp_path)
    run = read(tmp_path, FILES + 'categorical = ["c"]\n' + PARTIES + PLAIN)
    assert party_tables(run).training["shop"].columns[1].kind == "categorical"
    run = read(tmp_path, FILES + 'categorical = ["d"]\n' + PARTIES + PLAIN)
    with pytest.raises(DataError, match="'d', which is a column of no party"):
        party_tables(run)


# Everything that does not go with it, as the command line says it

PRIVACY = "[privacy]\n"
HORIZONTAL = WHOLE.replace('"vertical"', '"horizontal"')
BAGGING = WHOLE.replace('"vertical"', '"bagging"')
WRONG = {
    "masks": (WHOLE + PRIVACY + 'protection = "masked"\n', '[privacy] protection = "masked" is for sums over rows'),
    "plain without consent": (WHOLE + PRIVACY + 'protection = "plain"\n', "read every gradient, and with it the labe"),
    "two parties allowed": (WHOLE + PRIVACY + "allow_two = true\n", "[privacy] allow_two does not go with method vert"),
    "no parties at all": (WHOLE + PRIVACY + "party_share = 0\n", "[privacy] party_share must be a number above 0"),
    "only local trees": (WHOLE + PRIVACY + "local_trees = 100\n", "local_trees must be from 0 to below n_estimators"),
    "local trees of rows": (
        HORIZONTAL + PRIVACY + "local_trees = 1\n",
        "local_trees does not go with method horizontal",
    ),
    "ways to find cuts": (WHOLE + PRIVACY + 'cut_points = "counts"\n', "[privacy] cut_points does not go with method"),
    "shared columns": (WHOLE + PRIVACY + 'columns = "shared"\n', "[privacy] columns does not go with method vertical"),
    "keys of a lattice": (WHOLE + PRIVACY + "key_bits = 2048\n", 'key_bits goes only with protection = "paillier"'),
    "short keys": (WHOLE + PRIVACY + 'protection = "paillier"\nkey_bits = 1024\n', "key_bits must be one of 2048, 30"),
    "a link of Paillier": (
        WHOLE + PRIVACY + 'protection = "paillier"\nlink_mbit = 10\n',
        'link_mbit goes only with protection = "lattice"',
    ),
    "no link at all": (WHOLE + PRIVACY + "link_mbit = 0\n", "[privacy] link_mbit must be a number of Mbit/s above 0"),
    "a way to cut rows": (WHOLE + 'how = "even"\n', "[partition] how does not go with method vertical"),
    "noise": (WHOLE + "noise = 0.1\n", "[partition] noise does not go with method vertical, whose table is cut by col"),
    "one party": (WHOLE.replace("parties = 3", "parties = 1"), "needs a passive party beside the active one"),
    "labels at another party": (
        WHOLE.replace("[data]", 'active = "party2"\n[data]'),
        "[run] active must be 'party1', to which [partition] gives the labels",
    ),
    "nobody active": (FILES.replace('active = "bank"\n', "") + PARTIES, "[run] lacks active; name the party that has"),
    "a stranger active": (FILES.replace('"bank"', '"post"') + PARTIES, "[run] active names 'post', which is no party"),
    "one width of all files": (FILES + "n_columns = 3\n" + PARTIES, "[data] n_columns does not go with method vertic"),
    "an active party of rows": (
        HORIZONTAL.replace("[data]", 'active = "party1"\n[data]'),
        "[run] active does not go with method horizontal",
    ),
    "a lattice over rows": (HORIZONTAL + PRIVACY + 'protection = "lattice"\n', "[privacy] lacks opener"),
    "Paillier of whole trees": (
        BAGGING + PRIVACY + 'protection = "paillier"\n',
        '[privacy] protection = "paillier" is for methods horizontal, vertical and hybrid; leave it out',
    ),
    "keys of masks": (HORIZONTAL + PRIVACY + "key_bits = 2048\n", 'key_bits goes only with protection = "paillier"'),
    "rows that nobody counted": (FILES + PARTIES.replace("data", "#data"), "say how wide it is with --columns"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_go_with_a_method_is_refused_by_name(tmp_path, what):
    text, sentence = WRONG[what]
    (tmp_path / "run.toml").write_text(text)
    last = said(tmp_path, "plan", code=3).stderr.splitlines()[-1]
    assert sentence in last
    assert last.startswith("hedgerow: ")
    assert last.endswith((".", "?"))


def test_encryption_that_cannot_be_had_stops_before_any_data_is_read(tmp_path, monkeypatch):
    def unread(_run):
        raise AssertionError("data was read")

    monkeypatch.setattr("hedgerow.run.file.tables.party_tables", unread)
    monkeypatch.setattr("hedgerow.run.file.description.cipher_of", refusing)
    read(tmp_path, WHOLE)
    assert "no such encryption" in said(tmp_path, "train", code=3).stderr
    assert not (tmp_path / "runs").exists()


def refusing(_plan):
    raise ParameterError("There is no such encryption.")


# What a run leaves behind


def test_a_vertical_run_leaves_the_joined_model_and_every_passive_partys_part(tmp_path):
    read(tmp_path, WHOLE + PLAIN + TREES + "[validation]\nshare = 0.2\n")
    shown = said(tmp_path, "train")
    folder = tmp_path / "runs" / "credit"
    assert f"model: {folder / 'model.json'}" in shown.stdout
    kept = json.loads((folder / "manifest.json").read_text())
    assert sorted(kept["models"]) == ["model.json", "parties/party2/part.json", "parties/party3/part.json"]
    assert sorted(kept["audit"]) == ["audit.log", "parties/party2/audit.log", "parties/party3/audit.log"]
    assert "Nothing is sealed: passive parties read every gradient, and with it the labels." in kept["leaks"]
    own = [parts.decoded((folder / "parties" / n / "part.json").read_bytes(), n) for n in ("party2", "party3")]
    assert len({part.model for part in own}) == 1
    assert (folder / "parties" / "party2" / "part.json").stat().st_mode & 0o777 == 0o600
    assert json.loads((folder / "metrics.json").read_text())["final"]["auc"] > 0.9


def test_the_forest_is_the_one_of_the_whole_table(tmp_path):
    more = TREES + "subsample = 0.8\ncolsample_bytree = 0.7\n[validation]\nshare = 0.2\n"
    read(tmp_path, WHOLE + PLAIN + more)
    said(tmp_path, "train", "--folder", str(tmp_path / "vertical"))
    read(tmp_path, WHOLE.replace('"vertical"', '"pooled"') + more)
    said(tmp_path, "train", "--folder", str(tmp_path / "pooled"))
    one, other = (load_model(tmp_path / name / "model.json") for name in ("vertical", "pooled"))
    assert one.forest == other.forest
    assert one.history == other.history


def test_files_with_categories_and_gaps_are_measured_side_by_side(tmp_path):
    two_files(tmp_path)
    text = (tmp_path / "shop.csv").read_text().splitlines()
    (tmp_path / "shop.csv").write_text("\n".join([text[0], re.sub(r",[^,]*,", ",,", text[1], count=1), *text[2:]]))
    read(tmp_path, FILES + 'categorical = ["c"]\n' + PARTIES + PLAIN + TREES)
    said(tmp_path, "train")
    model = load_model(tmp_path / "runs" / "credit" / "model.json")
    assert model.names == ("bank.a", "shop.a", "c")
    assert json.loads((tmp_path / "runs" / "credit" / "metrics.json").read_text())["final"]["auc"] > 0.9


def test_test_rows_must_have_every_partys_columns(tmp_path):
    two_files(tmp_path)
    rows = (tmp_path / "shop.csv").read_text()
    (tmp_path / "test.csv").write_text(rows)
    text = FILES.replace("[data]", '[data]\ntest = "test.csv"') + PARTIES + PLAIN + TREES
    read(tmp_path, text)
    assert "bank.a" in said(tmp_path, "train", code=3).stderr


def test_rows_in_another_order_are_refused(tmp_path):
    two_files(tmp_path)
    head, first, second, *rest = (tmp_path / "shop.csv").read_text().splitlines()
    (tmp_path / "shop.csv").write_text("\n".join([head, second, first, *rest]))
    read(tmp_path, FILES + PARTIES + PLAIN + TREES)
    assert "Party 'shop': The rows of this party are not those of the active" in said(tmp_path, "train", code=3).stderr


def test_valid_files_are_given_by_all_or_by_none(tmp_path):
    two_files(tmp_path)
    read(tmp_path, FILES + PARTIES.replace('"shop.csv"\n', '"shop.csv"\nvalid = "shop.csv"\n') + PLAIN + TREES)
    assert "'bank' lacks valid" in said(tmp_path, "train", code=3).stderr


# What is foretold


def test_who_sees_what_says_sealed_and_opened_and_in_a_plain_run_neither(tmp_path):
    read(tmp_path, WHOLE + TREES + '[privacy]\nprotection = "paillier"\n')
    shown = said(tmp_path, "plan").stdout
    assert "sealed" in shown
    assert "opened" in shown
    assert "names, kinds and categories" not in shown
    assert "which rows share a node" in shown
    run = read(tmp_path, WHOLE + TREES + PLAIN)
    assert {sight.how for sight in sights(run.plan(members(run.names)[0]))} == {"as it is"}


def test_real_parties_say_how_many_rows_there_are(tmp_path):
    driver = '[driver]\naddress = "bank.example:50051"\n'
    prints = PARTIES.replace('data = "bank.csv"', f'fingerprint = "{"a" * 64}"')
    prints = prints.replace('data = "shop.csv"', f'fingerprint = "{"b" * 64}"')
    run = read(tmp_path, FILES + prints + driver)
    assert run.real_plan().coordinator == "a" * 64
    assert "say how many with --rows" in said(tmp_path, "plan", "--columns", "20", code=3).stderr
    assert "5000 rows, 20 columns" in said(tmp_path, "plan", "--columns", "20", "--rows", "5000").stdout
    run = read(tmp_path, FILES + prints + driver + f'fingerprint = "{"c" * 64}"\n')
    with pytest.raises(ParameterError, match="is not that of 'bank', the active party"):
        run.real_plan()


FORETOLD = {
    "plain": PLAIN + TREES,
    "paillier": '[privacy]\nprotection = "paillier"\nkey_bits = 2048\n' + TREES.replace("= 4", "= 1"),
    "counted": PLAIN + TREES + "min_child_rows = 5\n",
    "local trees": PLAIN + "local_trees = 2\n" + TREES,
    "drawn parties": PLAIN + "party_share = 0.5\n" + TREES,
}


@pytest.mark.parametrize("case", FORETOLD)
def test_what_crosses_is_what_was_foretold(tmp_path, case):
    run = read(tmp_path, WHOLE + FORETOLD[case])
    who, identities = members(run.names)
    plan, tables = run.plan(who), party_tables(run)
    heard = []
    simulation = Simulation(
        tables.training, listeners=(lambda *what: heard.append((type(what[2]).__name__, len(what[3]))),),
        identities=identities,
    )  # fmt: skip
    simulate(plan, simulation)
    reckoned = cost(plan, Shape.by_columns(tables.training, plan))
    assert {name for name, _ in heard} == {message.__name__ for message in used(plan)}
    assert {name for name, _ in heard} == {line.message for line in reckoned.lines}
    real = sum(size for _, size in heard)
    assert real / 1.5 < reckoned.total < 2 * real
    assert any("which rows share a node" in sentence for sentence in leaks(plan))


# Going on


class Stopped(Exception):
    pass


def trained(path, folder, stop=None, **more):
    def watch(told):
        if told.round.number == stop:
            raise Stopped

    return run_file.train(read_run_file(path), run_file.Options(measured, folder, watch=watch, **more)).models[""]


RESUMED = {
    "plain": TREES,
    "followed": TREES + "subsample = 0.8\n[validation]\nshare = 0.3\n",
    "stopping": TREES + "learning_rate = 0.9\nearly_stopping_rounds = 1\n[validation]\nshare = 0.3\n",
    "forest": TREES + 'kind = "forest"\n[validation]\nshare = 0.3\n',
    "local": TREES,
}


@pytest.mark.parametrize("kind", RESUMED)
@pytest.mark.parametrize("data", ["breast_cancer", "iris"])
def test_a_run_stopped_after_any_tree_goes_on_to_the_same_model(tmp_path, kind, data):
    more = "local_trees = 2\nparty_share = 0.5\n" if kind == "local" else ""
    read(tmp_path, WHOLE.replace("breast_cancer", data) + PLAIN + more + RESUMED[kind])
    path, whole = tmp_path / "run.toml", trained(tmp_path / "run.toml", tmp_path / "whole")
    for n in (1, 2):
        folder = tmp_path / f"stopped{n}"
        with pytest.raises(Stopped):
            trained(path, folder, stop=n)
        again = trained(path, folder, resume=True)
        assert again.forest == whole.forest
        assert again.history == whole.history


def test_without_the_scores_of_the_last_tree_a_run_does_not_go_on(tmp_path):
    read(tmp_path, WHOLE + PLAIN + TREES)
    path, folder = tmp_path / "run.toml", tmp_path / "run"
    with pytest.raises(Stopped):
        trained(path, folder, stop=2)
    (folder / "scores.0").write_bytes((folder / "scores.1").read_bytes())
    with pytest.raises(RunError, match="does not hold the scores of round 2"):
        trained(path, folder, resume=True)


def test_a_passive_party_that_lost_its_cuts_refuses_to_go_on(tmp_path):
    read(tmp_path, WHOLE + PLAIN + TREES)
    path, folder = tmp_path / "run.toml", tmp_path / "run"
    with pytest.raises(Stopped):
        trained(path, folder, stop=2)
    (folder / "parties" / "party2" / "cuts").unlink()
    with pytest.raises(ProtocolError, match="trees that this party did not help to grow"):
        trained(path, folder, resume=True)


@pytest.mark.parametrize("damage", [lambda raw: b"x" + raw[1:], lambda raw: raw[:50] + b"xx" + raw[52:]])
def test_damaged_cuts_are_not_used(tmp_path, damage):
    read(tmp_path, WHOLE + PLAIN + TREES)
    path, folder = tmp_path / "run.toml", tmp_path / "run"
    with pytest.raises(Stopped):
        trained(path, folder, stop=2)
    file = folder / "parties" / "party2" / "cuts"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises((RunError, ProtocolError), match=r"damaged|did not help to grow"):
        trained(path, folder, resume=True)


def test_half_a_record_of_cuts_is_left_out_and_the_tree_grown_again(tmp_path):
    """As if power had gone while the last tree's cuts were written: the driver has not counted that tree."""
    fed = vertical(TINY)
    own = CutsFile(tmp_path / "cuts", fed.plan.digest)
    fed.model()
    rounds = fed.parties["party3"].passive.run.kept
    for one in rounds:
        own.append(one)
    whole = (tmp_path / "cuts").read_bytes()
    (tmp_path / "cuts").write_bytes(whole[:-3])
    again = CutsFile(tmp_path / "cuts", fed.plan.digest)
    assert [one.round for one in again.read()] == [0]
    again.append(rounds[1])
    assert (tmp_path / "cuts").read_bytes() == whole
    again.append(rounds[1])
    assert [one.round for one in CutsFile(tmp_path / "cuts", fed.plan.digest).read()] == [0, 1]
    with pytest.raises(RunError, match="is damaged"):
        CutsFile(tmp_path / "cuts", bytes(32)).read()


def test_a_share_so_small_that_nothing_is_held_out_is_refused(tmp_path):
    read(tmp_path, WHOLE + PLAIN + TREES + "[validation]\nshare = 1e-9\n")
    assert "the active party has none; give some" in said(tmp_path, "train", code=3).stderr
