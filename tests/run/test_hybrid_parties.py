"""A hybrid run of real processes: the network drives with its payments, three banks join with their accounts."""

import json

import numpy as np
import pytest
from real_parties import Process
from typer.testing import CliRunner

from hedgerow import read_table
from hedgerow.cli import app
from hedgerow.commands.print_tables import measured
from hedgerow.demo.organisations import free_port
from hedgerow.identity import authority
from hedgerow.model import part as parts
from hedgerow.model.file import load_model
from hedgerow.model.fixed_scores import fixed_scores
from hedgerow.run.file.read import open_run
from hedgerow.run.simulation import run_file
from hedgerow.run.simulation.predict import predict_parties
from hedgerow.storage import audit
from hybrid_files import BANKS, RUN, payments

NAMES = ("network", *BANKS)
FIVE = (*NAMES, "bank4")
POLICY = "min_cut_rows = 5\nallow_continue = true\n"
SHARED = "[privacy]\nshared = true\n"
SEPARATE = "[privacy]\nshared = false\nseparate = true\n"
APART = '[privacy]\nshared = false\non_loss = "continue"\n'


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ca")
    authority.make_ca(folder)
    return {made.name: made for made in authority.issue(folder, *FIVE)}


class Payments:
    """Files of a network and three banks, a run file with their certificates, and the commands of each."""

    def __init__(self, folder, made, trees=4, names=NAMES, privacy=""):
        self.folder, self.ca, self.file = folder, made["network"].file.parent, folder / "run.toml"
        self.names = names
        payments(folder)
        if "bank4" in names:
            fourth_bank(folder)
        (folder / "policy.toml").write_text(POLICY)
        entries = (f'[[party]]\nname = "{n}"\ndata = "{n}.csv"\nfingerprint = "{made[n].fingerprint}"\n' for n in names)
        driver = f'[driver]\nca = "{self.ca / "ca.pem"}"\naddress = "127.0.0.1:{free_port()}"\npatience = 40\n'
        text = RUN.replace("n_estimators = 4", f"n_estimators = {trees}")
        self.file.write_text(text + privacy + "[validation]\nshare = 0.2\n" + driver + "".join(entries))

    def keys(self, name):
        return ["--cert", str(self.ca / f"{name}.pem"), "--key", str(self.ca / f"{name}.key")]

    def drive(self, *more):
        own = ["--data", str(self.folder / "network.csv"), "--folder", str(self.folder / "network")]
        return ["drive", str(self.file), *self.keys("network"), *own, *more]

    def join(self, name):
        own = ["--data", str(self.folder / f"{name}.csv"), "--folder", str(self.folder / name)]
        return [
            "join",
            str(self.file),
            "--as",
            name,
            *self.keys(name),
            *own,
            "--policy",
            str(self.folder / "policy.toml"),
        ]

    def whole(self):
        """What all processes have, together."""
        own = load_model(self.folder / "network" / "model.json")
        kept = {name: (self.folder / name / "part.json").read_bytes() for name in self.names[1:]}
        return parts.joined(own, {name: parts.decoded(part, name) for name, part in kept.items()})

    def simulated(self):
        """The model of the same run file with all parties in this process."""
        options = run_file.Options(measured, self.folder / "simulated")
        return run_file.train(open_run(self.file), options).models[""]


def fourth_bank(folder):
    """Takes every other account of the first."""
    lines = (folder / "bank1.csv").read_text().splitlines(True)
    (folder / "bank1.csv").write_text("".join([lines[0], *lines[1::2]]))
    (folder / "bank4.csv").write_text("".join([lines[0], *lines[2::2]]))


def finished(*processes: Process):
    for process in processes:
        assert process.ended(90) == 0, process.said


def test_the_model_of_real_processes_is_that_of_one_process_and_predicts_repeated_ids(tmp_path, certificates, start):
    world = Payments(tmp_path, certificates)
    driver, banks = start(world.drive(), "network"), [start(world.join(bank), bank) for bank in BANKS]
    finished(driver, *banks)
    whole, expected = world.whole(), world.simulated()
    assert (whole.forest, whole.history) == (expected.forest, expected.history)
    assert (whole.forest.columns >= 2).sum() > 2, "banks' columns must be cut"
    assert "Party 'bank1' holds" in driver.said
    assert "ids are linked with" in banks[0].said
    for name in NAMES:
        kept = json.loads((tmp_path / name / "manifest.json").read_text())
        assert (kept["status"], kept["who"]) == ("finished", name)
        assert audit.verify(tmp_path / name / "audit.log", kept["audit"]["audit.log"]).run == kept["plan_sha256"]
    predicted_as_linked(world, start, whole)
    scored_under_the_seal(world, start, whole, "payments-predict-2")


def test_with_separate_subtrees_real_processes_score_rows_under_the_seal(tmp_path, certificates, start):
    world = Payments(tmp_path, certificates, privacy=SEPARATE)
    finished(start(world.drive(), "network"), *(start(world.join(bank), bank) for bank in BANKS))
    whole = world.whole()
    assert whole.ownership.units == tuple((bank,) for bank in BANKS)
    scored_under_the_seal(world, start, whole, "payments-predict-1")


def predicted_as_linked(world, start, whole):
    """Rows of the network, ids and all, are predicted by all parties as in one process."""
    answers = []
    for bank in BANKS:
        own = ["--data", str(world.folder / f"{bank}.csv"), "--folder", str(world.folder / f"answers {bank}")]
        part = str(world.folder / bank / "part.json")
        words = ["answer", str(world.file), "--as", bank, "--part", part, *own, *world.keys(bank)]
        answers.append(start(words, f"answers {bank}"))
    model, data = world.folder / "network" / "model.json", world.folder / "network.csv"
    asked = ["--with", str(world.file), *world.keys("network"), "--id", "account", "--what", "leaf"]
    result = CliRunner().invoke(
        app, ["predict", str(model), str(data), *asked, "--out", str(world.folder / "told.csv")]
    )
    assert result.exit_code == 0, result.output
    finished(*answers)
    tables = {bank: read_table(world.folder / f"{bank}.csv", id_column="account") for bank in BANKS}
    tables["network"] = read_table(data, label="fraud", id_column="account", repeated_ids=True)
    told = read_table(world.folder / "told.csv", id_column="account", repeated_ids=True)
    assert told.ids.tolist() == tables["network"].ids.tolist()
    assert np.array_equal(told.values, predict_parties(whole, tables))


def scored_under_the_seal(world, start, whole, folder):
    """One bank speaks for each row: each tells which rows it has, and is asked about those it speaks for."""
    rules = "least_paths = 0\nleast_own_cuts = 0\nleast_own_trees = 0\nmost_bits_per_id = 99999\n"
    rules += "most_answers_per_id = 1000\n"
    (world.folder / "answers.toml").write_text(rules)
    for bank in BANKS:
        keys = f'cert = "{world.ca / bank}.pem"\nkey = "{world.ca / bank}.key"\nledger = "{bank}.ledger"\n'
        model = f'run = "{world.file}"\npart = "{bank}/part.json"\ndata = "{bank}.csv"\nid = "account"\n'
        serving = world.folder / f"{bank}-serving.toml"
        serving.write_text(f'name = "{bank}"\n{keys}policy = "answers.toml"\n\n[[model]]\n{model}')
        start(["serve", str(serving)], f"serves {bank}")
    model, data, out = (world.folder / name for name in ("network/model.json", "network.csv", "scores.csv"))
    words = ["predict", str(model), str(data), "--with", str(world.file), *world.keys("network"), "--id", "account"]
    result = CliRunner().invoke(app, [*words, "--sealed", "--what", "raw", "--out", str(out)])
    assert result.exit_code == 0, result.output
    tables = {bank: read_table(world.folder / f"{bank}.csv", id_column="account") for bank in BANKS}
    tables["network"] = read_table(data, label="fraud", id_column="account", repeated_ids=True)
    wanted = whole.scores_at(predict_parties(whole, tables))[:, 0]
    told = read_table(out, id_column="account", repeated_ids=True).values[:, 0]
    assert np.abs(told - wanted).max() <= fixed_scores(whole).error * 1.001 + 1e-6
    kept = json.loads((world.folder / "runs" / folder / "manifest.json").read_text())
    assert any("which of the rows each of bank1, bank2, bank3 has" in sentence for sentence in kept["leaks"])
    for bank in BANKS:
        [counted] = [line for line in audit.read(world.folder / f"{bank}.ledger") if line["event"] == "rows predicted"]
        assert counted["rows"] == len(wanted)


def test_a_bank_that_is_killed_and_started_again_finds_its_linked_rows_and_the_model_is_the_same(
    tmp_path, certificates, start
):
    world = Payments(tmp_path, certificates, trees=20)
    driver, banks = start(world.drive(), "network"), {bank: start(world.join(bank), bank) for bank in BANKS}
    driver.wait_for("tree 5/20")
    banks["bank2"].kill()
    again = start(world.join("bank2"), "bank2 again")
    finished(driver, banks["bank1"], banks["bank3"], again)
    whole, expected = world.whole(), world.simulated()
    assert (whole.forest, whole.history) == (expected.forest, expected.history)
    assert "are linked with" not in again.said, "rows are linked once"


def test_three_of_four_banks_that_share_columns_and_then_the_network_are_killed_and_the_model_is_the_same(
    tmp_path, certificates, start
):
    world = Payments(tmp_path, certificates, 20, FIVE, SHARED)
    driver, banks = start(world.drive(), "network"), {bank: start(world.join(bank), bank) for bank in FIVE[1:]}
    driver.wait_for("tree 3/20")
    for bank in ("bank1", "bank2", "bank4"):
        banks[bank].kill()
    for bank in ("bank1", "bank2", "bank4"):
        banks[bank] = start(world.join(bank), f"{bank} again")
    driver.wait_for("tree 10/20")
    driver.kill()
    again = start(world.drive("--resume"), "network again")
    finished(again, *banks.values())
    whole, expected = world.whole(), world.simulated()
    assert (whole.forest, whole.history) == (expected.forest, expected.history)
    assert whole.ownership.groups == (FIVE[1:],)
    assert (whole.forest.columns >= 2).sum() > 2, "banks' columns must be cut"
    for name in FIVE:
        kept = json.loads((tmp_path / name / "manifest.json").read_text())
        assert (kept["status"], kept["shared_columns"]) == ("finished", [list(FIVE[1:])])
        told(world, name, kept)


def told(world, name, kept):
    """Everybody's log verifies, and the manifest tells what linkages told and which messages told what."""
    log = world.folder / name / "audit.log"
    assert audit.verify(log, kept["audit"]["audit.log"]).run == kept["plan_sha256"]
    result = CliRunner().invoke(app, ["audit", "verify", str(log), "--last", kept["audit"]["audit.log"]])
    assert (result.exit_code, "kept by " + name in result.output) == (0, True)
    assert "linked" in CliRunner().invoke(app, ["audit", "show", str(log)]).output
    others = FIVE[1:] if name == "network" else ("network",)
    assert {(one["party"], one["what"]) for one in kept["linked"]} == {
        (other, what) for other in others for what in ("rows", "validation rows")
    }
    assert all(one["rows"] >= one["ids"] > 0 < one["most_rows_of_an_id"] for one in kept["linked"])
    assert {("Facts", "columns"), ("LinkCounts", "counts"), ("MaskedSums", "masked_words")} <= {
        (line["message"], line["field"]) for line in kept["known"]
    }
    assert any("opens sums over all" in leak for leak in kept["leaks"])
    if name != "network":
        assert kept["given"]["bits_at_most"] > 0


def test_without_shared_columns_a_run_goes_on_without_three_banks_that_are_killed(tmp_path, certificates, start):
    world = Payments(tmp_path, certificates, 20, FIVE, APART)
    driver, banks = start(world.drive(), "network"), {bank: start(world.join(bank), bank) for bank in FIVE[1:]}
    driver.wait_for("tree 5/20")
    killed = ("bank1", "bank2", "bank4")
    for bank in killed:
        banks[bank].kill()
    finished(driver, banks["bank3"])
    model, kept = (
        load_model(tmp_path / "network" / "model.json"),
        json.loads((tmp_path / "network" / "manifest.json").read_text()),
    )
    lost = {name: loss["round"] for loss in kept["losses"] for name in loss["parties"]}
    assert set(lost) == set(killed)
    assert model.forest.n_trees == 20
    first = {name: 2 + 2 * place for place, name in enumerate(FIVE[1:])}
    for name, round_ in lost.items():
        assert 5 <= round_ < 20
        columns = model.forest.part(round_, 20).columns
        assert not np.isin(columns, [first[name], first[name] + 1]).any()
    expected = world.simulated()
    assert model.forest.first(min(lost.values())).columns.tolist() == (
        expected.forest.first(min(lost.values())).columns.tolist()
    )
