"""Real parties: a driver and three data owners who reach each other over sockets, and what can happen to them."""

import json
import re

import pytest
from real_parties import NAMES, World, make_certificates, write_rows
from typer.testing import CliRunner

from hedgerow.agreement.policy import Policy
from hedgerow.cli import app
from hedgerow.commands.print_tables import measured
from hedgerow.errors import PartyLost, ProtocolError, RunError
from hedgerow.identity import authority
from hedgerow.run.file.read import open_run
from hedgerow.run.folder.checkpoint import Checkpoint
from hedgerow.run.simulation import run_file
from hedgerow.storage import audit
from hedgerow.transports.grpc.driver import GrpcTransport


@pytest.fixture
def world(tmp_path, made):
    return World(tmp_path, made)


def simulated(world):
    """The model of the same run file with all parties in this process."""
    folder = world.folder / "simulated"
    run_file.train(open_run(world.file), run_file.Options(measured, folder))
    return (folder / "model.json").read_bytes()


def refused(*words):
    """The one sentence with which a command refuses."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 3, result.output
    assert "Traceback" not in result.output
    return result.stderr.strip().splitlines()[-1]


def test_every_party_has_the_model_that_one_process_gives(world):
    driver, parties = world.drive(), [world.join(name) for name in NAMES]
    assert driver.ended().model.n_rounds == 5
    assert [party.ended() for party in parties] == [world.folder / name for name in NAMES]
    assert {world.model(role) for role in ("driver", *NAMES)} == {simulated(world)}
    for role in ("driver", *NAMES):
        kept = json.loads((world.folder / role / "manifest.json").read_text())
        assert kept["status"] == "finished"
        assert audit.verify(world.folder / role / "audit.log", kept["audit"]["audit.log"]).run == kept["plan_sha256"]
        sent = {row["type"] for row in kept["messages"] if row["direction"] == "to"}
        assert sent >= ({"Propose", "Begin", "Farewell"} if role == "driver" else {"Consent", "Facts", "MaskedSums"})


def test_a_party_whose_file_has_semicolons_and_decimal_commas_takes_part_with_the_same_rows(world):
    expected = simulated(world)
    file = world.folder / "bob.csv"
    file.write_text(file.read_text().replace(",", ";").replace(".", ","))
    driver, parties = world.drive(), [world.join(name) for name in NAMES]
    driver.ended()
    for party in parties:
        party.ended()
    assert world.model("bob") == expected


def test_a_party_says_how_its_own_file_is_written(tmp_path, made):
    world = World(tmp_path, made, patience=1)
    file = tmp_path / "bob.csv"
    file.write_text(file.read_text().replace(",", ";").replace(".", ","))
    said = CliRunner().invoke(app, world.words("bob")).stderr.splitlines()
    assert said[0] == f"{file} uses ';' between fields and ',' for decimals."
    said = CliRunner().invoke(app, world.words("bob", "--delimiter", ";", "--decimal", ",", "--ignore", "a")).stderr
    assert "had stopped before its first tree was complete" in said, "a column less"
    assert "--delimiter must be one sign" in refused(*world.words("bob", "--delimiter", "ab"))


def test_no_folder_holds_a_key(world):
    driver = world.drive()
    for party in [world.join(name) for name in NAMES]:
        party.ended()
    driver.ended()
    secrets = [world.identity(role).pem()[0] for role in ("driver", *NAMES)]
    for file in (world.folder / role for role in ("driver", *NAMES)):
        for inside in file.rglob("*"):
            content = inside.read_bytes() if inside.is_file() else b""
            assert b"PRIVATE KEY" not in content
            assert not any(secret.splitlines()[1] in content for secret in secrets)


def test_whoever_is_killed_goes_on_and_the_model_is_the_same(tmp_path, made, start):
    """First a party, then the driver, each by kill -9 in the middle of a tree."""
    world = World(tmp_path, made, "n_estimators = 100\nmax_depth = 4", patience=60, deadline=60)
    driver = start(world.words("driver"), "driver")
    parties = {name: start(world.words(name), name) for name in NAMES}
    driver.wait_for("tree 5/100")
    parties["bob"].kill()
    driver.wait_for("bob is away.")
    parties["bob"] = start(world.words("bob"), "bob")
    driver.wait_for("bob is back, as a new process.")
    driver.wait_for("tree 50/100")
    driver.kill()
    parties["alice"].wait_for("The driver is away.")
    driver = start(world.words("driver", "--resume"), "driver")
    assert driver.ended() == 0, driver.said
    assert [party.ended() for party in parties.values()] == [0, 0, 0]
    assert parties["alice"].said.count("The driver is back, as a new process.") == 1
    assert {world.model(role) for role in ("driver", *NAMES)} == {simulated(world)}
    introduced = [line for line in audit.read(world.folder / "driver" / "audit.log") if line.get("type") == "Introduce"]
    assert len(introduced) >= 3 * len(NAMES)
    assert len(json.loads((world.folder / "driver" / "metrics.json").read_text())["seconds_per_tree"]) == 100


def test_a_driver_stopped_by_hand_tells_the_parties_and_goes_on_later(world):
    def stop(told):
        if told.round.number == 2:
            raise KeyboardInterrupt

    driver, parties = world.drive(watch=stop), [world.join(name) for name in NAMES]
    assert isinstance(driver.ended(), KeyboardInterrupt)
    for party in parties:
        assert "The driver was stopped by hand" in str(party.ended())
    driver, parties = world.drive(resume=True), [world.join(name) for name in NAMES]
    driver.ended()
    assert [party.ended() for party in parties] == [world.folder / name for name in NAMES]
    assert {world.model(role) for role in ("driver", *NAMES)} == {simulated(world)}


def test_a_run_that_may_goes_on_without_a_party_that_was_killed(tmp_path, made, start):
    privacy = '[privacy]\nprotection = "plain"\ni_accept_disclosure = true\non_loss = "continue"'
    world = World(tmp_path, made, more=privacy, deadline=1, patience=30)
    (tmp_path / "policy.toml").write_text("allow_plain = true\nallow_continue = true\n")
    bob = start(world.words("bob", "--policy", str(tmp_path / "policy.toml")), "bob")
    driver = world.drive(watch=lambda told: bob.kill() if told.round.number == 2 else None)
    parties = [world.join(name, policy=Policy(allow_plain=True, allow_continue=True)) for name in ("alice", "carol")]
    assert driver.ended().model.n_rounds == 5
    assert [party.ended() for party in parties] == [world.folder / "alice", world.folder / "carol"]
    kept = json.loads((world.folder / "driver" / "manifest.json").read_text())
    assert kept["losses"] == [{"round": 2, "parties": ["bob"]}]
    assert world.model("alice") == world.model("carol") == world.model("driver")


def test_ctrl_c_ends_a_waiting_driver_with_130(world, start):
    driver = start(world.words("driver"), "driver")
    party = world.join("alice")
    driver.wait_for("alice is here.")
    driver.interrupt()
    assert driver.ended() == 130
    assert "go on with --resume" in driver.said
    assert "stopped by hand" in str(party.ended())


def test_a_party_that_never_joins_ends_the_run_which_can_be_resumed(tmp_path, made):
    world = World(tmp_path, made, patience=1)
    said = refused(*world.words("driver"))
    assert "'alice', 'bob', 'carol' did not come within 1 seconds; 0 trees are kept, resume the run" in said
    for resume in ((), ("--resume",)):
        assert "did not come within" in refused(*world.words("driver", *resume))


def test_a_party_gives_up_when_there_is_no_driver(tmp_path, made):
    world = World(tmp_path, made, patience=1)
    assert "gave up after 1 seconds without the driver" in refused(*world.words("alice"))


def test_a_party_says_at_once_why_it_does_not_reach_the_driver_and_how_long_it_tries(tmp_path, made, start):
    world = World(tmp_path, made, patience=600)
    address = open_run(world.file).driver.address
    party = start(world.words("alice"), "alice")
    party.wait_for("Trying for another")
    first, second = party.said.splitlines()
    assert first == f"Calling the driver at {address}."
    assert re.fullmatch(
        rf"Nobody listens at {address}; check the address and that the driver was started\. "
        r"Trying for another (10 min|9 min \d+ s)\.",
        second,
    )
    start(world.words("driver"), "driver")
    party.wait_for("The driver is here.")


def test_a_party_killed_after_it_was_given_the_model_still_has_it(tmp_path, made):
    """Its next process says so if the driver is gone, and finishes if the driver says that the run is finished."""
    world = World(tmp_path, made, patience=1)
    refused(*world.words("bob"))
    (tmp_path / "bob" / "model.json").write_bytes(simulated(world))
    assert f"The model was received and saved to {tmp_path / 'bob' / 'model.json'}." in refused(*world.words("bob"))
    run = open_run(world.file)
    plan, ca = run.real_plan(), (world.ca / "ca.pem").read_bytes()
    driver = GrpcTransport(run.driver.listen, world.identity("driver"), ca, plan.fingerprints, run=plan.digest)
    party = world.join("bob")
    assert driver.wait(frozenset(["bob"]), 10) == frozenset()
    driver.close()
    assert party.ended() == tmp_path / "bob"
    assert json.loads((tmp_path / "bob" / "manifest.json").read_text())["status"] == "finished"
    assert world.model("bob") == (tmp_path / "simulated" / "model.json").read_bytes()


def test_a_driver_whose_disk_is_full_tells_the_parties(world, monkeypatch):
    def full(self, _state):
        raise RunError("Cannot write the checkpoint: No space left on device.")

    driver = world.drive(watch=lambda _: monkeypatch.setattr(Checkpoint, "keep", full))
    parties = [world.join(name) for name in NAMES]
    assert "No space left" in str(driver.ended())
    for party in parties:
        assert "The driver stopped the run: Cannot write the checkpoint" in str(party.ended())


def test_another_plan_is_not_let_in(tmp_path, made):
    world = World(tmp_path, made, patience=3)
    other = world.folder / "other.toml"
    other.write_text(world.file.read_text().replace("max_depth = 3", "max_depth = 4"))
    heard: list[str] = []
    driver, party = world.drive(say=heard.append), world.join("alice", other)
    assert isinstance(driver.ended(), PartyLost)
    assert "refuses this party's greeting: it drives another run, or has another release" in str(party.ended())
    assert "Not let in: alice is here for another run; start it with this run's plan." in heard


def test_parties_without_a_common_column_are_told(world):
    write_rows(world.folder / "bob.csv", 1, ("p", "q", "r", "y"))
    driver, parties = world.drive(), [world.join(name) for name in NAMES]
    assert "The parties have no column in common" in str(driver.ended())
    for party in parties:
        assert "The driver stopped the run: The parties have no column in common" in str(party.ended())


def test_a_party_that_refuses_on_the_way_ends_the_run_in_its_own_words(world):
    rows = (world.folder / "bob.csv").read_text().replace("yes", "perhaps", 1)
    (world.folder / "bob_valid.csv").write_text(rows)
    driver = world.drive()
    parties = [world.join(n, valid=world.folder / "bob_valid.csv" if n == "bob" else None) for n in NAMES]
    said = driver.ended()
    assert isinstance(said, ProtocolError)
    assert str(said).startswith("Party 'bob' refuses to go on: ")
    for party in parties:
        assert "Party 'bob' refuses to go on" in str(party.ended())


def test_a_party_does_not_go_on_with_other_rows(world):
    driver = world.drive(watch=lambda told: told.round.number < 2 or stop())
    for party in [world.join(name) for name in NAMES]:
        party.ended()
    driver.ended()
    write_rows(world.folder / "bob.csv", 9)
    assert "The rows are not those with which this party joined" in refused(*world.words("bob"))


def stop():
    raise KeyboardInterrupt


RULES = {
    "plain": ('[privacy]\nprotection = "plain"\ni_accept_disclosure = true', "allow_plain"),
    "local cuts": ('[privacy]\ncut_points = "local"', "allow_local_cuts"),
    "continue": ('[privacy]\non_loss = "continue"', "allow_continue"),
    "fine cuts": ("min_cut_rows = 5", "min_cut_rows"),
}


@pytest.mark.parametrize("what", RULES)
def test_a_party_without_a_policy_refuses_what_is_not_the_strictest(tmp_path, made, what):
    world = World(tmp_path, made, more=RULES[what][0])
    said = refused(*world.words("alice"))
    assert "which this party's policy refuses" in said
    assert f"({RULES[what][1]})" in said


def test_a_policy_file_allows_by_name(tmp_path, made):
    world = World(tmp_path, made, more=RULES["plain"][0], patience=1)
    (tmp_path / "policy.toml").write_text("allow_plain = true\n")
    assert "without the driver" in refused(*world.words("alice", "--policy", str(tmp_path / "policy.toml")))


POLICIES = {
    "allow_plane = true": "has no key 'allow_plane'; did you mean allow_plain?",
    "allow_plain = 1": "allow_plain must be true or false",
    "min_cut_rows = -1": "min_cut_rows must be a whole number from 1 on",
    'columns = "a"': "columns must be a list of names",
    "most_trees = 3": "grows too many trees, which this party's policy refuses (most_trees)",
    f'plan = "{"0" * 64}"': "not the one this party knows; compare the run files",
    "allow_plain": "is not TOML",
}


@pytest.mark.parametrize("text", POLICIES)
def test_a_policy_that_cannot_be_kept_is_refused(world, text):
    (world.folder / "policy.toml").write_text(text)
    assert POLICIES[text] in refused(*world.words("alice", "--policy", str(world.folder / "policy.toml")))


def test_what_is_wrong_before_anyone_is_called_is_said_in_one_sentence(world):
    assert "does not exist" in refused(*world.words("alice", "--data", str(world.folder / "none.csv")))
    stranger = [word.replace("alice", "mallory") if word == "alice" else word for word in world.words("alice")]
    assert "'mallory' is no party of the run" in refused(*stranger)
    as_bob = [
        word.replace("bob.", "alice.") if word.endswith((".pem", ".key")) else word for word in world.words("bob")
    ]
    assert "not the one that [[party]] 'bob' fingerprint names" in refused(*as_bob)
    as_driver = [w.replace("driver.", "alice.") if w.endswith((".pem", ".key")) else w for w in world.words("driver")]
    assert "not the one that [driver] fingerprint names" in refused(*as_driver)
    world.file.write_text(world.file.read_text().replace('ca = "', 'cat = "'))
    assert "[driver] has no key 'cat'; did you mean ca?" in refused(*world.words("driver"))


def test_a_revoked_certificate_is_not_used(tmp_path):
    made = make_certificates(tmp_path / "ca")
    world = World(tmp_path, made, crl=f'"{tmp_path / "ca" / "crl.pem"}"', patience=2)
    authority.revoke(tmp_path / "ca", "alice")
    assert "was revoked; get a new one" in refused(*world.words("alice"))


def test_a_driver_with_a_revoked_certificate_is_not_answered(tmp_path):
    made = make_certificates(tmp_path / "ca")
    world = World(tmp_path, made, patience=3)
    authority.revoke(tmp_path / "ca", "driver")
    careful = tmp_path / "careful.toml"
    crl = f'crl = "{tmp_path / "ca" / "crl.pem"}"'
    careful.write_text(world.file.read_text().replace("[driver]", f"[driver]\n{crl}"))
    driver, party = world.drive(), world.join("alice", careful)
    assert "The certificate of the driver at localhost" in str(party.ended())
    assert isinstance(driver.ended(), PartyLost)


def test_a_run_file_without_a_driver_is_for_simulations(world):
    text = world.file.read_text()
    world.file.write_text(text.replace(text[text.index("[driver]") : text.index("[[party]]")], ""))
    assert "[driver]" in refused(*world.words("driver"))
    assert "[driver]" in refused(*world.words("alice"))
