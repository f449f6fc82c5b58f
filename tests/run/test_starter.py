"""Folders to start runs from: what is in them can be run, what cannot be started is refused before anything is made."""

import base64
import os
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from tests.run.real_parties import free_port
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.run.file.read import open_run

BASE = ("--label", "target", "--id", "patient", "--task", "classify")
VERTICAL = ("--mode", "vertical", "--party", "alder", "--party", "birch", "--active", "alder", *BASE)
THREE = ("--mode", "horizontal", "--party", "a", "--party", "b", "--party", "c", *BASE)


def told(*words: object, code: int = 0) -> str:
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == code, found.output
    return " ".join(found.output.split())


@pytest.mark.parametrize("words", [VERTICAL, THREE, (*VERTICAL[:1], "hybrid", *VERTICAL[2:])])
def test_every_folder_holds_the_same_run_with_everybodys_certificate_and_its_own_key(tmp_path, words):
    told("init", tmp_path / "run", *words)
    folders = [path for path in (tmp_path / "run").iterdir() if path.is_dir() and path.name != "ca"]
    plans = {open_run(folder / "run.toml").real_plan().digest for folder in folders}
    assert len(plans) == 1
    for folder in folders:
        key = folder / f"{folder.name}.key"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert [path.name for path in folder.glob("*.key")] == [key.name]
        assert "hedgerow check run.toml" in (folder / "README.md").read_text()
    assert [path.name for path in (tmp_path / "run" / "ca").glob("*.key")] == ["ca.key"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (VERTICAL[:6] + VERTICAL[8:], "--active is missing"),
        ((*VERTICAL[:7], "elder", *VERTICAL[8:]), "one party with the labels"),
        ((*THREE, "--party", "driver"), "none may be called 'driver'"),
        ((*THREE, "--party", "A"), "a name of its own"),
        ((*THREE, "--party", "no/name"), "name"),
        ((*THREE, "--active", "a"), "every party has labels"),
        ((*THREE, "--address", "nowhere"), "address"),
        (("--mode", "diagonal", *THREE[2:]), "The mode must be one of"),
        (THREE[2:], "--mode is missing"),
    ],
)
def test_what_cannot_be_started_is_refused_and_leaves_no_folder(tmp_path, words, sentence):
    assert sentence in told("init", tmp_path / "run", *words, code=3)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_something_is_left_as_it_is(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    assert "not empty" in told("init", tmp_path, *THREE, code=3)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_two_parties_are_told_what_each_learns_and_their_rules_allow_it(tmp_path):
    assert "learns the other's" in told("init", tmp_path / "run", *THREE[:6], *BASE)
    for name in "ab":
        assert "allow_two = true" in (tmp_path / "run" / name / "policy.toml").read_text()


def test_keys_can_be_made_where_they_stay_and_signed_certificates_go_into_all_run_files(tmp_path, monkeypatch):
    told("init", tmp_path / "run", *THREE, "--own-keys")
    monkeypatch.chdir(tmp_path / "run")
    assert not [path for path in Path().rglob("*.key") if path.name != "ca.key"]
    for name in ("a", "b", "c", "driver"):
        told("certs", "request", name, name)
    told("certs", "sign", "ca", *(f"{name}/{name}.csr" for name in ("a", "b", "c", "driver")), "--run", "*/run.toml")
    plan = open_run(Path("b/run.toml")).real_plan()
    assert len(plan.fingerprints) == 3
    assert plan.coordinator
    Path("b/b.pem").write_bytes(Path("ca/b.pem").read_bytes())
    own = ("--cert", "b/b.pem", "--key", "b/b.key")
    assert "ok certificate" in told("check", "b/run.toml", "--as", "b", *own, code=3)  # without data


def test_fedtrees_distributed_files_become_folders(tmp_path):
    conf = tmp_path / "a9a.conf"
    conf.write_text("mode=horizontal\nn_parties=3\nip_address=127.0.0.1\nn_trees=7\nmax_depth=4\nprivacy_tech=none\n")
    told("init", tmp_path / "run", "--from", conf)
    run = open_run(tmp_path / "run" / "party2" / "run.toml")
    assert (run.params.n_estimators, run.params.max_depth) == (7, 4)
    assert run.method.masked
    assert run.driver is not None
    assert run.driver.address.startswith("127.0.0.1:")


def tables(folder: Path) -> None:
    """The pictures of two hospitals: the labels and some columns at one, other columns at the other."""
    frame = load_breast_cancer(as_frame=True).frame
    frame.insert(0, "patient", np.arange(len(frame)))
    frame[["patient", "target", *frame.columns[1:6]]].to_csv(folder / "alder" / "mine.csv", index=False)
    frame[["patient", *frame.columns[6:12]]].sample(frac=1, random_state=1).to_csv(folder / "birch" / "mine.csv")


def test_from_two_files_to_a_model_in_few_commands(tmp_path):
    """Set up, then one command each: what the folders' pages say, literally."""
    told("init", tmp_path / "run", *VERTICAL, "--address", f"localhost:{free_port()}")
    tables(tmp_path / "run")
    for file in (tmp_path / "run").glob("*/run.toml"):
        file.write_text(file.read_text().replace("n_estimators = 100", "n_estimators = 2"))
    commands = {name: _commands(tmp_path / "run" / name / "README.md") for name in ("alder", "birch")}
    for name, (check, _, _) in commands.items():
        found = _started(check, tmp_path / "run" / name).communicate(timeout=60)
        assert "WRONG" not in found[0], found
    both = [_started(commands[name][1], tmp_path / "run" / name) for name in ("birch", "alder")]
    said = [one.communicate(timeout=120) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    alder = tmp_path / "run" / "alder"
    assert (alder / "runs" / "run" / "model.json").exists()
    made = _started(commands["alder"][2], alder).communicate(timeout=60)
    assert made[0].startswith("page: "), made
    page = Path(alder, made[0].removeprefix("page: ").strip()).read_text()
    assert re.search(r"Measured on \d+ own validation rows\.", page)


def _commands(page: Path) -> list[str]:
    block = page.read_text().split("```sh\n")[-1].split("```")[0]
    return block.replace("YOUR-DATA.csv", "mine.csv").splitlines()


def _started(command: str, folder: Path) -> "subprocess.Popen[str]":
    words = [sys.executable, "-m", *command.split()]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=folder, stdout=pipe, stderr=pipe, text=True, env=dict(os.environ))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    told("init", tmp_path / "run", *VERTICAL, "--address", f"localhost:{free_port()}")
    tables(tmp_path / "run")
    return tmp_path / "run"


def _own(folder: Path, name: str, data: str = "mine.csv") -> list[object]:
    own = folder / name
    return [
        "check",
        own / "run.toml",
        "--as",
        name,
        "--data",
        own / data,
        "--cert",
        own / f"{name}.pem",
        "--key",
        own / f"{name}.key",
    ]


def test_a_check_finds_all_that_is_wrong_at_once_and_ends_with_exit_code_3(folder):
    words = _own(folder, "birch", "mine.cvs")
    words[words.index("--key") + 1] = folder / "alder" / "alder.key"
    found = told(*words, code=3)
    assert "WRONG certificate: The key" in found
    assert "WRONG data: " in found
    assert "2 points are to be mended" in found


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('id = "patient"', 'id = "person"'), "WRONG data"),
        (('label = "target"', 'label = "outcome"'), "WRONG data"),
        (('method = "vertical"', 'method = "vertcal"'), "WRONG run file"),
    ],
)
def test_a_check_names_what_the_run_file_says_otherwise_than_the_data(folder, change, sentence):
    file = folder / "alder" / "run.toml"
    file.write_text(file.read_text().replace(*change))
    assert sentence in told(*_own(folder, "alder"), code=3)


def test_a_check_sees_rules_that_refuse_the_run_and_a_driver_that_cannot_be_reached(folder):
    (folder / "birch" / "policy.toml").write_text("most_trees = 5\n")
    file = folder / "birch" / "run.toml"
    file.write_text(file.read_text().replace("localhost:", "no-such-machine.invalid:"))
    found = told(*_own(folder, "birch"), "--policy", folder / "birch" / "policy.toml", code=3)
    assert "WRONG rules" in found
    assert "WRONG way to the driver: there is no machine no-such-machine.invalid" in found


def test_labels_of_one_class_are_refused_before_anybody_is_waited_for(folder):
    table = pd.read_csv(folder / "alder" / "mine.csv")
    table.assign(target=1).to_csv(folder / "alder" / "one.csv", index=False)
    words = _own(folder, "alder", "one.csv")
    sentence = "The labels of the active party hold one class only"
    assert f"WRONG data: {sentence}" in told(*words, code=3)
    at = words.index("--as")
    assert sentence in told("drive", *words[1:at], *words[at + 2 :], code=3)


def test_a_check_sees_a_port_that_is_taken(folder):
    address = open_run(folder / "alder" / "run.toml").driver.listen
    with socket.socket() as other:
        other.bind(("0.0.0.0", int(address.rpartition(":")[2])))  # noqa: S104  # as the driver does
        other.listen()
        assert "WRONG listening" in told(*_own(folder, "alder"), code=3)


def test_a_request_that_was_changed_on_its_way_is_refused(tmp_path):
    told("certs", "ca", tmp_path / "ca")
    told("certs", "request", tmp_path / "own", "alder")
    file = tmp_path / "own" / "alder.csr"
    lines = file.read_text().splitlines()
    der = bytearray(base64.b64decode("".join(lines[1:-1])))
    der[-1] ^= 1
    file.write_text("\n".join([lines[0], base64.b64encode(bytes(der)).decode(), lines[-1]]) + "\n")
    assert "request" in told("certs", "sign", tmp_path / "ca", file, code=3)
    assert not (tmp_path / "ca" / "alder.pem").exists()


def test_requests_of_one_name_are_refused_and_a_key_is_never_overwritten(tmp_path):
    told("certs", "ca", tmp_path / "ca")
    for folder in ("one", "two"):
        told("certs", "request", tmp_path / folder, "alder")
    files = [tmp_path / folder / "alder.csr" for folder in ("one", "two")]
    assert "one name" in told("certs", "sign", tmp_path / "ca", *files, code=3)
    assert "already" in told("certs", "request", tmp_path / "one", "alder", code=3)
    told("certs", "sign", tmp_path / "ca", files[0])
    assert "exists" in told("certs", "sign", tmp_path / "ca", files[1], code=3)
