"""Vertical runs of real parties under encryption: the pooled model, and nothing to be read in frames above TLS."""

import csv
import json
import threading

import msgspec
import numpy as np
import pytest
from test_vertical_parties import PASSIVE, PLAIN, Columns, run

from federated import pooled_model, same
from hedgerow import _native
from hedgerow.agreement.policy import Policy
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_answer, decode_request
from hedgerow.errors import CipherError, PrivacyError
from hedgerow.model import part as parts
from hedgerow.model.file import decoded
from hedgerow.protocols.vertical.active import VerticalRows
from hedgerow.protocols.vertical.passive_rows import PassiveRows
from hedgerow.run.file import tables
from hedgerow.run.file.read import open_run
from hedgerow.run.file.vertical_tables import side_by_side
from hedgerow.run.simulation import run_file
from hedgerow.transports.grpc.driver import GrpcTransport

LATTICE, PAILLIER = '[privacy]\nprotection = "lattice"', '[privacy]\nprotection = "paillier"\nkey_bits = 2048'
TREES = "n_estimators = 2\nmax_depth = 3\nmin_cut_rows = 1\nmax_bin = 16"
ALLOWED = Policy(min_cut_rows=1)


class Heard:
    """What the driver's transport was handed, and what it handed back; and the gradients of every tree."""

    def __init__(self, patch):
        self.frames: list[tuple[str, str, bytes]] = []
        self.gradients, self.lock = [], threading.Lock()
        carry, start = GrpcTransport.carry, VerticalRows.start_round

        def carrying(transport, frames, *more):
            answers, missing = carry(transport, frames, *more)
            with self.lock:
                self.frames += [("alice", party, frame) for party, frame in frames.items()]
                self.frames += [(party, "alice", frame) for party, frame in answers.items()]
            return answers, missing

        def noting(rows, round_):
            start(rows, round_)
            self.gradients.append(rows.now.own_gradients[0].copy())

        patch.setattr(GrpcTransport, "carry", carrying)
        patch.setattr(VerticalRows, "start_round", noting)

    @property
    def bytes(self):
        return b"\n".join(frame for _, _, frame in self.frames)

    def fields(self, *, first=False, passive=None):
        """Every clear field in order, and the sizes of sealed ones; keys, signatures and ids are fresh in every run."""
        random = {"public_key", "signature", "certificate", "keys", "plan", "model", "commitment"}
        out = []
        for sender, receiver, frame in self.frames:
            message = decode_request(frame, 1 << 30) if sender == "alice" else decode_answer(frame, 1 << 30)
            for name, how in m.travels(type(message)).items():
                if name in random or (passive and passive not in (sender, receiver)):
                    continue
                value = msgspec.to_builtins(getattr(message, name), enc_hook=lambda array: array.tobytes())
                out.append((sender, receiver, name, value if how.how == "clear" else len(value)))
            if first and isinstance(message, m.SealedSums) and (passive or sender == PASSIVE[-1]):
                break
        return out


def heard(folder, made, more, change=None):
    """A run of real parties, and all that crossed."""
    folder.mkdir(exist_ok=True)
    world = Columns(folder, made, more, TREES)
    if change is not None:
        change(world)
    with pytest.MonkeyPatch.context() as patch:
        listening = Heard(patch)
        ended = run(world, Policy(min_cut_rows=1, allow_plain=more == PLAIN))
    return world, listening, ended


@pytest.fixture(scope="module")
def sealed(made, tmp_path_factory):
    return heard(tmp_path_factory.mktemp("sealed"), made, LATTICE)


def whole(world):
    own = decoded((world.folder / "alice" / "model.json").read_bytes(), "alice's")
    return parts.joined(own, {name: world.part(name) for name in PASSIVE})


def pooled(world):
    """The model of all columns in one table."""
    opened = open_run(world.file)
    split = tables.party_tables(opened)
    together, beside = (side_by_side(part, "alice") if part else None for part in (split.training, split.valid))
    return pooled_model(together, opened.params, opened.goal, valid=beside)


def test_the_lattice_model_of_real_parties_is_the_pooled_one(sealed):
    world, _, _ = sealed
    assert same(whole(world), pooled(world))
    assert (whole(world).forest.columns > 0).any(), "there must be cuts of passive columns"


def test_the_paillier_model_of_real_parties_is_the_pooled_one(made, tmp_path):
    world, listening, _ = heard(tmp_path, made, PAILLIER)
    assert same(whole(world), pooled(world))
    assert not found(listening, world)


# What is in the frames


def columns_of(world):
    """Every column of every party's file but the ids, by name."""
    out = {}
    for name in ("alice", *PASSIVE):
        with (world.folder / f"{name}.csv").open() as file:
            header, *rows = csv.reader(file)
        out |= {(name, c): [row[i] for row in rows] for i, c in enumerate(header) if c != "id"}
    return out


def needles(world, listening):
    """What must not be in the frames, in several encodings, each at least seven bytes so that chance finds none."""
    out = {}
    for at, pairs in enumerate(listening.gradients):
        for kind in ("<i8", ">i8", "<i4", ">i4", "<f4", "<f8"):
            some = pairs[:4].astype(kind)
            out["gradients", at, kind] = some.tobytes()
            out["gradients alone", at, kind] = np.ascontiguousarray(some.T).tobytes()
    edges = {name: [np.unique(np.float32(v)) for (n, _), v in numbers(world) if n == name] for name in PASSIVE}
    sequences = {key: np.float64(text) for key, text in numbers(world)}
    sequences |= {(name, f"edges {i}"): np.float64(e) for name, all_ in edges.items() for i, e in enumerate(all_)}
    for key, values in sequences.items():
        for first in (0, 50, 120):
            some = values[first : first + 3]
            out |= {(*key, first, kind): some.astype(kind).tobytes() for kind in ("<f4", ">f4", "<f8", ">f8")}
            out |= {(*key, first, mark): mark.join(map(str, some.tolist())).encode() for mark in (",", ", ", "\n", " ")}
    y = np.array([label == "yes" for label in columns_of(world)["alice", "y"]])
    for first, flip in ((0, False), (64, False), (0, True)):
        some = (y ^ flip)[first : first + 64]
        out |= {("labels", first, flip, kind): some.astype(kind).tobytes() for kind in ("<u1", "<i4", "<i8", "<f4")}
        out |= {
            ("labels", first, flip, order): np.packbits(some, bitorder=order).tobytes() for order in ("big", "little")
        }
    for name in PASSIVE if (world.folder / PASSIVE[-1] / "part.json").exists() else ():
        thresholds = world.part(name).thresholds
        out |= {
            (name, "threshold", i, k): np.array(t, k).tobytes()
            for i, t in enumerate(thresholds)
            for k in ("<f8", ">f8")
        }
    return out


def numbers(world):
    return [(key, text) for key, text in columns_of(world).items() if key[1] != "y"]


def found(listening, world):
    every = listening.bytes
    return {key[:2] for key, needle in needles(world, listening).items() if needle in every}


def test_no_gradient_label_value_threshold_or_edge_is_in_the_frames(sealed):
    world, listening, _ = sealed
    kinds = {key[1] if key[0] in PASSIVE else key[0] for key in needles(world, listening)}
    assert kinds >= {"gradients", "labels", "alice", "b", "threshold", "edges 0"}
    assert sum(len(frame) for _, _, frame in listening.frames) > 1_000_000
    assert not found(listening, world)


def test_no_threshold_or_edge_is_in_a_clear_field_even_alone(sealed):
    """Four bytes could be anything in a ciphertext; in what travels in the clear they are looked for too."""
    world, listening, _ = sealed
    said = msgspec.msgpack.encode([value for *_, value in listening.fields()])
    every = np.concatenate([world.part(name).thresholds for name in PASSIVE])
    assert len(every)
    assert not [t for t in every for kind in ("<f4", ">f4") if np.array(t, kind).tobytes() in said]
    assert not [name for name in ("b", "c", "d") if f'"{name}"'.encode() in said]


def test_without_encryption_the_same_search_finds_the_gradients(made, tmp_path):
    """The sabotage."""
    world, listening, _ = heard(tmp_path, made, PLAIN)
    assert ("gradients", 0) in found(listening, world)


def test_a_party_that_leaks_its_columns_is_found_by_the_same_search(made, tmp_path, monkeypatch):
    """The sabotage: values ride along with sealed sums. The active party, besides, refuses such an answer."""
    honest = PassiveRows.sums

    def leaking(passive, request):
        reply = honest(passive, request)
        column = np.float32(columns_of(world)["bob", "b"])
        return m.SealedSums(reply.sealed_sums + column.tobytes())

    monkeypatch.setattr(PassiveRows, "sums", leaking)
    world = Columns(tmp_path, made, LATTICE, TREES)
    listening = Heard(monkeypatch)
    driven, _ = run(world, ALLOWED)
    assert isinstance(driven, CipherError)
    assert ("bob", "b") in found(listening, world)


# Non-interference


def rewritten(name, column, change):
    """Changes a column of a party's file."""

    def apply(world):
        path = world.folder / f"{name}.csv"
        with path.open() as file:
            header, *rows = csv.reader(file)
        at = header.index(column)
        new = change([row[at] for row in rows])
        for row, value in zip(rows, new, strict=True):
            row[at] = value
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])

    return apply


def other_labels(old):
    return list(np.random.default_rng(1).choice(["yes", "no", "no"], len(old)))


def larger(old):
    return [str(3 * float(value) + 1) for value in old]


def shuffled(old):
    return list(np.random.default_rng(1).permutation(old))


@pytest.fixture(scope="module")
def flipped(made, tmp_path_factory):
    return heard(tmp_path_factory.mktemp("flipped"), made, LATTICE, rewritten("alice", "y", other_labels))


def test_other_labels_leave_everything_the_same_until_the_first_sums_are_opened(sealed, flipped):
    assert sealed[1].fields(first=True) == flipped[1].fields(first=True)
    assert sealed[1].fields() != flipped[1].fields(), "afterwards the trees show in which rows share a node"


def test_other_values_in_the_same_order_leave_everything_the_same_to_the_end(sealed, made, tmp_path):
    world, listening, _ = heard(tmp_path, made, LATTICE, rewritten("bob", "b", larger))
    assert sealed[1].fields() == listening.fields()
    assert (sealed[0].folder / "bob" / "part.json").read_bytes() != (world.folder / "bob" / "part.json").read_bytes()


def test_other_values_of_one_passive_party_are_unknown_to_another_until_trees_are_cut_there(sealed, made, tmp_path):
    _, listening, _ = heard(tmp_path, made, LATTICE, rewritten("carol", "c", shuffled))
    assert sealed[1].fields(first=True, passive="bob") == listening.fields(first=True, passive="bob")


# Without the means


@pytest.mark.parametrize(("more", "lacks"), [(LATTICE, "lattice_group_sums"), (PAILLIER, "paillier_own_seal")])
def test_a_run_that_cannot_seal_stops_at_every_party_before_its_data_is_read(made, tmp_path, monkeypatch, more, lacks):
    world = Columns(tmp_path, made, more, TREES)
    for name in ("alice", *PASSIVE):
        (tmp_path / f"{name}.csv").unlink()
    listening = Heard(monkeypatch)
    monkeypatch.delattr(_native, lacks)
    ended = [world.drive().ended(), *(world.join(name, policy=ALLOWED).ended() for name in PASSIVE)]
    assert [type(one) for one in ended] == [PrivacyError] * 3
    assert all("before any data moves" in str(one) for one in ended)
    assert not listening.frames
    with pytest.raises(PrivacyError, match="built without"):
        run_file.train(open_run(world.file), run_file.Options(lambda *_: {}, tmp_path / "simulated"))


# What the manifest says was learnt


def test_both_manifests_say_what_was_learnt_and_a_simulation_says_the_same(sealed, tmp_path):
    world, _, _ = sealed
    run_file.train(open_run(world.file), run_file.Options(lambda *_: {}, tmp_path / "simulated"))
    own, simulated, bob = (
        json.loads((folder / "manifest.json").read_text())
        for folder in (world.folder / "alice", tmp_path / "simulated", world.folder / "bob")
    )
    assert own["learnt"] == simulated["learnt"]
    columns = own["learnt"]["columns"]
    assert [(c["party"], c["column"]) for c in columns] == [("bob", 0), ("carol", 0), ("carol", 1)]
    assert all(0 <= c["sides"] <= c["sides_and_sums"] <= 1 for c in columns)
    assert max(c["sides"] for c in columns) > 0.1
    sums = {entry["party"]: entry for entry in own["learnt"]["sums"]}
    assert {key: sums["bob"][key] for key in ("sums", "bits_at_most")} | {"sides": bob["given"]["sides"]} == bob[
        "given"
    ]
    assert min(bob["given"].values()) > 0
    assert sums["carol"]["bits_of_bins"] == pytest.approx(sum(160 * c["entropy"] for c in columns[1:]), rel=0.1)
    assert "learnt" not in bob


def test_a_run_that_was_stopped_counts_what_was_learnt_before(sealed, made, tmp_path):
    def stop(told):
        if told.round.number == 1:
            raise KeyboardInterrupt

    world = Columns(tmp_path, made, LATTICE, TREES)
    for more in ({"watch": stop}, {"resume": True}):
        driver, others = world.drive(**more), [world.join(name, policy=ALLOWED) for name in PASSIVE]
        driver.ended(60)
        for party in others:
            party.ended(60)
    first, now = (json.loads((w.folder / "alice" / "manifest.json").read_text()) for w in (sealed[0], world))
    assert now["learnt"] == first["learnt"]
    given = [json.loads((w.folder / "bob" / "manifest.json").read_text())["given"] for w in (sealed[0], world)]
    assert given[0] == given[1]
