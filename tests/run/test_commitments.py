"""A vertical run leaves every passive party with the active party's commitment to the leaf values."""

import hashlib
from dataclasses import replace

import pytest
from test_vertical_parties import ALLOWED, PASSIVE, Columns, run
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.errors import ModelError, PrivacyError
from hedgerow.model import commitment as c
from hedgerow.model import part as parts
from hedgerow.model.file import load_model
from hedgerow.run.file.read import open_run
from hedgerow.run.folder.salt_file import committed
from hedgerow.run.simulation import run_file


def opened(folder):
    """What the active party would tell an auditor."""
    return c.kept_opening(folder / "model.salt", load_model(folder / "model.json"))


def held(part, opening):
    c.check_opening(c.Commitment(part.model, part.commitment), opening)


@pytest.fixture(scope="module")
def world(made, tmp_path_factory):
    world = Columns(tmp_path_factory.mktemp("committed"), made)
    run(world)
    return world


def test_real_parties_keep_a_commitment_that_the_active_party_can_open(world):
    salt = world.folder / "alice" / "model.salt"
    assert salt.stat().st_mode & 0o777 == 0o600
    for name in PASSIVE:
        held(world.part(name), opened(world.folder / "alice"))
        assert not (world.folder / name / "model.salt").exists()
        assert (
            c.kept_opening(salt, load_model(world.folder / "alice" / "model.json")).salt
            not in (world.folder / name / "part.json").read_bytes()
        )


def test_another_runs_model_does_not_open_it(world, made, tmp_path):
    other = Columns(tmp_path, made, trees="n_estimators = 3\nmax_depth = 2\nmin_cut_rows = 5")
    run(other)
    with pytest.raises(PrivacyError, match="of another model"):
        held(world.part("bob"), opened(other.folder / "alice"))


def test_show_tells_the_commitment_of_a_part(world):
    told = CliRunner().invoke(app, ["show", str(world.folder / "bob" / "part.json")]).output
    assert f"leaves   committed to as {world.part('bob').commitment.hex()}" in told


def test_a_simulation_commits_too(world, tmp_path):
    run_file.train(open_run(world.file), run_file.Options(lambda *_: {}, tmp_path / "all"))
    for name in PASSIVE:
        held(parts.load_part(tmp_path / "all" / "parties" / name / "part.json"), opened(tmp_path / "all"))
    assert (tmp_path / "all" / "model.salt").stat().st_mode & 0o777 == 0o600


def test_a_resumed_run_commits_to_its_final_model(made, tmp_path):
    def stop(told):
        if told.round.number == 2:
            raise KeyboardInterrupt

    world = Columns(tmp_path, made)
    for more in ({"watch": stop}, {"resume": True}):
        driver, others = world.drive(**more), [world.join(name, policy=ALLOWED) for name in PASSIVE]
        driver.ended(60)
        for party in others:
            party.ended(60)
    assert load_model(tmp_path / "alice" / "model.json").forest.n_trees == 4
    for name in PASSIVE:
        held(world.part(name), opened(tmp_path / "alice"))


def test_a_model_that_is_handed_out_again_keeps_its_salt(world, tmp_path):
    model = load_model(world.folder / "alice" / "model.json")
    first = committed(tmp_path, model)
    assert committed(tmp_path, model) == first
    assert len(first) == hashlib.sha256().digest_size


def test_a_part_with_half_a_commitment_is_refused(world):
    damaged = replace(world.part("bob"), commitment=b"half")
    with pytest.raises(ModelError, match="its commitment to leaf values has a wrong length"):
        parts.decoded(parts.encoded(damaged), "it")
