"""What is written about the floor plan is true."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RULES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_the_floors_of_the_page_are_those_that_are_checked() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    written = re.search(r"```text\n(.*?)\n```", page, re.DOTALL)
    assert written is not None
    wanted = []
    for rule in RULES:
        name = rule["containers"][0].removeprefix("hedgerow.").replace("hedgerow", "src/hedgerow")
        wanted += [name, *(f"    {floor}" for floor in rule["layers"])]
    assert written[1].splitlines() == wanted
    assert all(rule["exhaustive"] for rule in RULES)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_files_that_a_page_names_exist(page: str) -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_.]*)`", (ROOT / page).read_text())
    places = [name for name in named if not name.startswith(("tests/", "docs/_build"))]
    assert len(places) > 8
    for name in places:
        inside = ROOT / "src/hedgerow" / name
        found = (ROOT / name, inside, inside.with_suffix(".py"))
        assert any(place.exists() for place in found), f"{page} names {name}"


def test_source_files_that_the_documentation_names_exist() -> None:
    roots = [ROOT / place for place in (".", "docs", "src/hedgerow", "native/src", "native/src/lattice")]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for name in re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|rs))`", page.read_text()):
            assert any((root / name).exists() for root in roots), f"{page.relative_to(ROOT)} names {name}"


def test_no_module_is_named_by_what_was_done_to_it() -> None:
    """A name that ends so says nothing to a stranger."""
    names = {path.stem for path in (ROOT / "src/hedgerow").rglob("*.py")}
    assert {name for name in names if name.endswith("ed")} <= {"unencrypted"}
