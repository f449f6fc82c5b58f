"""Two networks and three banks in processes of their own: each network trains, and one scores rows by both models."""

import json

import numpy as np
import pytest
from real_parties import Process
from typer.testing import CliRunner

from hedgerow import Bagged, GBDTClassifier, Hybrid, read_table
from hedgerow.cli import app
from hedgerow.demo.organisations import free_port
from hedgerow.identity import authority
from hedgerow.model.file import load_model
from several_active import BANKS, NETWORKS
from several_files import write

NAMES = (*NETWORKS, *BANKS)
TRAINED = {"net1": ("bank1", "bank2"), "net2": ("bank2", "bank3")}
POLICY = "min_cut_rows = 5\n"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ca")
    authority.make_ca(folder)
    return {made.name: made for made in authority.issue(folder, *NAMES)}


class World:
    """Files of all parties, a run file for each network, and one by which a network scores."""

    def __init__(self, folder, made):
        self.folder, self.made, self.ca = folder, made, made["net1"].file.parent
        (folder / "policy.toml").write_text(POLICY)
        write(folder)
        for active, beside in (*TRAINED.items(), ("scores", BANKS)):
            self._run_file(active, "net1" if active == "scores" else active, beside)

    def _run_file(self, name, active, beside):
        entries = "".join(
            f'[[party]]\nname = "{one}"\nfingerprint = "{self.made[one].fingerprint}"\n' for one in (active, *beside)
        )
        (self.folder / f"{name}.toml").write_text(
            f'[run]\nname = "{name}"\nmethod = "hybrid"\nactive = "{active}"\n'
            '[data]\ntask = "classify"\nlabel = "fraud"\nid = "account"\n'
            "[trees]\nn_estimators = 4\nmax_depth = 4\nmin_cut_rows = 5\n"
            f'[driver]\nca = "{self.ca / "ca.pem"}"\naddress = "127.0.0.1:{free_port()}"\npatience = 40\n{entries}'
        )

    def file(self, name):
        return str(self.folder / name)

    def keys(self, name):
        return ["--cert", str(self.ca / f"{name}.pem"), "--key", str(self.ca / f"{name}.key")]

    def drive(self, name):
        own = ["--data", self.file(f"{name}.csv"), "--folder", self.file(f"runs-{name}")]
        return ["drive", self.file(f"{name}.toml"), *self.keys(name), *own]

    def join(self, run, name):
        own = ["--data", self.file(f"{name}.csv"), "--folder", self.file(f"runs-{run}-{name}")]
        policy = ["--policy", self.file("policy.toml")]
        return ["join", self.file(f"{run}.toml"), "--as", name, *self.keys(name), *own, *policy]

    def answer(self, name, runs=None):
        runs = [run for run in NETWORKS if name in TRAINED[run]] if runs is None else runs
        given = [word for run in runs for word in ("--part", self.file(f"runs-{run}-{name}/part.json"))]
        own = ["--data", self.file(f"{name}.csv"), "--folder", self.file(f"answers-{name}")]
        return ["answer", self.file("scores.toml"), "--as", name, *given, *own, *self.keys(name)]

    def predict(self, out, *more):
        asked = ["--with", self.file("scores.toml"), *self.keys("net1"), "--folder", self.file(f"asked-{out}")]
        told = ["--what", "probability", "--out", self.file(out)]
        return ["predict", self.file("bag.json"), self.file("net1.csv"), *asked, *told, *more]


def done(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output


def finished(*processes: Process):
    for process in processes:
        assert process.ended(90) == 0, process.said


def in_one_process(world):
    """What the same networks and banks learn and predict where all are in this process."""
    tables = {bank: read_table(world.file(f"{bank}.csv"), id_column="account") for bank in BANKS}
    own = {
        name: read_table(world.file(f"{name}.csv"), label="fraud", id_column="account", repeated_ids=True)
        for name in NETWORKS
    }
    model = GBDTClassifier(4, max_depth=4, min_cut_rows=5, federation=Bagged(NETWORKS, Hybrid()))
    return model.fit({**tables, **own}).predict_proba({**tables, "net1": own["net1"]})


def test_one_command_scores_a_network_s_rows_by_its_own_model_and_by_that_of_another(tmp_path, certificates, start):
    world = World(tmp_path, certificates)
    for name, beside in TRAINED.items():
        finished(start(world.drive(name), name), *(start(world.join(name, bank), f"{name} {bank}") for bank in beside))
    told = done("share", world.file("runs-net2/model.json"), "--out", world.file("net2-for-others.json"))
    assert "It tells the names and categories of 2 columns of 'net2'" in told
    given = load_model(world.file("net2-for-others.json"))
    assert not given.forest.gains.any()
    assert not given.forest.covers.any()
    assert not given.history
    done("bag", world.file("runs-net1/model.json"), world.file("net2-for-others.json"), "--out", world.file("bag.json"))
    banks = [start(world.answer(bank), f"answers {bank}") for bank in BANKS]
    done(*world.predict("told.csv"))
    finished(*banks)
    told = read_table(tmp_path / "told.csv", id_column="account", repeated_ids=True)
    assert np.array_equal(told.values.astype(np.float32), in_one_process(world).astype(np.float32))
    asked_once(world)
    refused_without_a_part(world, start)


def asked_once(world):
    """All questions of both models cross in as many exchanges as one model has levels."""
    lines = [json.loads(line) for line in (world.folder / "asked-told.csv" / "audit.log").read_text().splitlines()]
    sent = [line["type"] for line in lines if line.get("to") == "bank2"]
    assert sent.count("AskKnown") == 1
    assert 0 < sent.count("AskWays") <= 4
    kept = json.loads((world.folder / "answers-bank2" / "manifest.json").read_text())
    assert len(kept["models"]) == 2
    assert any("net1 has the trees that net2 gave it" in sentence for sentence in kept["leaks"])


def refused_without_a_part(world, start):
    """A bank that keeps back its part of the other network's model is not asked about that model by stealth."""
    for bank in BANKS:
        (world.folder / f"answers-{bank}").rename(world.folder / f"before-{bank}")
    banks = [start(world.answer(bank, ["net1"] if bank == "bank2" else None), f"again {bank}") for bank in BANKS]
    result = CliRunner().invoke(app, world.predict("again.csv"))
    assert result.exit_code == 3
    for bank in banks:
        bank.ended(60)
    assert "predicts by the model of 'net2' too, of which no part was given here" in banks[1].said
