"""What real parties keep of the model's quality on their own rows, and what each one's report can say."""

import json

import numpy as np
import pytest
from real_parties import NAMES, InThread, World
from sklearn import metrics
from test_vertical_parties import ALLOWED, PASSIVE, Columns

from hedgerow.data.table import Table
from hedgerow.model import part as parts
from hedgerow.model.file import load_model
from hedgerow.model.learning_curve import learning_curve
from hedgerow.model.score_counts import decoded
from hedgerow.report.page.gather import Given, of_run
from hedgerow.report.page.page import SECTIONS
from hedgerow.run.file import tables
from hedgerow.run.file.read import open_run
from hedgerow.run.folder.kept_run import read_run
from hedgerow.run.real.connect import Options
from hedgerow.run.real.own_tables import Own
from hedgerow.run.real.train import train


class Aligned(Columns):
    """The active party holds some rows out; rows are in another order at the others, and are aligned by their ids."""

    def __init__(self, folder, made):
        plain = '[privacy]\nprotection = "plain"\ni_accept_disclosure = true\nalign = "private"'
        super().__init__(folder, made, more=plain)
        for name in PASSIVE:
            lines = (folder / f"{name}.csv").read_text().splitlines()
            (folder / f"{name}.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")


def run(world):
    options, own = Options(world.folder / "alice"), Own(world.folder / "alice.csv")
    driver = InThread(train, open_run(world.file), world.identity("alice"), options, own)
    others = [world.join(name, policy=ALLOWED) for name in PASSIVE]
    for one in (driver, *others):
        one.ended(60)


def sections(folder):
    subject = of_run(read_run(folder), Given(n_trees_drawn=1))
    made = [make(subject) for make in SECTIONS]
    return {one.name: one for one in made}


def kept(folder):
    return json.loads((folder / "metrics.json").read_text())


def curves(folder):
    return decoded((folder / "curves.json").read_bytes(), "curves")


@pytest.fixture
def vertical(tmp_path, made):
    world = Aligned(tmp_path, made)
    run(world)
    return world


def pooled(world, own):
    """All parties' columns of the rows of one table, in a model's order."""
    found = {}
    for name in NAMES:
        header, *rows = [line.split(",") for line in (world.folder / f"{name}.csv").read_text().splitlines()]
        found |= {(row[0], column): row[i] for row in rows for i, column in enumerate(header)}
    values = [[found[str(row), column] for column in "abcd"] for row in own.ids]
    return Table.of(np.array(values, np.float32), own.labels, names=list("abcd"))


def test_the_active_party_keeps_what_the_joined_model_gives_for_its_own_rows(vertical):
    folder = vertical.folder / "alice"
    whole = parts.joined(load_model(folder / "model.json"), {name: vertical.part(name) for name in PASSIVE})
    training, valid = tables.own_tables(open_run(vertical.file), "alice", vertical.folder / "alice.csv", None, [])
    told, held_out = curves(folder), pooled(vertical, valid)
    auc = metrics.roc_auc_score(held_out.labels == "yes", whole.predict(held_out)[:, 1])
    assert (told.rows, told.n_rows) == ("own validation", held_out.n_rows)
    assert told.metrics["auc"] == kept(folder)["final"]["auc"] == pytest.approx(auc)
    followed = learning_curve(whole, pooled(vertical, training))[1]
    assert kept(folder)["training"] == pytest.approx(followed, abs=1e-6)


def test_a_passive_party_has_its_own_cuts_and_no_curves(vertical):
    found = sections(vertical.folder / "bob")
    assert not (vertical.folder / "bob" / "curves.json").exists()
    assert "passive party has neither labels nor scores" in found["curves"].lacks[0]
    assert "passive party has its own cuts and nothing else" in "".join(found["columns"].parts)
    assert found["traffic"].parts
    assert found["seen"].parts
    assert read_run(vertical.folder / "bob").rounds == 4, "by the messages that it was told"


def test_the_active_partys_page_has_curves_and_names_of_its_own_columns_alone(vertical):
    found = sections(vertical.folder / "alice")
    assert found["curves"].parts
    assert found["learning"].parts
    said = "".join(found["columns"].parts)
    assert "column 0" in said
    assert ">c<" not in said


def test_a_party_of_a_horizontal_run_keeps_curves_of_its_own_rows_and_the_coordinator_none(tmp_path, made):
    world = World(tmp_path, made)
    driver, others = world.drive(), [world.join(name) for name in NAMES]
    for one in (driver, *others):
        one.ended(60)
    assert not (tmp_path / "driver" / "curves.json").exists()
    assert "coordinator has no rows" in sections(tmp_path / "driver")["curves"].lacks[0]
    told = curves(tmp_path / "bob")
    assert told.rows == "own validation"
    assert len(kept(tmp_path / "bob")["training"]) == 5
    assert told.n_rows < 150
    assert read_run(tmp_path / "bob").rounds == 5
    assert sections(tmp_path / "bob")["result"].parts
