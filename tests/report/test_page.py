"""The report of a run: what is on the page, where names are hostile, and what is said of what is not there."""

import json
import shutil

import pytest
from kept_runs import CLASSES, IMAGE, LABEL, SCRIPT, train, write_run, write_table
from page_reader import Page, loads
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.corridor.messages import ANSWERS, REQUESTS
from hedgerow.model.file import load_model, save
from hedgerow.model.part import active_part_of
from hedgerow.report.page.ending import warnings
from hedgerow.report.page.gather import Given, of_run
from hedgerow.report.page.html import Html, joined, paragraph, table, tag
from hedgerow.report.page.page import page
from hedgerow.report.page.protection import privacy, seen
from hedgerow.report.page.quality import curves
from hedgerow.report.page.result import result
from hedgerow.run.folder.kept_run import read_run
from hedgerow.run.folder.phases import PHASE_OF, phases

IN_ANY_PHASE = {"Done", "MaskedSums", "PlainSums", "NoisedSums"}
ALWAYS = {"result", "columns", "trees", "seen", "privacy", "traffic", "warnings", "lacking", "again"}


def hedgerow(*words, code=0):
    result = CliRunner().invoke(app, ["report", *map(str, words)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def report(run, *words, tmp_path):
    out = tmp_path / "page.html"
    assert hedgerow(run, "--out", out, *words).stdout == f"page: {out}\n"
    return Page(out.read_text())


def subject(folder):
    return of_run(read_run(folder), Given(n_trees_drawn=1))


@pytest.fixture(scope="module")
def horizontal(runs):
    return page(subject(runs["horizontal"]))


@pytest.fixture(scope="module")
def vertical(runs):
    return page(subject(runs["vertical"]))


@pytest.mark.parametrize("method", ["horizontal", "vertical", "alone"])
def test_a_page_loads_nothing_and_runs_only_its_own_script(runs, method, horizontal, vertical):
    text = {"horizontal": horizontal, "vertical": vertical}.get(method) or page(subject(runs[method]))
    assert loads(text) == []
    assert len(Page(text).scripts) == 1
    assert len(Page(text).of("script")) == 1
    rules = next(m["content"] for m in Page(text).of("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert rules.startswith("default-src 'none'; img-src data:;")


def test_a_page_with_a_name_that_was_not_escaped_would_be_seen(horizontal):
    """The sabotage: one name as HTML."""
    broken = horizontal.replace("</main>", f"{IMAGE}</main>".replace('">', "", 1))
    assert loads(broken) == ["src=x", "onerror=alert(2)"]
    assert len(Page(horizontal.replace("</main>", f"{SCRIPT}</main>")).scripts) == 2


def test_hostile_names_are_on_the_page_as_text(horizontal):
    said = Page(horizontal).sections
    assert SCRIPT in said["columns"]
    assert IMAGE in said["columns"]
    alts = " ".join(image["alt"] for image in Page(horizontal).of("img"))
    assert CLASSES[1] in alts


def test_pictures_hold_no_script_and_each_says_in_words_what_it_shows(horizontal):
    found = Page(horizontal)
    assert len(found.pictures) >= 12
    for drawing in found.pictures:
        assert "<script" not in drawing
        assert "onerror" not in drawing.replace(" ", "")
    alts = [image["alt"] for image in found.of("img")]
    assert all(len(alt) > 20 for alt in alts)
    assert len(set(alts)) == len(alts)


def test_the_first_picture_is_alone_together_pooled_of_runs_beside_it(runs, horizontal):
    kept = {name: json.loads((runs[name] / "metrics.json").read_text())["final"] for name in ("horizontal", "pooled")}
    alone = json.loads((runs["alone"] / "metrics.json").read_text())["final"]
    values = {f"alone {name}": found["auc"] for name, found in alone.items()}
    values |= {"together": kept["horizontal"]["auc"], "pooled": kept["pooled"]["auc"]}
    first = Page(horizontal).of("img")[0]
    assert first["alt"] == f"Bars of the auc: {', '.join(f'{name} {value:.4g}' for name, value in values.items())}."


def test_runs_of_other_rows_are_not_compared(runs, tmp_path):
    shutil.copytree(runs["horizontal"], tmp_path / "horizontal")
    shutil.copytree(runs["pooled"], tmp_path / "pooled")
    assert "pooled" in subject(tmp_path / "horizontal").figures
    kept = json.loads((tmp_path / "pooled" / "manifest.json").read_text())
    kept["data"]["party1"] = "0" * 64
    (tmp_path / "pooled" / "manifest.json").write_text(json.dumps(kept))
    assert set(subject(tmp_path / "horizontal").figures) == {"together"}
    assert "not known here: put runs of method" in result(subject(tmp_path / "horizontal")).lacks[0]


def test_all_sections_of_a_run_are_there_in_the_order_of_questions(horizontal):
    found = Page(horizontal)
    order = [section["id"] for section in found.of("section")]
    assert set(order) == ALWAYS | {"curves", "learning"}
    assert order[:4] == ["result", "curves", "learning", "columns"]
    assert [a["href"] for a in found.of("a")] == [f"#{name}" for name in order]


def test_the_page_says_who_saw_what_and_what_it_cost(runs, horizontal):
    said = Page(horizontal).sections
    kept = json.loads((runs["horizontal"] / "manifest.json").read_text())
    for sentence in kept["leaks"]:
        assert sentence in said["seen"]
    for line in kept["known"]:
        assert line["tells"] in said["seen"]
    assert "No differential privacy" in said["privacy"]
    assert "growing trees" in said["traffic"]
    for digest in (kept["plan_sha256"], *kept["models"].values(), *kept["audit"].values()):
        assert digest in said["again"]


@pytest.mark.parametrize("key", ["promise", "differential_privacy"])
def test_what_is_promised_of_differential_privacy_is_printed_whatever_it_says(runs, tmp_path, key):
    shutil.copytree(runs["vertical"], tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "manifest.json").read_text())
    promise = {"epsilon": 2.5, "delta": 1e-6, "of": "one row", "spent": {"trees <i>": 2.0}}
    promise |= {"sentences": ["Nobody <b> can tell."], "releases": [{"what": "sums", "times": 3}]}
    (tmp_path / "run" / "manifest.json").write_text(json.dumps({**kept, key: promise}))
    said = Page(tag("section", *privacy(subject(tmp_path / "run")).parts, id="privacy")).sections["privacy"]
    assert "Differential privacyNobody <b> can tell.epsilon2.5delta1e-06ofone rowspent: trees <i>2releases" in said
    assert "whattimessums3The promise is of what the run released." in said
    assert "No differential privacy" not in said


def test_epsilon_that_was_asked_for_and_is_not_promised_is_not_counted_on(runs, tmp_path):
    shutil.copytree(runs["horizontal"], tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "manifest.json").read_text())
    plan = json.loads(kept["plan"])
    plan["method"]["dp"] = {"epsilon": 3.25}
    (tmp_path / "run" / "manifest.json").write_text(json.dumps({**kept, "plan": json.dumps(plan)}))
    said = "".join(privacy(subject(tmp_path / "run")).parts)
    assert "3.25" in said
    assert "do not count on any epsilon" in said
    assert "No differential privacy" not in said


def test_a_vertical_run_tells_whose_each_cut_is(vertical):
    found = Page(vertical)
    assert "A letter and a colour say whose column a cut is of." in found.sections["trees"]
    assert "party1" in found.sections["columns"]


def test_an_active_partys_part_names_columns_by_number_and_gives_reasons_of_its_own(runs, tmp_path):
    save(active_part_of(load_model(runs["vertical"] / "model.json")), tmp_path / "model.json")
    test = write_table(tmp_path / "test.csv", 90, 1)
    found = report(tmp_path / "model.json", "--data", test, "--id", "id", "--rows", "r3", tmp_path=tmp_path)
    assert "undisclosed" in found.sections["columns"]
    assert "row r3" in found.sections["reasons"]
    assert "curves" not in found.sections


def test_a_model_with_rows_has_exact_curves_and_reasons(runs, tmp_path):
    test = write_table(tmp_path / "test.csv", 90, 1)
    words = ("--data", test, "--id", "id", "--rows", "r1,r2", "--trees", 1)
    found = report(runs["horizontal"] / "model.json", *words, tmp_path=tmp_path)
    assert "Of 90 test.csv rows." in found.sections["curves"]
    assert "row r2" in found.sections["reasons"]
    assert "tree 0 of" in found.sections["trees"]
    assert "tree 1 of" not in found.sections["trees"]
    assert "Who saw what is known of runs" in found.sections["lacking"]
    assert LABEL in found.sections["columns"]


def test_a_run_with_rows_is_measured_on_them(runs, tmp_path):
    test = write_table(tmp_path / "other.csv", 80, 5)
    found = report(runs["horizontal"], "--data", test, "--trees", 0, tmp_path=tmp_path)
    assert "Measured on 80 other.csv rows." in found.sections["result"]


def test_figures_of_other_files_stand_beside(runs, tmp_path):
    (tmp_path / "alone.json").write_text(json.dumps({"metrics": {"auc": 0.5, "accuracy": 0.6}}))
    (tmp_path / "all.json").write_text(json.dumps({"metrics": {"merged": {"auc": 0.7}, "two <b>": {"auc": 0.8}}}))
    words = ["--trees", 0, "--beside", f"alone bank={tmp_path / 'alone.json'}", "--beside", tmp_path / "all.json"]
    alt = report(runs["vertical"], *words, tmp_path=tmp_path).of("img")[0]["alt"]
    assert "alone bank 0.5" in alt
    assert "two <b> 0.8" in alt
    (tmp_path / "no.json").write_text("[1]")
    for path, said in (
        ("no.json", "is no JSON object"),
        ("gone.json", "There is no "),
        ("rows.json", "has no metrics"),
    ):
        if path == "rows.json":
            (tmp_path / path).write_text("{}")
        assert said in hedgerow(runs["vertical"], "--beside", tmp_path / path, code=3).stderr


def test_an_unfinished_run_says_how_far_it_is(tmp_path):
    file = write_run(tmp_path, "stopped", "horizontal")

    class StoppedError(Exception):
        pass

    def stop(told):
        if told.round.number == 3:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(file, watch=stop)
    found = report(tmp_path / "runs" / "stopped", tmp_path=tmp_path)
    assert "The run has not finished.3 of 6rounds so far" in found.sections["result"]
    assert "learning" in found.sections
    lacks = found.sections["lacking"]
    assert "Curves are drawn when the run has finished." in lacks
    assert "The final metrics are known when the run has finished." in lacks


def test_without_matplotlib_the_page_has_no_pictures_and_says_why(runs, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    found = Page(page(subject(runs["horizontal"])))
    assert found.of("img") == []
    assert "Pictures need matplotlib; run: pip install 'hedgerow[plots]'" in found.sections["lacking"]
    assert "from 0." in found.sections["learning"]


def test_damaged_files_of_a_run_are_warned_of_and_the_rest_is_shown(runs, tmp_path):
    shutil.copytree(runs["horizontal"], tmp_path / "run")
    (tmp_path / "run" / "curves.json").write_text("{")
    (tmp_path / "run" / "model.json").write_text("{}")
    found = subject(tmp_path / "run")
    assert "does not hold the curves of a model" in joined(*warnings(found).parts)
    assert not curves(found).parts
    assert seen(found).parts


def test_what_is_no_run_is_refused(tmp_path, runs):
    part = runs["vertical"] / "parties" / "party2" / "part.json"
    assert "is a passive party's part of a model; name the run's folder" in hedgerow(part, code=3).stderr
    assert "holds no run" in hedgerow(tmp_path, code=3).stderr
    (tmp_path / "manifest.json").write_text('{"status": "finished"}')
    assert "not the manifest of a run" in hedgerow(tmp_path, code=3).stderr
    assert "--rows, --label and --id go with a table" in hedgerow(runs["alone"], "--rows", "1", code=3).stderr
    assert "There is no model here" in hedgerow(runs["alone"], "--data", "x.csv", code=3).stderr


def test_the_same_run_gives_the_same_page(runs, vertical):
    assert page(subject(runs["vertical"])) == vertical


# HTML


def test_what_is_not_html_is_escaped_in_texts_and_in_attributes():
    assert paragraph("<b>", tag("i", "&")) == "<p>&lt;b&gt;<i>&amp;</i></p>"
    assert tag("img", alt='"x" <y>', title=None) == '<img alt="&quot;x&quot; &lt;y&gt;">'
    assert joined(Html("<br>"), "<br>") == "<br>&lt;br&gt;"
    assert 'data-label="&quot;&gt;"' in table(['">'], [["<td>"]])
    assert "\\x1b" in paragraph("\x1b[2J")


# Phases


def test_every_message_has_a_phase_or_is_of_that_it_comes_in():
    kinds = {kind.__name__ for kind in (*REQUESTS, *ANSWERS)}
    assert kinds - set(PHASE_OF) == IN_ANY_PHASE


def test_phases_add_up_bytes_and_leave_out_the_time_between_processes():
    def line(at, event, **facts):
        return {"at": f"2026-01-01T00:00:{at:06.3f}Z", "event": event, **facts}

    found = phases([
        line(0, "log opened"), line(1, "sent", type="Propose", bytes=5), line(3, "received", type="Consent", bytes=7),
        line(4, "sent", type="AskHistograms", bytes=11), line(4.5, "received", type="MaskedSums", bytes=13),
        line(30, "log opened"), line(50, "sent", type="Farewell", bytes=1),
    ])  # fmt: skip
    told = [(p.name, p.messages, p.sent, p.received, p.seconds) for p in found]
    assert told == [("joining", 2, 5, 7, 2), ("growing trees", 2, 11, 13, 1.5), ("handing out the model", 1, 1, 0, 0)]


# What a run is compared with


@pytest.mark.parametrize("method", ["horizontal", "vertical"])
def test_a_run_that_compares_itself_has_alone_and_pooled_on_its_page(tmp_path, method, runs):
    """Pooled training with the same rows and parameters gives the forest of all together."""
    folder = train(
        write_run(tmp_path, "compared", method, 'active = "party1"' if method == "vertical" else ""), compare=True
    )
    kept = json.loads((folder / "metrics.json").read_text())
    alone = ["party1"] if method == "vertical" else ["party1", "party2", "party3"]
    assert list(kept["compared"]) == [*(f"alone {name}" for name in alone), "pooled"]
    assert kept["compared"]["pooled"] == pytest.approx(kept["final"], rel=0.2)
    assert list(subject(folder).figures) == ["together", *kept["compared"]]
    assert kept["final"] == json.loads((runs[method] / "metrics.json").read_text())["final"], "it changes nothing"


def test_what_cannot_be_compared_is_refused_before_anything_is_trained(tmp_path):
    file = write_run(tmp_path, "alone", "alone")
    said = CliRunner().invoke(app, ["train", str(file), "--compare"])
    assert said.exit_code == 3
    assert "--compare has no use for method 'alone'" in said.stderr
    assert not (tmp_path / "runs").exists()
