"""Options of a method: one frozen object each, which a plan carries; its words are compared in one place only."""

import ast
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from hedgerow.agreement import options
from hedgerow.agreement.options import (
    Horizontal,
    Lattice,
    Method,
    NoPrivacy,
    Paillier,
    Prediction,
    SealedPrediction,
    SecureAggregation,
    Vertical,
    WholeTrees,
)
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.errors import ParameterError, ProtocolError
from hedgerow.run.file.method import METHODS, PROTECTIONS
from hedgerow.run.forecast.cost import FORECASTS
from hedgerow.run.forecast.disclosures import LEAKS, MESSAGES
from hedgerow.trees.params import TreeParams

SOURCE = Path(options.__file__).parents[1]
PARSED = {"agreement/options.py", "run/file"}
"""Where words are read: the options themselves, and the files that parse to them."""
LITERALS = (options.CutPoints, options.Columns, options.ColumnNames, options.Align, options.OnLoss, options.Order)
WORDS = {*METHODS, *PROTECTIONS, options.PREDICT, *(word for literal in LITERALS for word in get_args(literal))}


def compared(text: str) -> list[tuple[int, str]]:
    """Where a word of a method is compared with something, or looked for among others."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            constants = [each for side in (node.left, *node.comparators) for each in ast.walk(side)]
            found += [(node.lineno, c.value) for c in constants if isinstance(c, ast.Constant) and c.value in WORDS]
        if isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant) and node.value.value in WORDS:
            found.append((node.value.lineno, node.value.value))
    return found


def test_no_words_of_methods_are_compared_but_where_they_are_parsed():
    found = {}
    for file in SOURCE.rglob("*.py"):
        name = file.relative_to(SOURCE).as_posix()
        if not any(name.startswith(place) for place in PARSED) and (places := compared(file.read_text())):
            found[name] = places
    assert found == {}


@pytest.mark.parametrize(
    "text",
    ['a = plan.method == "vertical"', 'a = x in ("bagging", "sequential")', 'a = "plain" != p', "b = 'wait' in d"],
)
def test_the_search_finds_every_way_of_comparing(text):
    assert compared(text)


PLAIN = NoPrivacy(i_accept_disclosure=True)
EVERY = (
    Horizontal(),
    Horizontal(Lattice(), opener="a"),
    Horizontal(Paillier(2048), opener="b", on_loss="continue"),
    Horizontal(PLAIN, cut_points="local", columns="all", party_share=0.5),
    Horizontal(SecureAggregation(), column_names="private", allow_few_columns=True, allow_two=True),
    WholeTrees(),
    WholeTrees("sequential", columns="all"),
    Vertical(active="a", align="given"),
    Vertical(Lattice(100.0), active="b", align="private", most_ids=7, local_trees=2, party_share=0.5),
    Vertical(Paillier(), active="c", align="given", hidden_rows=True),
    Vertical(PLAIN, active="c", align="given", on_loss="continue", passive_rows=0.2),
    Prediction("a", "00"),
    SealedPrediction("a", "00", 65537),
)


def plan_of(method: Method) -> Plan:
    return Plan("a run", tuple(Member(name, name) for name in "abc"), Goal(), TreeParams(), method)


@pytest.mark.parametrize("method", EVERY, ids=repr)
def test_a_plan_is_read_with_the_very_options_it_was_written_with(method):
    plan = plan_of(method)
    assert Plan.read(plan.text) == plan
    assert Plan.read(plan.text).digest == plan.digest


@pytest.mark.parametrize("method", EVERY, ids=repr)
def test_every_method_has_its_place_in_every_table(method):
    assert type(method) in LEAKS
    if not isinstance(method, Prediction):
        assert type(method) in MESSAGES
        assert isinstance(method, SealedPrediction) or type(method) in FORECASTS


def test_whole_numbers_are_read_as_they_are_written():
    """Everybody signs the text, so 1 and 1.0 must not be two texts."""
    assert (
        plan_of(Vertical(active="a", align="given", party_share=1)).text
        == plan_of(Vertical(active="a", align="given")).text
    )
    assert plan_of(Vertical(Lattice(100), "a", "given")).text == plan_of(Vertical(Lattice(100.0), "a", "given")).text


def test_options_cannot_be_changed():
    with pytest.raises(AttributeError):
        Horizontal().party_share = 0.5


def altered(change) -> bytes:
    text = msgspec.json.decode(plan_of(Horizontal()).text)
    change(text)
    return msgspec.json.encode(text, order="sorted")


STRANGE = {
    "another method": lambda plan: plan["method"].update(kind="diagonal"),
    "an option that is not there": lambda plan: plan["method"].update(hidden_rows=True),
    "an option left out": lambda plan: plan["method"].pop("on_loss"),
    "another cipher": lambda plan: plan["method"]["privacy"].update(type="rot13"),
    "a word that is none": lambda plan: plan["method"].update(on_loss="stop"),
    "a share that is none": lambda plan: plan["method"].update(party_share=2.0),
    "disclosure that nobody accepted": lambda plan: plan["method"].update(
        privacy={"type": "plain", "i_accept_disclosure": False}
    ),
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_plan_of_anything_else_is_refused(what):
    with pytest.raises(ProtocolError):
        Plan.read(altered(STRANGE[what]))


def test_a_plan_of_the_version_before_is_refused_by_its_number():
    with pytest.raises(ProtocolError, match="The plan is of version 1; this hedgerow reads version 2"):
        Plan.read(altered(lambda plan: plan.update(version=1)))


def test_a_vertical_plan_says_who_is_active_and_whether_rows_are_aligned():
    with pytest.raises(ParameterError, match="The active party None"):
        plan_of(Vertical(align="given"))
    with pytest.raises(ParameterError, match="whether its rows are aligned"):
        plan_of(Vertical(active="a"))
