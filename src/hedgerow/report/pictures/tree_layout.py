"""Where the boxes of a drawn tree lie: levels from left to right, leaves from top to bottom."""

from dataclasses import dataclass

from hedgerow.model.model import Model
from hedgerow.report.tree_text import plain, question, short

LONGEST_NAME = 26


@dataclass
class Box:
    """A node: its level, its place from top to bottom, what it says, and where its edge comes from."""

    node: int
    level: int
    y: float
    text: str
    value: float | None
    """A leaf's value; None for a cut, or a branch that is not drawn."""
    parent: "Box | None"
    branch: str
    share: float = 1.0
    """Of the rows of the tree, by their weight in training (hessians)."""
    owner: str = ""
    """Whose column a cut is of, in a model over several parties' columns."""

    @property
    def cuts(self) -> bool:
        """Whether it asks a question of a row."""
        return "\n" in self.text


def laid_out(model: Model, tree: int, levels: int) -> list[Box]:
    """Boxes with parents before children; leaves one below the other, a cut midway between its children."""
    boxes: list[Box] = []
    to_come: list[tuple[int, Box | None, str]] = [(int(model.forest.roots[tree]), None, "")]
    n_ends = 0
    while to_come:
        node, parent, branch = to_come.pop()
        level = 0 if parent is None else parent.level + 1
        box = _box(model, node, level, levels, parent, branch)
        box.share = float(model.forest.covers[node]) / (float(model.forest.covers[model.forest.roots[tree]]) or 1.0)
        box.owner = owner_of(model, node) if box.cuts else ""
        boxes.append(box)
        if model.forest.columns[node] < 0 or level >= levels:
            box.y, n_ends = n_ends, n_ends + 1
            continue
        left = int(model.forest.children[node])
        yes, no = ("yes, missing", "no") if model.forest.missing_left[node] else ("yes", "no, missing")
        to_come += [(left + 1, box, no), (left, box, yes)]
    places: dict[int, list[float]] = {}
    for box in reversed(boxes):
        if box.node in places:
            box.y = sum(places[box.node]) / 2
        if box.parent is not None:
            places.setdefault(box.parent.node, []).append(box.y)
    return boxes


def _box(model: Model, node: int, level: int, levels: int, parent: Box | None, branch: str) -> Box:
    forest = model.forest
    if forest.columns[node] < 0:
        value = float(forest.values[node])
        return Box(node, level, 0.0, short(value), value, parent, branch)
    if level >= levels:
        return Box(node, level, 0.0, f"... {_count_leaves(model, node)} leaves", None, parent, branch)
    name = plain(model.columns[forest.columns[node]].name)
    own = owner_of(model, node).partition(", ")[0]
    if own and name.startswith(f"{own}:"):  # a column that is known by its number
        return Box(node, level, 0.0, f"column {name.removeprefix(f'{own}:')}\ncut by its owner", None, parent, branch)
    asked = question(model, node, most=3, exact=False).removeprefix(name).strip()
    return Box(node, level, 0.0, f"{shortened(name)}\n{shortened(asked)}", None, parent, branch)


def owner_of(model: Model, node: int) -> str:
    """Whose column a node cuts; of columns that several have, all of them."""
    own, column = model.ownership, int(model.forest.columns[node])
    if own is None or column < 0:
        return ""
    first = next((name for name, _ in own.columns if own.span(name)[0] <= column < own.span(name)[1]), own.active)
    return ", ".join(next((group for group in own.groups if first in group), (first,)))


def _count_leaves(model: Model, node: int) -> int:
    to_come, leaves = [node], 0
    while to_come:
        node = to_come.pop()
        if model.forest.columns[node] < 0:
            leaves += 1
        else:
            left = int(model.forest.children[node])
            to_come += [left, left + 1]
    return leaves


def shortened(text: str) -> str:
    """A name that fits into a box."""
    text = plain(text)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
