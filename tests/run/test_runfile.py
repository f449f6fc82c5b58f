"""Run files in TOML: what they mean, and every way in which they can be wrong."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.agreement.options import WholeTrees
from hedgerow.agreement.plan import Member
from hedgerow.cli import app
from hedgerow.errors import DataError, ParameterError, RunError
from hedgerow.run.file import tables
from hedgerow.run.file.read import RunFile, open_run, read_run_file
from hedgerow.run.simulation.parties import members

RUN = '[run]\nname = "credit"\n'
DATA = '[data]\ntask = "classify"\n'
CUT = '[partition]\ndata = "builtin:breast_cancer"\nparties = 5\n'
WHOLE = RUN + DATA + CUT
PRINTS = {name: digit * 64 for name, digit in (("alice", "a"), ("bob", "b"), ("carol", "c"))}
DRIVER = f'[driver]\naddress = "driver.example:50051"\nfingerprint = "{"d" * 64}"\n'
REAL = RUN + DATA + "".join(f'[[party]]\nname = "{n}"\nfingerprint = "{p}"\n' for n, p in PRINTS.items()) + DRIVER


def read(folder: Path, text: str) -> RunFile:
    path = folder / "run.toml"
    path.write_text(text)
    return read_run_file(path)


def party(name: str, more: str = "") -> str:
    return f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\n{more}'


# What is read


def test_a_run_file_of_a_few_lines_has_the_safe_choices(tmp_path: Path) -> None:
    run = read(tmp_path, WHOLE)
    assert (run.name, run.method.word, run.folder) == ("credit", "horizontal", tmp_path / "runs" / "credit")
    assert (run.method.protection, run.method.on_loss, run.method.cut_points) == ("masked", "wait", "counts")
    assert run.params.min_cut_rows == 50
    assert run.names == ("party1", "party2", "party3", "party4", "party5")
    assert run.goal.objective is None
    assert not run.goal.follow
    assert run.notes == ()


@pytest.mark.parametrize("method", ["alone", "pooled"])
def test_a_baseline_tells_all_values_apart_and_has_no_plan(tmp_path: Path, method: str) -> None:
    run = read(tmp_path, WHOLE.replace("[data]", f'method = "{method}"\n[data]'))
    assert run.params.min_cut_rows == 1
    with pytest.raises(ParameterError, match=f"method {method} is a baseline"):
        run.plan((Member("party1", "1"),))


def test_relative_paths_begin_at_the_run_file(tmp_path: Path) -> None:
    more = '[data]\ntask = "classify"\nlabel = "y"\ntest = "test.csv"\n'
    run = read(tmp_path, RUN + more + party("a", 'valid = "/elsewhere/v.csv"\n') + party("b") + party("c"))
    assert run.parties[0].data == tmp_path / "a.csv"
    assert run.parties[0].valid == Path("/elsewhere/v.csv")
    assert run.data.test == tmp_path / "test.csv"
    assert run.goal.follow


def test_every_parameter_reaches_the_plan(tmp_path: Path) -> None:
    trees = (
        '[trees]\nobjective = "tweedie"\ntweedie_variance_power = 1.3\nn_estimators = 7\nmax_depth = 3\n'
        'learning_rate = 1\nmin_cut_rows = 9\nmonotone_constraints = [1, 0, -1]\nbase_score = 2\neval_metric = "mae"\n'
        "early_stopping_rounds = 3\n"
    )
    privacy = '[privacy]\non_loss = "continue"\nparty_share = 0.6\ncut_points = "local"\ncolumns = "all"\n'
    run = read(
        tmp_path, RUN + CUT.replace("breast_cancer", "diabetes") + "[validation]\nshare = 0.2\n" + trees + privacy
    )
    plan = run.plan(members(run.names)[0])
    assert (plan.params.n_estimators, plan.params.max_depth, plan.params.learning_rate) == (7, 3, 1.0)
    assert (plan.params.min_cut_rows, plan.params.monotone_constraints) == (9, (1, 0, -1))
    assert (plan.goal.objective, plan.goal.parameter, plan.goal.base_score) == ("tweedie", 1.3, 2.0)
    assert (plan.goal.eval_metric, plan.goal.early_stopping_rounds, plan.goal.follow) == ("mae", 3, True)
    method = plan.method
    assert (method.on_loss, method.party_share, method.cut_points, method.columns) == ("continue", 0.6, "local", "all")


def test_a_random_forest_has_the_defaults_of_one_and_says_which_columns_a_node_sees(tmp_path: Path) -> None:
    run = read(tmp_path, WHOLE + '[trees]\nkind = "forest"\n')
    assert run.params.average
    assert (run.params.max_depth, run.params.subsample, run.params.reg_lambda) == (12, 0.632, 0.0)
    assert any("33% of the columns" in sentence for sentence in run.notes)


def test_two_masked_parties_run_in_a_simulation_and_it_is_said_what_they_learn(tmp_path: Path) -> None:
    run = read(tmp_path, WHOLE.replace("parties = 5", "parties = 2"))
    assert run.plan(members(run.names)[0]).method.allow_two
    assert any("learns the other's" in sentence for sentence in run.notes)


def test_whole_trees_have_a_plan_without_protection_and_it_is_said(tmp_path: Path) -> None:
    run = read(tmp_path, WHOLE.replace("[data]", 'method = "bagging"\n[data]'))
    plan = run.plan(members(run.names)[0])
    assert plan.method == WholeTrees("bagging")
    assert any("Whole trees" in sentence for sentence in run.notes)


# Real parties


def test_real_parties_have_the_same_plan_at_every_reading(tmp_path: Path) -> None:
    plan = read(tmp_path, REAL).real_plan()
    assert plan.fingerprints == PRINTS
    assert plan.coordinator == "d" * 64
    assert plan.digest == read(tmp_path, REAL + "\n# a remark\n").real_plan().digest
    assert plan.digest != read(tmp_path, REAL + "[trees]\nmax_depth = 5\n").real_plan().digest


def test_a_fingerprint_may_be_written_as_openssl_does(tmp_path: Path) -> None:
    run = read(tmp_path, REAL.replace("a" * 64, ":".join(["AA"] * 32)))
    assert run.parties[0].fingerprint == "a" * 64


def test_the_driver_listens_everywhere_at_the_port_that_parties_dial(tmp_path: Path) -> None:
    driver = read(tmp_path, REAL).driver
    assert driver is not None
    assert (driver.listen, driver.deadline) == ("0.0.0.0:50051", 600.0)


def test_two_real_masked_parties_must_be_accepted(tmp_path: Path) -> None:
    two = REAL.replace(f'[[party]]\nname = "carol"\nfingerprint = "{"c" * 64}"\n', "")
    with pytest.raises(ParameterError, match="accept it with allow_two"):
        read(tmp_path, two)
    assert read(tmp_path, two + "[privacy]\nallow_two = true\n").real_plan().method.allow_two


@pytest.mark.parametrize(
    ("cut", "sentence"),
    [
        (f'fingerprint = "{"b" * 64}"\n', r"\[\[party\]\] 'bob' lacks its fingerprint"),
        (f'fingerprint = "{"d" * 64}"\n', r"\[driver\] lacks its fingerprint"),
    ],
)
def test_a_real_plan_names_whoever_lacks_a_fingerprint(tmp_path: Path, cut: str, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        read(tmp_path, REAL.replace(cut, "")).real_plan()


def test_a_simulation_has_no_real_plan(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"Real parties are named in \[\[party\]\]"):
        read(tmp_path, WHOLE).real_plan()
    with pytest.raises(ParameterError, match=r"need a \[driver\] section"):
        read(tmp_path, REAL.replace(DRIVER, "")).real_plan()


def test_the_driver_has_a_certificate_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="fingerprint is that of a party"):
        read(tmp_path, REAL.replace("d" * 64, "a" * 64)).real_plan()


# Files


def test_a_simulation_refuses_data_that_is_not_there_at_once(tmp_path: Path) -> None:
    text = RUN + '[data]\nlabel = "y"\ntask = "classify"\n' + party("a") + party("b") + party("c")
    (tmp_path / "a.csv").write_text("y,x\n1,2\n")
    run = read(tmp_path, text)
    with pytest.raises(DataError, match=r"\[\[party\]\] 'b' data names .*b.csv, which is not a file"):
        run.check_files()
    with pytest.raises(DataError, match="not a file"):
        open_run(tmp_path / "run.toml", files=True)


def test_a_simulation_needs_the_data_of_every_party(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"'alice' lacks data, which a simulation needs"):
        read(tmp_path, REAL).check_files()


def test_a_csv_file_needs_a_label_and_a_libsvm_file_has_one(tmp_path: Path) -> None:
    for name in ("all.csv", "all.svm"):
        (tmp_path / name).write_text("1 1:1\n")
    run = read(tmp_path, WHOLE.replace("builtin:breast_cancer", "all.csv"))
    with pytest.raises(ParameterError, match=r"\[data\] lacks label, which all.csv needs"):
        run.check_files()
    read(tmp_path, WHOLE.replace("builtin:breast_cancer", "all.svm")).check_files()


# Everything that can be wrong, as the command line says it

PLAIN = '[privacy]\nprotection = "plain"\n'
SEALED = '[privacy]\nprotection = "lattice"\n'
OPENED = SEALED + 'opener = "party1"\n'
WRONG = {
    "an unknown key": (WHOLE + "[trees]\nmax_dept = 3\n", "[trees] has no key 'max_dept'; did you mean max_depth?"),
    "a key of another section": (RUN + 'label = "y"\n' + DATA + CUT, "[run] has no key 'label'"),
    "a key above all sections": ('label = "y"\n' + WHOLE, "'label' stands outside its section; put it below [data]"),
    "an unknown section": (WHOLE + "[tree]\n", "There is no section '[tree]'; did you mean [trees]?"),
    "a party in single brackets": (RUN + DATA + '[party]\nname = "a"\n', "is written [[party]]"),
    "bad TOML": (RUN + "oops\n" + DATA, "in line 3; correct it there"),
    "a key twice": (RUN + 'name = "again"\n', "in line 3"),
    "no name": ("[run]\n" + DATA + CUT, "[run] lacks name"),
    "a name that is no folder's": (WHOLE.replace("credit", "../credit"), "[run] name must be 1 to 64 letters"),
    "an unknown method": (RUN + 'method = "diagonal"\n' + DATA + CUT, "[run] method must be one of horizontal"),
    "no task": (RUN + CUT, "[data] lacks task"),
    "a task that is no word": (RUN + "[data]\ntask = 1\n" + CUT, "[data] task must be one of classify, regress"),
    "a label that is no text": (RUN + DATA + "label = 3\n" + CUT, "[data] label must be text in quotes; it is 3"),
    "categories that are no list": (RUN + DATA + 'categorical = "town"\n' + CUT, "[data] categorical must be a list"),
    "no parties": (RUN + DATA, "There are no parties"),
    "parties named twice over": (WHOLE + party("a"), "[partition] and [[party]] exclude each other"),
    "two parties of one name": (RUN + DATA + party("a") + party("b") + party("a"), "have the name 'a'"),
    "a party without a name": (RUN + DATA + '[[party]]\ndata = "a.csv"\n', "[[party]] lacks name"),
    "two parties of one certificate": (REAL.replace("b" * 64, "a" * 64), "'bob' fingerprint is that of 'alice'"),
    "half a fingerprint": (REAL.replace("b" * 64, "b" * 32), "[[party]] 'bob' fingerprint must be the 64 hexadecimal"),
    "one masked party": (WHOLE.replace("parties = 5", "parties = 1"), "Secure aggregation needs at least 3 parties"),
    "one drawn party": (WHOLE + "[privacy]\nparty_share = 0.2\n", "Secure aggregation of 1 parties"),
    "no party": (WHOLE.replace("parties = 5", "parties = 0"), "[partition] parties must be a whole number from 1"),
    "no number of parties": (WHOLE.replace("parties = 5\n", ""), "[partition] lacks parties"),
    "nothing to cut": (RUN + DATA + "[partition]\nparties = 5\n", "[partition] lacks data"),
    "an unknown data set": (WHOLE.replace("breast_cancer", "breast_cancr"), "did you mean builtin:breast_cancer?"),
    "an unknown way to cut": (WHOLE + 'how = "fair"\n', "[partition] how must be one of even"),
    "an alpha of 0": (WHOLE + "alpha = 0\n", "[partition] alpha must be a number above 0"),
    "plain without consent": (WHOLE + PLAIN, "add i_accept_disclosure = true if that is meant"),
    "consent in quotes": (WHOLE + PLAIN + 'i_accept_disclosure = "yes"\n', "must be true or false, without quotes"),
    "a share of nobody": (WHOLE + "[privacy]\nparty_share = 0\n", "[privacy] party_share must be a number above 0"),
    "no share to hold out": (WHOLE + "[validation]\n", "[validation] lacks share"),
    "all rows held out": (WHOLE + "[validation]\nshare = 1\n", "[validation] share must be a number from 0 to below 1"),
    "stopping by nothing": (WHOLE + "[trees]\nearly_stopping_rounds = 3\n", "needs validation rows"),
    "a metric of nothing": (WHOLE + '[trees]\neval_metric = "auc"\n', "[trees] eval_metric needs validation rows"),
    "an unknown metric": (
        WHOLE + '[validation]\nshare = 0.2\n[trees]\neval_metric = "f1"\n',
        "[trees] eval_metric 'f1' cannot be computed for the logistic loss",
    ),
    "a parameter out of range": (WHOLE + "[trees]\nmax_bin = 999\n", "[trees] max_bin must be a whole number from 2"),
    "a number beyond 64 bits": (WHOLE + f"[trees]\nrandom_state = {'9' * 400}\n", "[trees] random_state is too large"),
    "a number that is none": (WHOLE + "alpha = nan\n", "[partition] alpha must be a number above 0"),
    "a section that is none": ("run = 3\n" + DATA + CUT, "[run] must be a section of its own"),
    "a section in a list": (WHOLE + "[[trees]]\n", "[trees] must be a section of its own"),
    "a party that is a number": ("party = [3]\n" + RUN + DATA, "[[party]] must be a section of its own"),
    "a parameter in quotes": (WHOLE + '[trees]\ngamma = "1"\n', "[trees] gamma must be a number of at least 0"),
    "trees that are averaged by hand": (WHOLE + "[trees]\naverage = true\n", "[trees] has no key 'average'"),
    "a loss for numbers of classes": (WHOLE + '[trees]\nobjective = "huber"\n', "is a loss for numbers"),
    "a slope without its loss": (
        WHOLE + "[trees]\nhuber_slope = 2.0\n",
        "[trees] huber_slope goes only with objective",
    ),
    "a power out of range": (
        RUN + CUT + '[trees]\nobjective = "tweedie"\ntweedie_variance_power = 2\n',
        "[trees] tweedie_variance_power must be a number between 1 and 2; it is 2",
    ),
    "a first score that is no probability": (
        WHOLE + "[trees]\nbase_score = 1.0\n",
        "[trees] base_score must be a prob",
    ),
    "a random forest that learns slowly": (
        WHOLE + '[trees]\nkind = "forest"\nlearning_rate = 0.1\n',
        "[trees] learning_rate does not go with kind",
    ),
    "a random forest that stops early": (
        WHOLE + '[validation]\nshare = 0.2\n[trees]\nkind = "forest"\nearly_stopping_rounds = 3\n',
        "[trees] early_stopping_rounds does not go with kind",
    ),
    "encryption without an opener": (WHOLE + SEALED, "[privacy] lacks opener, the party that opens the encrypted sums"),
    "an opener who is nobody": (WHOLE + SEALED + 'opener = "eve"\n', "[privacy] opener names 'eve', which is no party"),
    "an opener of masks": (WHOLE + '[privacy]\nopener = "party1"\n', "[privacy] opener goes only with protection"),
    "an opener of quantiles": (WHOLE + OPENED + 'cut_points = "local"\n', "[privacy] cut_points = 'local' does not go"),
    "an opener at a link": (
        WHOLE + OPENED + "link_mbit = 10\n",
        "[privacy] link_mbit does not go with",
    ),
    "an opener of whole trees": (
        WHOLE.replace("[data]", 'method = "bagging"\n[data]') + '[privacy]\nopener = "party1"\n',
        "[privacy] opener does not go with method bagging, in which no sums are opened",
    ),
    "an opener of columns": (
        WHOLE.replace("[data]", 'method = "vertical"\n[data]') + '[privacy]\nopener = "party1"\n',
        "[privacy] opener does not go with method vertical, in which the active party opens the sums",
    ),
    "masked whole trees": (
        WHOLE.replace("[data]", 'method = "bagging"\n[data]') + '[privacy]\nprotection = "masked"\n',
        '[privacy] protection = "masked" cannot be had with method bagging',
    ),
    "sampled rows of parties that have rows of their own": (
        WHOLE + "[privacy]\npassive_rows = 0.2\n",
        "[privacy] passive_rows is for methods vertical and hybrid",
    ),
    "whole trees of sampled parties": (
        WHOLE.replace("[data]", 'method = "bagging"\n[data]') + "[privacy]\nparty_share = 0.5\n",
        "[privacy] party_share does not go with method bagging",
    ),
    "a forest in turn": (
        WHOLE.replace("[data]", 'method = "sequential"\n[data]') + '[trees]\nkind = "forest"\n',
        "does not go with method sequential",
    ),
    "a driver of a simulation": (WHOLE + DRIVER, "[partition] is a simulation and [driver] is for real parties"),
    "a driver of a baseline": (REAL.replace("[data]", 'method = "pooled"\n[data]'), "leave out [driver]"),
    "a driver without address": (REAL.replace('address = "driver.example:50051"\n', ""), "[driver] lacks address"),
    "an address without port": (REAL.replace(":50051", ""), "[driver] address must be a host and a port"),
    "test rows of real parties": (REAL.replace("[data]", '[data]\ntest = "t.csv"'), "[data] test is for simulations"),
    "no time at all": (REAL + "deadline = 0\n", "[driver] deadline must be a number of seconds above 0"),
    "a fingerprint that is lacking": (
        REAL.replace(f'fingerprint = "{"c" * 64}"\n', ""),
        "'carol' lacks its fingerprint",
    ),
    "data of real parties that nobody knows": (REAL, "say how wide it is with --columns"),
    "a missing file": (
        RUN + DATA + 'label = "y"\n' + party("a") + party("b") + party("c"),
        "a.csv, which is not a file",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_in_one_sentence_with_exit_code_3(tmp_path: Path, what: str) -> None:
    text, sentence = WRONG[what]
    (tmp_path / "run.toml").write_text(text)
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "run.toml")])
    assert result.exit_code == 3, result.output
    assert sentence in result.stderr
    said = result.stderr.splitlines()
    assert len([line for line in said if line.startswith("hedgerow: ")]) == 1
    assert said[-1].startswith("hedgerow: ")
    assert said[-1].endswith((".", "?"))


def test_a_file_that_is_no_run_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"must end in .toml"):
        open_run(tmp_path / "run.yaml")
    with pytest.raises(RunError, match="No such file"):
        open_run(tmp_path / "run.toml")
    (tmp_path / "run.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunError, match="is not text in UTF-8"):
        open_run(tmp_path / "run.toml")
    (tmp_path / "run.toml").write_bytes(b" " * ((1 << 24) + 1))
    with pytest.raises(RunError, match="too large for a run file"):
        open_run(tmp_path / "run.toml")
    (tmp_path / "run.toml").write_text("x = " + "[" * 5000)
    with pytest.raises(RunError, match="is not TOML"):
        open_run(tmp_path / "run.toml")


def test_an_unclosed_file_is_refused_at_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="in line 3; correct it there"):
        read(tmp_path, RUN + "folder = [")


def test_privacy_of_a_baseline_and_validation_of_whole_trees_are_remarked_upon(tmp_path: Path) -> None:
    pooled = read(tmp_path, WHOLE.replace("[data]", 'method = "pooled"\n[data]') + "[privacy]\non_loss = 'wait'\n")
    assert any("[privacy] has no effect" in sentence for sentence in pooled.notes)
    bagging = read(tmp_path, WHOLE.replace("[data]", 'method = "bagging"\n[data]') + "[validation]\nshare = 0.2\n")
    assert any("no metric is followed" in sentence for sentence in bagging.notes)
    assert not bagging.goal.follow


def test_libsvm_files_of_all_parties_count_their_columns_alike(tmp_path):
    """A file without a column 0 beside one that has it would be read one column off."""
    (tmp_path / "a.libsvm").write_text("1 0:5 1:1\n0 1:2\n")
    (tmp_path / "b.libsvm").write_text("1 1:3\n0 1:4\n")
    text = '[run]\nname = "r"\nmethod = "pooled"\n[data]\ntask = "classify"\n'
    text += "".join(f'[[party]]\nname = "{n}"\ndata = "{n}.libsvm"\n' for n in "ab")
    (tmp_path / "run.toml").write_text(text)
    training = tables.party_tables(open_run(tmp_path / "run.toml")).training
    assert [table.values.toarray()[0].tolist() for table in training.values()] == [[5, 1], [0, 3]]
