"""Pictures of quality: they take a model and rows, return axes, and are told apart without colour."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn import datasets, metrics

from hedgerow import GBDTClassifier, GBDTRegressor, Table, plots
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.own_quality import judge
from hedgerow.report.pictures.canvas import COLOURS, DASHES, MARKS
from hedgerow.report.pictures.traffic import plot_bytes, plot_phases

OF_TWO = (plots.plot_roc, plots.plot_precision_recall, plots.plot_calibration, plots.plot_ks, plots.plot_confusion)


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "pays", "$late$")
    fitted = GBDTClassifier(n_estimators=6, max_depth=3).fit(Table.of(X[:200], y[:200], names=["a", "b", "c"]))
    return fitted, Table.of(X[200:], y[200:], names=["a", "b", "c"])


@pytest.fixture(scope="module")
def three():
    X, y = datasets.load_iris(return_X_y=True)
    return GBDTClassifier(n_estimators=2, max_depth=2).fit(X, y), (X, y)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("plot", OF_TWO)
def test_a_fitted_estimator_its_model_and_counts_of_rows_give_the_same_picture(two, plot):
    fitted, table = two
    ax = Figure().subplots()
    assert plot(fitted, table, ax) is ax
    same = [plot(fitted.model_, table), plot(None, judge(fitted.model_, table, "test"))]
    for other in same:
        assert [line.get_xydata().tolist() for line in other.lines] == [line.get_xydata().tolist() for line in ax.lines]
        assert [text.get_text() for text in other.texts] == [text.get_text() for text in ax.texts]


def test_the_legend_has_the_exact_area(two):
    fitted, table = two
    exact = metrics.roc_auc_score(table.labels == "pays", fitted.predict_proba(table)[:, 1])
    assert legend(plots.plot_roc(fitted, table)) == [f"pays: AUC {exact:.3f}"]


def test_curves_of_several_classes_differ_in_colour_dashes_and_marks(three):
    fitted, rows = three
    for plot in (plots.plot_roc, plots.plot_precision_recall, plots.plot_calibration):
        lines = [line for line in plot(fitted, rows).lines if line.get_marker() != "None"]
        for looks in ("get_color", "get_linestyle", "get_marker"):
            assert len({getattr(line, looks)() for line in lines}) == 3, f"{plot.__name__} {looks}"
    assert len(set(COLOURS)) == len(set(map(str, DASHES))) == len(set(MARKS)) == 6


def test_a_confusion_matrix_has_a_number_for_every_pair(three):
    fitted, (X, y) = three
    texts = [text.get_text() for text in plots.plot_confusion(fitted, (X, y)).texts]
    assert [int(text.split()[0]) for text in texts] == metrics.confusion_matrix(y, fitted.predict(X)).ravel().tolist()


def test_curves_that_there_are_not_are_refused(two, three):
    with pytest.raises(ParameterError, match="KS statistic is of two classes; there are 3"):
        plots.plot_ks(*three)
    X = np.arange(60.0).reshape(-1, 1)
    numbers = GBDTRegressor(n_estimators=2).fit(X, X[:, 0])
    with pytest.raises(ParameterError, match="ROC curves are of classes: numbers have none"):
        plots.plot_roc(numbers, (X, X[:, 0]))
    with pytest.raises(ParameterError, match="confusion matrix is of 2 to 12 classes; there are 0"):
        plots.plot_confusion(numbers, (X, X[:, 0]))
    assert len(plots.plot_calibration(numbers, (X, X[:, 0])).lines) == 2
    with pytest.raises(DataError, match="no labels to compare"):
        plots.plot_roc(two[0], Table.of(np.zeros((3, 3)), names=["a", "b", "c"]))
    with pytest.raises(ParameterError, match="not of a str"):
        plots.plot_roc("model", two[1])


def test_a_learning_curve_has_a_line_for_the_history_and_for_each_table(two):
    _, table = two
    again = GBDTClassifier(n_estimators=4).fit(table, eval_set=(table, table.labels))
    ax = plots.plot_learning_curve(again, {"training": table})
    assert legend(ax) == ["validation rows", "training rows"]
    held_out, training = (ax.lines[i].get_ydata() for i in (0, 1))
    assert held_out == pytest.approx(training, abs=1e-6), "the same rows"


def test_a_comparison_has_a_bar_for_each_model_and_its_number():
    figures = {"alone bank": 0.71, "together": 0.83, "pooled": 0.84}
    ax = plots.plot_comparison(figures, "auc")
    assert [bar.get_x() + bar.get_width() for bar in ax.patches] == pytest.approx(list(figures.values()))
    assert [text.get_text() for text in ax.texts] == ["0.71", "0.83", "0.84"]
    assert len({bar.get_hatch() for bar in ax.patches}) == 3
    with pytest.raises(ParameterError, match="nothing to compare"):
        plots.plot_comparison({}, "auc")


def test_bytes_are_pairs_of_bars_in_one_unit():
    ax = plot_bytes({"a": (2_000_000, 10), "b": (1, 3_000_000)})
    assert ax.get_title(loc="left") == "MB to and from each party"
    assert sorted(bar.get_width() for bar in ax.patches) == pytest.approx([1e-6, 1e-5, 2, 3])
    assert len({bar.get_hatch() for bar in ax.patches}) == 2
    assert len(plot_phases({"joining": 0.5, "growing trees": 2}).patches) == 2
