"""Run files that ask for differential privacy: simulated, and between real parties that are killed."""

import json

import pytest
from real_parties import NAMES, Process, World
from typer.testing import CliRunner

from hedgerow import DP
from hedgerow.cli import app
from hedgerow.commands.print_tables import measured
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.file import load_model
from hedgerow.privacy.ledger import RELEASED
from hedgerow.run.file.read import open_run
from hedgerow.run.real.own_tables import Own
from hedgerow.run.simulation import run_file
from hedgerow.storage import audit

PRIVACY = '[privacy]\nepsilon = 20\nclasses = ["no", "yes"]\n'
RUN = '[run]\nname = "noisy"\n[data]\ntask = "classify"\n[partition]\ndata = "builtin:breast_cancer"\nparties = 3\n'


def described(folder, text):
    path = folder / "noisy.toml"
    path.write_text(text)
    return open_run(path)


def shown(*words):
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.stdout


# Run files


def test_the_keys_of_privacy_become_the_options(tmp_path):
    text = RUN + (
        '[privacy]\nepsilon = 2\ndelta = 1e-5\ndp_trees = "additive"\ncolluders = 2\nrows_per_id = 3\nmax_nonzero = 9\n'
        'classes = [1, 0]\ncategories = { job = ["clerk", "baker"] }\n'
    )
    categories = {"job": ["baker", "clerk"]}
    assert described(tmp_path, text).method.dp == DP(
        2, 1e-5, "additive", 2, 3, max_nonzero=9, classes=(0, 1), categories=categories
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("epsilon = 0", r"\[privacy\] epsilon must be a number above 0 and at most 100"),
        ("delta = 1e-6", r"\[privacy\] delta goes only with epsilon"),
        ('dp_trees = "random"', "dp_trees goes only with epsilon"),
        ('epsilon = 1\ndp_trees = "best"', "dp_trees must be one of auto, random"),
        ("epsilon = 1\ncolluders = 3", "With 3 colluders among 3 parties no honest party is left"),
        ("epsilon = 1\nlabel_range = [0, 1]", "does not go with label_range and classes"),
        ("epsilon = 1\nlabel_range = 3", "label_range must be two numbers"),
        ('epsilon = 1\nclasses = [1, "a"]', r"\[privacy\] classes must be a list of numbers, or of texts"),
        ('epsilon = 1\nprotection = "plain"\ni_accept_disclosure = true', "plain sums: each party's own have only"),
        ('epsilon = 1\nprotection = "lattice"\nopener = "party1"', "does not go with encryption and an opener"),
        ("epsilon = 1\nparty_share = 0.7", "party_share below 1: everybody knows who is drawn"),
        ('epsilon = 1\non_loss = "continue"', "a lost party's share of the noise would be missing"),
        ('epsilon = 1\ncut_points = "local"', "values of single rows"),
        ('epsilon = 1\ncolumn_names = "private"', "how many names are common is told without noise"),
        ("epsilon = 1\n[validation]\nshare = 0.2", "a metric that is followed on validation rows"),
        ("epsilon = 1\n[trees]\nmin_child_rows = 5", "min_child_rows above 1: rows would be counted"),
        ("epsilon = 1\n[trees]\nsubsample = 0.5", "everybody can compute which rows are drawn"),
        ("epsilon = 1\n[trees]\nn_estimators = 5", "n_estimators has no effect with differential privacy"),
        ('epsilon = 1\n[trees]\nkind = "forest"', "does not go with a random forest"),
        ("epsilon = 1\n[trees]\nscale_pos_weight = 2.0", "a row of more weight needs more noise"),
        ("epsilon = 1\n[trees]\nbase_score = 0.3", "the rule finds it from a release"),
    ],
)
def test_what_does_not_go_with_noise_is_refused_before_any_data_is_read(more, said, tmp_path):
    with pytest.raises(ParameterError, match=said):
        described(tmp_path, f"{RUN}[privacy]\n{more}\n").disclosed()


@pytest.mark.parametrize("method", ["vertical", "hybrid", "bagging", "pooled"])
def test_other_methods_refuse_an_epsilon(method, tmp_path):
    run = RUN.replace("[data]", f'method = "{method}"\n[data]')
    passive = "passive = 2\n" if method == "hybrid" else ""
    of_columns = {"vertical": "no epsilon can be promised of whole rows", "hybrid": "no epsilon is promised against"}
    said = of_columns.get(method, f"epsilon does not go with method {method}")
    with pytest.raises(ParameterError, match=said):
        described(tmp_path, f"{run}{passive}[privacy]\nepsilon = 1\n")


def test_numbers_need_a_declared_range_and_a_loss_whose_gradients_have_a_bound(tmp_path):
    numbers = RUN.replace("classify", "regress") + "[privacy]\nepsilon = 1\n"
    with pytest.raises(ParameterError, match="numbers of unknown range"):
        described(tmp_path, numbers).disclosed()
    with pytest.raises(ParameterError, match="the poisson loss: its gradients have no bound"):
        described(tmp_path, numbers + 'label_range = [0, 1]\n[trees]\nobjective = "poisson"\n').disclosed()
    assert described(tmp_path, numbers + "label_range = [0, 1]\n").disclosed() == ()


# Simulations


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("noisy")
    run = described(folder, RUN + "[privacy]\nepsilon = 4\n")
    run_file.train(run, run_file.Options(measured, folder / "run"))
    return folder / "run"


def test_the_manifest_and_the_model_say_what_is_promised(simulated):
    kept = json.loads((simulated / "manifest.json").read_text())
    promise = kept["differential_privacy"]
    assert (promise["epsilon"], promise["delta"], promise["unit"]) == (4.0, 1e-6, "row")
    assert promise["neighbours"] == "add or remove one"
    assert "up to one party of the 3" in promise["adversary"]
    assert promise["composed"] <= 4 < promise["rdp"]
    assert {release["what"] for release in promise["releases"]} >= {"row count", "cut points", "additive round"}
    assert {row["type"] for row in kept["messages"] if row["direction"] == "from"} == {
        "Consent", "Facts", "Done", "NoisedSums",
    }  # fmt: skip
    assert "epsilon 4.000 at delta 1e-06 for one row" in shown("show", simulated / "model.json")
    assert load_model(simulated / "model.json").promise.epsilon == 4.0


def test_every_release_is_in_every_partys_log_before_it_was_sent(simulated):
    for name in ("party1", "party2", "party3"):
        lines = list(audit.read(simulated / "parties" / name / "audit.log"))
        events = [line["event"] if line["event"] == RELEASED else line.get("type") for line in lines]
        order = [event for event in events if event in (RELEASED, "NoisedSums")]
        n = len(order) // 2
        assert order == [RELEASED, "NoisedSums"] * n
        assert n == sum(release.times for release in load_model(simulated / "model.json").promise.releases)


def test_what_the_promise_takes_as_known_is_said(simulated, tmp_path):
    notes = json.loads((simulated / "manifest.json").read_text())["notes"]
    assert any("classes in the tables are taken as known to everybody" in note for note in notes)
    text = RUN + "[privacy]\nepsilon = 4\nclasses = [0, 1]\n"
    assert described(tmp_path, text).method.dp.classes == (0, 1)


def test_plan_says_the_promise_its_noise_and_its_cost(tmp_path):
    described(tmp_path, RUN + "[privacy]\nepsilon = 0.5\nrows_per_id = 2\n")
    said = shown("plan", tmp_path / "noisy.toml")
    for part in (
        "What is promised:",
        "epsilon 0.5 at delta 1e-06 for one person (add or remove one), against the driver with up to one party of",
        "A person has at most 2 rows in the tables of all parties together. A party whose table has ids checks that "
        "none has more rows there; over several parties, or without ids, nobody checks it.",
        "Each of the 3 parties adds 1/2 of the variance",
        "in sum only, with noise",
        "NoisedSums",
    ):
        assert part in said
    assert "MaskedSums" not in said


def test_rows_of_a_person_may_share_an_id_and_are_counted(tmp_path):
    """In a file, whose ids are otherwise one for each row."""
    ids = "\n".join(f"{i / 7:.3f},{i % 3},{i % 2},p{i // 3}" for i in range(60))
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.csv").write_text("x,z,y,id\n" + ids.replace("p", name))
    parties = "".join(f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\n' for name in "abc")
    data = '[run]\nname = "persons"\n[data]\nlabel = "y"\ntask = "classify"\nid = "id"\n'
    run = data + "[privacy]\nepsilon = 4\nclasses = [0, 1]\n"
    (tmp_path / "run.toml").write_text(run + "rows_per_id = 3\n" + parties)
    run_file.train(open_run(tmp_path / "run.toml"), run_file.Options(measured, tmp_path / "run"))
    assert load_model(tmp_path / "run" / "model.json").promise.unit == "person"
    (tmp_path / "run.toml").write_text(run + "rows_per_id = 2\n" + parties)
    with pytest.raises(DataError, match="At most 2 rows of an id are declared"):
        Own(tmp_path / "a.csv").tables(open_run(tmp_path / "run.toml"), "a", print)


# Real parties


class Noisy(World):
    """Three real parties whose run promises differential privacy."""

    def __init__(self, folder, made, privacy=PRIVACY):
        super().__init__(folder, made, trees="", more=privacy, patience=60, deadline=20)
        self.file.write_text(self.file.read_text().replace("[validation]\nshare = 0.2\n", ""))


def released(world, name):
    return [line["key"] for line in audit.read(world.folder / name / "audit.log") if line["event"] == RELEASED]


def test_real_parties_that_are_killed_and_a_driver_release_nothing_twice(tmp_path, made):
    world = Noisy(tmp_path, made, PRIVACY + 'dp_trees = "random"\n')
    out = tmp_path / "driver.txt"
    driver = Process(world.words("driver"), out)
    bob = Process(world.words("bob"), tmp_path / "bob.txt")
    others = [world.join(name) for name in ("alice", "carol")]
    driver.wait_for("tree 20/100")
    bob.kill()
    again = world.join("bob")
    driver.wait_for("tree 60/100")
    driver.kill()
    assert world.drive(resume=True).ended(60).model.promise.epsilon == 20
    assert [party.ended() for party in (*others, again)] == [tmp_path / name for name in ("alice", "carol", "bob")]
    assert len({world.model(role) for role in ("driver", *NAMES)}) == 1
    for role in ("driver", *NAMES):
        keys, kept = released(world, role), json.loads((tmp_path / role / "manifest.json").read_text())
        assert len(keys) == len(set(keys)) == 104
        assert kept["differential_privacy"]["composed"] <= 20
        assert not list((tmp_path / role).rglob("*.words")), "what was kept of sums is gone"


def test_real_parties_need_classes_and_categories_declared(tmp_path, made):
    with pytest.raises(ParameterError, match="between real parties needs the classes declared"):
        open_run(Noisy(tmp_path, made, "[privacy]\nepsilon = 1\n").file).real_plan()
