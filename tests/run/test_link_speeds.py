"""Between real parties the link is measured before the plan is signed, and a resumed run keeps what was measured."""

import json

import pytest
from test_vertical_parties import PASSIVE, Columns

from hedgerow.agreement.policy import Policy
from hedgerow.protocols import probe
from hedgerow.run.file.read import open_run
from hedgerow.run.real import link_speeds
from hedgerow.storage import audit

TREES = "n_estimators = 2\nmax_depth = 2\nmin_cut_rows = 5\nmax_bin = 8"
ALLOWED = Policy(min_cut_rows=5)


def manifest(world, name):
    return json.loads((world.folder / name / "manifest.json").read_text())


def kinds(world, name):
    return [line.get("type") for line in audit.read(world.folder / name / "audit.log")]


def test_what_was_measured_is_signed_kept_on_resume_and_in_every_manifest(tmp_path, made, monkeypatch):
    world, said = Columns(tmp_path, made, "", TREES), []
    monkeypatch.setattr(link_speeds, "measured", probe.measured)

    def stop(progress):
        raise KeyboardInterrupt

    driver, others = world.drive(watch=stop, say=said.append), [world.join(name, policy=ALLOWED) for name in PASSIVE]
    assert isinstance(driver.ended(60), KeyboardInterrupt)
    assert [party.ended(60) for party in others]
    measured = next(sentence for sentence in said if sentence.startswith("Links measured: bob "))
    assert "Ciphertexts are laid out for" in measured
    for name in ("alice", *PASSIVE):
        assert kinds(world, name).index("Probe") < kinds(world, name).index("Propose")

    kept = world.folder / "alice" / link_speeds.KEPT
    text = json.loads(kept.read_text())
    kept.write_text(json.dumps([{**one, "mbit": 2.0} for one in text]))  # so that it is known again
    monkeypatch.setattr(link_speeds, "measured", lambda *_: pytest.fail("measured again"))
    driver, others = world.drive(resume=True), [world.join(name, policy=ALLOWED) for name in PASSIVE]
    driver.ended(60)
    assert [party.ended(60) for party in others] == [world.folder / name for name in PASSIVE]
    for name in ("alice", *PASSIVE):
        link = manifest(world, name)["link"]
        assert [one["party"] for one in link["measured"]] == list(PASSIVE)
        assert "laid out for 2 Mbit/s" in link["chosen"]
        assert manifest(world, name)["plan_sha256"] == open_run(world.file).real_plan().digest.hex()


def test_kept_speeds_of_other_parties_are_refused(tmp_path, made):
    world = Columns(tmp_path, made, "", TREES, patience=1)
    folder = world.folder / "alice"
    driver = world.drive()
    assert "did not come within 1 seconds" in str(driver.ended(60))
    (folder / link_speeds.KEPT).write_text('[{"party": "eve", "mbit": 2.0, "delay_ms": 1}]')
    assert "is damaged or of another run" in str(world.drive().ended(60))
