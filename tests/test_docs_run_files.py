"""Run files on the pages are run files: they are read, and mean a plan."""

import re
import tomllib
from pathlib import Path

import pytest

from hedgerow.run.file.description import run_of

ROOT = Path(__file__).parent.parent
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for number, block in enumerate(re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL))
    if re.search(r"^(\[run\]|run = )", block, re.MULTILINE)
    and re.search(r"party\]|partition", block)
    and "max_deph" not in block  # a mistake that a tutorial shows
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_run_file_on_a_page_is_one(block, tmp_path):
    run = run_of(tomllib.loads(block), tmp_path / "run.toml", tmp_path)
    run.disclosed()


def test_there_are_such_pages():
    assert len(BLOCKS) > 5
