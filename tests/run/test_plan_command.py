"""`hedgerow plan`: who will see what, what remains, and what it costs; and that this is what then happens."""

from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.cli import app
from hedgerow.corridor.messages import Answer, Request
from hedgerow.run.file.read import RunFile, read_run_file
from hedgerow.run.file.tables import party_tables
from hedgerow.run.forecast.cost import Cost, Shape, cost
from hedgerow.run.forecast.disclosures import leaks, sights, used
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.simulate import simulate
from hedgerow.trees.params import TreeParams

RUN = '[run]\nname = "credit"\n[data]\ntask = "classify"\n'
CUT = '[partition]\ndata = "builtin:breast_cancer"\nparties = 3\n'
TREES = "[trees]\nn_estimators = 4\nmax_depth = 3\n"
DRIVER = f'[driver]\naddress = "driver.example:50051"\nfingerprint = "{"d" * 64}"\n'
REAL = RUN + "".join(f'[[party]]\nname = "{n}"\nfingerprint = "{n * 64}"\n' for n in "abc") + DRIVER + TREES


def planned(folder: Path, text: str, *options: str) -> str:
    path = folder / "run.toml"
    path.write_text(text)
    result = CliRunner().invoke(app, ["plan", str(path), *options], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.stdout


def run_of(folder: Path, text: str) -> RunFile:
    (folder / "run.toml").write_text(text)
    return read_run_file(folder / "run.toml")


# What is printed


def test_a_masked_run_shows_sums_only_and_its_cost(tmp_path: Path) -> None:
    shown = planned(tmp_path, RUN + CUT + TREES)
    assert "MaskedSums" in shown
    assert "in sum only" in shown
    assert "PlainSums" not in shown
    assert "OwnTrees" not in shown
    assert "569 rows, 30 columns" in shown
    assert "100 Mbit/s" in shown
    assert "20 ms a round trip" in shown
    assert "plan: known when the run starts" in shown


def test_the_hash_that_real_parties_sign_is_printed(tmp_path: Path) -> None:
    shown = planned(tmp_path, REAL, "--columns", "30")
    plan = run_of(tmp_path, REAL).real_plan()
    assert shown.splitlines()[-1] == f"plan: sha256:{plan.digest.hex()}"
    assert "30 columns, every bin used" in shown


@pytest.mark.parametrize(
    ("more", "leak"),
    [
        ('[privacy]\nprotection = "plain"\ni_accept_disclosure = true\n', "from which rows can be reconstructed"),
        ('[privacy]\ncut_points = "local"\n', "own quantiles, some of which are one person's value"),
        ("[privacy]\nparty_share = 0.7\n", "Each tree sums over other parties"),
        ('[privacy]\non_loss = "continue"\n', "If a party is lost"),
        ("[validation]\nshare = 0.2\n", "The metric on the validation rows"),
    ],
)
def test_what_remains_to_be_known_is_said(tmp_path: Path, more: str, leak: str) -> None:
    assert leak in planned(tmp_path, RUN + CUT + TREES + more)
    assert leak not in planned(tmp_path, RUN + CUT + TREES)


def test_two_parties_and_whole_trees_are_said_to_leak(tmp_path: Path) -> None:
    assert "learns the other's" in planned(tmp_path, RUN + CUT.replace("3", "2") + TREES)
    bagging = planned(tmp_path, RUN.replace("[data]", 'method = "bagging"\n[data]') + CUT + TREES)
    assert "Whole trees of each party are shared" in bagging
    assert "AskHistograms" not in bagging


def test_cut_points_finer_than_usual_are_said(tmp_path: Path) -> None:
    assert "as few as 2 rows" in planned(tmp_path, RUN + CUT + TREES + "min_cut_rows = 2\n")


def test_fedtrees_files_are_planned_too(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("1 1:0.5 2:1\n0 1:0.1\n1 2:3\n")
    (tmp_path / "run.conf").write_text(f"data={tmp_path}/a,{tmp_path}/b\nobjective=binary:logistic\nn_gpus=1\n")
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "run.conf")])
    assert result.exit_code == 0, result.output
    assert "PlainSums" in result.stdout
    assert "note: n_gpus has no effect" in result.stderr


def test_data_that_is_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "all.svm").open("wb") as file:
        file.truncate((50 << 20) + 1)
    (tmp_path / "run.toml").write_text(RUN + CUT.replace("builtin:breast_cancer", "all.svm"))
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "run.toml")])
    assert result.exit_code == 3
    assert "say how wide it is with --columns" in result.stderr
    assert "12 columns" in planned(tmp_path, (tmp_path / "run.toml").read_text(), "--columns", "12")


def test_a_baseline_has_no_plan_to_show(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(RUN.replace("[data]", 'method = "pooled"\n[data]') + CUT)
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "run.toml")])
    assert result.exit_code == 3
    assert "method pooled is a baseline" in result.stderr


# That it is what happens

METHODS = {
    "masked": "",
    "plain": '[privacy]\nprotection = "plain"\ni_accept_disclosure = true\n',
    "local cuts": '[privacy]\ncut_points = "local"\n',
    "followed": "[validation]\nshare = 0.3\n",
    "a given start": "base_score = 0.5\n",
    "encrypted": '[privacy]\nprotection = "lattice"\nopener = "party2"\n',
    "bagging": "",
    "sequential": "",
}


def happened(run: RunFile) -> tuple[Plan, Cost, Counter[str], Counter[str]]:
    """The plan, its reckoned cost, and the messages and bytes for each party that really crossed."""
    who, identities = members(run.names)
    plan, tables = run.plan(who), party_tables(run)
    times: Counter[str] = Counter()
    volume: Counter[str] = Counter()

    def hear(sender: str, receiver: str, message: Request | Answer, frame: bytes) -> None:
        times[type(message).__name__] += 1
        volume[type(message).__name__] += len(frame)

    simulate(plan, Simulation(tables.training, tables.valid, listeners=(hear,), identities=identities))
    return plan, cost(plan, Shape.of(list(tables.training.values()), plan)), times, volume


@pytest.mark.parametrize("method", METHODS)
def test_the_messages_that_cross_are_those_foretold(tmp_path: Path, method: str) -> None:
    words = f'method = "{method}"\n[data]' if method in ("bagging", "sequential") else "[data]"
    plan, reckoned, times, _ = happened(run_of(tmp_path, RUN.replace("[data]", words) + CUT + TREES + METHODS[method]))
    assert set(times) == {message.__name__ for message in used(plan)}
    assert set(times) == {line.message for line in reckoned.lines}
    assert {sight.message for sight in sights(plan)} <= set(times)
    for message in ("AskHistograms", "AskLeafSums", "FinishRound", "AskTrees", "Farewell"):
        assert times[message] == 3 * sum(line.times for line in reckoned.lines if line.message == message)


@pytest.mark.parametrize("method", ["masked", "encrypted"])
def test_the_bytes_that_cross_are_about_those_foretold(tmp_path: Path, method: str) -> None:
    text = RUN + CUT + "[trees]\nn_estimators = 10\nmax_depth = 2\nmin_cut_rows = 5\n" + METHODS[method]
    _, reckoned, _, volume = happened(run_of(tmp_path, text))
    real = sum(volume.values())
    assert real / 1.5 < reckoned.total < 3 * real


def test_cost_grows_with_trees_depth_columns_and_parties() -> None:
    def total(n: int = 3, columns: int = 10, **params: int) -> float:
        who = tuple(Member(str(i), str(i)) for i in range(n))
        plan = Plan("a test", who, Goal(), TreeParams(**params))
        return cost(plan, Shape.wide(columns, 32)).total

    least = total()
    assert min(total(n=4), total(columns=20), total(n_estimators=200), total(max_depth=8)) > least
    assert total(min_child_rows=5) > least


def test_seconds_are_bytes_over_the_line_and_round_trips() -> None:
    who = tuple(Member(name, name) for name in "abc")
    found = cost(Plan("a test", who, Goal(), TreeParams()), Shape.wide(10, 255))
    assert found.seconds == pytest.approx(found.total * 8 / 100e6 + found.trips * 0.02)
    assert any("sums over all parties" in sentence for sentence in leaks(Plan("a test", who, Goal(), TreeParams())))
