"""What the pages say is so: their Python and their commands print what stands below, their links lead somewhere."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.cli import app

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)]
RUN = [ROOT / "README.md", *sorted(DOCS.glob("tutorials/*.md")), *sorted(DOCS.glob("how-to/*.md"))]
"""Here blocks marked `python` and `console` are run, in order; `sh` and `text` are not."""

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CONTENTS = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = re.compile(r"^(seconds +)[\d.]+", re.MULTILINE)


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


def commands(block):
    """The commands of a console block, each with the output below it."""
    parts = re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    return [part.split("\n", 1) for part in parts]


def trimmed(text):
    return SECONDS.sub(r"\1_", "\n".join(line.rstrip() for line in text.strip().splitlines()))


def differences(text):
    """Runs a page's blocks; what was printed otherwise than the page says, as (said, printed)."""
    names, printed, found = {"__name__": "page"}, "", []
    for kind, content in blocks(text):
        if kind == "python":
            printed = run_python(content, names)
        elif kind == "output" and trimmed(content) != trimmed(printed):
            found.append((content, printed))
        elif kind == "console":
            for line, said in commands(content):
                output = run_command(line)
                if trimmed(said) != trimmed(output):
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
def test_links_lead_to_files(page):
    assert broken(page, page.read_text()) == []


def test_every_page_but_the_first_is_in_a_table_of_contents():
    index = (DOCS / "index.md").read_text()
    listed = {f"{name}.md" for name in entries(index)}
    pages = {str(p.relative_to(DOCS)) for p in PAGES[1:] if p.parent.name != "decisions"} - {"index.md"}
    assert pages <= listed


@pytest.mark.parametrize(
    "page",
    ["```python\nprint(1)\n```\n\n```output\n2\n```\n", "```console\n$ hedgerow --version\nhedgerow 0.0.0\n```\n"],
)
def test_a_page_that_says_something_else_is_found(page):
    assert len(differences(page)) == 1


def test_a_link_that_leads_nowhere_is_found():
    text = "[a](README.md) [b](nowhere.md#there) [c](https://example.org)\n```{toctree}\n:glob:\n\nneither\n```\n"
    assert broken(ROOT / "README.md", text) == ["nowhere.md#there", "neither.md"]
