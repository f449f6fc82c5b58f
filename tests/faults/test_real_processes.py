"""A handful of the fault campaign: real processes that are killed or cut off, with small runs."""

import json

import pytest
from campaign import continuing, kills, network
from campaign.columns import ColumnsWorld, joined_digest
from campaign.kills import Kill
from campaign.network import Fault
from campaign.trials import Options, Reference
from campaign.world import Size, World

from hedgerow.commands.print_tables import measured
from hedgerow.run.file.read import open_run
from hedgerow.run.simulation import run_file

SMALL = Size(rows=600, columns=5, trees=60, depth=4)


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    return Options(folder, kills=1, seed=0, quick=True, limit=120.0, away=0.5)


@pytest.fixture(scope="module")
def three(options):
    """Three parties, and the model of the same run file with all of them in this process."""
    world = World(options.folder / "three", SMALL, 3)
    file = options.folder / "simulated.toml"
    file.write_text(world.run_file(1, 1))
    run_file.train(open_run(file), run_file.Options(measured, options.folder / "simulated"))
    return world, Reference((options.folder / "simulated" / "model.json").read_bytes(), 1.0, 0)


@pytest.mark.parametrize("who", ["bob", "driver"])
def test_whoever_is_killed_and_started_again_the_model_is_the_same(options, three, who):
    world, reference = three
    done = kills.trial(world, Kill("a test", who, 0.4), reference, options)
    assert done.model == "identical"
    assert done.noticed < 10
    assert done.repeated <= 1


@pytest.fixture(scope="module")
def columns(options):
    """Three parties with columns of their own, under lattice encryption; and the same in this process."""
    world = ColumnsWorld(options.folder / "columns", Size(rows=300, columns=6, trees=12, depth=3))
    file, folder = options.folder / "columns.toml", options.folder / "simulated columns"
    file.write_text(world.run_file(1, 1))
    run_file.train(open_run(file), run_file.Options(measured, folder))
    for name in world.names:
        (folder / name).symlink_to(folder / "parties" / name)
    (folder / world.driver).symlink_to(folder)
    return world, Reference(joined_digest(folder, world.driver, world.names), 1.0, 0)


@pytest.mark.parametrize("who", ["carol", "alice"])
def test_a_sealed_vertical_run_comes_to_the_same_model_whoever_is_killed(options, columns, who):
    world, reference = columns
    done = kills.trial(world, Kill("a test", who, 0.3), reference, options)
    assert done.model == "identical"
    assert done.noticed < 10
    assert done.repeated <= 1


def test_a_short_partition_costs_only_time(options, three):
    world, reference = three
    fault = Fault("1 s of silence", network._silence, 1.0)
    done = network.trial(world, (fault, 100_000), reference, options)
    assert (done.what, done.model, done.repeated) == ("1 s of silence", "identical", 0)


def test_without_two_of_five_parties_the_run_goes_on_and_each_tree_is_of_one_set(options):
    world = World(options.folder / "five", Size(600, 5, 20, 4, deadline=4.0), 5, "continue")
    middle = continuing.STAGES[1]
    done = continuing.trial(world, middle, (("alice", "dora"), 3), options)
    assert done.model == "usable"
    kept = json.loads((world.folder / "run1" / "driver" / "manifest.json").read_text())
    assert kept["losses"] == [{"round": done.tree - 1, "parties": ["alice", "dora"]}]
