"""Run files in which names of columns are aligned privately, or told by a passive party's policy."""

import json
import re

import pytest
from real_parties import NAMES, World, write_rows
from test_vertical_parties import ALLOWED, PASSIVE, Columns
from test_vertical_runs import Stopped, said, trained

from hedgerow.agreement.policy import Policy
from hedgerow.corridor.wire import Corridor
from hedgerow.errors import PartyLost
from hedgerow.model.file import decoded
from hedgerow.protocols.session.journal import MOST_TIMES
from hedgerow.run.file.read import open_run
from hedgerow.run.file.tables import party_tables
from hedgerow.run.folder.private_state import PlacesFile
from hedgerow.run.forecast.cost import Shape, cost
from hedgerow.run.forecast.disclosures import used
from hedgerow.run.real import drive
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.simulate import simulate

PRIVATE = '[privacy]\ncolumn_names = "private"'
HEADERS = {
    "alice": ("age", "stay", "hiv_status", "y"),
    "bob": ("age", "debts", "stay", "y"),
    "carol": ("genome", "stay", "age", "y"),
}


class Overlapping(World):
    """Three parties, each with two columns that all have and one of its own."""

    def __init__(self, folder, made, more=PRIVATE):
        super().__init__(folder, made, more=more)
        for seed, name in enumerate(NAMES):
            write_rows(folder / f"{name}.csv", seed, HEADERS[name])


@pytest.fixture
def frames(monkeypatch):
    """Every frame of a driver, taken above TLS."""
    heard = []

    def listening(transport, listeners):
        return Corridor(transport, (*listeners, lambda *what: heard.append(what[3])))

    monkeypatch.setattr(drive, "Corridor", listening)
    return heard


def run(world):
    driver, others = world.drive(), [world.join(name) for name in NAMES]
    return driver.ended(60), [party.ended(60) for party in others]


def test_real_parties_use_the_columns_that_all_have_and_no_other_name_is_in_a_frame(tmp_path, made, frames):
    world = Overlapping(tmp_path, made)
    run(world)
    model = decoded(world.model("alice"), "alice's")
    assert model.names == ("age", "stay")
    unknown = ("hiv_status", "debts", "genome")
    assert not [name for name in unknown if any(name.encode() in frame for frame in frames)]
    for role in ("driver", *NAMES):
        folder = world.folder / role
        kept = json.loads((folder / "manifest.json").read_text())
        assert kept["aligned"] == [{"what": "columns", "sizes": dict.fromkeys(NAMES, 3), "common": 2}]
        assert not [name for name in unknown if name in (folder / "manifest.json").read_text()]
        assert not [name for name in unknown if name in (folder / "audit.log").read_text()]
        assert "how many columns each party has" in " ".join(kept["leaks"])
    told = [(line["message"], line["field"]) for line in kept["known"] if line["message"] in ("Facts", "CommonColumns")]
    assert ("Facts", "columns") not in told


def test_in_an_open_run_every_name_is_in_the_frames(tmp_path, made, frames):
    """The sabotage, and the same model."""
    world = Overlapping(tmp_path, made, more="")
    run(world)
    assert decoded(world.model("alice"), "alice's").names == ("age", "stay")
    assert all(any(name in frame for frame in frames) for name in (b"hiv_status", b"debts", b"genome"))


def test_a_run_that_was_stopped_keeps_its_names_and_goes_on_to_the_same_model(tmp_path, made):
    world = Overlapping(tmp_path, made)
    whole = trained(world.file, tmp_path / "whole")
    with pytest.raises(Stopped):
        trained(world.file, tmp_path / "stopped", stop=2)
    assert trained(world.file, tmp_path / "stopped", resume=True).forest == whole.forest
    assert (tmp_path / "stopped" / "audit.log").read_text().count('"event":"aligned"') == 1


def begun(world):
    """How often each party has begun to align names."""
    return [(world.folder / name / "audit.log").read_text().count('"event":"aligning"') for name in NAMES]


def restarted(world, times):
    """All processes end after the next tree and begin again, so many times."""

    def stop(_):
        raise KeyboardInterrupt

    for n in range(times):
        driver, others = world.drive(watch=stop, resume=n > 0), [world.join(name) for name in NAMES]
        assert isinstance(driver.ended(60), KeyboardInterrupt)
        assert all(isinstance(party.ended(60), PartyLost) for party in others)


def test_real_parties_may_be_restarted_more_often_than_names_may_be_aligned(tmp_path, made):
    world = Overlapping(tmp_path, made)
    world.file.write_text(world.file.read_text().replace("n_estimators = 5", f"n_estimators = {MOST_TIMES + 2}"))
    restarted(world, MOST_TIMES + 1)
    assert begun(world) == [1, 1, 1]


def test_names_that_are_lost_are_aligned_again(tmp_path, made):
    """Where what was kept is not there, or not what was settled."""
    world = Overlapping(tmp_path, made)
    restarted(world, 1)
    (tmp_path / "bob" / "common").unlink()
    kept = PlacesFile(tmp_path / "carol", open_run(world.file).real_plan().digest)
    kept.write(False, 3, kept.read(False, 3)[:1])
    driver, others = world.drive(resume=True), [world.join(name) for name in NAMES]
    assert [party.ended(60) for party in others] == [tmp_path / name for name in NAMES]
    assert decoded(driver.ended(60).folder.joinpath("model.json").read_bytes(), "the").names == ("age", "stay")
    assert begun(world) == [2, 2, 2]


def test_what_is_foretold_is_what_crosses(tmp_path, made):
    run_ = open_run(Overlapping(tmp_path, made).file)
    who, identities = members(run_.names)
    plan, tables, heard = run_.plan(who), party_tables(run_), []
    simulation = Simulation(
        tables.training, tables.valid, listeners=(lambda *w: heard.append(type(w[2]).__name__),), identities=identities
    )
    simulate(plan, simulation)
    reckoned = cost(plan, Shape.of(list(tables.training.values()), plan))
    assert set(heard) == {message.__name__ for message in used(plan)}
    assert set(heard) == {line.message for line in reckoned.lines}
    for name in ("AskSetSize", "BlindIds", "BlindedIds", "Marks", "CommonColumns"):
        assert sum(line.times for line in reckoned.lines if line.message == name) * 3 == heard.count(name)


WRONG = {
    "all columns": ('columns = "all"', 'A name that not all parties have stays unknown; use columns = "shared"'),
    "going on": ('on_loss = "continue"', 'Names of columns are aligned between all parties; use on_loss = "wait"'),
    "another word": ('columns = "shared"', "[privacy] column_names must be one of open, private; it is 'hidden'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_go_with_private_names_is_refused_in_a_sentence(tmp_path, made, what):
    key, sentence = WRONG[what]
    world = Overlapping(tmp_path, made, more=f"{PRIVATE}\n{key}")
    if what == "another word":
        world.file.write_text(world.file.read_text().replace('"private"', '"hidden"'))
    assert sentence in said(tmp_path, "plan", "--columns", "3", code=3).stderr.splitlines()[-1]


@pytest.mark.parametrize("method", ["bagging", 'vertical"\nactive = "alice'])
def test_other_methods_have_no_private_names(tmp_path, made, method):
    world = Overlapping(tmp_path, made)
    text = world.file.read_text().replace('name = "small"', f'name = "small"\nmethod = "{method}"')
    world.file.write_text(text)
    sentence = said(tmp_path, "plan", "--columns", "3", code=3).stderr.splitlines()[-1]
    assert re.search(r"\[privacy\] column_names does not go with method (bagging|vertical)", sentence)


def test_a_passive_party_whose_policy_tells_names_is_shown_by_them(tmp_path, made):
    world = Columns(tmp_path, made)
    rules = {"bob": ALLOWED, "carol": Policy(allow_plain=True, min_cut_rows=5, tell_columns="names")}
    driver, others = world.drive(), [world.join(name, policy=rules[name]) for name in PASSIVE]
    driver.ended(60)
    assert [party.ended(60) for party in others] == [world.folder / name for name in PASSIVE]
    model = decoded((world.folder / "alice" / "model.json").read_bytes(), "alice's")
    assert model.names == ("a", "bob:0", "carol:c", "carol:d")
    told = {name: json.loads((world.folder / name / "manifest.json").read_text())["names_told"] for name in NAMES}
    assert told == {"alice": ["carol"], "bob": [], "carol": ["carol"]}
