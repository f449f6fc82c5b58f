"""Real parties over sockets, one of which opens the sums: the model, what is written down, and the opener killed."""

import json

import numpy as np
from real_parties import NAMES, Process, World

from hedgerow.commands.print_tables import measured
from hedgerow.protocols.opener.packing import SealedVector
from hedgerow.run.file.read import open_run
from hedgerow.run.simulation import run_file
from hedgerow.transports.grpc.driver import GrpcTransport

PRIVACY = '[privacy]\nprotection = "lattice"\nopener = "bob"'


def simulated(world):
    folder = world.folder / "simulated"
    run_file.train(open_run(world.file), run_file.Options(measured, folder))
    return (folder / "model.json").read_bytes()


def test_every_party_has_the_model_that_masks_give_and_no_sum_is_in_a_frame(tmp_path, made, monkeypatch):
    world, frames, own = World(tmp_path, made, more=PRIVACY, trees="n_estimators = 2\nmax_depth = 2"), [], []
    carry, seal = GrpcTransport.carry, SealedVector.seal

    def carrying(self, sent, deadline, most_bytes):
        answers, missing = carry(self, sent, deadline, most_bytes)
        frames.extend([*sent.values(), *answers.values()])
        return answers, missing

    def sealing(self, public, own_words):
        own.append(own_words.reshape(-1).copy())
        return seal(self, public, own_words)

    monkeypatch.setattr(GrpcTransport, "carry", carrying)
    monkeypatch.setattr(SealedVector, "seal", sealing)
    driver, parties = world.drive(), [world.join(name) for name in NAMES]
    assert driver.ended().model.n_rounds == 2
    assert [party.ended() for party in parties] == [world.folder / name for name in NAMES]
    said, wanted = set(frames), {words[-2:].tobytes() for words in own if np.abs(words[-2:]).min() > 0xFFF}
    assert len(wanted) > 10
    assert not any(piece in frame for piece in wanted for frame in said)
    models = {world.model(role) for role in ("driver", *NAMES)}
    world.file.write_text(world.file.read_text().replace(PRIVACY, ""))
    assert models == {simulated(world)}
    kept = json.loads((world.folder / "driver" / "manifest.json").read_text())
    assert any("bob and the driver together could open every party's own sums" in leak for leak in kept["leaks"])
    types = {row["type"] for row in kept["messages"]}
    assert {"SealedWords", "PassSum", "RoundGrown"} <= types
    assert not types & {"MaskedSums", "PlainSums"}


def test_an_opener_that_is_killed_comes_back_and_the_model_is_the_same(tmp_path, made):
    world = World(tmp_path, made, "n_estimators = 4\nmax_depth = 2", PRIVACY, patience=60, deadline=60)
    started = []

    def bob():
        started.append(Process(world.words("bob"), tmp_path / f"bob{len(started)}.out"))

    bob()
    try:
        driver = world.drive(watch=lambda told: started[0].kill() if told.round.number == 2 else None)
        parties = [world.join(name) for name in ("alice", "carol")]
        started[0].ended()
        bob()
        assert driver.ended(90).model.n_rounds == 4
        assert started[1].ended() == 0, started[1].said
        assert [party.ended() for party in parties] == [world.folder / "alice", world.folder / "carol"]
    finally:
        for process in started:
            process.close()
    models = {world.model(role) for role in ("driver", *NAMES)}
    world.file.write_text(world.file.read_text().replace(PRIVACY, ""))
    assert models == {simulated(world)}
