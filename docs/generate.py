"""Writes into the pages what the code itself says: parameters, options, messages, docstrings.

`python -m docs.generate` writes it between the marks of each page; a test refuses pages that hold anything else.
"""

import ast
import importlib
import inspect
import re
import textwrap
import typing
from collections.abc import Collection
from dataclasses import MISSING, fields
from enum import EnumType
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from docs import meanings
from typer import Context
from typer.models import OptionInfo

from hedgerow import ForestClassifier, GBDTClassifier, GBDTRegressor, cli
from hedgerow.agreement.options import DP, LEAST_CUT_ROWS, Horizontal, Hybrid, Lattice, NoPrivacy, Vertical, WholeTrees
from hedgerow.agreement.plan import MOST_PARTIES, Goal
from hedgerow.agreement.policy import Policy
from hedgerow.commands import audit, certs, ledger
from hedgerow.commands.model_commands import MODEL_COMMANDS
from hedgerow.corridor.messages import disclosures
from hedgerow.data.hybrid_cut import HybridCut
from hedgerow.data.partition import HOWS, MOST_ALPHA
from hedgerow.data.table import ABSENT
from hedgerow.run.file import fedtree, fedtree_keys, method, options, sections
from hedgerow.run.file import trees as tree_section
from hedgerow.trees.params import LIMITS, TreeParams

KINDS = {int: "whole number", float: "number", str: "text", bool: "switch", Path: "file"}


def table(*rows: list[str]) -> str:
    """A Markdown table; the first row is its head."""
    head, *rest = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)
    return "\n".join([head, "|" + " --- |" * len(rows[0]), *rest])


def check_all(what: str, known: Collection[str], meant: Collection[str]) -> None:
    """Refuse to build pages that leave something out, or tell of what is not there."""
    odd = set(known) ^ set(meant)
    if odd:
        raise ValueError(f"docs/meanings.py and the code differ in {what}: {', '.join(sorted(odd))}")


def parameters() -> str:
    """Every parameter of the estimators, its defaults and its limits."""
    owners = [GBDTClassifier().get_params(), GBDTRegressor().get_params(), ForestClassifier().get_params()]
    check_all("parameters", {name for owner in owners for name in owner}, meanings.PARAMETERS)
    rows = [["parameter", "boosted", "forest", "limits", "meaning"]]
    for name, meaning in meanings.PARAMETERS.items():
        boosted = next((f"`{owner[name]!r}`" for owner in owners[:2] if name in owner), "-")
        forest = f"`{owners[2][name]!r}`" if name in owners[2] else "-"
        limit = str(LIMITS[name]) if name in LIMITS else meanings.PARAMETER_LIMITS[name]
        rows.append([f"`{name}`", boosted, forest, limit, meaning])
    return table(*rows)


SECTIONS = {
    "data": options.DataOptions,
    "partition": options.PartitionOptions,
    "party": options.PartyEntry,
    "driver": options.DriverOptions,
}
PRIVATE = (DP, Lattice, NoPrivacy, Hybrid, Vertical, WholeTrees, Horizontal)
PRIVACY = {field.name: field for kind in PRIVATE for field in msgspec.structs.fields(kind)}
PRIVACY["dp_trees"] = PRIVACY["method"]
"""What a run file's [privacy] parses to, by key."""
WORDS = {
    "run.method": method.METHODS,
    "privacy.protection": method.PROTECTIONS,
    "data.absent": ABSENT,
    "partition.how": HOWS,
}
NUMBERS = {
    "partition.parties": f"a whole number from 1 to {MOST_PARTIES:,}",
    "partition.alpha": f"a number above 0 and at most {MOST_ALPHA:g}",
}


def run_file() -> str:
    """Every section of a run file with its keys."""
    check_all("sections", sections.KEYS, meanings.RUN_FILE)
    parts = []
    for section, keys in sections.KEYS.items():
        title = "[[party]]" if section == "party" else f"[{section}]"
        parts += [f"### {title}", "", tree_keys() if section == "trees" else section_keys(section, keys), ""]
    return "\n".join(parts)


def section_keys(section: str, keys: Collection[str]) -> str:
    check_all(f"[{section}]", keys, meanings.RUN_FILE[section])
    rows = [["key", "default", "value", "meaning"]]
    for key in keys:
        place = f"{section}.{key}"
        rows.append([f"`{key}`", default_of(section, key), limit_of(place), meanings.RUN_FILE[section][key]])
    return table(*rows)


def default_of(section: str, key: str) -> str:
    if f"{section}.{key}" in meanings.RUN_FILE_DEFAULTS:
        return meanings.RUN_FILE_DEFAULTS[f"{section}.{key}"]
    default = PRIVACY[key].default if section == "privacy" else _defaults(SECTIONS[section])[key]
    if default in (MISSING, msgspec.NODEFAULT):
        raise ValueError(f"docs/meanings.py has no default for [{section}] {key}")
    return "" if default in (None, ()) else as_toml(default)


def _defaults(kind: type) -> dict[str, Any]:
    own = {field.name: field.default for field in fields(kind)}
    return {**_defaults(HybridCut), **own} if kind is options.PartitionOptions else own


def limit_of(place: str) -> str:
    if place in meanings.RUN_FILE_LIMITS:
        return meanings.RUN_FILE_LIMITS[place]
    if place in NUMBERS:
        return NUMBERS[place]
    section, key = place.split(".")
    words = WORDS[place] if place in WORDS else literals(_type_of(section, key))
    if not words:
        raise ValueError(f"docs/meanings.py has no limits for [{section}] {key}")
    return ", ".join(f"`{word}`" for word in words)


def _type_of(section: str, key: str) -> Any:
    return PRIVACY[key].type if section == "privacy" else typing.get_type_hints(SECTIONS[section])[key]


def literals(hint: Any) -> list[str]:
    """The words that a type allows."""
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    return [word for part in typing.get_args(hint) for word in literals(part)]


def as_toml(value: Any) -> str:
    return f"`{str(value).lower() if isinstance(value, bool) else f'{value:g}' if isinstance(value, float) else value}`"


def tree_keys() -> str:
    """The keys of [trees]: parameters by the names of the estimators, and what else there is."""
    own = meanings.RUN_FILE["trees"]
    rows = [["key", "boosted", "forest", "value", "meaning"]]
    for key in tree_section.TREES:
        words = {"kind": ("boosted", "forest"), "objective": tree_section.OF_NUMBERS}.get(key)
        limit = ", ".join(f"`{word}`" for word in words) if words else str(LIMITS.get(key, ""))
        limit = limit or meanings.PARAMETER_LIMITS[key].replace("True or False", "true or false")
        rows.append([f"`{key}`", *tree_defaults(key), limit, own.get(key) or meanings.PARAMETERS[key]])
    return table(*rows)


def tree_defaults(key: str) -> tuple[str, str]:
    """Of boosted trees, and of a random forest."""
    if key in ("kind", "objective"):
        return ("`boosted`", "`forest`") if key == "kind" else ("`squared`", "`squared`, no other")
    if key == "min_cut_rows":
        return (f"`{LEAST_CUT_ROWS}`; alone and pooled `1`",) * 2
    parameters = dict(tree_section.PARAMETERS.values())
    usual = {**parameters, **{field.name: field.default for kind in (Goal, TreeParams) for field in fields(kind)}}[key]
    boosted = "" if usual in (None, ()) else as_toml(usual)
    if key in tree_section.NOT_FOR_FORESTS or key in parameters:
        return boosted, "-"
    return boosted, as_toml(round(tree_section.FOREST[key], 3)) if key in tree_section.FOREST else boosted


def policy() -> str:
    """Every rule of a policy with its default."""
    check_all("policies", [field.name for field in fields(Policy)], meanings.POLICY)
    rows = [[f"`{rule.name}`", rule_default(rule.default), meanings.POLICY[rule.name]] for rule in fields(Policy)]
    return table(["key", "default", "meaning"], *rows)


def rule_default(value: Any) -> str:
    return "" if value is None else as_toml(value)


def configuration() -> str:
    """Every key of FedTree's configuration files, and what becomes of it."""
    sort = {**dict.fromkeys(fedtree.TREES), **dict.fromkeys(fedtree.NO_EFFECT), **meanings.CONFIGURATION}
    check_all("FedTree's keys", fedtree_keys.ALIASES, sort)
    rows = [["key", "other names", "what becomes of it"]]
    for key, others in fedtree_keys.ALIASES.items():
        what = meanings.CONFIGURATION.get(key, "")
        if key in fedtree.TREES:
            name, default = fedtree.TREES[key]
            what = f"honoured as `{name}`; {default:g} if not given"
        elif key in fedtree.NO_EFFECT:
            what = f"noted, no effect: {fedtree.NO_EFFECT[key]}"
        rows.append([f"`{key}`", ", ".join(f"`{other}`" for other in others), what])
    return table(*rows)


def disclosed() -> str:
    """Every field of every message, who says it to whom, and how it travels."""
    rows = [["message", "direction", "passed on to", "field", "travels", "tells"]]
    last = ""
    for line in disclosures():
        way = [f"`{line.message}`", line.direction, line.passed_on_to] if line.message != last else [""] * 3
        rows.append([*way, f"`{line.field}`", line.how, line.tells])
        last = line.message
    return table(*rows)


def commands() -> str:
    """Every command with its arguments and options."""
    own = [[f"`--{name}`", option.help] for name, _, option, _ in options_of(cli._options)]
    parts = ["## hedgerow", "", table(["option", "meaning"], *own), ""]
    known = (cli.train, cli.plan, cli.baselines, cli.init, cli.check, cli.drive, cli.join, *MODEL_COMMANDS)
    for call in known:
        parts += command(f"hedgerow {call.__name__}", call)
    for group in (certs, audit, ledger):
        for call in group.COMMANDS:
            parts += command(f"hedgerow {group.__name__.rpartition('.')[2]} {call.__name__}", call)
    check_all("commands", [c.callback for c in cli.app.registered_commands], known)
    check_all("groups", [g.name for g in cli.app.registered_groups], ["certs", "audit", "ledger"])
    return "\n".join(parts)


def command(title: str, call: Any) -> list[str]:
    rows, arguments = [["option", "value", "meaning", "default"]], []
    for name, kind, option, default in options_of(call):
        if isinstance(option, OptionInfo):
            must = "must be given" if default is inspect.Parameter.empty else shown(default)
            rows.append([f"`{name_of(option, name)}`", value_of(option, kind), option.help, must])
        else:
            arguments.append([f"`{option.metavar or name.upper()}`", option.help])
    usage = " ".join([f"{title} [OPTIONS]" if len(rows) > 1 else title, *(row[0].strip("`") for row in arguments)])
    parts = [f"## {title}", "", inspect.getdoc(call) or "", "", f"```text\n{usage}\n```", ""]
    parts += [table(["argument", "meaning"], *arguments), ""]
    return [*parts, table(*rows), ""] if len(rows) > 1 else parts


def options_of(call: Any) -> list[tuple[str, Any, Any, Any]]:
    """Name, kind, typer's description and default of everything a command takes."""
    hints = typing.get_type_hints(call, include_extras=True)
    signature = inspect.signature(call).parameters
    names = [name for name in signature if hints[name] is not Context]
    return [(name, *typing.get_args(hints[name])[:2], signature[name].default) for name in names]


def name_of(option: Any, name: str) -> str:
    return next(iter(option.param_decls or ()), f"--{name.strip('_').replace('_', '-')}")


def value_of(option: Any, kind: Any) -> str:
    plain = next((part for part in typing.get_args(kind) if part is not type(None)), kind)
    plain = next(iter(typing.get_args(plain)), plain)  # of a list, what it holds
    if isinstance(plain, EnumType):
        return ", ".join(f"`{choice}`" for choice in plain)
    return f"`{option.metavar}`" if option.metavar else KINDS[plain]


def shown(default: Any) -> str:
    return "" if default is None or default is False else f"`{default}`"


def python(listed: str) -> str:
    """Signatures and docstrings of what is listed: a name in each line, and the members of it that are shown."""
    parts: list[str] = []
    for line in listed.splitlines():
        name, _, members = line.partition(":")
        thing, wanted = found(name), [member.strip() for member in members.split(",") if member.strip()]
        if inspect.ismodule(thing):
            parts += [inspect.getdoc(thing) or "", ""]
            parts += [text for member in wanted for text in described(f"{name}.{member}", getattr(thing, member))]
        else:
            parts += described(name, thing)
            parts += [*(described_member(thing, member) for member in wanted), ""]
    return re.sub("\n{3,}", "\n\n", "\n".join(parts))


def found(name: str) -> Any:
    """A module, or what is in one."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        return getattr(found(module), last)


def described(name: str, thing: Any) -> list[str]:
    bases = f"\n\nA `{thing.__bases__[0].__name__}`." if inspect.isclass(thing) and issubclass(thing, Exception) else ""
    call = "" if bases else f"```text\n{signature(name.rpartition('.')[2], thing)}\n```\n\n"
    return [f"### {name}", "", f"{call}{inspect.getdoc(thing)}{bases}", ""]


def described_member(owner: type, name: str) -> str:
    """A method or property as an entry of a list."""
    member = inspect.getattr_static(owner, name, None)
    said = attributes(owner).get(name) or inspect.getdoc(getattr(owner, name))
    callable_ = not isinstance(member, property) and callable(getattr(owner, name, None))
    head = signature(name, getattr(owner, name), width=10_000) if callable_ else name
    return f"- `{head}`: " + textwrap.indent(said, "  ").strip()


def attributes(owner: type) -> dict[str, str]:
    """What stands below the fields of a class."""
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0].body
    return {
        field.target.id: inspect.cleandoc(below.value.value)
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr)
    }


def signature(name: str, thing: Any, width: int = 110) -> str:
    """How it is called, without types."""
    known = inspect.signature(thing)
    plain = [p.replace(annotation=p.empty) for p in known.parameters.values() if p.name not in ("self", "cls")]
    whole = name + str(known.replace(parameters=plain, return_annotation=known.empty))
    return "\n".join(textwrap.wrap(whole, width, subsequent_indent="    ", break_on_hyphens=False))


FILLED = {
    "parameters": parameters,
    "commands": commands,
    "disclosures": disclosed,
    "run file": run_file,
    "policy": policy,
    "FedTree's keys": configuration,
}
MARKED = re.compile(r"(<!-- from the code: ([^\n]*?)(?:\n(.*?)\n| )-->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = Path(__file__).parent


def filled(page: str) -> str:
    """A page with what the code says between its marks."""

    def made(mark: re.Match[str]) -> str:
        text = python(mark[3]) if mark[2] == "python" else FILLED[mark[2]]()
        return f"{mark[1]}\n{text.strip()}\n\n{mark[4]}"

    return MARKED.sub(made, page)


def main() -> None:
    """Write every page anew that differs."""
    for page in sorted(PAGES.rglob("*.md")):
        text = page.read_text()
        if (new := filled(text)) != text:
            page.write_text(new)


if __name__ == "__main__":
    main()
