"""A run that failed before its first tree was complete can be mended and begun anew, and nothing of it is lost."""

import json

import pytest
from real_parties import NAMES, World, write_rows
from test_aligned_runs import REAL, Scattered, scatter
from test_drive_join import refused, simulated
from test_folder import ABOUT
from test_train_run import Stopped, forest_in, hedgerow, named, party_files, run_file, stopping_after, train
from test_vertical_parties import ALLOWED, PASSIVE

from hedgerow.agreement.options import Horizontal
from hedgerow.errors import PrivacyError, RunError
from hedgerow.protocols.session.journal import MOST_TIMES, Journal
from hedgerow.protocols.session.owner_ledger import WRONG, Ledger
from hedgerow.protocols.vertical import prepare as own_rows
from hedgerow.protocols.vertical.party import VerticalParty
from hedgerow.run.folder import restart
from hedgerow.run.folder.folder import open_folder
from hedgerow.run.folder.manifest import About
from hedgerow.storage import audit

STRANGE = "a,b,y\n1,2,perhaps\n"
DATA = 'label = "y"\ntask = "classify"'


def anew(folder, n=1):
    aside = folder.with_name(f"{folder.name}.unfinished-{n}")
    return f"The run in {folder} had stopped before its first tree was complete; it is kept as {aside} and begun anew."


def again(folder):
    return f"The run in {folder} had stopped before its first tree was complete; it begins again there."


def contents(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def failed(tmp_path):
    """A simulation that failed because a party's validation rows have a class of their own; the run file."""
    party_files(tmp_path)
    (tmp_path / "valid.csv").write_text(STRANGE)
    trees = named().replace('data = "bob.csv"', 'data = "bob.csv"\nvalid = "valid.csv"')
    path = run_file(tmp_path / "run.toml", data=DATA, partition="", trees=trees)
    assert "Party 'bob': 1 labels" in hedgerow("train", path, code=3).stderr
    return path


@pytest.mark.parametrize("words", [(), ("--resume",)])
def test_a_mended_table_is_trained_on_and_what_was_left_is_kept_beside(tmp_path, failed, words):
    folder = tmp_path / "runs" / "small"
    left = contents(folder)
    party_files(tmp_path, ["bob"], n=60)
    (tmp_path / "valid.csv").write_text(STRANGE.replace("perhaps", "yes"))
    assert anew(folder) in hedgerow("train", failed, *words).stderr.splitlines()
    assert contents(tmp_path / "runs" / "small.unfinished-1") == left
    hedgerow("train", failed, "--folder", tmp_path / "fresh")
    assert forest_in(folder) == forest_in(tmp_path / "fresh")


def test_a_run_file_that_was_mended_is_run_too(tmp_path, failed):
    failed.write_text(failed.read_text().replace('valid = "valid.csv"\n', "").replace("max_depth = 3", "max_depth = 2"))
    folder = tmp_path / "runs" / "small"
    assert anew(folder) in hedgerow("train", failed, "--resume").stderr.splitlines()
    assert json.loads((folder / "manifest.json").read_text())["status"] == "finished"


def test_what_fails_again_is_kept_again(tmp_path, failed):
    folder = tmp_path / "runs" / "small"
    for n in (1, 2):
        party_files(tmp_path, ["bob"], n=60 + n)
        assert anew(folder, n) in hedgerow("train", failed, code=3).stderr.splitlines()


def test_the_same_rows_begin_again_where_they_were(tmp_path, failed):
    """Validation rows are not in the hash of a simulation's tables: nothing that the run is known by has changed."""
    (tmp_path / "valid.csv").write_text(STRANGE.replace("perhaps", "yes"))
    folder = tmp_path / "runs" / "small"
    assert again(folder) in hedgerow("train", failed).stderr.splitlines()
    assert [file.name for file in (tmp_path / "runs").iterdir()] == ["small"]


def test_a_run_with_a_complete_tree_is_never_begun_anew(tmp_path):
    party_files(tmp_path)
    path = run_file(tmp_path / "run.toml", data=DATA, partition="", trees=named())
    with pytest.raises(Stopped):
        train(path, tmp_path / "run", watch=stopping_after(2))
    party_files(tmp_path, ["bob"], n=60)
    for words, sentence in (((), "go on with --resume"), (("--resume",), "rows of 'bob' are not those with which")):
        assert sentence in hedgerow("train", path, "--folder", tmp_path / "run", *words, code=3).stderr
    assert not (tmp_path / "run.unfinished-1").exists()


# Folders


def test_a_folder_in_which_a_process_is_at_work_is_not_moved(tmp_path):
    running = open_folder(tmp_path / "run", ABOUT, False)
    with pytest.raises(RunError, match="in use by another process"):
        open_folder(tmp_path / "run", About("a run", "simulation", "driver", Horizontal(), b"{}"), False)
    running.close()
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


PARTY = About("a run", "party", "bob", Horizontal(), b'{"members": []}')


def joined(folder, *sent):
    """The folder of a party that has sent these messages."""
    about = PARTY
    left = open_folder(folder, about, None)
    for kind in sent:
        left.log.note("sent", type=kind, bytes=1, sha256="")
    left.close()
    return about


def test_a_party_begins_anew_with_other_rows_only_if_it_gave_nothing_summed_over_them(tmp_path):
    told = []
    about = joined(tmp_path / "early", "Consent", "Facts", "Done")
    open_folder(tmp_path / "early", about, None, told.append, other_rows=True).close()
    assert told == [anew(tmp_path / "early")]
    for kind in ("MaskedSums", "PlainSums", "SealedWords", "LocalCuts", "OwnTrees", "SealedSums", "Sides", "Unheard"):
        about = joined(tmp_path / kind, "Consent", "Facts", "Done", kind)
        open_folder(tmp_path / kind, about, None, told.append, other_rows=True).close()
        assert "sent" in [line["event"] for line in audit.read(tmp_path / kind / "audit.log")]
    assert len(told) == 1


def test_a_party_that_forgot_what_it_gave_would_be_seen(tmp_path, monkeypatch):
    """The sabotage: sums count as nothing."""
    monkeypatch.setattr(restart, "BEFORE_SUMS", restart.BEFORE_SUMS | {"MaskedSums"})
    about, told = joined(tmp_path / "run", "MaskedSums"), []
    open_folder(tmp_path / "run", about, None, told.append, other_rows=True).close()
    assert told == [anew(tmp_path / "run")]


def test_what_a_party_counts_is_counted_on_when_it_begins_anew(tmp_path):
    """Else a driver that lets the run fail after each alignment could try out ids for ever."""
    for _ in range(MOST_TIMES):
        align_once(tmp_path / "run")
    with pytest.raises(PrivacyError, match="has begun 5 alignments of rows"):
        align_once(tmp_path / "run")
    assert Ledger(audit.AuditLog(tmp_path / "run" / "audit.log", PARTY.plan_sha256, "bob")).wrong == MOST_TIMES + 1
    assert len(aside(tmp_path)) == MOST_TIMES
    assert not [line for line in audit.read(tmp_path / "run" / "audit.log") if line["event"] == "settled"]


def test_a_party_that_does_not_count_on_aligns_without_end(tmp_path, monkeypatch):
    """The sabotage."""
    monkeypatch.setattr(restart, "COUNTED", frozenset())
    for _ in range(MOST_TIMES + 1):
        align_once(tmp_path / "run")


def align_once(folder):
    """A party aligns lists of other lengths each time, hears a wrong hash, and its driver stops the run."""
    began = open_folder(folder, PARTY, None)
    try:
        Ledger(began.log).log.note(WRONG, sha256=str(len(aside(folder.parent))))
        Journal(began.log, "a run").align("rows", [len(aside(folder.parent)), 3])
        began.log.note(restart.STOPPED_BY_DRIVER)
    finally:
        began.close()


# Real parties


def run(world, policy=None, names=NAMES):
    more = {} if policy is None else {"policy": policy}
    told = []
    driver, others = world.drive(say=told.append), [world.join(name, **more) for name in names]
    return driver.ended(60), [party.ended(60) for party in others], told


def aside(folder):
    return sorted(path.name for path in folder.iterdir() if ".unfinished-" in path.name)


def test_real_parties_go_on_when_one_has_mended_its_table(tmp_path, made):
    world = World(tmp_path, made)
    write_rows(tmp_path / "bob.csv", 1, ("a", "B", "C", "y"))
    assert "Only 1 of the 3 columns of 'alice' is common" in str(run(world)[0])
    write_rows(tmp_path / "bob.csv", 1)
    _, parties, told = run(world)
    assert parties == [tmp_path / name for name in NAMES]
    assert again(tmp_path / "driver") in told
    assert aside(tmp_path) == ["bob.unfinished-1"]
    assert world.model("driver") == world.model("bob") == simulated(world)
    assert audit.verify(tmp_path / "bob.unfinished-1" / "audit.log").who == "bob"


def test_real_parties_go_on_when_all_have_mended_the_run_file(tmp_path, made):
    world = World(tmp_path, made)
    for seed, name in enumerate(NAMES):
        write_rows(tmp_path / f"{name}.csv", seed, ("a", f"{name}1", f"{name}2", "y"))
    assert "or accept it with allow_few_columns" in str(run(world)[0])
    world.file.write_text(world.file.read_text().replace("[driver]", "[privacy]\nallow_few_columns = true\n[driver]"))
    _, parties, told = run(world)
    assert parties == [tmp_path / name for name in NAMES]
    assert anew(tmp_path / "driver") in told
    assert aside(tmp_path) == [f"{role}.unfinished-1" for role in ("alice", "bob", "carol", "driver")]


def test_a_party_that_was_bound_to_what_another_has_mended_since_begins_anew(tmp_path, made):
    """Alice and carol had agreed on three classes, of which one was a slip of bob's."""
    world = World(tmp_path, made)
    rows = (tmp_path / "bob.csv").read_text()
    (tmp_path / "bob.csv").write_text(rows.replace("yes", "Yes", 1))
    (tmp_path / "valid.csv").write_text(rows.replace("yes", "perhaps", 1))
    driver = world.drive()
    parties = [world.join(name, valid=tmp_path / "valid.csv" if name == "bob" else None) for name in NAMES]
    assert "refuses to go on" in str(driver.ended())
    assert all("refuses to go on" in str(party.ended()) for party in parties)
    (tmp_path / "bob.csv").write_text(rows)
    _, ended, _ = run(world)
    assert ended == [tmp_path / name for name in NAMES]
    assert world.model("driver") == simulated(world)


def strange_ids(file):
    head, *lines = file.read_text().splitlines()
    file.write_text("\n".join([head, *(f"x{line}" for line in lines)]) + "\n")


def test_ids_that_did_not_fit_are_mended_by_either_side(tmp_path, made):
    """First those of a passive party, then, after another slip, those of the active one: attempts are counted on."""
    world = Scattered(tmp_path, made)
    strange_ids(tmp_path / "bob.csv")
    for name in ("bob", "alice"):
        said = str(run(world, ALLOWED, PASSIVE)[0])
        assert "No id is common to all parties' rows; check that all of them name the same kind of id" in said
        scatter(tmp_path, REAL)
        if name == "bob":
            strange_ids(tmp_path / "alice.csv")
    assert run(world, ALLOWED, PASSIVE)[1] == [tmp_path / name for name in PASSIVE]
    assert json.loads((tmp_path / "alice" / "manifest.json").read_text())["status"] == "finished"
    attempts = {
        name: [line["attempt"] for line in audit.read(tmp_path / name / "audit.log") if line["event"] == "introduced"]
        for name in PASSIVE
    }
    assert attempts["carol"] == sorted(set(attempts["carol"]))
    assert attempts["carol"][-1] == attempts["bob"][-1] == 3


def stopped_once(monkeypatch, where, name, who=None):
    """A process is interrupted the first time that it comes to this place; returns whether it was."""
    whole, come = getattr(where, name), []

    def once(*given):
        if not come and who in (None, getattr(given[0], "name", None)):
            come.append(who)
            raise KeyboardInterrupt
        return whole(*given)

    monkeypatch.setattr(where, name, once)
    return come


@pytest.mark.parametrize("words", [{}, {"resume": True}])
def test_a_party_that_leaves_out_rows_after_an_alignment_is_gone_on_with(tmp_path, made, monkeypatch, words):
    """The active party, too, was bound to how many rows everyone had."""
    world = Scattered(tmp_path, made)
    assert stopped_once(monkeypatch, own_rows, "prepare") == []
    run(world, ALLOWED, PASSIVE)
    rows = (tmp_path / "bob.csv").read_text().splitlines()
    (tmp_path / "bob.csv").write_text("\n".join(rows[:-10]) + "\n")
    driver, others = world.drive(**words), [world.join(name, policy=ALLOWED) for name in PASSIVE]
    assert [party.ended(60) for party in others] == [tmp_path / name for name in PASSIVE]
    assert driver.ended(60).folder == tmp_path / "alice"
    assert aside(tmp_path) == [f"{name}.unfinished-1" for name in NAMES]


def test_a_party_that_is_killed_before_its_first_sums_goes_on_with_the_rows_it_found(tmp_path, made, monkeypatch):
    """The others, who have closed the alignment, would not begin another."""
    world = Scattered(tmp_path, made)
    come = stopped_once(monkeypatch, VerticalParty, "_begin", "bob")
    driver, others = world.drive(), [world.join(name, policy=ALLOWED) for name in PASSIVE]
    assert isinstance(others[0].ended(), KeyboardInterrupt)
    assert come == ["bob"]
    others[0] = world.join("bob", policy=ALLOWED)
    assert [party.ended(60) for party in others] == [tmp_path / name for name in PASSIVE]
    assert driver.ended(60).folder == tmp_path / "alice"
    assert aside(tmp_path) == []


def test_a_party_that_gave_sums_still_refuses_other_rows(tmp_path, made):
    world = World(tmp_path, made)

    def stop(_):
        raise KeyboardInterrupt

    driver, parties = world.drive(watch=stop), [world.join(name) for name in NAMES]
    driver.ended()
    for party in parties:
        party.ended()
    write_rows(tmp_path / "bob.csv", 9)
    assert "The rows are not those with which this party joined" in refused(*world.words("bob"))
    assert aside(tmp_path) == []
