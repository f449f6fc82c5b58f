"""What all pictures have in common: colours, axes, files. The only place that knows matplotlib.

Figures are made without pyplot: nothing stays behind in a global list, and no window is opened. Colours are those of
Okabe and Ito, which are told apart without colour vision; what is told apart by colour differs in its line or mark too.
"""

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import MissingExtra, ParameterError
from hedgerow.model.file import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, LINE, PALE = "#26323a", "#8a97a0", "#eef1f3"
BLUE, ORANGE, GREEN, RED, SKY, PINK = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7"
COLOURS = (BLUE, RED, GREEN, PINK, ORANGE, SKY)
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKS = ("o", "s", "^", "D", "v", "P")
HATCHES = ("", "//", "..", "xx", "\\\\", "++")
FONT_SIZE, TITLE_SIZE = 9.0, 10.5
REMARKS = re.compile(rb"<!--.*?-->", re.DOTALL)
"""In an SVG, each text once more as it was given."""
SUFFIXES = (".png", ".svg", ".pdf")
SETTINGS = {"svg.hashsalt": "hedgerow", "svg.fonttype": "path"}
"""The same picture has the same bytes; text is drawn, so that no font need be there."""


def matplotlib() -> Any:
    """The library, with what is used of it."""
    try:
        import matplotlib as library
        import matplotlib.backends.backend_agg
        import matplotlib.figure
        import matplotlib.patches
        import matplotlib.path
    except ImportError:
        raise MissingExtra("Pictures need matplotlib; run: pip install 'hedgerow[plots]'") from None
    return library


def new_figure(width: float, height: float) -> "Figure":
    """A figure of this size in inches."""
    library = matplotlib()
    figure: Figure = library.figure.Figure(figsize=(width, height))
    library.backends.backend_agg.FigureCanvasAgg(figure)
    return figure


def new_axes(width: float, height: float, left: float = 0.05, below: float = 0.05) -> "Axes":
    """Axes of this size in inches, in a figure with room for a title."""
    whole_width, whole = width + left + 0.1, height + below + 0.4
    figure = new_figure(whole_width, whole)
    return figure.add_axes((left / whole_width, below / whole, width / whole_width, height / whole))


def set_title(ax: "Axes", text: str) -> None:
    """What the axes show, above them at the left."""
    ax.set_title(text, loc="left", color=INK, fontsize=TITLE_SIZE, parse_math=False)


def dress(ax: "Axes", title: str, across: str = "", up: str = "", grid: str = "both") -> None:
    """The common looks of axes with numbers on them."""
    set_title(ax, title)
    ax.set_xlabel(across, color=INK, fontsize=FONT_SIZE, parse_math=False)
    ax.set_ylabel(up, color=INK, fontsize=FONT_SIZE, parse_math=False)
    ax.tick_params(labelsize=FONT_SIZE, labelcolor=INK, color=LINE)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LINE)
    if grid:
        ax.grid(axis=grid, color=PALE, zorder=0)  # type: ignore[arg-type]  # both, x or y
    ax.set_axisbelow(True)


def add_legend(ax: "Axes", **where: Any) -> None:
    """Names of the lines, without mathematics in them."""
    legend = ax.legend(fontsize=FONT_SIZE, frameon=False, labelcolor=INK, **where)
    for text in legend.get_texts():
        text.set_parse_math(False)


def save_picture(picture: "Axes | Figure", path: str | os.PathLike[str]) -> None:
    """Write a picture as PNG, SVG or PDF, told by the suffix; the file appears whole or not at all."""
    path = Path(path)
    check_suffix(path)
    write_whole(path, content_of(picture, path.suffix.lower()[1:]))


def content_of(picture: "Axes | Figure", kind: str) -> bytes:
    """A picture as a file's bytes: png, svg or pdf."""
    figure: Any = picture if hasattr(picture, "savefig") else picture.figure
    library = matplotlib()
    library.backends.backend_agg.FigureCanvasAgg(figure)
    content = io.BytesIO()
    about = {"Date": None} if kind == "svg" else {}
    with library.rc_context(SETTINGS):
        figure.savefig(content, format=kind, dpi=110, facecolor="white", bbox_inches="tight", metadata=about)
    return REMARKS.sub(b"", content.getvalue()) if kind == "svg" else content.getvalue()


def check_suffix(path: Path) -> None:
    """Refuse a kind of picture that cannot be written, or all of them where matplotlib is absent."""
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(f"The picture {path} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    matplotlib()
