"""`python -m benchmarks.hybrid_plots ROWS.json FOLDER`: draws the rows of `python -m benchmarks hybrid --json`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.hybrid_figures import BY_PARTIES, BY_SKEW
from benchmarks.hybrid_sets import SETS
from hedgerow.report.pictures.canvas import BLUE, GREEN, PINK, RED

LINES = {
    "shared": (BLUE, "o", "-", "shared (default)"),
    "5+2": (RED, "s", "--", "HybridTree, 5+2"),
    "whole trees": (PINK, "^", "-.", "whole trees"),
    "pooled": ("0.3", "", "-", "pooled"),
    "alone": ("0.6", "", ":", "alone"),
}
"""Colour, marker, dashes and words of each way."""
BAND = ("two-party least", "most")
DOTS = 90

Row = dict[str, Any]


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """A picture of each sheet that has one."""
    skewed = _of(rows, BY_SKEW)
    pictures = {"hybrid-parties": [(_of(rows, BY_PARTIES), "parties", "passive parties", "")]}
    for name in ("alike", "even"):
        alike = [row for row in skewed if row["figures"]["test rows"] == name]
        pictures.setdefault("hybrid-skew", []).append(
            (alike, "beta", "beta (left: more skewed)", f", test rows {name}")
        )
    out = []
    for name, sheets in pictures.items():
        if any(sheet[0] for sheet in sheets):
            out.append(folder / f"{name}.png")
            _picture([sheet for sheet in sheets if sheet[0]], out[-1])
    return out


def _of(rows: Sequence[Row], sheet: str) -> list[Row]:
    return [row for row in rows if row.get("sheet") == sheet]


def _picture(sheets: list[tuple[list[Row], str, str, str]], path: Path) -> None:
    names = list(dict.fromkeys(row["name"].partition(":")[0] for row in sheets[0][0]))
    wide = max(3.1 * len(names), 4.6)
    figure, axes = plt.subplots(
        len(sheets), len(names), figsize=(wide, 2.6 * len(sheets)), squeeze=False, layout="constrained"
    )
    for across, (rows, key, label, more) in zip(axes, sheets, strict=True):
        for ax, name in zip(across, names, strict=True):
            _panel(ax, [row["figures"] for row in rows if row["name"].startswith(name + ":")], key)
            ax.set_title(name + more, fontsize=9)
            ax.set_xlabel(label, fontsize=8)
            ax.set_ylabel(SETS[name].metric, fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=6 if len(names) > 2 else len(names) + 1,
        fontsize=8,
        frameon=False,
    )
    figure.savefig(path, dpi=DOTS)
    plt.close(figure)


def _panel(ax: Axes, found: list[dict[str, Any]], key: str) -> None:
    x = [each[key] for each in found]
    for way, (colour, marker, dashes, label) in LINES.items():
        ax.plot(x, [each[way] for each in found], color=colour, marker=marker, ls=dashes, ms=4, lw=1.4, label=label)
    low, high = ([each[end] for each in found] for end in BAND)
    ax.fill_between(x, low, high, color=GREEN, alpha=0.3, lw=0, label="two-party, least to most")
    ax.set_xscale("log")
    ax.set_xticks(x, [f"{each:g}" for each in x])
    ax.minorticks_off()
    ax.tick_params(labelsize=8)


def main() -> int:
    """Reads the rows and says what was drawn."""
    if len(sys.argv) != 3:
        print("Give the file of rows and the folder for pictures.", file=sys.stderr)
        return 2
    for path in draw(json.loads(Path(sys.argv[1]).read_text())["rows"], Path(sys.argv[2])):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
