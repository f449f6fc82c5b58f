"""The generated payment network: tables that fit together, rules that cover what they should, gaps of the presets."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from hedgerow import GBDTClassifier
from hedgerow.data.payments import (
    ACCOUNT_COLUMNS,
    PAYMENT_COLUMNS,
    PRESETS,
    SIZES,
    Network,
    generate_payments,
    hybrid_payments,
)
from hedgerow.errors import ParameterError


def test_every_account_has_one_bank_and_every_payment_an_account():
    made = generate_payments(5_000, banks=7, seed=3)
    assert list(made.banks) == [f"bank{i}" for i in range(1, 8)]
    ids = np.concatenate([bank.ids for bank in made.banks.values()])
    assert len(np.unique(ids)) == len(ids) == 250
    assert set(made.account.tolist()) <= set(ids.tolist())
    assert made.payments.names == PAYMENT_COLUMNS
    assert {bank.names for bank in made.banks.values()} == {ACCOUNT_COLUMNS}


def test_the_same_seed_gives_the_same_network():
    one, two, other = (generate_payments(2_000, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(one.together().values, two.together().values)
    assert np.array_equal(one.payments.labels, two.payments.labels)
    assert not np.array_equal(one.account, other.account)


def test_accounts_that_no_bank_knows_are_missing():
    made = generate_payments(20_000, Network(coverage=0.5), seed=1)
    known = np.isin(made.account, np.concatenate([bank.ids for bank in made.banks.values()]))
    assert 0.4 < known.mean() < 0.6
    assert np.array_equal(~np.isnan(made.together().values[:, -1]), known)


def test_the_last_account_need_not_have_a_payment():
    made = generate_payments(10_793, PRESETS["AD"], 8, 4)
    assert made.account.max() < max(bank.ids.max() for bank in made.banks.values())
    assert not np.isnan(made.together().values).any()


@pytest.mark.parametrize(("preset", "alone", "pooled"), [("AD", 0.474, 0.696), ("DEV", 0.111, 0.573)])
def test_the_presets_have_the_gaps_of_the_paper(preset, alone, pooled):
    made, new = (generate_payments(150_000, PRESETS[preset], seed=seed) for seed in (1, 2))
    assert abs(made.payments.labels.mean() - 0.005) < 0.0006
    for table, fresh, figure in ((made.payments, new.payments, alone), (made.together(), new.together(), pooled)):
        model = GBDTClassifier(30, max_depth=6, max_bin=32, learning_rate=0.2).fit(table)
        found = average_precision_score(new.payments.labels, model.predict_proba(fresh)[:, 1])
        assert abs(found - figure) < 0.07


@pytest.mark.parametrize("wrong", [{"rate": 2.0}, {"payment_share": 0.6, "account_share": 0.6}, {"bank_skew": -1.0}])
def test_knobs_that_cannot_be_are_refused(wrong):
    with pytest.raises(ParameterError, match="payment network"):
        Network(**wrong)


def test_a_network_without_payments_is_refused():
    with pytest.raises(ParameterError, match="at least one payment"):
        generate_payments(0)


@pytest.mark.parametrize("preset", ["AD", "DEV"])
def test_hybrid_payments_are_an_active_party_and_its_banks_over_the_same_accounts(preset):
    training, test = hybrid_payments(preset, 0.002, banks=8, seed=4)
    assert [made.active.n_rows for made in (training, test)] == [round(0.002 * size) for size in SIZES[preset]]
    whole = generate_payments(training.active.n_rows + test.active.n_rows, PRESETS[preset], 8, 4).together()
    n = training.active.n_rows
    for made, rows in ((training, slice(0, n)), (test, slice(n, None))):
        assert list(made.passive) == [f"bank{i}" for i in range(1, 9)]
        assert all(bank.labels is None for bank in made.passive.values())
        np.testing.assert_array_equal(made.pooled().values, whole.values[rows])
        np.testing.assert_array_equal(made.pooled().labels, whole.labels[rows])


def test_payments_may_have_their_accounts_as_ids():
    by_account, test = hybrid_payments("DEV", 0.002, rows="accounts", network=Network(coverage=0.7))
    by_payment, _ = hybrid_payments("DEV", 0.002, network=Network(coverage=0.7))
    np.testing.assert_array_equal(by_account.pooled().values, by_payment.pooled().values)
    missing = np.isnan(by_account.pooled().values[:, -1]).mean()
    assert 0.2 < missing < 0.4
    assert len(set(by_account.active.ids.tolist())) < by_account.active.n_rows
    assert set(test.active.ids.tolist()) & set(by_account.active.ids.tolist())
    assert all(one is test.passive[name] for name, one in by_account.passive.items())


@pytest.mark.parametrize("wrong", [{"preset": "BC"}, {"scale": 0.0}, {"rows": "banks"}])
def test_payments_of_another_kind_are_refused(wrong):
    with pytest.raises(ParameterError, match="Payments are of preset 'AD' or 'DEV'"):
        hybrid_payments(**wrong)
