"""What is written about the floor plan is true."""

import ast
import re
import tomllib
from functools import cache
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


# How large things may become

MOST = 15
"""Modules that a module may import, and attributes that a class may have without a reason beside it."""
MOST_IN_ORDER = 7
"""Arguments of a call that are told apart by their order."""
REASON = re.compile(r"# more than 15 attributes: \w+")
BIRTH = ("__init__", "__enter__", "__post_init__")
"""Where a class sets its attributes for the first time."""

SOURCE = ROOT / "src/hedgerow"
PARSED = {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def imported(tree: ast.AST) -> set[str]:
    """The modules of hedgerow that a module names; of a package, what is taken from it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hedgerow":
            package = (ROOT / "src" / str(node.module).replace(".", "/")).is_dir()
            found |= {f"{node.module}.{name.name}" for name in node.names} if package else {str(node.module)}
    return found


CLASSES = [(file, node) for file, tree in PARSED.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


@cache
def attributes(of: ast.ClassDef) -> dict[str, bool]:
    """The attributes of a class's objects, and whether they are born when the object is."""
    born: dict[str, bool] = {}
    constants = {ast.unparse(name) for part in of.body if isinstance(part, ast.Assign) for name in part.targets}
    for part in of.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            if "ClassVar" not in ast.unparse(part.annotation):
                born[part.target.id] = True
        elif isinstance(part, ast.FunctionDef):
            for node in ast.walk(part):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
                    born[node.attr] = born.get(node.attr, node.attr in constants) or part.name in BIRTH
    return born


def inherited(of: ast.ClassDef) -> set[str]:
    """What the classes above it, as far as they are hedgerow's, have set already."""
    names = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in of.bases}
    above = [one for _, one in CLASSES if one.name in names and one is not of]
    return {name for one in above for name in ({n for n, born in attributes(one).items() if born} | inherited(one))}


def test_no_module_imports_more_than_fifteen_others() -> None:
    many = {file for file, tree in PARSED.items() if len(imported(tree)) > MOST}
    assert many == set()


def test_a_class_with_many_attributes_has_a_reason_beside_it() -> None:
    many = set()
    for file, one in CLASSES:
        lines = (SOURCE / file).read_text().splitlines()[one.lineno - 1 : one.end_lineno]
        if len(attributes(one)) > MOST and not REASON.search("\n".join(lines)):
            many.add(f"{file}: {one.name}")
    assert many == set()


def test_attributes_are_born_with_their_object() -> None:
    """Names that end in an underscore are scikit-learn's sign that an estimator was fitted."""
    late = set()
    for file, one in CLASSES:
        before = inherited(one)
        if any(not born and name not in before and not name.endswith("_") for name, born in attributes(one).items()):
            late.add(f"{file}: {one.name}")
    assert late == set()


def is_kernel(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return name.startswith("_native.") or name.endswith(".pack")


def test_no_call_has_more_than_seven_arguments_in_order() -> None:
    """Kernels excepted, which take and give arrays, and `struct`, whose order is that of the bytes."""
    many = set()
    for file, tree in PARSED.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and len(node.args) > MOST_IN_ORDER and not is_kernel(node):
                many.add(file)
    assert many == set()
