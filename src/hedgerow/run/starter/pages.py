"""What each party reads first: what is in its folder, and the commands that it runs."""

from hedgerow.run.starter.choices import Choices
from hedgerow.run.starter.run_text import DRIVER

OWN_POLICY = """# This party's own rules: a run that asks for more than they allow is refused. Nobody else sees them.
# All keys: `hedgerow` documentation, "write a policy". Without a line the strictest rule holds.
most_trees = {most_trees}
"""
TWO = "# With two parties, each can subtract its own sums from the total and so learns the other's.\nallow_two = true\n"


def policy_text(choices: Choices, most_trees: int) -> str:
    """The rules that allow this run and little more."""
    return OWN_POLICY.format(most_trees=most_trees) + (TWO if choices.two else "")


def page_of(choices: Choices, name: str, folder: str) -> str:
    """A party's page."""
    return "\n".join(
        [
            f"# {choices.name}: {name}",
            "",
            *_inside(choices, name),
            *_keys(choices, name),
            *_steps(choices, name, folder),
        ]
    )


def _inside(choices: Choices, name: str) -> list[str]:
    """What lies in the folder."""
    rows = ["- `run.toml`: the run, the same at every party", "- `ca.pem`: who signed everybody's certificates"]
    if not choices.own_keys:
        rows.append(f"- `{name}.pem`, `{name}.key`: the certificate, and its key, which nobody else may have")
    if name != choices.drives:
        rows.append("- `policy.toml`: your own rules")
    return ["This folder holds", "", *rows, ""]


def _keys(choices: Choices, name: str) -> list[str]:
    if not choices.own_keys:
        return []
    host = f" --host {choices.host}" if name == choices.drives else ""
    return [
        f"First make a key, which never leaves you, and send `{name}.csr` to whoever set this up. You get the",
        f"certificate `{name}.pem` back, and `run.toml` with everybody's fingerprint:",
        "", "```sh", f"hedgerow certs request . {name}{host}", "```", "",
    ]  # fmt: skip


def _steps(choices: Choices, name: str, folder: str) -> list[str]:
    own = f"--cert {name}.pem --key {name}.key"
    data = "" if name == DRIVER else " --data YOUR-DATA.csv"
    rules = "" if name == choices.drives else " --policy policy.toml"
    if name == choices.drives:
        start, wait = f"hedgerow drive run.toml{data} {own}", "Start it at any time; it waits for the others."
    else:
        start = f"hedgerow join run.toml --as {name}{data} {own}{rules}"
        wait = "Start it at any time, before or after the driver. If it is stopped, the same command goes on."
    return [
        "Then, in this folder:", "", "```sh",
        f"hedgerow check run.toml --as {name}{data} {own}{rules}", start, f"hedgerow report {folder}", "```", "",
        "The first looks whether all is in order before anybody waits for anybody: data, certificate, rules, the way",
        f"to the driver. The second takes part in the run. {wait} The third writes a page about what came of it.", "",
        "`hedgerow plan run.toml` says what everybody will learn, and ends with a hash. Compare it with the others, by",
        "telephone for example: if it is the same, all have the same run.", "",
    ]  # fmt: skip


def overview(choices: Choices) -> str:
    """The page of whoever set it up: what to send to whom."""
    lines = [f"# {choices.name}", "", f"A {choices.method} run of {', '.join(choices.parties)}.", ""]
    lines += ["| folder | whose | sent over |", "| --- | --- | --- |"]
    secret = "a secure channel: it holds a key" if not choices.own_keys else "any channel"  # words
    lines += [f"| `{name}/` | {_whose(choices, name)} | {secret} |" for name in choices.everybody]
    lines += ["| `ca/` | yours alone | nobody: who has `ca.key` can make certificates in any name |", ""]
    if choices.own_keys:
        lines += [
            "Each party sends you a request, `NAME.csr`. Sign all at once, which also writes their fingerprints",
            "into the run files here; then send each party its folder, with `ca/NAME.pem` as `NAME.pem` in it:", "",
            "```sh", "hedgerow certs sign ca *.csr --run '*/run.toml'", "```", "",
        ]  # fmt: skip
    return "\n".join([*lines, "Each folder has a README with the commands to run there."]) + "\n"


def _whose(choices: Choices, name: str) -> str:
    if name == DRIVER:
        return "the driver's, who has no data; others dial it"
    return f"{name}'s, who has the labels and drives; others dial it" if name == choices.active else f"{name}'s"
