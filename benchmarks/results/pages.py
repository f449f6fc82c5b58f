# ruff: noqa: E501  # sentences of pages
"""All pages: the first one with the machine and what is where, and one for each paper."""

from pathlib import Path

from benchmarks import hybrid_plots
from benchmarks.results import data_sets, fed_eini, fedtree, hybridtree, methods_page
from benchmarks.results.page import Page, grid
from benchmarks.results.parts import PARTS
from benchmarks.results.record import Record, Records

PAGES: tuple[Page, ...] = (fedtree.PAGE, hybridtree.PAGE, fed_eini.PAGE, methods_page.PAGE, data_sets.PAGE)

ABOUT = """# Results

What the papers on FedTree, HybridTree and Fed-EINI print, measured here with the same settings, beside the published figures. `make bench` measures what
is missing and writes these pages from the files in `docs/results/data`; nothing on them is typed by hand. `python -m benchmarks results --list` tells what
is kept and how long the rest takes, `--parts fedtree --again` measures a part anew. A fourth paper, on horizontal SecureBoost, prints no figures.

Scores can be compared with the published ones; seconds cannot, for machines differ: what counts is the multiple of another way in the same run. Seconds
that were measured while something else kept the machine busy are left out. Where a score is further than .005 from the published
one, a sentence below the table says why, as far as it is known."""


def write_pages(records: Records, folder: Path) -> None:
    """All of them, from what is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.md").write_text(index(records))
    for page in PAGES:
        (folder / f"{page.file}.md").write_text(page.markdown(records))
    draw(records, folder)


def draw(records: Records, folder: Path) -> None:
    """The figures of which something is kept."""
    rows = [row for record in records.of("hybridtree-figures") for row in record.rows]
    hybrid_plots.draw(rows, folder)


def index(records: Records) -> str:
    """The first page."""
    links = "".join(f"- [{page.title}]({page.file}.md)\n" for page in PAGES)
    every = [record for part in PARTS for record in records.of(part)]
    return f"{ABOUT}\n\n{links}\n## The machine\n\n{machines(every)}\n## What is measured\n\n{measured(records)}"


def machines(every: list[Record]) -> str:
    """What everything ran on."""
    found: dict[str, list[Record]] = {}
    for record in every:
        told = record.machine
        versions = ", ".join(f"{name} {version}" for name, version in told["versions"].items())
        sentence = f"{told['cpu']}, {told['cores']} cores, Python {told['python']}, {versions}"
        found.setdefault(sentence, []).append(record)
    if not found:
        return "Nothing is measured yet.\n"
    lines = []
    for sentence, some in found.items():
        days = sorted({record.day for record in some})
        lines.append(f"- {sentence}; measured on {days[0]}{'' if len(days) == 1 else f' to {days[-1]}'}")
    return "\n".join(lines) + "\n"


def measured(records: Records) -> str:
    """A line for every part."""
    rows = []
    for name, part in PARTS.items():
        there = [records.get(name, each) for each in part.sets]
        done = sum(record is not None for record in there)
        quiet = sum(record is not None and record.quiet for record in there)
        rows.append((name, part.title, f"{done} of {len(part.sets)}", f"{quiet} of {done}" if part.timed else "none"))
    return grid(("part", "what", "sets measured", "with seconds"), rows)
