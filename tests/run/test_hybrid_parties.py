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
from hedgerow.run.file.hybrid_tables import joined
from hedgerow.run.file.read import open_run
from hedgerow.run.simulation import run_file
from hedgerow.storage import audit
from hybrid_files import BANKS, RUN, payments

NAMES = ("network", *BANKS)
POLICY = "min_cut_rows = 5\n"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ca")
    authority.make_ca(folder)
    return {made.name: made for made in authority.issue(folder, *NAMES)}


class Payments:
    """Files of a network and three banks, a run file with their certificates, and the commands of each."""

    def __init__(self, folder, made, trees=4):
        self.folder, self.ca, self.file = folder, made["network"].file.parent, folder / "run.toml"
        payments(folder)
        (folder / "policy.toml").write_text(POLICY)
        entries = (f'[[party]]\nname = "{n}"\ndata = "{n}.csv"\nfingerprint = "{made[n].fingerprint}"\n' for n in NAMES)
        driver = f'[driver]\nca = "{self.ca / "ca.pem"}"\naddress = "127.0.0.1:{free_port()}"\npatience = 40\n'
        text = RUN.replace("n_estimators = 4", f"n_estimators = {trees}")
        self.file.write_text(text + "[validation]\nshare = 0.2\n" + driver + "".join(entries))

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
        kept = {name: (self.folder / name / "part.json").read_bytes() for name in BANKS}
        return parts.joined(own, {name: parts.decoded(part, name) for name, part in kept.items()})

    def simulated(self):
        """The model of the same run file with all parties in this process."""
        options = run_file.Options(measured, self.folder / "simulated")
        return run_file.train(open_run(self.file), options).models[""]


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


def predicted_as_linked(world, start, whole):
    """Rows of the network, ids and all, are predicted by all parties as by the joined model on the joined table."""
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
    table = joined({name: tables[name] for name in NAMES}, "network", whole.ownership.groups)
    told = read_table(world.folder / "told.csv", id_column="account", repeated_ids=True)
    assert told.ids.tolist() == table.ids.tolist()
    assert np.array_equal(told.values, whole.forest.leaf_places(np.ascontiguousarray(table.values), 1))


def test_a_bank_that_is_killed_and_started_again_finds_its_linked_rows_and_the_model_is_the_same(
    tmp_path, certificates, start
):
    world = Payments(tmp_path, certificates, trees=30)
    driver, banks = start(world.drive(), "network"), {bank: start(world.join(bank), bank) for bank in BANKS}
    driver.wait_for("tree 5/30")
    banks["bank2"].kill()
    again = start(world.join("bank2"), "bank2 again")
    finished(driver, banks["bank1"], banks["bank3"], again)
    whole, expected = world.whole(), world.simulated()
    assert (whole.forest, whole.history) == (expected.forest, expected.history)
    assert "are linked with" not in again.said, "rows are linked once"
