"""`python -m benchmarks.dp_plots ROWS.json FOLDER`: draws the rows of `python -m benchmarks dp --json`."""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.dp_accuracy import SHEET

DOTS = 90
LINES = {
    "auto": ("C0", "o", "-", "auto, five parties"),
    "DP-EBM": ("C1", "s", "-", "DP-EBM"),
    "no privacy": ("0.4", "", "--", "no privacy"),
    "bar": ("C3", "_", ":", "bar"),
}
"""Colour, marker, line and words of each figure."""


def draw(rows: list[dict[str, Any]], folder: Path) -> Path | None:
    """Accuracy against epsilon, a panel for each set; None where there are no such rows."""
    found = [row for row in rows if row.get("sheet") == SHEET]
    names = list(dict.fromkeys(row["name"].partition(":")[0] for row in found))
    if not names:
        return None
    figure, axes = plt.subplots(1, len(names), figsize=(3.1 * len(names), 3.0), squeeze=False, layout="constrained")
    for ax, name in zip(axes[0], names, strict=True):
        _panel(ax, name, [row["figures"] for row in found if row["name"].startswith(f"{name}:")])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(LINES), fontsize=8, frameon=False)
    path = folder / "dp-accuracy.png"
    figure.savefig(path, dpi=DOTS)
    plt.close(figure)
    return path


def _panel(ax: Axes, name: str, found: list[dict[str, Any]]) -> None:
    epsilons = [each["epsilon"] for each in found]
    for figure, (colour, marker, line, label) in LINES.items():
        known = [(epsilon, each[figure]) for epsilon, each in zip(epsilons, found, strict=True) if each[figure]]
        ax.plot(
            *zip(*known, strict=True) if known else ((), ()), color=colour, marker=marker, ls=line, label=label, ms=4
        )
    ax.set_xscale("log")
    ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    ax.minorticks_off()
    ax.set_title(name, fontsize=9)
    ax.set_xlabel("epsilon", fontsize=8)
    ax.set_ylabel("test RMSE (rings scaled to 0..1)" if name == "abalone" else "test AUC", fontsize=8)
    ax.tick_params(labelsize=8)


def main() -> int:
    """Reads the rows and says what was drawn."""
    if len(sys.argv) != 3:
        print("Give the file of rows and the folder for pictures.", file=sys.stderr)
        return 2
    path = draw(json.loads(Path(sys.argv[1]).read_text())["rows"], Path(sys.argv[2]))
    print(path or "There are no rows of accuracy by epsilon.")
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main())
