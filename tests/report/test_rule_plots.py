"""The picture of the meta-rule measure shows the figures it is given."""

import pytest

from hedgerow.model.meta_rules import Fixed, MetaRules
from hedgerow.report.pictures.rules import meta_rule_picture
from hedgerow.report.plots import save_picture


def measure(passive, shuffled):
    return MetaRules(Fixed(0.0, passive, 9), Fixed(0.0, shuffled, 9))


def test_bars_are_means_and_points_the_measures():
    found = {"one": [measure(0.2, 0.1), measure(0.4, 0.1)], "two": [measure(0.6, 0.3)]}
    ax = meta_rule_picture(found, claimed=0.9)
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([0.3, 0.6, 0.1, 0.3])
    points = [line.get_ydata() for line in ax.lines]
    assert [list(map(float, some)) for some in points[:4]] == [[0.2, 0.4], [0.6], [0.1, 0.1], [0.3]]
    assert list(points[4]) == [0.9, 0.9]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["one", "two"]


def test_the_axes_given_are_drawn_on(tmp_path):
    ax = meta_rule_picture({"one": [measure(0.2, 0.1)]})
    assert meta_rule_picture({"two": [measure(0.2, 0.1)]}, ax) is ax
    save_picture(ax, tmp_path / "rules.png")
    assert (tmp_path / "rules.png").stat().st_size > 1000
