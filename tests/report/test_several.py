"""The page of several runs: one picture of all, then each, from what lies in one folder."""

import msgspec
import pytest
from kept_runs import SCRIPT
from page_reader import Page, loads
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.errors import RunError
from hedgerow.report.page.cases import CASES, read_cases
from hedgerow.report.page.several import page_of_folder


@pytest.fixture(scope="module")
def text(several):
    return page_of_folder(several, 1)


def test_the_first_picture_has_alone_together_and_pooled_of_every_run(text):
    said = Page(text).of("img")[0]["alt"]
    assert said.count("alone party1 0.71, together 0.82, pooled 0.83") == 2
    assert "3.0 s" not in said
    assert "3.0 MB" in text


def test_each_run_has_its_reasons_columns_and_who_saw_what(text):
    vertical = Page(text).sections["vertical"]
    for shown in ("A story.", "How they were found.", "<b>debt</b> (party1)", "Columns that matter", "Who saw what"):
        assert shown in vertical
    assert "Reasons of single rows" not in Page(text).sections["horizontal"]


def test_it_loads_nothing_and_shows_hostile_names_as_text(text):
    assert loads(text) == []
    assert len(Page(text).scripts) == 1
    assert SCRIPT in Page(text).sections["result"]


def test_the_command_makes_it_of_the_folder_and_refuses_what_is_for_one_run(several, tmp_path):
    made = CliRunner().invoke(app, ["report", str(several), "--out", str(tmp_path / "page.html"), "--trees", "0"])
    assert made.exit_code == 0, made.output
    assert (tmp_path / "page.html").exists()
    refused = CliRunner().invoke(app, ["report", str(several), "--data", "rows.csv"])
    assert refused.exit_code == 3
    assert "is of several runs; name one run's folder" in " ".join(refused.output.split())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda told: told | {"metric": "ks"}, "lacks the metric 'ks' somewhere"),
        (lambda told: told | {"more": 1}, "is damaged, or of another version"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(several, tmp_path, change, sentence):
    told = msgspec.json.decode((several / CASES).read_bytes())
    (tmp_path / CASES).write_bytes(msgspec.json.encode(change(told)))
    with pytest.raises(RunError, match=sentence):
        read_cases(tmp_path)
