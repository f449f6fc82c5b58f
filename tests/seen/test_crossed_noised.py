"""Under differential privacy nothing leaves a party but noised sums, and what the driver says is made of these."""

from dataclasses import replace

import msgspec
import numpy as np
import pandas as pd
import pytest

from federated import Federation
from hedgerow import DP, partition
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.privacy import noise
from hedgerow.protocols import party as party_side
from hedgerow.protocols.columns import own_facts
from noised import PLAIN, Drawn, noised, rows
from statistics_of_noise import looks_like_noise

ADDITIVE = DP(8, method="additive", classes=(0, 1, 2))
RANDOM = {("Consent", "public_key"), ("Consent", "signature"), ("Introduce", "keys")}


def told(fed, *senders):
    """Every field that crossed from these, but for keys, signatures and words with noise."""
    out = []
    for one in fed.heard:
        if one.sender in senders:
            for field, how in m.travels(type(one.message)).items():
                if how.how == "clear" and (one.kind, field) not in RANDOM:
                    value = msgspec.to_builtins(getattr(one.message, field), enc_hook=lambda array: array.tobytes())
                    out.append((one.sender, one.kind, field, value))
    return out


def run(tables, dp=ADDITIVE, **more):
    fed = noised(tables, dp=dp, **more)
    fed.run()
    return fed


def tables(n=400):
    return partition.rows(rows(n), n=4)


def other_tables():
    """Other rows of other labels, one of them of a class that is rare, and one row more."""
    first, *rest = partition.rows(rows(405, seed=9), n=4).items()
    labels = first[1].labels.copy()
    labels[0] = 2
    return {first[0]: replace(first[1], labels=labels), **dict(rest)}


def test_a_party_says_nothing_in_the_clear_that_depends_on_its_rows():
    names = tuple(tables())
    assert told(run(tables()), *names) == told(run(other_tables()), *names)


def test_without_declared_classes_it_would():
    """The sabotage: a class that one row alone has is told."""
    names, open_classes = tuple(tables()), replace_dp(classes=())
    one, other = (told(run(own, open_classes), *names) for own in (tables(), other_tables()))
    assert {a[1:3] for a, b in zip(one, other, strict=True) if a != b} == {("Facts", "classes")}


def replace_dp(**more):
    return msgspec.structs.replace(ADDITIVE, **more)


def test_what_the_driver_says_follows_from_the_noised_sums_alone(monkeypatch):
    """Rows change places among parties and the sums stay: with the same noise every word of the driver is the same."""
    Drawn(monkeypatch, seed=5)
    one = run(tables())
    Drawn(monkeypatch, seed=5)
    other = run(partition.rows(rows(400), n=4, seed=3))
    assert told(one, "driver") == told(other, "driver")


def test_words_that_leave_look_like_anything():
    fed = run(tables())
    for name in tables():
        words = [one.message.noised_words for one in fed.of("NoisedSums") if one.sender == name]
        assert looks_like_noise(np.concatenate(words))


def test_words_that_leave_without_pads_are_found(monkeypatch):
    """The sabotage: noise alone hides how large sums are from nobody."""
    monkeypatch.setattr("hedgerow.privacy.masks.mask", lambda own, _: [w.view(np.uint64) for w, _ in own])
    fed = run(tables())
    words = [one.message.noised_words for one in fed.of("NoisedSums") if one.sender == "party1"]
    assert not looks_like_noise(np.concatenate(words))


def test_sums_with_noise_are_the_only_ones_that_cross():
    kinds = {one.kind for one in run(tables()).heard if one.sender != "driver"}
    assert kinds == {"Consent", "Facts", "Done", "NoisedSums"}


def test_a_party_that_tells_its_rows_in_a_clear_field_is_noticed(monkeypatch):
    """The sabotage: the number of rows in a column's name."""

    def leaking(plan, name, policy, own, valid):
        facts = own_facts(plan, name, policy, own, valid)
        marked = replace(facts.columns[0], name=f"f0 {own.n_rows}")
        return msgspec.structs.replace(facts, columns=(*facts.columns, marked))

    monkeypatch.setattr(party_side, "own_facts", leaking)
    names = tuple(tables())
    assert told(run(tables()), *names) != told(run(other_tables()), *names)


# What is declared


def jobs(rare=False):
    frame = pd.DataFrame({"x": np.linspace(-1, 1, 200), "job": ["a", "b"] * 100})
    if rare:
        frame.loc[7, "job"] = "astronaut"
    return partition.rows(Table.of(frame, (frame.x > 0).astype(int).to_numpy()), n=3)


def test_a_category_that_is_not_declared_is_missing_and_not_told():
    dp = DP(8, method="additive", classes=(0, 1), categories={"job": ["a", "b"]})
    one, other = (run(jobs(rare), dp) for rare in (False, True))
    assert told(one, "party1", "party2", "party3") == told(other, "party1", "party2", "party3")
    assert b"astronaut" not in b"".join(heard.frame for heard in other.heard)
    assert b"astronaut" in b"".join(heard.frame for heard in run(jobs(True), DP(8, method="additive")).heard)


def test_between_real_parties_categories_must_be_declared():
    fed = noised(jobs(), dp=DP(8, classes=(0, 1)), coordinator="somebody")
    with pytest.raises(DataError, match=r"Column 'job' has categories, of which a rare one .* declare them"):
        own_facts(fed.plan, "party1", fed.policy, fed.tables["party1"], None)


def test_declared_categories_are_of_columns_that_there_are():
    with pytest.raises(ParameterError, match="Categories are declared of 'work', which is no categorical column"):
        run(jobs(), DP(8, categories={"work": ["a"]}))


def test_rows_with_weights_are_refused():
    table = rows(300)
    weighted = partition.rows(replace(table, weights=np.linspace(1, 2, 300)), n=3)
    with pytest.raises(DataError, match="Rows with weights do not go with differential privacy yet"):
        run(weighted)


def test_labels_beyond_the_declared_range_count_as_its_end(monkeypatch):
    monkeypatch.setattr(noise, "gaussian", lambda n, _: np.zeros(n, np.int64))
    X = np.linspace(-1, 1, 300, dtype=np.float32)[:, None]
    dp = DP(8, label_range=(0, 10))

    def learnt(y):
        parties = partition.rows(Table.of(X, y), n=3)
        return Federation(parties, PLAIN, Goal("squared"), dp=dp).model().forest

    y = np.linspace(0, 10, 300)
    far = y.copy()
    far[-3:] = 1e30
    near = y.copy()
    near[-3:] = 10
    assert learnt(far) == learnt(near)
