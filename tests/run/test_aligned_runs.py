"""Vertical runs whose files have other rows in another order, aligned by ids that nobody shows."""

import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from real_parties import NAMES
from test_vertical_parties import ALLOWED, PASSIVE, PLAIN, Columns, run, simulated
from test_vertical_runs import Stopped, read, said, trained

from hedgerow.agreement.options import MOST_IDS
from hedgerow.corridor.wire import Corridor
from hedgerow.data.table import Table
from hedgerow.model import part as parts
from hedgerow.model.file import decoded, load_model
from hedgerow.privacy.intersection import Blinding
from hedgerow.protocols.align.lists import tag_of
from hedgerow.run.file.read import open_run
from hedgerow.run.file.tables import party_tables
from hedgerow.run.forecast.cost import Shape, cost
from hedgerow.run.forecast.disclosures import used
from hedgerow.run.real import drive
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.simulate import simulate

RUN = '[run]\nname = "credit"\nmethod = "vertical"\nactive = "bank"\n'
DATA = '[data]\ntask = "classify"\nlabel = "y"\nid = "id"\n'
ALIGNED = PLAIN + '\nalign = "private"\n'
TREES = "[trees]\nn_estimators = 4\nmax_depth = 3\nmin_cut_rows = 5\n"
PARTIES = "".join(f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\n' for name in ("bank", "shop", "post"))
WHOLE = RUN + DATA + PARTIES + ALIGNED + TREES
N = 200
IDS = [f"person-{i * 7919 % 1009:04d}" for i in range(N)]


def columns(n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).round(3)
    return X, np.where(X[:, 1] + X[:, 0] * X[:, 2] > 0, "yes", "no")


def write(path: Path, header, rows) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def scatter(folder: Path, owners) -> list[int]:
    """Each owner's file has its own columns of nine rows in ten, shuffled; returns the rows that all have."""
    X, y = columns()
    everywhere = np.ones(N, bool)
    rng = np.random.default_rng(5)
    for name, (header, own) in owners.items():
        rows = rng.permutation(N)[: N * 9 // 10]
        everywhere &= np.isin(np.arange(N), rows)
        labels = [[y[row]] if "y" in header else [] for row in rows]
        lines = ([IDS[row], *X[row, own].tolist(), *label] for row, label in zip(rows, labels, strict=True))
        write(folder / f"{name}.csv", header, lines)
    common = sorted(np.flatnonzero(everywhere).tolist(), key=lambda row: IDS[row])
    write(folder / "whole.csv", ("id", *"abcd", "y"), ([IDS[row], *X[row].tolist(), y[row]] for row in common))
    return common


OWNERS = {"bank": (("id", "a", "y"), [0]), "shop": (("id", "b"), [1]), "post": (("id", "c", "d"), [2, 3])}


@pytest.fixture
def common(tmp_path):
    return scatter(tmp_path, OWNERS)


def pooled(folder: Path, more=TREES, run=RUN):
    """The model of the rows that all parties have, in one table."""
    head = run.replace("vertical", "pooled").replace('active = "bank"\n', "")
    read(folder, head + DATA + '[partition]\ndata = "whole.csv"\nparties = 3\n' + more)
    said(folder, "train", "--folder", str(folder / "pooled"))
    return load_model(folder / "pooled" / "model.json")


# What is read


def test_rows_are_as_given_unless_a_run_file_aligns_them(tmp_path):
    assert (read(tmp_path, RUN + DATA + PARTIES).method.align) == "given"
    plan = read(tmp_path, WHOLE.replace("[trees]", "most_ids = 500\n[trees]")).plan(
        members(["bank", "shop", "post"])[0]
    )
    assert (plan.method.align, plan.method.most_ids) == ("private", 500)
    assert read(tmp_path, WHOLE).method.most_ids == MOST_IDS


ROWS = WHOLE.replace('"vertical"\nactive = "bank"', '"horizontal"')
WRONG = {
    "rows of their own": (ROWS, "[privacy] align does not go with method horizontal, in which the parties have rows"),
    "no ids": (WHOLE.replace('id = "id"\n', ""), '[privacy] align = "private" finds rows by their ids; add [data] id'),
    "another word": (
        WHOLE.replace('= "private"', '= "sorted"'),
        "[privacy] align must be one of given, private; it is",
    ),
    "no room": (
        WHOLE.replace("[trees]", "most_ids = 0\n[trees]"),
        "[privacy] most_ids must be a whole number from 1 to",
    ),
    "room for nothing": (
        WHOLE.replace('align = "private"', "most_ids = 5"),
        '[privacy] most_ids goes only with align = "private"',
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_aligned_is_refused_by_its_key(tmp_path, common, what):
    (tmp_path / "run.toml").write_text(WRONG[what][0])
    assert WRONG[what][1] in said(tmp_path, "plan", code=3).stderr.splitlines()[-1]


def repeated(lines):
    return [*lines, *lines[1:4]]


def strangers(lines):
    return [lines[0], *(f"stranger-{line}" for line in lines[1:])]


def unnamed(lines):
    return [lines[0].replace("id", "number"), *lines[1:]]


TABLES = {
    "an id twice": (repeated, "shop.csv: 3 of the 183 ids repeat an earlier one; keep one row for each id."),
    "nothing in common": (strangers, "No id is common to all parties' rows; check that all of them name the same kind"),
    "no column of ids": (unnamed, "'id'"),
}


@pytest.mark.parametrize("what", TABLES)
def test_files_that_cannot_be_aligned_are_refused_in_a_sentence(tmp_path, common, what):
    change, sentence = TABLES[what]
    file = tmp_path / "shop.csv"
    file.write_text("\n".join(change(file.read_text().splitlines())) + "\n")
    read(tmp_path, WHOLE)
    last = said(tmp_path, "train", code=3).stderr.splitlines()[-1]
    assert last.startswith("hedgerow: ")
    assert sentence in last
    assert "person-" not in last


def test_more_ids_than_the_plan_allows_are_refused(tmp_path, common):
    read(tmp_path, WHOLE.replace("[trees]", "most_ids = 179\n[trees]"))
    assert "This party has 180 ids, and the plan allows 179" in said(tmp_path, "train", code=3).stderr


# All parties in one process


def test_the_forest_is_the_one_of_the_rows_that_all_have(tmp_path, common):
    more = TREES + "subsample = 0.8\n[validation]\nshare = 0.2\n"
    read(tmp_path, WHOLE + "subsample = 0.8\n[validation]\nshare = 0.2\n")
    shown = said(tmp_path, "train")
    assert "Only rows are used whose ids all parties have: " in shown.stderr
    folder = tmp_path / "runs" / "credit"
    model, kept = load_model(folder / "model.json"), json.loads((folder / "manifest.json").read_text())
    expected = pooled(tmp_path, more)
    assert model.forest == expected.forest
    assert model.history == expected.history
    found = {one["what"]: one for one in kept["aligned"]}
    assert found["rows"]["common"] + found["validation rows"]["common"] == len(common)
    sizes = [found[what]["sizes"] for what in ("rows", "validation rows")]
    assert {name: sizes[0][name] + sizes[1][name] for name in OWNERS} == dict.fromkeys(OWNERS, 180)
    assert "blinded" in {line["how"] for line in kept["known"]}
    assert any("which of its own rows all parties have" in sentence for sentence in kept["leaks"])
    assert '"event":"aligned"' in (folder / "parties" / "shop" / "audit.log").read_text()
    metrics = [json.loads((tmp_path / f / "metrics.json").read_text())["final"] for f in ("runs/credit", "pooled")]
    assert metrics[0] == pytest.approx(metrics[1]), "measured on the same rows"


def test_what_is_foretold_of_an_alignment_is_what_crosses(tmp_path, common):
    run_ = read(tmp_path, WHOLE)
    shown = said(tmp_path, "plan").stdout
    assert f"{len(common)} common rows of 180 of the mean party" in shown
    assert "bank learns how many rows any of the parties share, and not which." in shown
    who, identities = members(run_.names)
    plan, tables, heard = run_.plan(who), party_tables(run_), []
    listener = lambda *what: heard.append((type(what[2]).__name__, len(what[3])))  # noqa: E731
    simulate(plan, Simulation(tables.training, listeners=(listener,), identities=identities))
    reckoned = cost(plan, Shape.by_columns(tables.training, plan))
    assert {name for name, _ in heard} == {message.__name__ for message in used(plan)}
    assert {name for name, _ in heard} == {line.message for line in reckoned.lines}
    for name in ("BlindIds", "BlindedIds", "MarkCommon", "Marks"):
        lines = [line for line in reckoned.lines if line.message == name]
        assert sum(line.times for line in lines) * 2 == sum(kind == name for kind, _ in heard)
        real = sum(size for kind, size in heard if kind == name)
        assert real / 1.5 < 2 * sum(line.n_bytes for line in lines) < 1.5 * real


def test_a_run_that_was_stopped_keeps_its_rows_and_goes_on_to_the_same_model(tmp_path, common):
    read(tmp_path, WHOLE)
    path, whole = tmp_path / "run.toml", trained(tmp_path / "run.toml", tmp_path / "whole")
    with pytest.raises(Stopped):
        trained(path, tmp_path / "stopped", stop=2)
    assert trained(path, tmp_path / "stopped", resume=True).forest == whole.forest
    log = (tmp_path / "stopped" / "audit.log").read_text()
    assert log.count('"event":"aligned"') == log.count('"event":"aligning"') == 1
    assert log.count('"event":"settled"') == 2  # sizes and rows


def test_a_table_that_is_cut_needs_no_column_of_ids(tmp_path):
    cut = '[partition]\ndata = "builtin:iris"\nparties = 2\n'
    text = RUN.replace('active = "bank"\n', "") + '[data]\ntask = "classify"\n' + cut + ALIGNED + TREES
    read(tmp_path, text.replace("= 4", "= 1"))
    assert "All parties have the same 150 rows, found by their ids." in said(tmp_path, "train").stderr


# Real parties

REAL = {"alice": (("id", "a", "y"), [0]), "bob": (("id", "b"), [1]), "carol": (("id", "c", "d"), [2, 3])}


class Scattered(Columns):
    """Three parties, each without some rows and in an order of its own."""

    def __init__(self, folder, made, **more):
        super().__init__(folder, made, more=ALIGNED, **more)
        self.common = scatter(folder, REAL)


def test_real_parties_in_other_order_find_the_model_of_the_rows_they_share(tmp_path, made):
    world = Scattered(tmp_path, made)
    run(world)
    own = decoded((world.folder / "alice" / "model.json").read_bytes(), "alice's")
    whole = parts.joined(own, {name: world.part(name) for name in PASSIVE})
    more = "[trees]\nn_estimators = 4\nmax_depth = 3\nmin_cut_rows = 5\n[validation]\nshare = 0.2\n"
    assert whole.forest == simulated(world).forest == pooled(tmp_path, more).forest
    for name in NAMES:
        kept = json.loads((world.folder / name / "manifest.json").read_text())
        found = {one["what"]: one for one in kept["aligned"]}
        assert found["rows"]["common"] + found["validation rows"]["common"] == len(world.common)
        assert set(found["rows"]["sizes"]) == set(NAMES)


def test_an_id_twice_is_refused_at_the_party_before_it_dials(tmp_path, made):
    world = Scattered(tmp_path, made)
    file = world.folder / "bob.csv"
    file.write_text("\n".join(repeated(file.read_text().splitlines())) + "\n")
    assert "3 of the 183 ids repeat an earlier one" in str(world.join("bob", policy=ALLOWED).ended())
    assert not (world.folder / "bob").exists()


def heard_by_alice(monkeypatch, folder, made):
    """Every frame of a run over gRPC, taken above TLS."""
    frames = []

    def listening(transport, listeners):
        return Corridor(transport, (*listeners, lambda *what: frames.append(what[3])))

    monkeypatch.setattr(drive, "Corridor", listening)
    world = Scattered(folder, made)
    run(world)
    assert (world.folder / "alice" / "model.json").exists()
    return b"".join(frames), open_run(world.file).real_plan()


def hashes(plan) -> list[bytes]:
    """What whoever knows every id could compute of it without a secret."""
    texts = [one.encode() for one in IDS]
    plain = [hashlib.new(kind, text).digest()[:8] for kind in ("md5", "sha1", "sha256", "sha512") for text in texts]
    keys = Table.of(np.zeros((N, 1)), ids=IDS).row_keys()
    tags = [tag_of(plan, what) for what in ("rows", "validation rows")]
    points = [row.tobytes() for tag in tags for row in Blinding((1).to_bytes(32, "little")).ids(IDS, tag, 1)]
    return [*texts, *plain, *(key.tobytes() for key in keys), *points]


def test_trying_out_every_id_finds_nothing_in_the_frames(tmp_path, made, monkeypatch):
    frames, plan = heard_by_alice(monkeypatch, tmp_path, made)
    assert len(frames) > 50_000
    assert not [one for one in hashes(plan) if one in frames]


def test_without_a_secret_every_id_is_found(tmp_path, made, monkeypatch):
    """The sabotage: points are the bare hashes of ids."""
    monkeypatch.setattr(Blinding, "fresh", lambda: Blinding((1).to_bytes(32, "little")))
    frames, plan = heard_by_alice(monkeypatch, tmp_path, made)
    assert sum(one in frames for one in hashes(plan)) > N / 2


def test_processes_that_are_killed_align_anew_and_the_model_is_the_same(tmp_path, made, start):
    trees = "n_estimators = 40\nmax_depth = 3\nmin_cut_rows = 5"
    world = Scattered(tmp_path, made, trees=trees, patience=60, deadline=60)
    (tmp_path / "policy.toml").write_text("allow_plain = true\nmin_cut_rows = 5\n")
    rules = ("--policy", str(tmp_path / "policy.toml"))
    active = start(world.words("alice"), "alice")
    others = {name: start(world.words(name, *rules), name) for name in PASSIVE}
    active.wait_for("tree 4/40")
    active.kill()
    others["bob"].kill()
    others["bob"] = start(world.words("bob", *rules), "bob")
    active = start(world.words("alice", "--resume"), "alice")
    assert active.ended() == 0, active.said
    assert [party.ended() for party in others.values()] == [0, 0]
    assert "rows are common to all parties." in others["bob"].said
    own = decoded((world.folder / "alice" / "model.json").read_bytes(), "alice's")
    assert parts.joined(own, {name: world.part(name) for name in PASSIVE}).forest == simulated(world).forest
