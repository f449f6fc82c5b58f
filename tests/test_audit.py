"""The audit log: what was noted stays noted, and what was changed is found."""

import gc
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from hedgerow.cli import app
from hedgerow.errors import ParameterError, RunError
from hedgerow.storage.audit import LONGEST, AuditLog, read, verify

RUN = hashlib.sha256(b"a plan").hexdigest()
TYPES = ("Cuts", "Sums", "Leaves")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of 21 lines."""
    path = tmp_path / "alice.jsonl"
    fill(AuditLog(path, RUN, "alice"), 20).close()
    return path


def fill(log: AuditLog, n: int) -> AuditLog:
    for i in range(n):
        log.note(
            "sent", to="coordinator", type=TYPES[i % 3], bytes=100 + i, sha256=hashlib.sha256(bytes(i)).hexdigest()
        )
    return log


def edit(path: Path, change: Callable[[list[bytes]], object]) -> None:
    """Change the list of a log's lines."""
    lines = path.read_bytes().splitlines(keepends=True)
    change(lines)
    path.write_bytes(b"".join(lines))


def canonical_hash(line: dict[str, object]) -> str:
    """A line's hash as the docs describe it, without hedgerow."""
    rest = {name: value for name, value in line.items() if name != "hash"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def lines_fit_themselves(path: Path) -> bool:
    """A verifier that forgot the chain."""
    lines = [json.loads(raw) for raw in path.read_bytes().splitlines()]
    return all(line["hash"] == canonical_hash(line) for line in lines)


def run(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["audit", *map(str, words)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


# What is written


def test_a_log_is_a_chain_that_anyone_can_follow(path: Path) -> None:
    previous = hashlib.sha256(b"hedgerow audit" + RUN.encode() + b"alice").hexdigest()
    lines = [json.loads(raw) for raw in path.read_bytes().splitlines()]
    for n, line in enumerate(lines):
        assert line["n"] == n
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["at"])
        assert line["previous"] == previous
        assert line["hash"] == canonical_hash(line)
        previous = line["hash"]
    assert [line["event"] for line in lines] == ["log opened"] + ["sent"] * 20
    found = verify(path)
    assert (found.n_lines, found.last, found.who, found.run) == (21, previous, "alice", RUN)


@given(facts=st.dictionaries(st.text(max_size=5), st.integers() | st.text() | st.lists(st.text(), max_size=3)))
def test_any_facts_come_back_and_hash_as_plain_json_does(facts: dict[str, int | str | list[str]]) -> None:
    facts = {f"_{name}": value for name, value in facts.items()}
    if any(isinstance(v, int) and not -(2**63) <= v < 2**64 for v in facts.values()):
        return
    log = AuditLog(None, RUN, "alice")
    log.note("sent", **facts)
    line = list(log.lines())[-1]
    assert {name: line[name] for name in facts} == facts
    assert line["hash"] == log.last == canonical_hash(line)


def test_a_log_in_memory_holds_the_same_lines(path: Path) -> None:
    def bare(log: AuditLog) -> list[dict[str, object]]:
        return [{k: v for k, v in line.items() if k not in ("at", "previous", "hash")} for line in log.lines()]

    assert bare(fill(AuditLog(None, RUN, "alice"), 20)) == bare(AuditLog(path, RUN, "alice"))


def test_others_cannot_read_a_log(path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["n", "at", "event", "previous", "hash"])
def test_a_fact_cannot_take_the_name_of_what_every_line_has(name: str) -> None:
    with pytest.raises(ParameterError, match="a name that each line has already"):
        AuditLog(None, RUN, "alice").note("sent", **{name: "x"})


@pytest.mark.parametrize(
    "value",
    [0.5, None, {"a": 1}, [1], object(), "\ud800"],
    ids=["a fraction", "nothing", "a mapping", "a list of numbers", "an object", "half a character"],
)
def test_what_could_not_be_read_back_is_not_written(path: Path, value: object) -> None:
    log = AuditLog(path, RUN, "alice")
    with pytest.raises(ParameterError, match="no whole number, text or list of texts"):
        log.note("sent", fact=value)  # type: ignore[arg-type]
    log.note("sent", fact=1)
    assert verify(path).n_lines == 22


def test_a_line_that_is_too_long_is_not_written(path: Path) -> None:
    log = AuditLog(path, RUN, "alice")
    with pytest.raises(ParameterError, match="more than 1048576 bytes"):
        log.note("sent", fact="x" * LONGEST)
    assert verify(path).n_lines == 21


def test_threads_share_a_log(path: Path) -> None:
    log = AuditLog(path, RUN, "alice")
    threads = [threading.Thread(target=fill, args=(log, 200)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verify(path, log.last).n_lines == 821


# What was changed


def test_an_edited_line_is_found(path: Path) -> None:
    edit(path, lambda lines: lines.__setitem__(16, lines[16].replace(b'"bytes":115', b'"bytes":915')))
    with pytest.raises(RunError, match=r"^line 17 of .*alice\.jsonl was changed, removed or swapped"):
        verify(path)


def test_an_edited_line_with_its_hash_made_anew_is_found_at_the_next(path: Path) -> None:
    def forge(lines: list[bytes]) -> None:
        line = json.loads(lines[16])
        line["bytes"] = 915
        line["hash"] = canonical_hash(line)
        lines[16] = json.dumps(line, separators=(",", ":")).encode() + b"\n"

    edit(path, forge)
    assert lines_fit_themselves(path)
    with pytest.raises(RunError, match=r"^line 18 of .* was changed, removed or swapped"):
        verify(path)


def test_a_deleted_line_is_found_and_only_by_the_chain(path: Path) -> None:
    edit(path, lambda lines: lines.pop(16))
    assert lines_fit_themselves(path), "a verifier without the chain sees nothing"
    with pytest.raises(RunError, match=r"^line 17 of .* was changed, removed or swapped"):
        verify(path)


def test_the_first_line_cannot_be_deleted(path: Path) -> None:
    edit(path, lambda lines: lines.pop(0))
    assert lines_fit_themselves(path)
    with pytest.raises(RunError, match=r"^line 1 of .* was changed, removed or swapped"):
        verify(path)


def test_swapped_lines_are_found(path: Path) -> None:
    edit(path, lambda lines: lines.__setitem__(slice(16, 18), [lines[17], lines[16]]))
    assert lines_fit_themselves(path)
    with pytest.raises(RunError, match=r"^line 17 of .* was changed, removed or swapped"):
        verify(path)


def test_a_doubled_line_is_found(path: Path) -> None:
    edit(path, lambda lines: lines.insert(16, lines[15]))
    assert lines_fit_themselves(path)
    with pytest.raises(RunError, match=r"^line 17 of .* was changed, removed or swapped"):
        verify(path)


def test_an_inserted_line_is_found(path: Path) -> None:
    def insert(lines: list[bytes]) -> None:
        line = {**json.loads(lines[16]), "bytes": 1}
        lines.insert(16, json.dumps({**line, "hash": canonical_hash(line)}, separators=(",", ":")).encode() + b"\n")

    edit(path, insert)
    assert lines_fit_themselves(path)
    with pytest.raises(RunError, match=r"^line 18 of .* was changed, removed or swapped"):
        verify(path)


def test_a_line_of_another_log_is_found(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "bob.jsonl"
    fill(AuditLog(other, RUN, "bob"), 20).close()
    edit(path, lambda lines: lines.__setitem__(16, other.read_bytes().splitlines(keepends=True)[16]))
    with pytest.raises(RunError, match=r"^line 17 of"):
        verify(path)


def test_a_removed_end_is_found_by_who_knows_the_last_hash(path: Path) -> None:
    last = verify(path).last
    edit(path, lambda lines: lines.pop())
    assert verify(path).n_lines == 20, "the chain alone cannot tell"
    with pytest.raises(RunError, match=rf"not {last}; lines at its end were removed or added"):
        verify(path, last)


def test_the_log_written_anew_is_found_by_who_knows_the_last_hash(path: Path) -> None:
    last = verify(path).last
    path.unlink()
    log = AuditLog(path, RUN, "alice")
    log.note("sent", to="coordinator", type="Cuts", bytes=1, sha256="0")  # not what was sent first
    fill(log, 19).close()
    with pytest.raises(RunError, match="lines at its end were removed or added"):
        verify(path, last)


@given(data=st.data())
def test_no_byte_can_be_changed_unseen(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("log") / "a.jsonl"
    fill(AuditLog(path, RUN, "älice"), 4).close()
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with pytest.raises(RunError, match=r"was changed, removed or swapped|is half-written"):
        verify(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.replace(b'"bytes":115', b'"bytes":1,"bytes":115'),
        lambda line: line.replace(b'"bytes":', b'"bytes": '),
        lambda line: line.replace(b'"Cuts"', b'"\\u0043uts"'),
        lambda line: line.replace(b'"hash"', b'"hush"'),
        lambda line: b"[1]\n",
        lambda line: b"\n",
        lambda line: b"[" * 100_000 + b"\n",
        lambda line: b'"\xff"\n',
    ],
    ids=["name twice", "space", "escape", "no hash", "array", "empty", "deep", "not UTF-8"],
)
def test_a_line_that_reads_the_same_but_is_written_otherwise_is_found(path: Path, change) -> None:
    edit(path, lambda lines: lines.__setitem__(16, change(lines[16])))
    with pytest.raises(RunError, match=r"^line 17 of .* was changed, removed or swapped"):
        verify(path)


def test_an_endless_line_costs_no_memory(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(1 << 28)
    tracemalloc.start()
    with pytest.raises(RunError, match=r"^line 22 of"):
        verify(path)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


# Going on


def test_a_log_is_continued_where_it_ended(path: Path) -> None:
    before = path.read_bytes()
    log = fill(AuditLog(path, RUN, "alice"), 2)
    assert path.read_bytes().startswith(before)
    assert verify(path, log.last).n_lines == 23


def test_a_torn_line_is_cut_off_and_that_is_noted(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(RunError, match=r"line 21 of .* is half-written"):
        verify(path)
    torn = len(whole[:-30].rpartition(b"\n")[2])
    log = AuditLog(path, RUN, "alice")
    last = list(log.lines())[-1]
    assert (last["n"], last["event"], last["bytes"]) == (20, "torn line removed", torn)
    assert verify(path, log.last).n_lines == 21


@pytest.mark.parametrize("kept", [1, 4, 60])
def test_a_first_line_that_is_torn_is_begun_anew(path: Path, kept: int) -> None:
    path.write_bytes(path.read_bytes()[:kept])
    events = [line["event"] for line in AuditLog(path, RUN, "alice").lines()]
    assert events == ["log opened", "torn line removed"]


def test_zeros_that_a_loss_of_power_left_are_cut_off(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(300))
    assert AuditLog(path, RUN, "alice").last == verify(path).last
    assert verify(path).n_lines == 22


def test_a_file_that_is_no_log_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text('{"hedgerow": 1}')
    with pytest.raises(RunError, match=r"model\.json is not an audit log"):
        AuditLog(path, RUN, "alice")
    assert path.read_text() == '{"hedgerow": 1}'


def test_a_broken_log_is_not_continued(path: Path) -> None:
    edit(path, lambda lines: lines.pop(16))
    before = path.read_bytes()
    with pytest.raises(RunError, match=r"^line 17 of"):
        AuditLog(path, RUN, "alice")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("run_", "who", "whose"),
    [
        (RUN[::-1], "alice", f"of another run, whose plan has the hash {RUN[:12]!r}..., and not of this one, "),
        (RUN, "bob", "of another party, 'alice', and not of 'bob'; name another file."),
    ],
)
def test_the_log_of_another_run_or_party_is_not_continued(path: Path, run_: str, who: str, whose: str) -> None:
    with pytest.raises(RunError, match=f"is the audit log {re.escape(whose)}"):
        AuditLog(path, run_, who)


def test_a_log_has_one_writer_until_it_is_closed_or_forgotten(path: Path) -> None:
    log = AuditLog(path, RUN, "alice")
    with pytest.raises(RunError, match="in use by another process"):
        AuditLog(path, RUN, "alice")
    log.close()
    with pytest.raises(RunError, match="is closed"):
        log.note("sent")
    log = AuditLog(path, RUN, "alice")
    del log
    gc.collect()
    fill(AuditLog(path, RUN, "alice"), 1).sync()
    assert verify(path).n_lines == 22


WRITER = """
import sys
from pathlib import Path
from hedgerow.storage.audit import AuditLog
log = AuditLog(Path(sys.argv[1]), "00", "alice")
n = 0
while True:
    log.note("sent", bytes=n)
    n += 1
    sys.stdout.write(f"{n}\\n")
    sys.stdout.flush()
"""


def test_a_killed_process_loses_nothing_that_was_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < 500:
            pass
        os.kill(process.pid, signal.SIGKILL)
        told = [500, *map(int, re.findall(r"(\d+)\n", process.stdout.read()))][-1]
    assert verify(path).n_lines >= told + 1
    AuditLog(path, "00", "alice").note("sent", bytes=0)


# Where nothing can be written


FULL = """
import resource, sys
from pathlib import Path
from hedgerow.storage.audit import AuditLog
from hedgerow.errors import RunError
path = Path(sys.argv[1])
log = AuditLog(path, "00", "alice")
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
for i in range(100):
    try:
        log.note("sent", bytes=i)
    except RunError as error:
        print(i, error)
        break
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.note("sent", bytes=i)
"""


def test_a_full_disk_is_one_sentence_and_the_log_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    n, _, sentence = done.stdout.strip().partition(" ")
    assert re.fullmatch(r"Cannot write the audit log .*a\.jsonl: [A-Z][a-z ]+; put that right and .*\.", sentence)
    assert verify(path).n_lines == 1 + int(n) + 1
    assert [line["bytes"] for line in read(path) if line["event"] == "sent"] == list(range(int(n) + 1))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_no_space_is_said(path: Path) -> None:
    log = AuditLog(path, RUN, "alice")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, log._file)
    os.close(full)
    with pytest.raises(RunError, match=r"Cannot write the audit log .*: No space left on device; "):
        log.note("sent")
    assert verify(path).n_lines == 21


def test_a_place_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is a folder or a device"):
        AuditLog(tmp_path, RUN, "alice")
    with pytest.raises(RunError, match=r"Cannot write the audit log .*: No such file or directory"):
        AuditLog(tmp_path / "nowhere" / "a.jsonl", RUN, "alice")
    with pytest.raises(RunError, match="is a folder or a device"):
        verify(Path("/dev/zero"))


# The command line


def test_the_command_says_ok_for_each_log(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "bob.jsonl"
    AuditLog(other, RUN, "bob").close()
    said = run("verify", path, other).stdout.splitlines()
    assert said == [
        f"ok: 21 lines, last hash {verify(path).last}, {path} kept by alice",
        f"ok: 1 line, last hash {verify(other).last}, {other} kept by bob",
    ]


def test_the_command_ends_with_1_if_one_log_is_broken_and_still_looks_at_the_others(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "bob.jsonl"
    AuditLog(other, RUN, "bob").close()
    edit(path, lambda lines: lines.pop(16))
    result = run("verify", path, other, code=1)
    assert result.stderr.startswith(f"hedgerow: line 17 of {path} was changed, removed or swapped")
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout.startswith("ok: 1 line,")


def test_the_command_finds_a_removed_end(path: Path) -> None:
    last = verify(path).last
    run("verify", path, "--last", last.upper())
    edit(path, lambda lines: lines.pop())
    run("verify", path)
    assert "lines at its end were removed or added" in run("verify", path, "--last", last, code=1).stderr


def test_an_empty_log_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert "is empty" in run("verify", tmp_path / "empty", code=1).stderr


def test_a_log_that_is_not_there_has_an_exit_code_of_its_own(path: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    result = run("verify", nowhere, path, code=4)
    assert result.stderr == f"hedgerow: Cannot read the audit log {nowhere}: No such file or directory.\n"
    assert result.stdout.startswith("ok: 21 lines")
    assert "is a folder or a device" in run("verify", tmp_path, code=4).stderr


def test_a_broken_log_counts_before_one_that_is_not_there(path: Path, tmp_path: Path) -> None:
    edit(path, lambda lines: lines.pop(16))
    run("verify", tmp_path / "nowhere", path, code=1)


def test_the_last_hash_is_that_of_one_log(path: Path) -> None:
    assert "name one FILE" in run("verify", path, path, "--last", "0" * 64, code=3).stderr
    assert "64 hexadecimal digits" in run("verify", path, "--last", "abc", code=3).stderr


def test_the_table_counts_events_and_bytes(path: Path) -> None:
    rows = [line.split() for line in run("show", path).stdout.splitlines()]
    assert rows[0] == ["event", "type", "lines", "bytes"]
    assert ["log", "opened", "1"] in rows
    assert ["sent", "Cuts", "7", str(sum(range(100, 120, 3)))] in rows
    edit(path, lambda lines: lines.pop(16))
    assert "line 17" in run("show", path, code=3).stderr


def test_a_name_in_a_log_cannot_move_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    log = AuditLog(path, RUN, "eve\x1b[2J")
    log.note("sent\x1b[2J", type="x\ny")
    assert "\x1b" not in run("verify", path).stdout + run("show", path).stdout
