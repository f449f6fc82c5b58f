"""Columns that not all parties have are left out, and whoever may know it is told; too few left are refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from real_parties import NAMES, World, write_rows
from test_train_run import hedgerow, named, run_file, write_csv

from hedgerow import GBDTClassifier, Horizontal, WholeTrees
from hedgerow.data import partition
from hedgerow.errors import DataError
from hedgerow.protocols import dropped_columns

NUMBERS = tuple(f"x{i}" for i in range(30))
DATA = 'label = "y"\ntask = "classify"'


def files(folder, renamed, n=30):
    """Three parties with thirty columns, of which bob calls some otherwise."""
    for seed, name in enumerate(NAMES):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, n)).round(2)
        header = [f"X{i}" if name == "bob" and i >= n - renamed else f"x{i}" for i in range(n)]
        write_csv(folder / f"{name}.csv", [*header, "y"], [*X.T, np.where(X[:, 0] > 0, "yes", "no")])


def simulation(folder, renamed, privacy=""):
    files(folder, renamed)
    return run_file(folder / "run.toml", data=DATA, partition="", privacy=privacy, trees=named(NAMES))


ONE = "29 of 31 columns are common to all parties; left out: 'x29', 'X29'."
MANY = "1 of 59 columns is common to all parties; left out: 'x1', 'x2', 'x3', 'x4', 'x5' and 53 more."
REFUSED = (
    "Only 1 of the 30 columns of 'alice' is common to all parties, fewer than half (left out: 'x1', 'x2', 'x3', 'x4', "
    "'x5' and 53 more); compare the parties' headers, or accept it with allow_few_columns."
)
COUNTED = (
    "1 of the 30 columns of 'alice', which has most, is common to all parties; the names of the others stay with "
    "their owners."
)


def notes(folder):
    return json.loads((folder / "manifest.json").read_text())["notes"]


def test_a_simulation_says_at_once_and_in_its_manifest_which_columns_are_left_out(tmp_path):
    path = simulation(tmp_path, 1)
    assert f"note: {ONE}" in hedgerow("plan", path).stderr.splitlines()
    said = hedgerow("train", path).stderr.splitlines()
    assert said.index(ONE) < next(i for i, line in enumerate(said) if line.startswith("tree 1/"))
    assert sum(ONE in line for line in said) == 1
    assert notes(tmp_path / "runs" / "small") == [ONE]


def test_nothing_is_said_where_all_columns_are_used(tmp_path):
    path = simulation(tmp_path, 0)
    assert "left out" not in hedgerow("plan", path).stderr + hedgerow("train", path).stderr
    assert notes(tmp_path / "runs" / "small") == []


def test_fewer_than_half_of_the_columns_are_refused_unless_the_run_file_allows_it(tmp_path):
    path = simulation(tmp_path, 29)
    for command in ("plan", "train"):
        assert hedgerow(command, path, code=3).stderr.splitlines()[-1] == f"hedgerow: {REFUSED}"
    path = simulation(tmp_path, 29, "allow_few_columns = true")
    assert f"note: {MANY}" in hedgerow("plan", path).stderr
    hedgerow("train", path, "--folder", tmp_path / "allowed")
    assert notes(tmp_path / "allowed") == [MANY]


def test_half_of_the_columns_are_enough_and_all_of_them_need_no_leave(tmp_path):
    path = simulation(tmp_path, 15)
    hedgerow("train", path)
    path = simulation(tmp_path, 29, 'columns = "all"')
    assert "left out" not in hedgerow("train", path, "--folder", tmp_path / "all").stderr
    path = simulation(tmp_path, 29, 'columns = "all"\nallow_few_columns = true')
    said = hedgerow("train", path, code=3).stderr
    assert '[privacy] allow_few_columns does not go with columns = "all", which leaves none out; leave it out.' in said


@pytest.mark.parametrize("method", ["bagging", "sequential"])
def test_whole_trees_are_held_to_the_same(tmp_path, method):
    files(tmp_path, 29)
    path = run_file(tmp_path / "run.toml", method, data=DATA, partition="", trees=named(NAMES))
    assert REFUSED in hedgerow("train", path, code=3).stderr


def test_names_that_are_private_are_counted_and_not_named(tmp_path):
    path = simulation(tmp_path, 29, 'column_names = "private"')
    for command in ("plan", "train"):
        said = hedgerow(command, path, code=3).stderr
        assert "Only 1 of the 30 columns of 'alice' is common to all parties, fewer than half; compare" in said
        assert "left out" not in said
    path = simulation(tmp_path, 29, 'column_names = "private"\nallow_few_columns = true')
    assert f"note: {COUNTED}" in hedgerow("plan", path).stderr
    assert COUNTED in hedgerow("train", path, "--folder", tmp_path / "allowed").stderr
    assert notes(tmp_path / "allowed") == [COUNTED]


# Estimators


def parties(renamed):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(240, 30)), columns=NUMBERS)
    cut = partition.rows(frame, frame.x0 > 0, 3, names=NAMES)
    bob = {name: name.upper() for name in NUMBERS[30 - renamed :]}
    other = partition.rows(frame.rename(columns=bob), frame.x0 > 0, 3, names=NAMES)
    return {**cut, "bob": other["bob"]}


def test_an_estimator_notes_which_columns_are_left_out_and_refuses_too_few():
    assert GBDTClassifier(2, federation=Horizontal()).fit(parties(1)).notes_ == [ONE]
    for federation in (Horizontal(), WholeTrees()):
        with pytest.raises(DataError) as refusal:
            GBDTClassifier(2, federation=federation).fit(parties(29))
        assert str(refusal.value) == REFUSED
    assert GBDTClassifier(2, federation=Horizontal(allow_few_columns=True)).fit(parties(29)).notes_ == [MANY]
    model = GBDTClassifier(2, federation=WholeTrees(allow_few_columns=True)).fit(parties(29))
    assert model.notes_[1:] == [MANY]


# Real parties: each is told of its own columns, and hears no name that it does not have

HEADERS = {
    "alice": ("age", "stay", "hiv_status", "y"),
    "bob": ("age", "debts", "stay", "y"),
    "carol": ("genome", "stay", "age", "y"),
}
OF_ALL = "2 of 5 columns are common to all parties; left out: 'hiv_status', 'debts', 'genome'."


class Few(World):
    """Three parties with two columns in common, or with one."""

    def __init__(self, folder, made, common=2, more=""):
        super().__init__(folder, made, more=more)
        self.told = {role: [] for role in ("driver", *NAMES)}
        for seed, name in enumerate(NAMES):
            header = HEADERS[name] if common == 2 else [f"{name}_{c}" if c == "stay" else c for c in HEADERS[name]]
            write_rows(folder / f"{name}.csv", seed, header)

    def join(self, name):
        return super().join(name, say=self.told[name].append)

    def run(self):
        self.driver = self.drive(say=self.told["driver"].append)
        others = [self.join(name) for name in NAMES]
        return self.driver.ended(60), [party.ended(60) for party in others]


def foreign(world, name):
    """Columns of others that are in what a party was told or keeps."""
    kept = [*world.told[name], *(file.read_text(errors="replace") for file in (world.folder / name).rglob("*.*"))]
    return [c for other in NAMES if other != name for c in HEADERS[other] if c not in HEADERS[name] and c in str(kept)]


def test_real_parties_are_told_of_their_own_columns_and_the_driver_of_all(tmp_path, made):
    world = Few(tmp_path, made)
    world.run()
    assert OF_ALL in world.told["driver"]
    assert notes(world.folder / "driver") == [OF_ALL]
    for name, lost in (("alice", "hiv_status"), ("bob", "debts"), ("carol", "genome")):
        own = f"2 of this party's 3 columns are common to all parties; left out: '{lost}'."
        assert own in world.told[name]
        assert notes(world.folder / name) == [own]
        assert foreign(world, name) == []


def test_private_names_are_not_even_in_the_own_folder(tmp_path, made):
    world = Few(tmp_path, made, more='[privacy]\ncolumn_names = "private"')
    world.run()
    counted = (
        "2 of the 3 columns of 'alice', which has most, are common to all parties; the names of the others stay with "
        "their owners."
    )
    assert notes(world.folder / "driver") == [counted]
    for name in NAMES:
        assert notes(world.folder / name) == ["2 of this party's 3 columns are common to all parties."]
        assert foreign(world, name) == []


def refused(world):
    driver, others = world.run()
    assert "Only 1 of the 3 columns of 'alice' is common to all parties, fewer than half" in str(driver)
    return str(driver), [str(party) for party in others]


def test_a_refusal_that_real_parties_hear_names_no_column(tmp_path, made):
    world = Few(tmp_path, made, common=1)
    said, heard = refused(world)
    assert said.endswith("fewer than half; compare the parties' headers, or accept it with allow_few_columns.")
    assert all(said in one for one in heard)
    assert any("left out: 'alice_stay', 'hiv_status', 'debts', 'bob_stay', 'genome'" in one
               for one in world.told["driver"])  # fmt: skip
    assert [foreign(world, name) for name in NAMES] == [[], [], []]


def test_a_refusal_that_named_them_would_be_seen(tmp_path, made, monkeypatch):
    """The sabotage: the refusal of a simulation, given to real parties."""

    def naming(plan, *what):
        check(replace(plan, coordinator=""), *what)

    check = dropped_columns.check_enough
    monkeypatch.setattr("hedgerow.protocols.columns.check_enough", naming)
    _, heard = refused(Few(tmp_path, made, common=1))
    assert all("'hiv_status', 'debts'" in one for one in heard)
