"""Vertical run files that promise differential privacy: in one process, between real parties, and what they leave."""

import json

import pytest
from real_parties import InThread  # noqa: F401  # the fixtures of real parties need it
from test_vertical_parties import ALLOWED, PASSIVE, Columns
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.commands.print_tables import measured
from hedgerow.errors import ParameterError
from hedgerow.model import part as parts
from hedgerow.model.file import load_model
from hedgerow.run.file.read import open_run, read_run_file
from hedgerow.run.simulation import run_file

PROMISES = {
    "labels, not at all": "epsilon = 0\n",
    "labels": 'epsilon = 4\nprotection = "lattice"\n',
    "model": 'epsilon = 4\ndelta = 1e-5\nprotects = "model"\n',
    "passive": 'epsilon = 4\nprotects = "passive"\n',
}
KEYS = {name: keys if "protects" in keys else f'protects = "labels"\n{keys}' for name, keys in PROMISES.items()}
TREES = "n_estimators = 3\nmax_depth = 3\nmax_bin = 6\nmin_cut_rows = 5"
CUT = (
    '[run]\nname = "credit"\nmethod = "vertical"\n[data]\ntask = "classify"\n'
    f'[partition]\ndata = "builtin:breast_cancer"\nparties = 3\n[trees]\n{TREES}\n[privacy]\n'
)


class Promising(Columns):
    """Real parties whose run promises something, without validation rows and with classes declared."""

    def __init__(self, folder, made, keys):
        super().__init__(folder, made, f'[privacy]\nclasses = ["no", "yes"]\n{keys}', TREES)
        self.file.write_text(self.file.read_text().replace("[validation]\nshare = 0.2\n", ""))


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


@pytest.mark.parametrize("promise", KEYS)
def test_real_parties_train_and_every_folder_says_what_is_promised(tmp_path, made, promise):
    world = Promising(tmp_path, made, KEYS[promise])
    driver = world.drive()
    joined = [world.join(name, policy=ALLOWED) for name in PASSIVE]
    driven = driver.ended(60)
    for one in joined:
        one.ended(60)
    kept = manifest_of(tmp_path / "alice")["differential_privacy"]
    assert kept["unit"] == {"model": "linked row", "passive": "row's passive columns"}.get(promise, "label")
    assert kept["epsilon"] == (0 if "not at all" in promise else 4)
    assert kept["composed"] <= kept["epsilon"]
    assert driven.model.promise.epsilon == kept["epsilon"]
    assert load_model(tmp_path / "alice" / "model.json").promise == driven.model.promise
    for name in PASSIVE:
        said = " ".join(manifest_of(tmp_path / name)["leaks"])
        assert f"for one {kept['unit']} ({kept['neighbours']})" in said
        assert parts.decoded((tmp_path / name / "part.json").read_bytes(), name).model == driven.model.ownership.model
        assert not list((tmp_path / name).glob("noised/*"))
    assert not list((tmp_path / "alice").glob("noised/*"))


@pytest.mark.parametrize("promise", KEYS)
def test_a_simulation_of_a_run_file_keeps_the_promise_too(tmp_path, promise):
    (tmp_path / "run.toml").write_text(CUT + KEYS[promise])
    done = run_file.train(open_run(tmp_path / "run.toml"), run_file.Options(measured, tmp_path / "out"))
    kept = manifest_of(tmp_path / "out")["differential_privacy"]
    assert done.models[""].promise.epsilon == kept["epsilon"]
    assert kept["sentences"][0].startswith("epsilon ")


@pytest.mark.parametrize("promise", KEYS)
def test_the_plan_says_it_before_anything_runs(tmp_path, promise):
    (tmp_path / "run.toml").write_text(CUT + KEYS[promise])
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "run.toml")], env={"COLUMNS": "250"})
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "What is promised" in said
    assert "Differential privacy: epsilon" in said
    assert "Not covered" in said


REFUSED = {
    "no epsilon can be promised of whole rows": "epsilon = 1\n",
    "must be a number above 0": 'epsilon = 0\nprotects = "model"\n',
    "put passive levels first": 'epsilon = 0\nprotects = "labels"\nlevels = "APP"\n',
    'grown by "additive"': 'epsilon = 1\nprotects = "passive"\ndp_trees = "greedy"\n',
    "goes only with epsilon": 'protects = "labels"\n',
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_run_file_that_promises_nothing_is_refused(tmp_path, why):
    (tmp_path / "run.toml").write_text(CUT + REFUSED[why])
    with pytest.raises(ParameterError, match=why):
        run_of(tmp_path)


def run_of(folder):
    """The plan is where levels and trees are compared."""
    run = read_run_file(folder / "run.toml")
    run.plan(tuple(run.names))
    return run


def test_a_hybrid_run_file_says_why_no_epsilon_is_promised(tmp_path):
    hybrid = CUT.replace('"vertical"', '"hybrid"').replace("parties = 3", "parties = 3\npassive = 10")
    (tmp_path / "run.toml").write_text(hybrid + KEYS["passive"])
    with pytest.raises(ParameterError, match="may stand in many rows of the active one"):
        run_of(tmp_path)
