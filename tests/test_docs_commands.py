"""Commands on the pages that the tests cannot run exist, with their options; run files on them can be read."""

import re
import shlex
from codeop import CommandCompiler
from pathlib import Path

import pytest
from typer.main import get_command

from hedgerow.cli import app
from hedgerow.errors import ParameterError
from hedgerow.run.file.read import open_run

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|[(/ $])hedgerow ([a-z][^\n;|)>&#]*)", re.MULTILINE)


def unknown(line):
    """Why a command line cannot be meant: a command or an option that does not exist."""
    command, words = get_command(app), shlex.split(line)
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return f"no command {words[0]}"
        command = command.commands[words.pop(0)]
    options = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    wrong = [word for word in words if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in {*options, "-h"}]
    return f"{line}: no option {wrong[0]}" if wrong else ""


def commands(text):
    """Those of hedgerow's own in the blocks of a page that are for a shell."""
    blocks = [found[2].replace("\\\n", " ") for found in BLOCK.finditer(text) if found[1] in ("sh", "bash", "console")]
    return [line for block in blocks for line in COMMAND.findall(block)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_exists_with_its_options(page):
    assert [why for line in commands(page.read_text()) if (why := unknown(line))] == []


def test_commands_are_found_wherever_they_stand_and_mistakes_in_them_too():
    text = "```sh\n(cd a && hedgerow jion run.toml --as \\\n  b) > x\n/opt/bin/hedgerow certs show pki --all\n```\n"
    assert [unknown(line) for line in commands(text)] == ["no command jion", "certs show pki --all: no option --all"]


def unpasted(text):
    """Lines at which a Python prompt that reads line by line would stumble."""
    found = []
    for block in (content for kind, content in BLOCK.findall(text) if kind == "python"):
        compiles, lines = CommandCompiler(), []
        for line in [*block.split("\n"), ""]:
            lines.append(line)
            try:
                lines = lines if compiles("\n".join(lines), symbol="single") is None else []
            except SyntaxError:
                found.append(line)
                break
    return found


@pytest.mark.parametrize("page", sorted((ROOT / "docs/tutorials").glob("*.md")), ids=lambda page: page.stem)
def test_a_tutorials_python_can_be_pasted_into_a_prompt(page):
    assert unpasted(page.read_text()) == []


def test_a_loop_without_an_empty_line_below_would_be_seen():
    assert unpasted("```python\nfor n in range(3):\n    print(n)\nprint(3)\n```\n") == ["print(3)"]


def run_files():
    """Blocks of TOML that say which run they are."""
    blocks = [(page, block[2]) for page in PAGES for block in BLOCK.finditer(page.read_text()) if block[1] == "toml"]
    return [(page, text) for page, text in blocks if re.search(r"^(\[run\]|run(\.| = \{))", text, re.MULTILINE)]


def whole(text):
    """With parties, where the page leaves them to `hedgerow certs issue`."""
    if "[[party]]" in text or "partition" in text:
        return text
    names = [*re.findall(r'^active = "(\w+)"$', text, re.MULTILINE), "other", "third"]
    return text + "".join(f'[[party]]\nname = "{name}"\nfingerprint = "{n:064}"\n' for n, name in enumerate(names))


@pytest.mark.parametrize(("page", "text"), run_files(), ids=lambda part: part.stem if isinstance(part, Path) else "")
def test_a_run_file_on_a_page_can_be_read(page, text, tmp_path):
    (tmp_path / "run.toml").write_text(whole(text))
    if "max_deph" in text:  # the page shows what is said to that
        with pytest.raises(ParameterError, match="did you mean max_depth"):
            open_run(tmp_path / "run.toml")
    else:
        assert open_run(tmp_path / "run.toml").method is not None
