"""Pictures of models."""

import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hedgerow import ForestRegressor, GBDTClassifier, NoPrivacy, Table, Vertical, partition, plots
from hedgerow.errors import MissingExtra, ModelError, ParameterError
from hedgerow.model.model import Model


@pytest.fixture(scope="module")
def model() -> Model:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    table = Table.of(X, y, names=["width $x^2$", "height", "a name much too long for the box of a cut in a picture"])
    fitted = GBDTClassifier(n_estimators=6, max_depth=4, eval_metric="auc").fit(table, y, eval_set=(table, y))
    return fitted.model_


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_a_tree_has_a_box_for_every_node_and_an_answer_for_every_edge(model: Model) -> None:
    ax = plots.plot_tree(model, 2)
    start, end = model.forest.roots[2:4]
    cuts = int((model.forest.columns[start:end] >= 0).sum())
    answers = [text for text in texts(ax) if text.startswith(("yes", "no"))]
    assert len(answers) == 2 * cuts
    assert len(texts(ax)) - len(answers) == end - start


def test_every_edge_of_a_cut_is_answered_and_one_of_them_takes_missing_values(model: Model) -> None:
    answers = [text for text in texts(plots.plot_tree(model, 0)) if text.startswith(("yes", "no"))]
    assert sum("missing" in answer for answer in answers) == len(answers) / 2


def test_boxes_of_one_level_do_not_overlap(model: Model) -> None:
    ax = plots.plot_tree(model, 0)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts if not text.get_text().startswith(("yes", "no"))]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_long_names_are_cut_short(model: Model) -> None:
    assert max(len(line) for text in texts(plots.plot_tree(model, 0)) for line in text.splitlines()) <= 26


def test_a_deep_tree_is_drawn_to_its_first_levels_and_the_rest_counted() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    model = ForestRegressor(n_estimators=1).fit(X, X[:, 0] * X[:, 1]).model_
    ax = plots.plot_tree(model, 0, levels=2)
    ends = [text for text in texts(ax) if "\n" not in text and not text.startswith(("yes", "no"))]
    counted = [int(text.split()[1]) for text in ends if text.startswith("...")]
    assert counted
    assert sum(counted) + len(ends) - len(counted) == int((model.forest.columns < 0).sum())


def test_importances_are_bars_of_their_shares(model: Model) -> None:
    ax = plots.plot_importance(model, "split")
    assert [bar.get_width() for bar in ax.patches] == [share for share in model.importances("split").values() if share]


def test_an_unknown_kind_of_importance_is_refused(model: Model) -> None:
    with pytest.raises(ParameterError, match="gain, split or cover; it is 'weight'"):
        plots.plot_importance(model, "weight")  # type: ignore[arg-type]


def test_the_history_is_a_line_over_rounds_with_the_best_marked(model: Model) -> None:
    ax = plots.plot_learning_curve(model, first_round=11)
    line, best = ax.lines
    assert list(line.get_xdata()) == list(range(11, 17))
    assert tuple(line.get_ydata()) == model.history
    assert list(best.get_ydata()) == [max(model.history)]


def test_a_model_without_a_history_has_no_picture_of_it() -> None:
    X = np.arange(20.0).reshape(-1, 1)
    with pytest.raises(ParameterError, match="no history; train it with held-out rows"):
        plots.plot_learning_curve(ForestRegressor(n_estimators=1).fit(X, X[:, 0]).model_)


def test_axes_that_are_given_are_drawn_on(model: Model) -> None:
    left, right = Figure(figsize=(8, 4)).subplots(1, 2)
    assert plots.plot_tree(model, 0, left) is left
    assert plots.plot_importance(model, "gain", right) is right


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_a_picture_is_written_in_the_format_of_its_suffix(model: Model, tmp_path: Path, name: str) -> None:
    plots.save_picture(plots.plot_model(model), tmp_path / name)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[2:]]
    assert (tmp_path / name).read_bytes().startswith(start)


def test_pictures_leave_nothing_in_pyplot(model: Model, tmp_path: Path) -> None:
    plots.save_picture(plots.plot_tree(model, 0), tmp_path / "a.png")
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_an_unknown_suffix_is_refused(model: Model, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"must end in \.png, \.svg or \.pdf"):
        plots.save_picture(plots.plot_tree(model, 0), tmp_path / "a.bmp")


def test_a_picture_that_cannot_be_written_is_told(model: Model, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Cannot write"):
        plots.save_picture(plots.plot_tree(model, 0), tmp_path / "nowhere" / "a.png")


def test_without_matplotlib_the_error_says_what_to_install(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'hedgerow\[plots\]'"):
        plots.plot_tree(model, 0)


def test_a_tree_over_parties_tells_whose_each_cut_is_by_letter_and_colour() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    whole = Table.of(X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int), names=list("abcd"))
    parties = partition.columns(whole, n=2)
    plain = Vertical(active="party1", privacy=NoPrivacy(i_accept_disclosure=True))
    fitted = GBDTClassifier(n_estimators=2, max_depth=3, min_cut_rows=5, federation=plain).fit(parties)
    ax = plots.plot_tree(fitted, 0)
    cut = fitted.model_.forest.columns[: fitted.model_.forest.roots[1]]
    letters = sorted(text for text in texts(ax) if text in ("A", "B"))
    assert letters == sorted("A" if column < 2 else "B" for column in cut[cut >= 0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["A: party1", "B: party2"]


def test_branches_have_the_share_of_the_rows_that_take_them(model: Model) -> None:
    first = model.forest.children[0]
    shares = [f"{model.forest.covers[first + side] / model.forest.covers[0]:.0%}" for side in (0, 1)]
    said = [text.split()[-1] for text in texts(plots.plot_tree(model, 0)) if text.startswith(("yes", "no"))]
    assert set(shares) <= set(said)
