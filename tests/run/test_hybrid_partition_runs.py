"""[partition] of hybrid run files: one table as an active party and passive ones, or a network and its banks."""

import numpy as np
import pytest
from test_vertical_runs import read, said

from hedgerow import Table
from hedgerow.commands.print_tables import measured
from hedgerow.data.builtin import read_builtin
from hedgerow.data.hybrid_partition import HybridCut, hybrid_pair
from hedgerow.data.payments import Network, generate_payments
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.file import load_model
from hedgerow.run.file.tables import party_tables, rows_to_measure
from hedgerow.run.simulation import run_file

HEAD = '[run]\nname = "cut"\nmethod = "hybrid"\n[data]\ntask = "classify"\n'
TREES = '[trees]\nn_estimators = 3\nmax_depth = 3\n[privacy]\nprotection = "plain"\ni_accept_disclosure = true\n'
CANCER = '[partition]\ndata = "builtin:breast_cancer"\nparties = 4\n'
NETWORK = '[partition]\ndata = "builtin:payments,preset=DEV,rows=3000,rate=0.05,seed=4"\nparties = 4\n'


def trained(where, text):
    return run_file.train(read(where, text), run_file.Options(measure=measured, threads=1))


# What is read


def test_every_key_reaches_the_cut(tmp_path):
    more = (
        'passive = ["mean area", 3]\nhow = "labels"\nalpha = 0.2\nholders = 2\nextra = 0.1\nuncovered = 0.3\n'
        'dropped = 1\nactive_rows = 0.5\nactive_columns = 0.25\nseed = 9\ntest_rows = "even"\n'
    )
    cut = read(tmp_path, HEAD + CANCER + more).partition
    assert cut.test_rows == "even"
    assert cut.names == ("party1", "party2", "party3", "party4")
    assert cut.hybrid == HybridCut(
        ("mean area", 3), 3, names=("party2", "party3", "party4"), how="labels", alpha=0.2, holders=2, extra=0.1,
        uncovered=0.3, dropped=1, active_rows=0.5, active_columns=0.25, seed=9,
    )  # fmt: skip
    assert read(tmp_path, HEAD + CANCER + 'passive = 2\nby = "mean area"\n').partition.hybrid.by == "mean area"


def test_the_first_party_is_active(tmp_path):
    assert read(tmp_path, HEAD + CANCER + "passive = 2\n").active == "party1"
    assert read(tmp_path, HEAD + NETWORK).names == ("network", "bank1", "bank2", "bank3")
    assert read(tmp_path, HEAD + NETWORK).active == "network"


WRONG = {
    "no passive columns": (CANCER, "[partition] lacks passive, the columns of the passive parties; add their names"),
    "columns that are none": (CANCER + "passive = 1.5\n", "[partition] passive must be a list of columns, or a whole"),
    "one party": (CANCER.replace("= 4", "= 1") + "passive = 2\n", "[partition] parties must be at least 2 in a hybrid"),
    "noise": (CANCER + "passive = 2\nnoise = 0.1\n", "[partition] noise does not go with method hybrid"),
    "another way to deal rows": (
        CANCER + 'passive = 2\nhow = "order"\n',
        "[partition] how must be one of even, labels",
    ),
    "too many holders": (CANCER + "passive = 2\nholders = 4\n", "[partition] 4 parties cannot hold each row where"),
    "all rows uncovered": (CANCER + "passive = 2\nuncovered = 1\n", "[partition] uncovered must be a number from 0 to"),
    "other test rows": (
        CANCER + 'passive = 2\ntest_rows = "odd"\n',
        "[partition] test_rows must be one of alike, even",
    ),
    "a network that is cut": (NETWORK + 'how = "labels"\n', "[partition] how does not go with a payment network that"),
    "a network with other banks": (
        NETWORK.replace("seed=4", "banks=7"),
        "[partition] parties means 3 banks beside the network, and data names another number",
    ),
    "a network's knob": (NETWORK.replace("seed", "sead"), "builtin:payments has no 'sead=4'; write KNOB=VALUE, of"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_in_one_sentence(tmp_path, case):
    text, sentence = WRONG[case]
    with pytest.raises(ParameterError) as caught:
        read(tmp_path, HEAD + text)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("method", ["horizontal", "vertical", "pooled"])
@pytest.mark.parametrize("line", ["passive = 2", "holders = 2", "uncovered = 0.5", 'test_rows = "even"'])
def test_other_methods_have_no_use_for_the_keys_of_hybrid_parties(tmp_path, method, line):
    with pytest.raises(ParameterError, match=r"\[partition\] \w+ is for method hybrid, whose passive parties"):
        read(tmp_path, HEAD.replace("hybrid", method) + CANCER + line + "\n")


# Tables


def test_tables_and_test_rows_are_those_of_the_cut(tmp_path):
    whole = read_builtin("builtin:breast_cancer")
    frame = np.column_stack([whole.labels, whole.values.astype(object)])
    header = ",".join(["y", *whole.names])
    (tmp_path / "test.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in frame[:100])]) + "\n")
    (tmp_path / "all.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in frame[100:])]) + "\n")
    head = HEAD + 'label = "y"\ntest = "test.csv"\n'
    text = CANCER.replace("builtin:breast_cancer", "all.csv") + "passive = 5\nuncovered = 0.25\nseed = 3\n"
    run = read(tmp_path, head + text + "[privacy]\nshared = true\n")
    tables = party_tables(run).training
    cut = HybridCut(5, 3, names=("party2", "party3", "party4"), uncovered=0.25, seed=3)
    made, new = hybrid_pair(whole.take(np.arange(100, 569)), whole.take(np.arange(100)), cut)
    np.testing.assert_allclose(tables["party1"].values, made.active.values, rtol=1e-6)
    for name, table in made.passive.items():
        np.testing.assert_array_equal(tables[name].ids, table.ids)
        assert tables[name].labels is None
    found = rows_to_measure(run, made.pooled().columns, tables)
    np.testing.assert_allclose(found.values, new.pooled().values, rtol=1e-6)


def test_columns_of_one_name_get_the_party_s_unless_they_are_shared(tmp_path):
    text = HEAD + CANCER + 'passive = ["mean area"]\n'
    assert party_tables(read(tmp_path, text)).training["party3"].names == ("mean area",)
    split = party_tables(read(tmp_path, text + "[privacy]\nshared = false\n"))
    assert split.training["party3"].names == ("party3.mean area",)
    assert split.notes == ["Columns that several parties have are called PARTY.NAME here: 'mean area'."]


def test_parties_that_lack_different_columns_share_none_unless_it_is_said(tmp_path):
    cut = HEAD + CANCER + "passive = 10\n"
    assert read(tmp_path, cut).method.shares
    assert not read(tmp_path, cut + "dropped = 3\n").method.shares


def test_a_network_falls_into_its_own_parties(tmp_path):
    tables = party_tables(read(tmp_path, HEAD + NETWORK + "[privacy]\nshared = true\n")).training
    made = generate_payments(3000, Network(0.05, payment_share=0.115, account_share=0.52), 3, 4)
    np.testing.assert_array_equal(tables["network"].values, made.payments.values)
    np.testing.assert_array_equal(tables["network"].ids, made.account)
    np.testing.assert_array_equal(tables["bank2"].values, made.banks["bank2"].values)
    by_payment = NETWORK.replace("seed=4", "seed=4,ids=payments")
    linked = party_tables(read(tmp_path, HEAD + by_payment + "[privacy]\nshared = true\n")).training
    assert sum(linked[f"bank{i}"].n_rows for i in (1, 2, 3)) == 3000


def test_a_network_as_one_table_is_cut_like_any_other(tmp_path):
    run = read(tmp_path, HEAD + NETWORK + 'passive = ["status", "flag", "kyc_risk", "age_months"]\n')
    assert run.names == ("party1", "party2", "party3", "party4")
    assert sum(table.n_rows for name, table in party_tables(run).training.items() if name != "party1") == 3000
    pooled = read(tmp_path, HEAD.replace("hybrid", "horizontal") + NETWORK)
    assert {table.n_columns for table in party_tables(pooled).training.values()} == {13}


def test_a_network_has_no_test_rows_of_another_table(tmp_path):
    run = read(tmp_path, HEAD + 'test = "builtin:payments,rows=50"\n' + NETWORK)
    with pytest.raises(ParameterError, match=r"a payment network is not cut; leave it out, and add \[validation\]"):
        rows_to_measure(run, (), {})


def test_a_cut_that_the_table_does_not_allow_is_refused(tmp_path):
    with pytest.raises(DataError, match="30 of 30 columns cannot be passive; leave one to the active party"):
        party_tables(read(tmp_path, HEAD + CANCER + "passive = 30\n"))


# Runs


@pytest.mark.parametrize("shared", ["shared = false\n", "shared = true\n"])
def test_a_cut_table_and_a_network_are_trained_over_and_measured(tmp_path, shared):
    for i, cut in enumerate([CANCER + "passive = 10\nuncovered = 0.2\n", NETWORK]):
        (tmp_path / str(i)).mkdir()
        outcome = trained(tmp_path / str(i), HEAD + cut + "[validation]\nshare = 0.3\n" + TREES + shared)
        assert outcome.rows == "validation"
        assert outcome.metrics[""]["auc"] > (0.9 if i == 0 else 0)
        assert outcome.models[""].n_rounds == 3


def test_the_command_trains_over_a_network(tmp_path):
    (tmp_path / "run.toml").write_text(HEAD + NETWORK + "[validation]\nshare = 0.3\n" + TREES)
    assert "model.json" in said(tmp_path, "train").output
    own = load_model(tmp_path / "runs" / "cut" / "model.json").ownership
    assert own.parties == ("network", "bank1", "bank2", "bank3")


def test_categories_of_a_network_may_be_named():
    table = read_builtin("builtin:payments,rows=500", ["currency"])
    assert isinstance(table, Table)
    assert table.columns[4].kind == "categorical"
