"""A vertical model predicts with real parties: the active one asks over gRPC, the passive ones answer."""

import json
from pathlib import Path

import numpy as np
import pytest
from real_parties import InThread, Process
from test_vertical_parties import PASSIVE, Columns, refused
from typer.testing import CliRunner

from asked import trained
from federated import params_of
from hedgerow import read_table
from hedgerow.agreement.policy import Policy
from hedgerow.cli import app
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import PartyLost
from hedgerow.model import part as parts
from hedgerow.model import quality
from hedgerow.model.file import load_model, save
from hedgerow.model.model import class_numbers
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.run.file.read import open_run
from hedgerow.run.real.answer import answer
from hedgerow.run.real.connect import Options
from hedgerow.run.real.predict import predict
from hedgerow.run.real.prediction import fresh_folder
from hedgerow.storage import audit


class Asked(Columns):
    """Three parties with a model in parts, as a vertical run leaves it, and rows that it is asked about."""

    def __init__(self, folder, made, **driver):
        super().__init__(folder, made, **driver)
        tables = {name: self.table(name) for name in ("alice", *PASSIVE)}
        self.model, own = trained(tables, params_of())
        save(self.model, folder / "model.json")
        for name, part in own.items():
            (folder / f"{name}.json").write_bytes(parts.encoded(part))
        self.whole = parts.joined(self.model, own)

    def table(self, name):
        label = "y" if name == "alice" else None
        return read_table(self.folder / f"{name}.csv", label=label, id_column="id")

    def pooled(self, table_of=None):
        """The joined model's predictions of all rows."""
        tables = [table_of(name) if table_of else self.table(name) for name in ("alice", *PASSIVE)]
        values = np.hstack([table.values for table in tables])
        return self.whole.forest.leaf_places(np.ascontiguousarray(values), 1)

    def keys(self, name):
        return ["--cert", str(self.ca / f"{name}.pem"), "--key", str(self.ca / f"{name}.key")]

    def predict_words(self, *more):
        words = ["predict", str(self.folder / "model.json"), str(self.folder / "alice.csv"), "--with", str(self.file)]
        return [*words, *self.keys("alice"), *more]

    def evaluate_words(self, *more):
        return ["evaluate", *self.predict_words(*more)[1:]]

    def answer_words(self, name, *more):
        own = ["--part", str(self.folder / f"{name}.json"), "--data", str(self.folder / f"{name}.csv")]
        return ["answer", str(self.file), "--as", name, *own, *self.keys(name), *more]

    def answer(self, name, policy=Policy(), part=None, folder=None, ledger=None):  # noqa: B008
        own = parts.load_part(part or self.folder / f"{name}.json")
        keeper = PartOwner(name, own, self.table(name), policy, self.identity(name))
        place = folder or self.folder / f"answers-{name}"
        return InThread(answer, open_run(self.file), keeper, Options(place), ledger)

    def predict(self, absent=(), say=lambda _: None, folder="asks"):
        options = Options(self.folder / folder, say=say)
        run, identity, table = open_run(self.file), self.identity("alice"), self.table("alice")
        return InThread(predict, run, self.model, table, identity, options, absent)


@pytest.fixture
def world(tmp_path, made):
    return Asked(tmp_path, made)


def reversed_rows(file):
    head, *rest = file.read_text().splitlines()
    file.write_text("\n".join([head, *reversed(rest)]) + "\n")


def test_real_parties_predict_what_the_joined_model_does(world):
    expected = world.pooled()
    reversed_rows(world.folder / "bob.csv")
    others = [world.answer(name) for name in PASSIVE]
    leaves = world.predict().ended()
    assert np.array_equal(leaves, expected)
    assert [party.ended() for party in others] == [world.folder / f"answers-{name}" for name in PASSIVE]


def test_both_sides_keep_a_manifest_and_a_log_that_holds(world):
    others = [world.answer(name) for name in PASSIVE]
    world.predict().ended()
    for party in others:
        party.ended()
    for place, who in (("asks", "alice"), *((f"answers-{name}", name) for name in PASSIVE)):
        kept = json.loads((world.folder / place / "manifest.json").read_text())
        assert (kept["status"], kept["method"], kept["who"], kept["rows"]) == ("finished", "predict", who, 200)
        assert json.loads(kept["plan"])["method"]["model"] == world.model.ownership.model
        assert any("path of every row" in sentence for sentence in kept["leaks"])
        assert audit.verify(world.folder / place / "audit.log", kept["audit"]["audit.log"]).run == kept["plan_sha256"]
        told = {line["field"]: line["how"] for line in kept["known"] if line["message"] == "AskKnown"}
        assert told == ({"ids": "clear"} if who == "alice" else {})
    lines = list(audit.AuditLog(world.folder / "answers-bob" / "audit.log", kept["plan_sha256"], "bob").lines())
    assert [line["rows"] for line in lines if line["event"] == "rows asked about"] == [200]


def test_rows_that_a_party_lacks_are_counted_and_go_the_default_way(world):
    file = world.folder / "carol.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:151]) + "\n")
    said = []
    others = [world.answer(name) for name in PASSIVE]
    leaves = world.predict(say=said.append).ended()
    assert "'carol' does not have 50 of the 200 rows, which go the default way at its cuts." in said
    for party in others:
        party.ended()
    full = np.full((50, 2), np.nan, np.float32)
    carol = np.vstack([world.table("carol").values, full])
    values = np.hstack([world.table("alice").values, world.table("bob").values, carol])
    assert np.array_equal(leaves, world.whole.forest.leaf_places(np.ascontiguousarray(values), 1))


def test_a_party_that_does_not_come_is_left_out_only_if_that_is_said(tmp_path, made):
    world = Asked(tmp_path, made, patience=1)
    bob = world.answer("bob")
    lost = world.predict().ended()
    assert isinstance(lost, PartyLost)
    assert "'carol' did not come within 1 seconds; predict again when all can be here, or name with --without" in str(
        lost
    )
    assert "The driver stopped the run" in str(bob.ended())
    bob = world.answer("bob", folder=tmp_path / "again")
    leaves = world.predict(absent=("carol",), folder="without").ended()
    bob.ended()
    gone = world.table("carol").values * np.nan
    values = np.hstack([world.table("alice").values, world.table("bob").values, gone])
    assert np.array_equal(leaves, world.whole.forest.leaf_places(np.ascontiguousarray(values), 1))


def test_a_party_that_answers_says_at_once_why_it_does_not_reach_the_driver(tmp_path, made):
    world = Asked(tmp_path, made, patience=1)
    result = CliRunner().invoke(app, world.answer_words("bob"))
    address = open_run(world.file).driver.address
    assert result.stderr.splitlines()[:2] == [
        f"Calling the driver at {address}.",
        f"Nobody listens at {address}; check the address and that the driver was started. Trying for another 1 s.",
    ]


def test_a_part_of_another_model_is_refused_in_words(world):
    _, other = trained({name: world.table(name) for name in ("alice", *PASSIVE)}, params_of())
    (world.folder / "other.json").write_bytes(parts.encoded(other["bob"]))
    others = [world.answer("bob", part=world.folder / "other.json"), world.answer("carol")]
    ended = world.predict().ended()
    assert "Party 'bob' refuses to go on: The active party predicts with another model" in str(ended)
    for party in others:
        party.ended()


def test_a_policy_can_refuse(world):
    assert "(allow_prediction)" in str(world.answer("bob", Policy(allow_prediction=False)).ended())
    others = [world.answer("bob", Policy(most_predicted_rows=199), folder=world.folder / "b"), world.answer("carol")]
    assert "Party 'bob' refuses to go on: The run predicts more rows" in str(world.predict().ended())
    for party in others:
        party.ended()


@pytest.mark.parametrize("same_ledger", [True, False])
def test_the_rows_of_a_model_are_counted_over_all_its_predictions(world, same_ledger):
    """The sabotage is an owner who gives each prediction a ledger of its own."""
    ended = []
    for number in range(2):
        ledger = world.folder / ("bob.ledger" if same_ledger else f"bob{number}.ledger")
        own = {"folder": world.folder / f"b{number}", "ledger": ledger}
        others = [
            world.answer("bob", Policy(most_predicted_rows=399), **own),
            world.answer("carol", folder=world.folder / f"c{number}"),
        ]
        ended.append(world.predict(folder=f"asks{number}").ended())
        for party in others:
            party.ended()
    assert np.array_equal(ended[0], world.pooled())
    if same_ledger:
        assert "Party 'bob' refuses to go on: The run predicts more rows of this model" in str(ended[1])
        assert audit.verify(world.folder / "bob.ledger").n_lines == 2
    else:
        assert np.array_equal(ended[1], world.pooled())


def test_the_commands_in_processes_of_their_own(tmp_path, made):
    """As the how-to page has it, but for one of them, which answers from here."""
    world = Asked(tmp_path, made, patience=60)
    expected = world.whole.labels_of(world.whole.means(world.whole.scores_at(world.pooled())))
    words = [world.predict_words("--out", str(world.folder / "out.csv")), world.answer_words("bob")]
    started = [Process(w, world.folder / f"{i}.out") for i, w in enumerate(words)]
    carol = world.answer("carol")
    try:
        assert [process.ended() for process in started] == [0, 0], [process.said for process in started]
    finally:
        for process in started:
            process.close()
    carol.ended()
    (counted,) = [line for line in audit.read(world.ca / "bob.ledger") if line["event"] == "rows predicted"]
    assert (counted["model"], counted["rows"]) == (world.model.ownership.model, 200)
    lines = (world.folder / "out.csv").read_text().splitlines()
    assert lines[0] == "id,prediction"
    assert lines[1:] == [f"row{i},{label}" for i, label in enumerate(expected)]
    runs = world.folder / "runs"
    assert sorted(place.name for place in runs.iterdir()) == ["small-bob-predict-1", "small-predict-1"]
    assert fresh_folder(runs / "small", "predict") == runs / "small-predict-2"


def test_a_vertical_model_is_evaluated_with_its_other_parties(tmp_path, made):
    world = Asked(tmp_path, made, patience=30)
    predicted = world.whole.means(world.whole.scores_at(world.pooled()))
    labels = class_numbers(world.table("alice").labels, world.whole.classes)
    others = [world.answer(name) for name in PASSIVE]
    result = CliRunner().invoke(app, world.evaluate_words("--json", str(tmp_path / "metrics.json")))
    assert result.exit_code == 0, result.output
    for party in others:
        party.ended()
    report = json.loads((tmp_path / "metrics.json").read_text())
    assert report["metrics"] == quality.of_classes(labels, predicted, None)
    assert report["rows"] == 200
    assert "auc" in result.stdout


def test_rows_without_labels_are_refused_before_anybody_is_asked(still):
    words = still.evaluate_words()
    words[2] = str(still.folder / "bare.csv")
    lines = (still.folder / "alice.csv").read_text().splitlines()
    Path(words[2]).write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    assert "bare.csv has no column 'y'; its columns are 'id', 'a'" in refused(*words)
    assert not (still.folder / "runs").exists()


WRONG = {
    "a model that lacks thresholds, alone": (
        lambda w: ["predict", w.folder / "model.json", w.folder / "alice.csv"],
        "columns of 'bob', 'carol' are cut is not in this model",
    ),
    "its metrics, alone": (
        lambda w: ["evaluate", w.folder / "model.json", w.folder / "alice.csv"],
        "columns of 'bob', 'carol' are cut is not in this model",
    ),
    "its XGBoost form": (
        lambda w: ["show", w.folder / "model.json", "--xgboost", w.folder / "x.json"],
        "columns of 'bob', 'carol' are cut is not in this model",
    ),
    "metrics without a certificate": (lambda w: w.evaluate_words()[:-4], "--with needs --cert and --key"),
    "metrics with parties and no run file": (
        lambda w: [*w.evaluate_words()[:3], *w.evaluate_words()[5:]],
        "--cert goes with --with",
    ),
    "no certificate": (lambda w: w.predict_words()[:-4], "--with needs --cert and --key"),
    "parties without a run file": (
        lambda w: [*w.predict_words()[:3], *w.predict_words()[5:]],
        "--cert goes with --with",
    ),
    "a party that is none": (lambda w: w.predict_words("--without", "dave"), "'dave' is no passive party of the model"),
    "a column of ids that is not there": (lambda w: [*w.predict_words(), "--id", "zip"], "zip"),
    "another's certificate": (
        lambda w: [word.replace("alice.pem", "bob.pem").replace("alice.key", "bob.key") for word in w.predict_words()],
        "not the one that [[party]] 'alice' fingerprint names",
    ),
    "another's part": (
        lambda w: [word.replace("bob.json", "carol.json") for word in w.answer_words("bob")],
        "The part is that of 'carol', not of 'bob'",
    ),
    "a model as a part": (
        lambda w: [word.replace("bob.json", "model.json") for word in w.answer_words("bob")],
        "is not a part of a hedgerow model",
    ),
    "a part as a model": (
        lambda w: [word.replace("model.json", "bob.json") for word in w.predict_words()],
        "is a passive party's part of a model; the active party has the model.",
    ),
    "who answers for the active party": (
        lambda w: ["answer", *w.answer_words("bob")[1:3], "alice", *w.answer_words("bob")[4:]],
        "'alice' is the active party, which drives the run; use `hedgerow predict --with`",
    ),
    "a ledger that is none": (
        lambda w: w.answer_words("bob", "--ledger", str(w.folder)),
        "is a folder or a device, not an audit log; name a file. The ledger of this owner may lie elsewhere",
    ),
    "a stranger": (
        lambda w: ["answer", *w.answer_words("bob")[1:3], "dave", *w.answer_words("bob")[4:]],
        "'dave' is no party of the run",
    ),
}


@pytest.fixture(scope="module")
def still(tmp_path_factory, made):
    """A world in which nobody says anything."""
    return Asked(tmp_path_factory.mktemp("still"), made)


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_in_one_sentence_before_anybody_listens(still, what):
    words, sentence = WRONG[what]
    assert sentence in refused(*words(still))
    assert not (still.folder / "runs").exists()


def test_a_run_file_of_other_parties_is_refused(world):
    text = world.file.read_text().replace('active = "alice"', 'active = "bob"')
    world.file.write_text(text)
    assert "The run file names other parties than the model has" in refused(*world.predict_words())


def test_only_vertical_runs_predict_together(world):
    text = world.file.read_text().replace('method = "vertical"\nactive = "alice"', "")
    text = text.replace("[driver]\n", f'[driver]\nfingerprint = "{world.made["driver"].fingerprint}"\n')
    world.file.write_text(text.replace('[privacy]\nprotection = "plain"', '[privacy]\nprotection = "plain"'))
    assert "Only models of vertical runs are predicted together" in refused(*world.predict_words())


# What a party may see


def shown(*words):
    result = CliRunner().invoke(app, ["show", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_passive_party_is_shown_its_own_cuts(still):
    part = parts.load_part(still.folder / "carol.json")
    text = shown(still.folder / "carol.json")
    assert text.startswith("A passive party's part of a vertical model\n  id       " + part.model)
    assert f"  columns  2 (0 categorical), {len(set(part.column.tolist()))} used\n" in text
    assert f"  cuts     {len(part.tree)} cuts in {len(set(part.tree.tolist()))} trees\n" in text
    column, own = part.columns[part.column[0]].name, part.column == part.column[0]
    assert f"  {column}  {own.sum()} cuts in " in text
    assert str(part.thresholds[own].min()) in text
    tree = int(part.tree[0])
    lines = shown(still.folder / "carol.json", "--tree", tree).splitlines()
    assert lines[0].startswith(f"tree {tree}: ")
    assert len(lines) == 1 + (part.tree == tree).sum()
    assert f"  node {part.node[0]}: {column} < {part.thresholds[0]}? (missing -> left)" in lines


def test_a_part_has_no_picture_and_no_tree_that_it_does_not_cut(still):
    part = still.folder / "carol.json"
    assert "has no importances, picture or XGBoost form" in refused("show", part, "--importances", "gain")
    assert "This party has no cut in tree 99" in refused("show", part, "--tree", "99")


def test_categories_of_a_part_are_named(tmp_path):
    rng = np.random.default_rng(0)
    town = rng.integers(0, 5, 300)
    table = Table.of(np.column_stack([rng.normal(size=300), town]), np.isin(town, [2, 4]).astype(int), categorical=[1])
    _, own = trained(partition.columns(table, n=2), params_of())
    (tmp_path / "part.json").write_bytes(parts.encoded(own["party2"]))
    assert "f1 is one of 2, 4?" in shown(tmp_path / "part.json", "--tree", "0").replace(
        "is not one of 0, 1, 3", "is one of 2, 4"
    )
    assert "  f1  3 cuts in 3 trees\n" in shown(tmp_path / "part.json")


def test_the_active_partys_trees_name_the_owner_and_no_threshold(still):
    model = load_model(still.folder / "model.json")
    text = shown(still.folder / "model.json")
    assert "columns by party: alice (active) 1, bob 1, carol 2" in text
    assert model.ownership.model in text
    tree = shown(still.folder / "model.json", "--tree", "0")
    assert "left of its owner's cut?" in tree
    assert "bob:0 <" not in tree
