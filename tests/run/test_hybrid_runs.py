"""Hybrid run files: what they mean, what does not go with them, and what a run of one leaves behind."""

import json
import re

import numpy as np
import pytest
from test_vertical_runs import read, said

from federated import same
from hedgerow.agreement.options import Hybrid
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.commands.print_tables import measured
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.file import load_model
from hedgerow.run.file.hybrid_tables import joined
from hedgerow.run.file.read import read_run_file
from hedgerow.run.file.tables import party_tables, together
from hedgerow.run.forecast.cost import Shape, cost
from hedgerow.run.forecast.disclosures import leaks, sights, used
from hedgerow.run.simulation import run_file
from hedgerow.run.simulation.parties import members
from hedgerow.run.simulation.predict import predict_parties
from hedgerow.storage.audit import verify
from hedgerow.trees.params import TreeParams
from hybrid_files import BANKS, PLAIN, RUN, parties_of, payments, rewritten

WHOLE = RUN + parties_of()


def trained(where, text, **options):
    return run_file.train(read(where, text), run_file.Options(measure=measured, **options))


# What is read


def test_a_hybrid_run_file_of_a_few_lines_has_the_safe_choices(tmp_path):
    run = read(tmp_path, WHOLE)
    method = run.plan(members(run.names)[0]).method
    assert (method.word, method.protection, method.active) == ("hybrid", "lattice", "network")
    assert (method.align, method.shows_ids, method.levels) == ("private", False, "AAJJ")


def test_what_is_said_reaches_the_plan(tmp_path):
    text = WHOLE + (
        '[privacy]\nprotection = "paillier"\nalign = "given"\nlevels = "PPAA"\nlocal_trees = 2\nparty_share = 0.5\n'
        'on_loss = "continue"\nmost_ids = 999\npassive_rows = 0.2\n'
    )
    method = read(tmp_path, text).method
    assert (method.protection, method.align, method.levels, method.local_trees) == ("paillier", "given", "PPAA", 2)
    assert (method.party_share, method.on_loss, method.most_ids) == (0.5, "continue", 999)
    assert method.passive_rows == 0.2


@pytest.mark.parametrize(("depth", "levels"), [(1, "J"), (2, "AJ"), (3, "AAJ"), (7, "AAAAJJJ")])
def test_the_later_half_of_the_levels_is_everybody_s_unless_it_is_said(tmp_path, depth, levels):
    assert read(tmp_path, WHOLE.replace("max_depth = 4", f"max_depth = {depth}")).method.levels == levels


WRONG = {
    "no ids": (('id = "account"\n', ""), '[data] lacks id, by which method hybrid links rows; add id = "COLUMN"'),
    "no active party": (('active = "network"\n', ""), "[run] lacks active; name the party that has the labels"),
    "an active party that is none": (
        ('active = "network"', 'active = "x"'),
        "[run] active names 'x', which is no party",
    ),
    "a party twice": (('name = "bank2"', 'name = "bank1"'), "Two [[party]] sections have the name 'bank1'"),
    "hidden rows": (("", "[privacy]\nhidden_rows = true\n"), "hidden_rows does not go with method hybrid, in which"),
    "masks": (("", '[privacy]\nprotection = "masked"\n'), 'method hybrid has "lattice", "paillier" and "plain"'),
    "an opener": (("", '[privacy]\nopener = "bank1"\n'), "opener does not go with method hybrid"),
    "levels of another length": (("", '[privacy]\nlevels = "AJ"\n'), "levels must have a letter for each of the 4"),
    "other letters": (("", '[privacy]\nlevels = "AAXX"\n'), "levels must be letters A, P and J"),
    "counted rows": (("max_depth = 4", "max_depth = 4\nmin_child_rows = 5"), "no passive party can count the rows"),
    "a share of no rows": (("", "[privacy]\npassive_rows = 0\n"), "[privacy] passive_rows must be a number above 0"),
    "a sample and drawn cuts": (
        ("", '[privacy]\npassive_rows = 0.2\npassive_cuts = "random"\n'),
        "it does not go with hidden_rows, passive_cuts",
    ),
    "a word for ids": (("", '[privacy]\nalign = "open"\n'), "[privacy] align must be"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_go_with_it_is_refused_in_one_sentence(tmp_path, case):
    (old, new), sentence = WRONG[case]
    text = WHOLE.replace(old, new, 1) if old else WHOLE + new
    with pytest.raises(ParameterError) as caught:
        read(tmp_path, text)
    assert sentence in str(caught.value)


# Files


def test_only_the_active_party_s_file_may_repeat_ids(tmp_path):
    payments(tmp_path)
    tables = party_tables(read(tmp_path, WHOLE)).training
    assert len(set(tables["network"].ids.tolist())) < tables["network"].n_rows
    rewritten(tmp_path / "bank2.csv", lambda rows: [*rows, rows[1], rows[2]])
    with pytest.raises(
        DataError, match=r"Party 'bank2' is passive, and 2 of its 42 rows repeat the id of another; keep"
    ):
        party_tables(read(tmp_path, WHOLE))


def test_validation_rows_are_the_active_party_s_alone(tmp_path):
    payments(tmp_path)
    split = party_tables(read(tmp_path, WHOLE + "[validation]\nshare = 0.25\n"))
    whole = party_tables(read(tmp_path, WHOLE)).training
    assert list(split.valid) == ["network"]
    assert 0 < split.valid["network"].n_rows < whole["network"].n_rows / 2
    assert all(split.training[bank].n_rows == whole[bank].n_rows for bank in BANKS)
    assert not set(split.valid["network"].ids.tolist()) & set(split.training["network"].ids.tolist())


def test_a_file_of_validation_rows_of_the_active_party_is_enough(tmp_path):
    payments(tmp_path)
    (tmp_path / "later.csv").write_text((tmp_path / "network.csv").read_text())
    text = WHOLE.replace('data = "network.csv"', 'data = "network.csv"\nvalid = "later.csv"') + PLAIN
    assert trained(tmp_path, text).rows == "validation"
    wrong = WHOLE.replace('data = "bank1.csv"', 'data = "bank1.csv"\nvalid = "bank1.csv"')
    with pytest.raises(ParameterError, match="'network' lacks valid; in a hybrid run the active party has the valid"):
        party_tables(read(tmp_path, wrong))


def test_labels_of_a_passive_party_are_not_used_and_it_is_said(tmp_path):
    payments(tmp_path)
    rewritten(tmp_path / "bank1.csv", lambda rows: [[*row, "fraud" if i == 0 else "no"] for i, row in enumerate(rows)])
    split = party_tables(read(tmp_path, WHOLE))
    assert split.training["bank1"].labels is None
    assert "fraud" not in split.training["bank1"].names
    assert any("bank1.csv is a passive party's; its column 'fraud' is not used" in note for note in split.notes)


def test_tables_are_joined_as_a_naive_loop_joins_them(tmp_path):
    payments(tmp_path)
    run = read(tmp_path, WHOLE)
    tables = party_tables(run).training
    whole = joined(tables, "network")
    rows = {name: dict(zip(table.ids.tolist(), table.values, strict=True)) for name, table in tables.items()}
    for row, own, values in zip(tables["network"].ids.tolist(), tables["network"].values, whole.values, strict=True):
        gap = np.full(2, np.nan, np.float32)
        expected = np.concatenate([own, *(rows[bank].get(row, gap) for bank in BANKS)])
        assert np.array_equal(values, expected, equal_nan=True)
    assert np.isnan(whole.values).any()


# Runs


def test_a_run_equals_that_of_one_process_s_tables_and_is_measured_on_linked_rows(tmp_path):
    payments(tmp_path)
    plain = trained(tmp_path, WHOLE + PLAIN, folder=tmp_path / "plain")
    sealed = trained(tmp_path, WHOLE.replace("n_est", "gradient_bits = 20\nn_est"), folder=tmp_path / "sealed")
    assert same(plain.models[""], sealed.models[""])
    run, model = read(tmp_path, WHOLE), plain.models[""]
    linked = together(run, party_tables(run).training, model.columns)
    assert plain.metrics[""] == measured(model, linked, 1)
    assert plain.n_rows == 600
    assert (model.forest.columns >= 2).sum() > 2, "banks' columns must be cut"


def test_test_rows_are_linked_too(tmp_path):
    payments(tmp_path)
    (tmp_path / "later.csv").write_text("".join((tmp_path / "network.csv").read_text().splitlines(True)[:200]))
    done = trained(tmp_path, WHOLE.replace('label = "fraud"', 'label = "fraud"\ntest = "later.csv"') + PLAIN)
    run, model = read(tmp_path, WHOLE), done.models[""]
    tables = party_tables(run).training
    first = together(run, {**tables, "network": tables["network"].take(np.arange(199))}, model.columns)
    assert (done.rows, done.n_rows, done.metrics[""]) == ("test", 199, measured(model, first, 1))


def test_a_run_stops_and_goes_on_with_the_rows_that_were_linked(tmp_path):
    payments(tmp_path)
    whole = trained(tmp_path, WHOLE + PLAIN, folder=tmp_path / "whole").models[""]

    def stop(progress):
        if progress.round.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, WHOLE + PLAIN, folder=tmp_path / "cut", watch=stop)
    again = trained(tmp_path, WHOLE + PLAIN, folder=tmp_path / "cut", resume=True)
    assert same(again.models[""], whole)


def test_banks_that_share_no_id_are_told_of_and_the_run_goes_on(tmp_path):
    payments(tmp_path)
    for bank in BANKS:
        rewritten(tmp_path / f"{bank}.csv", lambda rows: [rows[0], *([f"0{row[0]}", *row[1:]] for row in rows[1:])])
    done = trained(tmp_path, WHOLE + PLAIN)
    assert (done.models[""].forest.columns < 2).all()
    for bank in BANKS:
        assert any(f"Party {bank!r} holds none of your 600 rows" in note and "compared as text" in note
                   for note in done.notes)  # fmt: skip


# What is mistyped


def cells(party, change):
    """Another file of a party: its lines, the header first."""
    return lambda folder, text: rewritten(folder / f"{party}.csv", change) or text


def words(old, new):
    return lambda _, text: text.replace(old, new)


def strangers(*banks):
    """Whose ids are written otherwise."""

    def change(folder, text):
        for bank in banks:
            rewritten(folder / f"{bank}.csv", lambda rows: [rows[0], *([f"0{row[0]}", *row[1:]] for row in rows[1:])])
        return text

    return change


MISTYPED = {
    "a file that is not there": (words("bank2.csv", "bnk2.csv"), "[[party]] 'bank2' data names "),
    "a bank without the column of ids": (
        cells("bank2", lambda rows: [["acct", *rows[0][1:]], *rows[1:]]),
        "bank2.csv has no column 'account' (did you mean 'acct'?)",
    ),
    "no column of ids at the network": (
        cells("network", lambda rows: [["acct", *rows[0][1:]], *rows[1:]]),
        "network.csv has no column 'account'",
    ),
    "an id twice at a bank": (
        cells("bank2", lambda rows: [*rows, rows[1]]),
        "Party 'bank2' is passive, and 1 of its 41 rows repeat the id of another",
    ),
    "an empty id at a bank": (
        cells("bank2", lambda rows: [*rows, ["", *rows[1][1:]]]),
        "1 of the ids are missing, the first at line 42 of ",
    ),
    "a missing label": (
        cells("network", lambda rows: [*rows[:5], [*rows[5][:-1], ""], *rows[6:]]),
        "1 of the labels are missing, the first at line 6 of ",
    ),
    "a label that is NaN": (
        cells("network", lambda rows: [*rows[:5], [*rows[5][:-1], "NaN"], *rows[6:]]),
        "1 of the labels are missing, the first at line 6 of ",
    ),
    "labels of one class": (
        cells("network", lambda rows: [rows[0], *([*row[:-1], "no"] for row in rows[1:])]),
        "The labels of the active party hold one class only",
    ),
    "no column of labels": (
        cells("network", lambda rows: [[*rows[0][:-1], "frd"], *rows[1:]]),
        "network.csv has no column 'fraud'",
    ),
    "a bank without rows": (cells("bank2", lambda rows: rows[:1]), "bank2.csv has columns but no rows"),
    "a bank with ids alone": (cells("bank2", lambda rows: [row[:1] for row in rows]), "bank2.csv: Found array with 0"),
    "a line that is too short": (
        cells("bank2", lambda rows: [*rows[:3], rows[3][:1], *rows[4:]]),
        "has 1 columns where the header has 3",
    ),
    "a value without end": (
        cells("bank2", lambda rows: [*rows[:3], [rows[3][0], "inf", "1"], *rows[4:]]),
        "Column 'age' holds an infinite value",
    ),
    "words among a shared column's numbers": (
        cells("bank2", lambda rows: [rows[0], *([row[0], "old", row[2]] for row in rows[1:])]),
        "Column 'age' holds categorical values at party 'bank2'",
    ),
    "an active party that is none": (words('= "network"\n[data]', '= "netwrk"\n[data]'), "names 'netwrk', which is no"),
    "sharing with nobody known": (
        lambda _, text: text + 'shared = [["bank1", "bank2", "bnk3"]]\n',
        "shared names 'bnk3', which is no passive party",
    ),
    "sharing in a word": (lambda _, text: text + 'shared = "yes"\n', "shared must be true, false or lists of names"),
    "two of three that share are strangers": (
        strangers("bank1", "bank2"),
        "Of the parties that share columns (bank1, bank2, bank3) only 1 have any of the rows",
    ),
}


@pytest.mark.parametrize("case", MISTYPED)
def test_what_is_mistyped_is_refused_in_one_sentence_and_with_code_3(tmp_path, case):
    change, sentence = MISTYPED[case]
    payments(tmp_path)
    (tmp_path / "run.toml").write_text(change(tmp_path, WHOLE + PLAIN))
    errors = [line for line in said(tmp_path, "train", code=3).output.splitlines() if line.startswith("hedgerow: ")]
    assert len(errors) == 1
    assert sentence in errors[0]
    assert errors[0].endswith(".")
    assert "Traceback" not in errors[0]


def test_a_bank_without_common_ids_takes_no_part_and_it_is_said(tmp_path):
    payments(tmp_path)
    (tmp_path / "run.toml").write_text(strangers("bank2")(tmp_path, WHOLE + PLAIN + "shared = false\n"))
    output = said(tmp_path, "train").output
    assert "Party 'bank2' holds none of your 600 rows" in output
    kept = json.loads((tmp_path / "runs/payments/manifest.json").read_text())
    assert {one["party"]: one["rows"] > 0 for one in kept["linked"]} == {"bank1": True, "bank2": False, "bank3": True}


def test_the_manifest_names_linkages_groups_and_who_was_told_what(tmp_path):
    payments(tmp_path)
    trained(tmp_path, WHOLE + PLAIN)
    folder = tmp_path / "runs" / "payments"
    kept = json.loads((folder / "manifest.json").read_text())
    table = party_tables(read(tmp_path, WHOLE)).training
    rows = {bank: np.isin(table["network"].ids, table[bank].ids).sum() for bank in BANKS}
    assert kept["shared_columns"] == [list(BANKS)]
    assert sum(one["rows"] for one in kept["linked"]) <= sum(rows.values()), "a row of several is asked of one"
    assert all(0 < one["most_rows_of_an_id"] < one["rows"] for one in kept["linked"])
    assert ("Facts", "columns") in {(line["message"], line["field"]) for line in kept["known"]}
    (sums,), columns = kept["learnt"]["sums"], kept["learnt"]["columns"]
    assert {column["party"] for column in columns} == {sums["party"]} == {", ".join(BANKS)}
    assert min(sums["bits_at_most"], sums["bits_of_bins"]) > 0 < max(column["sides"] for column in columns)
    for name, last in kept["audit"].items():
        assert verify(folder / name, last).n_lines > 10
    apart = trained(tmp_path, WHOLE + PLAIN + "shared = false\n", folder=tmp_path / "apart")
    assert apart.models
    kept = json.loads((tmp_path / "apart" / "manifest.json").read_text())
    assert "shared_columns" not in kept
    assert {one["party"]: one["rows"] for one in kept["linked"]} == rows
    assert ("Facts", "columns") not in {(line["message"], line["field"]) for line in kept["known"]}


# Before it runs


@pytest.mark.parametrize(("align", "shown"), [("private", {"LinkIds", "LinkedIds"}), ("given", {"ShowIds", "HeldIds"})])
def test_the_plan_lists_the_messages_that_cross_and_what_they_disclose(tmp_path, align, shown):
    payments(tmp_path)
    run = read(tmp_path, WHOLE + f'[privacy]\nalign = "{align}"\n')
    plan = run.plan(members(run.names)[0])
    names = {kind.__name__ for kind in used(plan)}
    assert shown < names
    assert ("Passive parties read all ids of network." in list(leaks(plan))) == (align == "given")
    assert shown <= {sight.message for sight in sights(plan)}
    trained(tmp_path, WHOLE + f'[privacy]\nalign = "{align}"\n')
    sent = {line["type"] for line in json.loads((tmp_path / "runs/payments/manifest.json").read_text())["messages"]}
    assert sent <= names
    reckoned = cost(plan, Shape.by_columns(party_tables(run).training, plan))
    assert sent == {line.message for line in reckoned.lines}


def test_the_forecast_is_near_what_the_run_takes(tmp_path):
    payments(tmp_path)
    run = read(tmp_path, WHOLE)
    plan = run.plan(members(run.names)[0])
    reckoned = cost(plan, Shape.by_columns(party_tables(run).training, plan)).total
    taken = sum(map(sum, trained(tmp_path, WHOLE).bytes.values()))
    assert 0.7 * taken < reckoned < 1.4 * taken


def test_the_command_says_who_sees_what_and_what_it_costs(tmp_path):
    payments(tmp_path)
    read(tmp_path, WHOLE)
    told = said(tmp_path, "plan").output
    assert "network learns which of its ids each passive party has, and how many ids that party has." in told
    assert "linked rows of the mean passive party" in told
    assert "LinkedIds" in told
    trained_ = said(tmp_path, "train")
    assert "model:" in trained_.output
    assert load_model(tmp_path / "runs/payments/model.json").ownership.active == "network"
    assert read_run_file(tmp_path / "run.toml").method.links


def test_banks_with_the_same_columns_share_a_subtree(tmp_path):
    payments(tmp_path)
    model = shared_model(tmp_path, WHOLE + PLAIN)
    assert [column.name for column in model.columns] == ["amount", "hour", "age", "risk"]
    assert model.ownership.groups == (BANKS,)


def shared_model(where, text):
    """Of a run whose banks share their columns."""
    trained(where, text + "shared = true\n", folder=where / "run")
    return load_model(where / "run" / "model.json")


def test_sharing_needs_three_banks_or_consent_to_two(tmp_path):
    payments(tmp_path)
    two = RUN + parties_of(("network", "bank1", "bank2")) + PLAIN
    with pytest.raises(ParameterError, match="take at least 3, or accept two with allow_two"):
        shared_model(tmp_path, two)
    assert shared_model(tmp_path, two + "allow_two = true\n").ownership.groups == (("bank1", "bank2"),)


def test_banks_with_other_columns_do_not_share(tmp_path):
    payments(tmp_path)
    rewritten(tmp_path / "bank2.csv", lambda rows: [["account", "age", "odd"], *rows[1:]])
    with pytest.raises(DataError, match="is not at every passive party"):
        trained(tmp_path, WHOLE + PLAIN + "shared = true\n")


def test_shared_is_for_hybrid_runs(tmp_path):
    text = WHOLE.replace('method = "hybrid"', 'method = "vertical"') + "[privacy]\nshared = true\n"
    with pytest.raises(ParameterError, match="shared does not go with method vertical"):
        read(tmp_path, text)


# Random cuts, and depths


RANDOM = '[privacy]\npassive_cuts = "random"\n'


def test_with_random_cuts_the_later_half_is_the_passive_parties_and_gradients_have_all_their_bits(tmp_path):
    run = read(tmp_path, WHOLE + RANDOM)
    assert (run.method.levels, run.method.draws_cuts, run.params.gradient_bits) == ("AAPP", True, 20)
    assert read(tmp_path, WHOLE).params.gradient_bits == 12


def test_depths_are_other_words_for_levels_and_set_the_depth(tmp_path):
    depths = "[privacy]\ndepth_active = 3\ndepth_passive = 2\n"
    run = read(tmp_path, WHOLE.replace("max_depth = 4\n", "") + depths)
    assert (run.method.levels, run.params.max_depth) == ("AAAPP", 5)
    assert (run.method.depth_active, run.method.depth_passive) == (None, None)
    assert read(tmp_path, WHOLE.replace("max_depth = 4", "max_depth = 5") + depths).method == run.method


DEPTHS = {
    "another depth": ("depth_active = 5\ndepth_passive = 2\n", "are 7 levels together, and max_depth is 4"),
    "levels too": ('levels = "AAPP"\ndepth_active = 2\ndepth_passive = 2\n', "levels says what depth_active and"),
    "one alone": ("depth_active = 2\n", "depth_active and depth_passive go together"),
    "no level": ("depth_active = 0\ndepth_passive = 0\n", "of which one is above 0"),
    "joint levels": ('levels = "AAJJ"\npassive_cuts = "random"\n', "none can have the letter J"),
    "another word": ('passive_cuts = "blind"\n', "[privacy] passive_cuts must be one of best, random"),
}  # fmt: skip


@pytest.mark.parametrize("case", DEPTHS)
def test_depths_and_cuts_that_cannot_be_are_refused_in_one_sentence(tmp_path, case):
    more, sentence = DEPTHS[case]
    with pytest.raises(ParameterError) as caught:
        read(tmp_path, WHOLE + "[privacy]\n" + more)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("key", ['passive_cuts = "random"', "depth_active = 2", "depth_passive = 2"])
@pytest.mark.parametrize("method", ["vertical", "horizontal"])
def test_they_are_for_hybrid_runs(tmp_path, key, method):
    text = WHOLE.replace('method = "hybrid"', f'method = "{method}"') + f"[privacy]\n{key}\n"
    if method == "horizontal":
        text = text.replace('active = "network"\n', "")
    with pytest.raises(ParameterError, match=key.split(maxsplit=1)[0] + " is for method hybrid"):
        read(tmp_path, text)


def test_a_run_with_random_cuts_says_what_it_will_show_and_cost(tmp_path):
    payments(tmp_path)
    run = read(tmp_path, WHOLE + RANDOM)
    plan = run.plan(members(run.names)[0])
    kinds = {kind.__name__ for kind in used(plan)}
    assert "AskDrawnSides" in kinds
    assert not kinds & {"AskSealedSums", "SealedSums", "AskSides"}
    said_of = " ".join(leaks(plan))
    assert "No gradient leaves the active party" in said_of
    assert "learns the sums" not in said_of
    assert {line.message for line in sights(plan)} >= {"AskDrawnSides", "Sides"}


def test_a_run_with_random_cuts_costs_what_was_foretold(tmp_path):
    payments(tmp_path)
    run = read(tmp_path, WHOLE + RANDOM)
    plan = run.plan(members(run.names)[0])
    foretold = cost(plan, Shape.by_columns(party_tables(run).training, plan))
    trained(tmp_path, WHOLE + RANDOM, folder=tmp_path / "run")
    told = json.loads((tmp_path / "run" / "manifest.json").read_text())["messages"]
    crossed = {}
    for row in told:
        crossed[row["type"]] = crossed.get(row["type"], 0) + row["messages"] / len(BANKS)
    lines = {line.message: line for line in foretold.lines}
    assert lines["AskDrawnSides"].times == pytest.approx(crossed["AskDrawnSides"], rel=0.3)
    assert "AskSealedSums" not in lines


# Subtrees of single parties


SEPARATE = "separate = true\nshared = false\n"


def test_a_run_with_separate_subtrees_is_measured_kept_and_predicted_as_in_one_table(tmp_path):
    payments(tmp_path)
    run = read(tmp_path, WHOLE + PLAIN + SEPARATE)
    outcome = trained(tmp_path, WHOLE + PLAIN + SEPARATE, folder=tmp_path / "run")
    assert outcome is not None
    model = load_model(tmp_path / "run" / "model.json")
    assert model.ownership.units == tuple((bank,) for bank in BANKS)
    tables = party_tables(run).training
    whole = together(run, tables, model.columns)
    assert np.array_equal(predict_parties(model, tables), model.leaves(whole))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ('levels = "AAAA"\n', "some levels need the letter P or J"),
        ('on_loss = "continue"\n', "subtrees of all passive parties"),
        ("local_trees = 1\n", "subtrees of all passive parties"),
    ],
)
def test_what_does_not_go_with_separate_subtrees_is_refused(tmp_path, more, sentence):
    with pytest.raises(ParameterError, match=sentence):
        read(tmp_path, WHOLE + PLAIN + SEPARATE + more)


def test_separate_subtrees_are_forecast_and_said(tmp_path):
    payments(tmp_path)
    run = read(tmp_path, WHOLE + PLAIN + SEPARATE)
    plan = run.plan(members(run.names)[0])
    assert plan.schedule == "AADDJJ"
    assert cost(plan, Shape.by_columns(party_tables(run).training, plan)).total > 0
    assert "Trees depend on who holds a row" in " ".join(leaks(plan))


def said_of_groups(**more):
    who = tuple(Member(name, name) for name in ("network", "b0", "b1", "b2", "b3"))
    method = Hybrid(active="network", shared=(("b0", "b1", "b2"),), **more)
    return " ".join(leaks(Plan("a test", who, Goal(), TreeParams(max_depth=2), method)))


def test_totals_are_said_to_be_those_of_each_group():
    said = said_of_groups(levels="AJ")
    assert re.search("opens sums over .*b0.*b1.*b2.*; if it colludes", said)
    assert "sums over all passive parties" not in said


def test_whose_word_the_places_of_random_cuts_are_is_said():
    said = said_of_groups(levels="AP", passive_cuts="random")
    assert "Cut points of shared columns, among which cuts are drawn, are the word of network." in said
    assert "could choose a seed" in said
