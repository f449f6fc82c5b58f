"""What the pages say is so: their Python and their commands print what stands below, their links lead somewhere."""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from docs import generate
from typer.testing import CliRunner

import hedgerow
from hedgerow.cli import app
from hedgerow.corridor.messages import Disclosure, disclosures
from hedgerow.demo.organisations import free_port

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)]
ROOMS = ("tutorials", "how-to", "explanation")
RUN = [ROOT / "README.md", DOCS / "index.md", *(page for room in ROOMS for page in sorted(DOCS.glob(f"{room}/*.md")))]
"""Here blocks marked `python`, `console` and `bash` are run in a fresh folder, in order; `text` is not. Nor is `sh`,
which needs other machines or rights; `test_docs_commands.py` looks whether its commands exist. What `bash` runs are
real processes, at a port that is free in place of the page's. A `toml` or `ini` block whose first line is a remark with
a file's name becomes that file. Where the page has a line `...`, any number of lines may have been printed."""

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CONTENTS = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = re.compile(r"^(seconds +|tree \d+/\d+  .*  )[\d.]+", re.MULTILINE)
FILE = re.compile(r"# ([\w.-]+\.(?:toml|conf))\n")


def blocks(text):
    return [(found[1], found[2]) for found in BLOCK.finditer(text)]


def run_python(code, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "page", "exec"), names)  # noqa: S102  # our own pages
    return printed.getvalue()


def run_command(line):
    words = shlex.split(line)
    assert words.pop(0) == "hedgerow", f"only hedgerow's own commands can be run here: {line}"
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, words, prog_name="hedgerow").output


def run_bash(script, port):
    """A script as a reader would paste it, and what it printed."""
    if not Path("bin").exists():  # once: a process of an earlier block may be reading it
        Path("bin").mkdir()
        Path("bin/hedgerow").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hedgerow "$@"\n')
        Path("bin/hedgerow").chmod(0o755)
    environment = {**os.environ, "PATH": f"{Path('bin').resolve()}:{os.environ['PATH']}", "COLUMNS": "120"}
    script = script.replace("50051", str(port))
    words = [shutil.which("bash") or "bash", "-euc", script]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=240)
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr


def commands(block):
    """The commands of a console block, each with the output below it."""
    parts = re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    return [part.split("\n", 1) for part in parts]


def trimmed(text):
    return SECONDS.sub(r"\1_", "\n".join(line.rstrip() for line in text.strip().splitlines()))


def is_said(said, printed):
    """Whether this was printed, apart from seconds, and from lines for which the page has `...`."""
    lines = ["(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in trimmed(said).splitlines()]
    return re.fullmatch("".join(lines), trimmed(printed) + "\n" * bool(printed.strip())) is not None


def differences(text):
    """Runs a page's blocks; what was printed otherwise than the page says, as (said, printed)."""
    names, printed, found, port = {"__name__": "page"}, "", [], free_port()
    for kind, content in blocks(text):
        if kind == "python":
            printed = run_python(content, names)
        elif kind in ("toml", "ini") and FILE.match(content):
            Path(FILE.match(content)[1]).write_text(content.replace("50051", str(port)))
        elif kind == "bash":
            printed = run_bash(content, port)
        elif kind == "output" and not is_said(content, printed):
            found.append((content, printed))
        elif kind == "console":
            for line, said in commands(content):
                output = run_command(line)
                if not is_said(said, output):
                    found.append((said, output))
    return found


def entries(text):
    """What the tables of contents on a page list."""
    lines = [line for body in CONTENTS.findall(text) for line in body.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def broken(page, text):
    """Relative links that lead to no file."""
    targets = [target for target in LINK.findall(text) if not re.match(r"[a-z]+:|#", target)]
    targets += [f"{name}.md" for name in entries(text) if "*" not in name]
    return [target for target in targets if not (page.parent / target.partition("#")[0]).exists()]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_a_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert differences(page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_toml_can_be_read(page):
    for kind, content in blocks(page.read_text()):
        if kind == "toml":
            tomllib.loads(content)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    assert broken(page, page.read_text()) == []


def test_every_page_but_the_first_is_in_a_table_of_contents():
    index = (DOCS / "index.md").read_text()
    listed = {f"{name}.md" for name in entries(index)}
    pages = {str(p.relative_to(DOCS)) for p in PAGES[1:] if p.parent.name != "decisions"} - {"index.md"}
    assert pages <= listed


def test_words_of_this_house_are_in_the_glossary():
    words = "active passive driver opener seal mask cut part plan manifest split column sums histogram run party policy"
    listed = set(re.findall(r"\*\*([\w ]+)\*\*", (DOCS / "reference/glossary.md").read_text()))
    assert {*words.split(), "ledger", "journal", "coordinator", "blinded", "hidden rows"} <= listed


@pytest.mark.parametrize(
    "page",
    [
        "```python\nprint(1)\n```\n\n```output\n2\n```\n",
        "```python\nprint(1)\nprint(2)\n```\n\n```output\n...\n3\n```\n",
        "```python\nprint(1)\n```\n\n```output\n```\n",
        "```console\n$ hedgerow --version\nhedgerow 0.0.0\n```\n",
    ],
)
def test_a_page_that_says_something_else_is_found(page):
    assert len(differences(page)) == 1


def test_lines_may_be_left_out_only_where_the_page_says_so():
    code = "```python\nprint('one')\nprint('two')\nprint('three')\n```\n\n"
    assert differences(f"{code}```output\none\n...\nthree\n```\n") == []
    assert len(differences(f"{code}```output\none\nthree\n```\n")) == 1


def test_a_named_block_becomes_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    differences("```toml\n# one.toml\na = 1\n```\n\n```toml\nb = 1\n```\n")
    assert [file.name for file in tmp_path.iterdir()] == ["one.toml"]
    assert (tmp_path / "one.toml").read_text() == "# one.toml\na = 1\n"


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_holds_what_the_code_says(page):
    """Else: `python -m docs.generate`."""
    assert generate.filled(page.read_text()) == page.read_text()


def test_a_page_that_says_something_else_than_the_code_is_found():
    page = (DOCS / "reference/disclosures.md").read_text()
    assert generate.filled(page.replace("driver to opener", "driver to every party")) == page


def test_every_public_name_is_on_the_page_about_python():
    page = (DOCS / "reference/python.md").read_text()
    for name in hedgerow.__all__:
        assert f"### hedgerow.{name}" in page or name.startswith("__"), name


def rows_of(table):
    """The cells of a Markdown table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_table_of_disclosures_has_exactly_what_the_messages_declare():
    way, found = [], []
    for row in rows_of(generate.disclosed()):
        way = row[:3] if row[0] else way
        found.append(Disclosure(way[0].strip("`"), way[1], row[3].strip("`"), row[4], row[5], way[2]))
    assert found == list(disclosures())


def test_every_generated_table_is_on_a_page_and_can_be_made():
    marks = {mark[1] for page in PAGES for mark in generate.MARKED.findall(page.read_text())}
    assert marks == {*generate.FILLED, "python"}
    for make in generate.FILLED.values():
        assert "| --- |" in make()


@pytest.mark.parametrize(
    ("words", "make"),
    [("PARAMETERS", "parameters"), ("POLICY", "policy"), ("CONFIGURATION", "configuration"), ("RUN_FILE", "run_file")],
)
def test_a_key_without_a_meaning_is_found(monkeypatch, words, make):
    fewer = dict(getattr(generate.meanings, words))
    gone, _ = fewer.popitem()
    monkeypatch.setattr(generate.meanings, words, fewer)
    with pytest.raises(ValueError, match=f"differ in .*: {gone}"):
        getattr(generate, make)()


def test_a_link_that_leads_nowhere_is_found():
    text = "[a](README.md) [b](nowhere.md#there) [c](https://example.org)\n```{toctree}\n:glob:\n\nneither\n```\n"
    assert broken(ROOT / "README.md", text) == ["nowhere.md#there", "neither.md"]
