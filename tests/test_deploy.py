"""What `examples/deploy` has can be read, and the commands in it exist, with their options."""

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from hedgerow.cli import app

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "examples/deploy"
UNITS = sorted(DEPLOY.rglob("*.service"))
PAGE = ROOT / "docs/how-to/deploy.md"
COMMAND = re.compile(r"hedgerow ((?:join|drive|serve|init|report|watch|check) [^\n\"'`;]*)")
ANALYZE = shutil.which("systemd-analyze")
PROGRAM = "/opt/hedgerow/bin/hedgerow"


def unknown(text):
    """Commands and options in a text that hedgerow does not have."""
    known, found = get_command(app), []
    for line in COMMAND.findall(text.replace("\\\n", " ")):
        name, *words = shlex.split(line)
        command = known.get_command(click.Context(known), name)
        options = {option for param in command.params for option in param.opts}
        found += [f"{name} {word}" for word in words if word.startswith("--") and word not in options]
    return found


def services():
    return yaml.safe_load((DEPLOY / "containers/compose.yaml").read_text())["services"]


def unit(path):
    read = configparser.ConfigParser(strict=False, interpolation=None)
    read.optionxform = str
    read.read_string(path.read_text())
    return read


def faults(folder):
    """What systemd has to say about the units in a folder, their program replaced by one that is there."""
    for file in folder.rglob("*.service"):
        file.write_text(file.read_text().replace(PROGRAM, "/bin/true"))
    names = [file.name.replace("@", "@run") for file in folder.glob("*.service")]
    environment = {
        "SYSTEMD_UNIT_PATH": f"{folder}:/lib/systemd/system:/usr/lib/systemd/system",
        "PATH": "/usr/bin:/bin",
    }
    words = [str(ANALYZE), "verify", "--man=no", *names]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    return [line for line in done.stderr.splitlines() if "hedgerow-" in line]


def test_every_command_of_units_containers_and_their_page_exists():
    files = [*UNITS, DEPLOY / "containers/compose.yaml", DEPLOY / "containers/Containerfile", PAGE]
    texts = [file.read_text() for file in files]
    assert [unknown(text) for text in texts] == [[] for _ in files]
    assert sum(len(COMMAND.findall(text)) for text in texts) > 10


def test_an_option_that_does_not_exist_is_found():
    assert unknown("ExecStart=/opt/hedgerow/bin/hedgerow join run.toml --az north") == ["join --az"]


@pytest.mark.skipif(ANALYZE is None, reason="there is no systemd-analyze")
def test_systemd_finds_no_fault_in_the_units_and_would_find_one(tmp_path):
    shutil.copytree(DEPLOY / "systemd", tmp_path / "units")
    assert faults(tmp_path / "units") == []
    (tmp_path / "units/hedgerow-serve@.service").write_text("[Service]\nExecStart=/bin/true\nRestert=on-failure\n")
    assert any("Restert" in line for line in faults(tmp_path / "units"))


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_service_works_in_its_runs_folder_alone_and_stops_in_order(path):
    sandbox = unit(DEPLOY / "systemd/hedgerow-.service.d/sandbox.conf")["Service"]
    assert unit(path)["Service"]["WorkingDirectory"] == sandbox["ReadWritePaths"] == "/var/lib/hedgerow/%i"
    assert (sandbox["User"], sandbox["ProtectSystem"], sandbox["KillSignal"]) == ("hedgerow", "strict", "SIGINT")
    assert unit(path)["Service"]["ExecStart"].startswith(("/opt/hedgerow/bin/hedgerow ", "/bin/sh"))


@pytest.mark.parametrize("name", ["join", "drive"])
@pytest.mark.parametrize(("there", "starts"), [("", True), ("audit.log", True), ("model.json", False)])
def test_a_run_that_is_finished_is_not_started_again(name, there, starts, tmp_path):
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / (there or "nothing")).touch()
    text = (DEPLOY / f"systemd/hedgerow-{name}@.service").read_text()
    conditions = [shlex.split(line) for line in re.findall(r"^ExecCondition=(.*)$", text, re.MULTILINE)]
    assert conditions
    assert all(subprocess.run(words, cwd=tmp_path).returncode == 0 for words in conditions) is starts


def test_containers_have_no_rights_and_see_their_own_folder_alone():
    for name, service in services().items():
        assert service["volumes"] == [f"./readmission/{name}:/party"]
        assert (service["cap_drop"], service["read_only"], service["stop_signal"]) == (["ALL"], True, "SIGINT")
        assert "ports" not in service or name == "driver"


def test_compose_starts_every_folder_that_init_makes(tmp_path):
    words = next(words for words in COMMAND.findall(PAGE.read_text().replace("\\\n", " ")) if "driver:50051" in words)
    made = CliRunner().invoke(app, shlex.split(words.replace(" readmission ", f" {tmp_path / 'new'} ")))
    assert made.exit_code == 0, made.output
    assert {folder.name for folder in (tmp_path / "new").iterdir() if folder.is_dir()} == {*services(), "ca"}
    for name, service in services().items():
        for file in re.findall(r"[\w-]+\.(?:pem|key|toml)", str(service["command"])):
            assert (tmp_path / "new" / name / file).exists(), f"{name} has no {file}"


def test_the_page_shows_a_unit_as_it_is():
    shown = re.search(r"^```ini\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
    assert shown in (DEPLOY / "systemd/hedgerow-join@.service").read_text()
