"""A vertical run of real parties: the active one drives with its own data, the passive ones join with theirs."""

import csv
import json

import numpy as np
import pytest
from real_parties import NAMES, InThread, World
from typer.testing import CliRunner

from hedgerow.agreement.policy import Policy
from hedgerow.cli import app
from hedgerow.commands.print_tables import measured
from hedgerow.errors import PolicyError
from hedgerow.model import part as parts
from hedgerow.model.file import decoded
from hedgerow.privacy.lifetime import LifetimeLimit, runs_in
from hedgerow.run.file.read import open_run
from hedgerow.run.folder.ledger_file import existing_log
from hedgerow.run.real import drive
from hedgerow.run.real.all_runs import AllRuns
from hedgerow.run.real.connect import Options
from hedgerow.run.real.own_tables import Own
from hedgerow.run.real.train import train
from hedgerow.run.simulation import run_file
from hedgerow.storage import audit

PLAIN = '[privacy]\nprotection = "plain"\ni_accept_disclosure = true'
ALLOWED = Policy(allow_plain=True, min_cut_rows=5)
PASSIVE = NAMES[1:]
HEADERS = {"alice": ("id", "a", "y"), "bob": ("id", "b"), "carol": ("id", "c", "d")}


class Columns(World):
    """The same rows at three parties, each with columns of its own; alice has the labels."""

    def __init__(self, folder, made, more=PLAIN, trees="n_estimators = 4\nmax_depth = 3\nmin_cut_rows = 5", **driver):
        super().__init__(folder, made, trees, more, **driver)
        text = self.file.read_text().replace('[data]\nlabel = "y"', '[data]\nlabel = "y"\nid = "id"')
        text = text.replace('name = "small"', 'name = "small"\nmethod = "vertical"\nactive = "alice"')
        own = f'fingerprint = "{made["driver"].fingerprint}"\n'
        self.file.write_text(text.replace(own, "").replace("localhost", "127.0.0.1"))
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 4)).round(3)
        y = np.where(X[:, 1] + X[:, 0] * X[:, 2] > 0, "yes", "no")
        columns = {"id": [f"row{i}" for i in range(200)], "y": y, **dict(zip("abcd", X.T.tolist(), strict=True))}
        for name, header in HEADERS.items():
            with (folder / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([header, *zip(*(columns[c] for c in header), strict=True)])

    def words(self, role, *more, folder=None):
        if role != "alice":
            return super().words(role, *more, folder=folder)
        keys = ["--cert", str(self.ca / "alice.pem"), "--key", str(self.ca / "alice.key")]
        own = ["--data", str(self.folder / "alice.csv"), "--folder", str(self.folder / "alice")]
        return ["drive", str(self.file), *keys, *own, *more]

    def drive(self, **more):
        options, own = Options(self.folder / "alice", **more), Own(self.folder / "alice.csv")
        return InThread(train, open_run(self.file), self.identity("alice"), options, own)

    def part(self, name):
        return parts.decoded((self.folder / name / "part.json").read_bytes(), name)


@pytest.fixture
def world(tmp_path, made):
    return Columns(tmp_path, made)


def simulated(world):
    """The joined model of the same run file with all parties in this process."""
    folder = world.folder / "simulated"
    return run_file.train(open_run(world.file), run_file.Options(measured, folder)).models[""]


def refused(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 3, result.output
    assert "Traceback" not in result.output
    return result.stderr.strip().splitlines()[-1]


def run(world, policy=ALLOWED):
    driver, others = world.drive(), [world.join(name, policy=policy) for name in PASSIVE]
    return driver.ended(60), [party.ended(60) for party in others]


def test_the_parts_of_real_parties_together_are_the_model_of_one_process(world):
    driven, folders = run(world)
    assert folders == [world.folder / name for name in PASSIVE]
    own = decoded((world.folder / "alice" / "model.json").read_bytes(), "alice's")
    assert own.names == ("a", "bob:0", "carol:0", "carol:1")
    whole = parts.joined(own, {name: world.part(name) for name in PASSIVE})
    expected = simulated(world)
    assert whole.forest == expected.forest
    assert whole.history == expected.history == driven.model.history
    assert whole.names == expected.names


def test_with_hidden_rows_real_parties_make_the_same_model(tmp_path, made):
    trees = "n_estimators = 1\nmax_depth = 3\nmin_cut_rows = 5"
    world = Columns(tmp_path, made, "[privacy]\nhidden_rows = true", trees)
    run(world, Policy(min_cut_rows=5))
    own = decoded((world.folder / "alice" / "model.json").read_bytes(), "alice's")
    whole = parts.joined(own, {name: world.part(name) for name in PASSIVE})
    assert whole.forest == simulated(world).forest
    said = json.loads((world.folder / "bob" / "manifest.json").read_text())["known"]
    assert not {"AskSealedSums", "AskSides"} & {line["message"] for line in said}
    learnt = json.loads((world.folder / "alice" / "manifest.json").read_text())["learnt"]
    sums = {entry["party"]: (entry["sums"], entry["bits_at_most"]) for entry in learnt["sums"]}
    given = {name: json.loads((world.folder / name / "manifest.json").read_text())["given"] for name in PASSIVE}
    assert sums == {name: (told["sums"], told["bits_at_most"]) for name, told in given.items()}


def test_with_a_sample_of_the_rows_real_parties_make_the_same_model(tmp_path, made):
    trees = "n_estimators = 3\nmax_depth = 3\nmin_cut_rows = 5"
    world = Columns(tmp_path, made, "[privacy]\npassive_rows = 0.4", trees)
    run(world, Policy(min_cut_rows=5))
    own = decoded((world.folder / "alice" / "model.json").read_bytes(), "alice's")
    whole = parts.joined(own, {name: world.part(name) for name in PASSIVE})
    assert whole.forest == simulated(world).forest
    assert (whole.forest.columns >= 1).any()


def test_the_active_partys_ledger_counts_its_runs_and_its_policy_ends_them(tmp_path, made):
    private = '[privacy]\nprotects = "labels"\nepsilon = 1\nclasses = ["no", "yes"]'
    ledger, found = tmp_path / "alice.ledger", []
    for place in (tmp_path / "one", tmp_path / "two"):
        place.mkdir()
        world = Columns(place, made, private, "n_estimators = 1\nmax_depth = 2\nmin_cut_rows = 5")
        world.file.write_text(world.file.read_text().replace("[validation]\nshare = 0.2\n", ""))
        own, all_runs = Own(place / "alice.csv"), AllRuns(ledger, LifetimeLimit(epsilon=1.2))
        options = Options(place / "alice")
        driver = InThread(train, open_run(world.file), world.identity("alice"), options, own, all_runs)
        others = [world.join(name, policy=Policy(min_cut_rows=5)) for name in PASSIVE]
        found.append(driver.ended(60))
        for party in others:
            party.ended(60)
    assert found[0].model.promise.epsilon == 1
    assert isinstance(found[1], PolicyError)
    assert "over 2 runs, to an epsilon of" in str(found[1])
    shown = CliRunner().invoke(app, ["ledger", "show", str(ledger)]).output
    assert "label" in shown
    assert [one.is_open for one in runs_in(existing_log(ledger)).values()] == [False]


def test_a_driver_without_rows_has_no_ledger_of_them(world):
    said = CliRunner().invoke(app, ["drive", *world.words("driver")[1:], "--ledger", "a.ledger"])
    assert said.exit_code != 0
    assert "--policy and --ledger go with --data" in said.output


def test_every_folder_has_a_manifest_and_a_log_that_holds(world):
    run(world)
    for name in NAMES:
        kept = json.loads((world.folder / name / "manifest.json").read_text())
        assert kept["status"] == "finished"
        assert kept["who"] == name
        assert any("which rows share a node" in sentence for sentence in kept["leaks"])
        assert audit.verify(world.folder / name / "audit.log", kept["audit"]["audit.log"]).run == kept["plan_sha256"]
    assert not (world.folder / "bob" / "model.json").exists()
    assert (world.folder / "bob" / "part.json").stat().st_mode & 0o777 == 0o600


def test_a_passive_party_keeps_its_thresholds_and_the_active_one_has_none_of_them(world):
    run(world)
    own = decoded((world.folder / "alice" / "model.json").read_bytes(), "alice's").forest
    part = world.part("bob")
    assert len(part.tree) > 0
    assert (own.thresholds[own.roots[part.tree] + part.node] == 0).all()
    assert (part.thresholds != 0).any()


RULES = {
    "plain": (PLAIN, Policy(min_cut_rows=5), "allow_plain"),
    "fine cuts": (PLAIN, Policy(allow_plain=True), "min_cut_rows"),
    "short keys": (
        '[privacy]\nprotection = "paillier"\nkey_bits = 2048',
        Policy(min_cut_rows=5, min_key_bits=3072),
        "min_key_bits",
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_passive_partys_policy_refuses_by_the_rules_name(tmp_path, made, rule):
    more, policy, name = RULES[rule]
    world = Columns(tmp_path, made, more)
    assert f"({name})" in str(world.join("bob", policy=policy).ended())


def test_a_sealed_run_needs_no_rule_but_fine_cuts(tmp_path, made):
    plan = open_run(Columns(tmp_path, made, '[privacy]\nprotection = "paillier"', trees="").file).real_plan()
    Policy().check(plan)


def test_rows_in_another_order_are_refused_and_the_refusal_tells_the_driver_nothing(world):
    head, *rest = (world.folder / "bob.csv").read_text().splitlines()
    (world.folder / "bob.csv").write_text("\n".join([head, *reversed(rest)]) + "\n")
    driven, _ = run(world)
    assert "Party 'bob' refuses to go on: Its table cannot be used in this run" in str(driven)


def test_who_drives_and_who_joins_is_said_in_one_sentence(world):
    assert "'alice' is the active party, which drives the run" in refused(*World.words(world, "alice"))
    words = world.words("alice")
    at = words.index("--data")
    assert "--data is missing; 'alice'" in refused(*words[:at], *words[at + 2 :])
    others = [word.replace("alice.", "bob.") if word.endswith((".pem", ".key")) else word for word in words]
    assert "not the one that [[party]] 'alice' fingerprint names" in refused(*others)


def test_a_driver_without_data_is_given_none(tmp_path, made):
    world = World(tmp_path, made)
    said = refused(*world.words("driver", "--data", str(tmp_path / "alice.csv")))
    assert "--data and --valid do not go with method horizontal" in said
    assert "--valid goes with --data" in refused(*world.words("driver", "--valid", str(tmp_path / "alice.csv")))


def test_whoever_is_killed_goes_on_and_the_model_is_the_same(tmp_path, made, start):
    """First a passive party, then the active one, each by kill -9 in the middle of a tree."""
    world = Columns(
        tmp_path, made, trees="n_estimators = 100\nmax_depth = 4\nmin_cut_rows = 5", patience=60, deadline=60
    )
    (tmp_path / "policy.toml").write_text("allow_plain = true\nmin_cut_rows = 5\n")
    rules = ("--policy", str(tmp_path / "policy.toml"))
    active = start(world.words("alice"), "alice")
    others = {name: start(world.words(name, *rules), name) for name in PASSIVE}
    active.wait_for("tree 5/100")
    others["bob"].kill()
    active.wait_for("bob is away.")
    others["bob"] = start(world.words("bob", *rules), "bob")
    active.wait_for("bob is back, as a new process.")
    active.wait_for("tree 50/100")
    active.kill()
    others["carol"].wait_for("The driver is away.")
    active = start(world.words("alice", "--resume"), "alice")
    assert active.ended() == 0, active.said
    assert [party.ended() for party in others.values()] == [0, 0]
    own = decoded((world.folder / "alice" / "model.json").read_bytes(), "alice's")
    assert parts.joined(own, {name: world.part(name) for name in PASSIVE}).forest == simulated(world).forest


def test_the_active_party_does_not_go_on_with_other_rows(world):
    def stop(told):
        if told.round.number == 2:
            raise KeyboardInterrupt

    driver, others = world.drive(watch=stop), [world.join(name, policy=ALLOWED) for name in PASSIVE]
    assert isinstance(driver.ended(), KeyboardInterrupt)
    for party in others:
        party.ended()
    head, *rest = (world.folder / "alice.csv").read_text().splitlines()
    (world.folder / "alice.csv").write_text("\n".join([head, *reversed(rest)]) + "\n")
    assert "The rows of 'alice' are not those with which the run" in refused(*world.words("alice", "--resume"))


LATTICE = "n_estimators = 4\nmax_depth = 2\nmin_cut_rows = 5"


@pytest.mark.parametrize("on_loss", ["wait", "continue"])
def test_an_encrypted_run_waits_for_a_killed_party_or_goes_on_without_its_columns(
    tmp_path, made, start, monkeypatch, on_loss
):
    monkeypatch.setattr(drive, "GONE_AFTER", 1.0)
    world = Columns(tmp_path, made, f'[privacy]\non_loss = "{on_loss}"', LATTICE, patience=60, deadline=60)
    (tmp_path / "policy.toml").write_text("allow_continue = true\nmin_cut_rows = 5\n")
    words = world.words("bob", "--policy", str(tmp_path / "policy.toml"))
    bob = [start(words, "bob")]

    def watch(told):
        if told.round.number == 2:
            bob[-1].kill()
            bob.extend([start(words, "bob")] if on_loss == "wait" else [])

    driver, carol = world.drive(watch=watch), world.join("carol", policy=Policy(allow_continue=True, min_cut_rows=5))
    model = driver.ended(60).model
    assert carol.ended() == world.folder / "carol"
    kept, whole = json.loads((world.folder / "alice" / "manifest.json").read_text()), simulated(world)
    if on_loss == "wait":
        assert bob[-1].ended() == 0
        assert kept["losses"] == []
        assert parts.joined(model, {name: world.part(name) for name in PASSIVE}).forest == whole.forest
        return
    assert kept["losses"] == [{"round": 2, "parties": ["bob"]}]
    assert 1 in whole.forest.part(0, 2).columns
    assert np.array_equal(model.forest.part(0, 2).columns, whole.forest.part(0, 2).columns)
    assert 1 not in model.forest.part(2, 4).columns
    assert len(parts.joined(model, {"carol": world.part("carol")}).forest.columns) == len(model.forest.columns)
