"""A payment network by its name, with knobs behind it."""

from dataclasses import fields, replace

import numpy as np
import pytest

from hedgerow.data.builtin import check_builtin, read_builtin
from hedgerow.data.named_network import KNOBS, NamedNetwork, named_network
from hedgerow.data.payments import PRESETS, Network, generate_payments
from hedgerow.errors import ParameterError


def test_every_knob_of_a_network_can_be_named():
    assert {knob.name for knob in fields(Network)} < set(KNOBS)
    knobs = "preset=DEV,rows=500,banks=7,ids=payments,seed=3,rate=0.1,precision=0.5,payments_per_account=5,coverage=0.5"
    shares = replace(PRESETS["DEV"], rate=0.1, precision=0.5, payments_per_account=5, coverage=0.5)
    assert named_network(f"payments,{knobs}") == NamedNetwork("DEV", 500, 7, "payments", 3, shares)
    assert named_network("payments") == NamedNetwork(network=PRESETS["AD"])


def test_the_table_is_that_of_the_generator():
    table = read_builtin("builtin:payments,rows=800,banks=3,seed=5")
    made = generate_payments(800, PRESETS["AD"], 3, 5)
    np.testing.assert_array_equal(table.values, made.together().values)
    np.testing.assert_array_equal(table.labels, made.payments.labels)


WRONG = {
    "payments,bank=3": "builtin:payments has no 'bank=3'; write KNOB=VALUE, of the knobs preset, rows",
    "payments,rows": "builtin:payments has no 'rows'",
    "payments,rows=0": "rows is a whole number from 1 on; it is '0'",
    "payments,seed=x": "seed is a whole number from 0 on; it is 'x'",
    "payments,preset=BC": "preset is one of AD, DEV; it is 'BC'",
    "payments,ids=rows": "ids is one of accounts, payments; it is 'rows'",
    "payments,rate=much": "rate is a number; it is 'much'",
    "payments,bank_skew=inf": "bank_skew is a number; it is 'inf'",
    "payments,rate=2": "The shares of a payment network lie between 0 and 1",
    "payments,payments_per_account=0": "payments_per_account is a whole number from 1 on",
    "paymnts": "builtin:paymnts is unknown; the data sets that come along are",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_name_that_means_nothing_is_refused(name):
    with pytest.raises(ParameterError, match=WRONG[name]):
        check_builtin(f"builtin:{name}")
