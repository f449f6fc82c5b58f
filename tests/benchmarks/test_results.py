"""The pages of results: what is kept is not measured again, and no page has a figure that no file has."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks.horizontal_rows import Line
from benchmarks.results import command, page, parts
from benchmarks.results import measure as measuring
from benchmarks.results.measure import Wanted, measure
from benchmarks.results.page import UNKNOWN, Compared, Section, grid, scores, when_quiet
from benchmarks.results.pages import PAGES, index
from benchmarks.results.parts import PARTS, Measured
from benchmarks.results.record import Records

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
ALL = Wanted(("tiny",))


@pytest.fixture
def asked(monkeypatch):
    """A part of two sets that takes no time; the sets that were measured."""
    seen: list[str] = []

    def run(request):
        (name,) = request.sets
        seen.append(name)
        if name == "broken":
            raise KeyboardInterrupt
        if name == "wrong":
            raise ValueError("no such column")
        yield Line(name, "real", 0.5, sheet="a table", figures={"score": 0.5, "seconds": 12.25})

    known = {name: SimpleNamespace(at_hand=name != "absent") for name in ("one", "two", "broken", "wrong", "absent")}
    made = {"tiny": Measured("a tiny part", run, ("one", "two"), known, quick=("one",), timed=True)}
    for module in (parts, measuring, page, command):
        monkeypatch.setattr(module, "PARTS", made)
    cores = SimpleNamespace(busy=0.0)
    monkeypatch.setattr(measuring, "busy_cores", lambda: cores.busy)
    return SimpleNamespace(seen=seen, parts=made, cores=cores)


def section(**more):
    def body(found):
        return grid(("set", "score", "s"), [(r["set"], r["score"], when_quiet(r, "seconds")) for r in found.rows()])

    return Section("A table", "What it is.", ("tiny",), body, **more)


def test_what_is_kept_is_not_measured_again(asked, tmp_path):
    measure(ALL, Records.at(tmp_path))
    measure(ALL, Records.at(tmp_path))
    assert asked.seen == ["one", "two"]
    measure(Wanted(("tiny",), again=True), Records.at(tmp_path))
    assert asked.seen == ["one", "two"] * 2


def test_a_run_that_was_ended_goes_on_where_it_stopped(asked, tmp_path, monkeypatch):
    halted = Measured("", asked.parts["tiny"].run, ("one", "broken"), asked.parts["tiny"].known)
    monkeypatch.setitem(asked.parts, "tiny", halted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            measure(ALL, Records.at(tmp_path))
    assert asked.seen == ["one", "broken", "broken"]


def test_a_set_that_fails_does_not_keep_others_from_being_measured(asked, tmp_path, monkeypatch, capsys):
    both = Measured("", asked.parts["tiny"].run, ("wrong", "two"), asked.parts["tiny"].known)
    monkeypatch.setitem(asked.parts, "tiny", both)
    assert [piece.set_name for piece in measure(ALL, Records.at(tmp_path))] == ["wrong"]
    assert asked.seen == ["wrong", "two"]
    assert "Failed: tiny wrong: ValueError: no such column" in capsys.readouterr().err


def test_what_other_settings_measured_does_not_count(asked, tmp_path, monkeypatch):
    measure(ALL, Records.at(tmp_path))
    newer = Measured("", asked.parts["tiny"].run, ("one",), asked.parts["tiny"].known, edition=2)
    monkeypatch.setitem(asked.parts, "tiny", newer)
    measure(ALL, Records.at(tmp_path))
    assert asked.seen == ["one", "two", "one"]


def test_seconds_of_a_busy_machine_are_neither_measured_nor_shown_nor_kept_for_good(asked, tmp_path, capsys):
    asked.cores.busy = 1.5
    measure(ALL, Records.at(tmp_path))
    assert asked.seen == []
    assert "Left out, for others keep 1.5 cores busy: tiny one" in capsys.readouterr().err
    measure(Wanted(("tiny",), while_busy=True), Records.at(tmp_path))
    shown = section().markdown(Records.at(tmp_path))
    assert "| one | 0.500 |  |" in shown
    assert "12.2" not in shown
    assert "Seconds not yet measured on a quiet machine: one, two." in shown
    asked.cores.busy = 0.0
    measure(ALL, Records.at(tmp_path))
    assert "| one | 0.500 | 12.2 |" in section().markdown(Records.at(tmp_path))


def test_a_machine_that_became_busy_meanwhile_was_not_quiet(asked, tmp_path, monkeypatch):
    def run(request):
        yield Line("one", "real", 0.5, others=0.8, sheet="a table", figures={"score": 0.5, "seconds": 1.0})

    monkeypatch.setitem(asked.parts, "tiny", Measured("", run, ("one",), asked.parts["tiny"].known, timed=True))
    measure(ALL, Records.at(tmp_path))
    assert not Records.at(tmp_path).get("tiny", "one").quiet


def test_a_section_says_what_is_missing(asked, tmp_path):
    assert "*Not measured yet: one, two.*" in section().markdown(Records.at(tmp_path))
    measure(Wanted(("tiny",), sets=("two",)), Records.at(tmp_path))
    shown = section().markdown(Records.at(tmp_path))
    assert "*Not measured yet: one.*" in shown
    assert "| two | 0.500 |" in shown
    assert "Not measured" not in section(sets=("two",)).markdown(Records.at(tmp_path))


def test_a_set_that_is_not_at_hand_is_left_out_with_a_sentence(asked, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(
        asked.parts, "tiny", Measured("", asked.parts["tiny"].run, ("absent",), asked.parts["tiny"].known)
    )
    measure(ALL, Records.at(tmp_path))
    assert "not in the data folder (HEDGEROW_DATA): absent" in capsys.readouterr().err


def test_a_score_that_differs_has_its_sentence_or_is_said_to_have_none():
    rows = [Compared("a", "", 0.9, 0.904), Compared("b", "", 0.9, 0.8), Compared("c", "", 0.9, 0.7, "b")]
    shown = scores(rows, {"b": "Other rows."})
    assert shown.count("(1)") == 2
    assert shown.endswith("1. Other rows.\n")
    assert "| a |  | 0.900 | 0.904 | +0.004 |  |" in shown
    assert UNKNOWN in scores(rows, {})


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--parts", "nothing"], "There is no part 'nothing'"), (["--sets", "nothing"], "No part asked for has a set")],
)
def test_wrong_words_are_answered_with_a_sentence(words, told, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(told)


def test_quick_figures_go_nowhere_near_the_pages(asked, tmp_path, monkeypatch):
    for place in ("QUICK_PAGES", "PAGES", "KEPT"):
        monkeypatch.setattr(command, place, tmp_path / place)
    monkeypatch.setattr(command, "write_pages", lambda *_: None)
    assert command.main(["--quick"]) == 0
    assert asked.seen == ["one"]
    assert [p.name for p in tmp_path.iterdir()] == ["QUICK_PAGES"]


@pytest.mark.parametrize("name", ["index", *(page.file for page in PAGES)])
def test_the_pages_are_what_the_files_give(name):
    records = Records.at(RESULTS / "data")
    made = index(records) if name == "index" else next(p for p in PAGES if p.file == name).markdown(records)
    assert (RESULTS / f"{name}.md").read_text() == made


def test_what_the_pages_show_was_measured_with_todays_settings_and_no_bar_was_missed():
    records = Records.at(RESULTS / "data")
    for name, part in PARTS.items():
        for record in records.of(name):
            assert record.settings == part.fingerprint(quick=False), f"{name} {record.set_name}"
            missed = [row["name"] for row in record.rows if row["bar"] == "forest == pooled" and not row["ok"]]
            assert missed == [], f"{name} {record.set_name}"
