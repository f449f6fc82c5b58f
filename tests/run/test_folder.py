"""What a run leaves behind: checkpoints that survive anything, folders that are never overwritten."""

import json
import stat
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from federated import Federation, params_of, same, two_class, with_method
from hedgerow.agreement.options import Horizontal
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.errors import RunError
from hedgerow.protocols.driver import State
from hedgerow.run.folder import checkpoint as checkpoints
from hedgerow.run.folder.checkpoint import Checkpoint
from hedgerow.run.folder.folder import MANIFEST, open_folder
from hedgerow.run.folder.manifest import About, bytes_by_party, said
from hedgerow.storage import audit
from hedgerow.trees.forest import Forest

FOLLOW = Goal(follow=True, eval_metric="auc")
PLAN = msgspec.json.encode({"members": [{"name": "a", "fingerprint": "a"}], "params": {"max_depth": 3}})
ABOUT = About("a run", "simulation", "driver", Horizontal(), PLAN, {"a": "00"})


@pytest.fixture(scope="module")
def trained():
    """A federation, its model, and the driver's states."""
    training, valid = partition.hold_out(two_class(3), 0.3)
    states: list[State] = []
    fed = Federation(training, params_of(n_estimators=4), FOLLOW, valid)
    return fed, fed.model(keep=states.append), states


def written(path, plan, states):
    """A checkpoint of these states, and its size after each of them."""
    checkpoint = Checkpoint(path, plan)
    sizes = [path.stat().st_size]
    for state in states:
        checkpoint.keep(state)
        sizes.append(path.stat().st_size)
    checkpoint.close()
    return sizes


def read(path, plan):
    checkpoint = Checkpoint(path, plan)
    checkpoint.close()
    return checkpoint


def equal(one, other):
    grids = [
        (s.start.grid.cuts.tobytes(), s.start.grid.cut_starts.tobytes()) if s.start else None for s in (one, other)
    ]
    fields = ("attempt", "present", "history", "losses", "clipped")
    common = [s.common and (s.common.columns, s.common.classes, s.common.absent) for s in (one, other)]
    return (
        one.forest == other.forest
        and grids[0] == grids[1]
        and common[0] == common[1]
        and all(getattr(one, name) == getattr(other, name) for name in fields)
    )


def test_every_state_comes_back_as_it_was(tmp_path, trained):
    fed, _, states = trained
    for n in range(1, len(states) + 1):
        path = tmp_path / f"checkpoint{n}"
        written(path, fed.plan, states[:n])
        found = read(path, fed.plan)
        assert equal(found.state, states[n - 1])
        assert len(found.seconds) == len(states[n - 1].parts)


def test_parties_that_were_lost_come_back_with_the_state(tmp_path, trained):
    fed, _, states = trained
    lost = replace(states[-1], present=("party1", "party3"), losses=((2, ("party2",)),), clipped=7)
    written(tmp_path / "checkpoint", fed.plan, [lost])
    assert equal(read(tmp_path / "checkpoint", fed.plan).state, lost)


def test_a_run_that_goes_on_from_a_file_gives_the_same_model(tmp_path, trained):
    fed, model, states = trained
    written(tmp_path / "checkpoint", fed.plan, states[:3])
    again = Federation(fed.tables, fed.plan.params, FOLLOW, fed.valid)
    checkpoint = Checkpoint(tmp_path / "checkpoint", fed.plan)
    assert same(again.model(state=checkpoint.state, keep=checkpoint.keep), model)
    checkpoint.close()
    assert read(tmp_path / "checkpoint", fed.plan).state.forest == model.forest


def test_trees_are_written_once_and_never_again(tmp_path, trained):
    fed, _, states = trained
    path = tmp_path / "checkpoint"
    checkpoint, before = Checkpoint(path, fed.plan), b""
    for state in states:
        checkpoint.keep(state)
        now = path.read_bytes()
        assert now.startswith(before)
        before = now
    checkpoint.close()


def test_a_file_cut_off_anywhere_gives_the_last_whole_state(tmp_path, trained):
    fed, _, states = trained
    path = tmp_path / "checkpoint"
    sizes = written(path, fed.plan, states)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for cut in {
        *rng.integers(1, len(whole), 40).tolist(),
        *sizes,
        *(s - 1 for s in sizes),
        *(s + 1 for s in sizes[:-1]),
    }:
        path.write_bytes(whole[:cut])
        done = sum(size <= cut for size in sizes) - 1
        found = read(path, fed.plan).state
        assert equal(found, states[done - 1] if done > 0 else State())
        assert path.stat().st_size == sizes[max(done, 0)], "what was half-written is cut off"


def test_zeros_left_by_a_loss_of_power_are_cut_off(tmp_path, trained):
    fed, _, states = trained
    path = tmp_path / "checkpoint"
    written(path, fed.plan, states[:2])
    with path.open("ab") as file:
        file.write(bytes(4096))
    assert equal(read(path, fed.plan).state, states[1])


def test_a_file_damaged_before_its_end_is_refused(tmp_path, trained):
    fed, _, states = trained
    path = tmp_path / "checkpoint"
    sizes = written(path, fed.plan, states)
    whole = bytearray(path.read_bytes())
    whole[sizes[2] + 100] ^= 1
    path.write_bytes(whole)
    with pytest.raises(RunError, match="damaged and cannot be resumed"):
        Checkpoint(path, fed.plan)


def test_a_checkpoint_of_another_plan_is_refused(tmp_path, trained):
    fed, _, states = trained
    written(tmp_path / "checkpoint", fed.plan, states[:2])
    with pytest.raises(RunError, match=f"another plan, of the hash {fed.plan.digest.hex()[:12]}"):
        Checkpoint(tmp_path / "checkpoint", with_method(fed.plan, party_share=0.9))


def test_a_checkpoint_of_another_version_is_refused(tmp_path, trained, monkeypatch):
    fed, _, states = trained
    monkeypatch.setattr(checkpoints, "VERSION", 9)
    written(tmp_path / "checkpoint", fed.plan, states[:2])
    monkeypatch.undo()
    with pytest.raises(RunError, match="of version 9; this hedgerow reads version 1"):
        Checkpoint(tmp_path / "checkpoint", fed.plan)


def astray(state):
    forest = state.parts[0]
    return replace(state, parts=(replace(forest, children=np.where(forest.children > 0, 0, -1).astype(np.int32)),))


def test_an_attempt_is_written_down_before_anyone_hears_of_it(trained):
    fed = Federation(trained[0].tables)

    def full(_state):
        raise RunError("the disk is full")

    with pytest.raises(RunError, match="the disk is full"):
        fed.run(keep=full)
    assert fed.heard == []


STRANGE = {
    "trees that lead nowhere": astray,
    "trees without columns": lambda s: replace(s, common=None, start=None),
    "cut points out of order": lambda s: replace(
        s, start=replace(s.start, grid=replace(s.start.grid, cuts=s.start.grid.cuts[::-1]))
    ),
    "numbers that are none": lambda s: replace(
        s, parts=(replace(s.parts[0], values=s.parts[0].values * np.float32("nan")),)
    ),
    "a stranger": lambda s: replace(s, present=("mallory",)),
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_well_hashed_file_with_nonsense_in_it_is_refused(tmp_path, trained, what):
    fed, _, states = trained
    written(tmp_path / "checkpoint", fed.plan, [STRANGE[what](states[1])])
    with pytest.raises(RunError, match="damaged and cannot be resumed"):
        Checkpoint(tmp_path / "checkpoint", fed.plan)


def test_a_new_folder_can_be_read_by_its_owner_alone(tmp_path):
    folder = open_folder(tmp_path / "runs" / "one", ABOUT, False)
    folder.open_party_log("a")
    folder.finish({"model.json": b"{}"}, {})
    folder.close()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    files = [file for file in folder.path.rglob("*") if file.is_file()]
    assert {file.name for file in files} == {"audit.log", "manifest.json", "model.json"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_finished_run_is_never_overwritten_nor_resumed(tmp_path):
    folder = open_folder(tmp_path, ABOUT, False)
    folder.finish({}, {})
    folder.close()
    for resume in (False, True, None):
        with pytest.raises(RunError, match="finished and not overwritten; name another folder"):
            open_folder(tmp_path, ABOUT, resume)


@pytest.fixture
def grown(tmp_path, trained):
    """A folder of a run with complete trees."""
    open_folder(tmp_path, ABOUT, False).close()
    fed, _, states = trained
    written(tmp_path / "checkpoint", fed.plan, states[:3])


def test_an_unfinished_run_goes_on_only_if_asked_to(tmp_path, grown):
    with pytest.raises(RunError, match="not finished; go on with --resume"):
        open_folder(tmp_path, ABOUT, False)
    folder = open_folder(tmp_path, ABOUT, True)
    with pytest.raises(RunError, match="in use by another process"):
        open_folder(tmp_path, ABOUT, True)
    folder.close()


OTHER = msgspec.json.encode({"members": [{"name": "a", "fingerprint": "a"}], "params": {"max_depth": 4}})


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (
            replace(ABOUT, plan=OTHER),
            "another plan: max_depth was 3, now 4; put the run file back as it was, or name another folder",
        ),
        (replace(ABOUT, data={"a": "11"}), "rows of 'a' are not those with which"),
        (replace(ABOUT, who="a", role="party"), "holds a run of 'driver'"),
    ],
)
def test_another_run_does_not_go_on_in_a_folder(tmp_path, grown, other, sentence):
    with pytest.raises(RunError, match=sentence):
        open_folder(tmp_path, other, True)


def test_there_must_be_a_run_to_resume(tmp_path):
    with pytest.raises(RunError, match=r"no run in .* to resume; leave out --resume"):
        open_folder(tmp_path / "none", ABOUT, True)


def test_files_of_others_are_not_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match="holds files and no run"):
        open_folder(tmp_path, ABOUT, False)
    with pytest.raises(RunError, match="is a file; name a folder"):
        open_folder(tmp_path / "thesis.txt", ABOUT, False)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"status": "unfinished"}'])
def test_a_damaged_manifest_is_refused(tmp_path, content):
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(RunError, match="not the manifest of a run, or damaged"):
        open_folder(tmp_path, ABOUT, True)


def test_a_process_killed_before_its_first_manifest_begins_again(tmp_path):
    audit.AuditLog(tmp_path / "audit.log", ABOUT.plan_sha256, "driver").close()
    (tmp_path / ".manifest.json.abc").write_bytes(b"half")
    open_folder(tmp_path, ABOUT, False).close()
    assert json.loads((tmp_path / MANIFEST).read_text())["status"] == "unfinished"


def test_the_manifest_adds_up_what_the_log_says(tmp_path):
    folder = open_folder(tmp_path, ABOUT, False)
    for n in (10, 20):
        folder.log.note("sent", to="a", type="Begin", bytes=n, sha256="")
        folder.log.note("received", **{"from": "a"}, type="Done", bytes=n + 1, sha256="")
    whole = folder.finish({}, {})
    assert bytes_by_party(whole["messages"]) == {"a": (30, 32)}
    assert {(row["type"], row["messages"]) for row in said(folder.log.lines())} == {("Begin", 2), ("Done", 2)}
    assert {line["message"] for line in whole["known"]} == {"Begin"}, "Done has no field that tells anything"
    assert audit.verify(tmp_path / "audit.log", whole["audit"]["audit.log"]).who == "driver"
    folder.close()


def test_forests_without_a_tree_are_kept_too(tmp_path, trained):
    fed = trained[0]
    written(tmp_path / "checkpoint", fed.plan, [State(attempt=3)])
    assert read(tmp_path / "checkpoint", fed.plan).state.forest == Forest.empty()
