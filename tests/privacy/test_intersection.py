"""Blinded ids match where ids do, and tell nothing else."""

import copy
import pickle

import numpy as np
import pytest
from scipy import stats

from hedgerow.errors import CipherError, PrivacyError
from hedgerow.privacy.intersection import Blinding, in_all, shuffled

TAG = b"a test"


def passed(ids, *secrets):
    """Ids under all these secrets, in this order."""
    points = secrets[0].ids(ids, TAG, 1)
    for secret in secrets[1:]:
        points = secret.points(points, 1)
    return points


def test_ids_that_passed_the_same_secrets_in_any_order_match():
    a, b, c = (Blinding.fresh() for _ in range(3))
    ids = ["one", "two", "", "drei", "vier \N{SNOWMAN}"]
    assert np.array_equal(passed(ids, a, b, c), passed(ids, c, a, b))
    assert len(np.unique(passed(ids, a, b, c), axis=0)) == 5


def test_what_is_in_all_lists_is_marked_in_each():
    a, b = Blinding.fresh(), Blinding.fresh()
    one, two = ["x", "y", "z", "w"], ["q", "z", "x"]
    marks = in_all([passed(one, a, b), passed(two, b, a)])
    assert [mark.tolist() for mark in marks] == [[True, False, True, False], [False, True, True]]


def test_points_that_end_in_zeros_stay_different():
    points = np.zeros((3, 32), np.uint8)
    points[:, 0] = 1
    points[1, 30] = points[2, 31] = 1
    marks = in_all([points, points[1:]])
    assert [mark.tolist() for mark in marks] == [[False, True, True], [True, True]]


def test_a_point_twice_in_a_list_is_refused():
    points = passed(["x", "y"], Blinding.fresh())
    with pytest.raises(CipherError, match="holds one of them twice"):
        in_all([points, np.concatenate([points, points[:1]])])


def test_the_same_id_has_other_points_under_another_secret_or_tag():
    a, b = Blinding.fresh(), Blinding.fresh()
    found = {a.ids(["x"], TAG, 1).tobytes(), b.ids(["x"], TAG, 1).tobytes(), a.ids(["x"], b"other", 1).tobytes()}
    assert len(found) == 3


def test_the_identity_and_what_is_no_point_are_refused():
    for bad in (np.zeros((1, 32), np.uint8), np.full((1, 32), 255, np.uint8)):
        with pytest.raises(CipherError, match="not a point of the group, or is its identity"):
            Blinding.fresh().points(bad, 1)


def test_ids_that_are_tried_out_find_nothing_without_the_secret():
    secret, ids = Blinding.fresh(), [str(i) for i in range(1000)]
    tried = Blinding((1).to_bytes(32, "little"))
    assert not hits(secret.ids(ids, TAG, 1), tried.ids(ids, TAG, 1))
    assert not hits(secret.ids(ids, TAG, 1), Blinding.fresh().ids(ids, TAG, 1))


def test_bare_hashes_are_found_by_trying_out_ids():
    """The sabotage: a secret of 1 is none."""
    bare, ids = Blinding((1).to_bytes(32, "little")), [str(i) for i in range(1000)]
    assert hits(bare.ids(ids[::7], TAG, 1), bare.ids(ids, TAG, 1)) == len(ids[::7])


def hits(points, tried):
    return len({row.tobytes() for row in points} & {row.tobytes() for row in tried})


def test_a_shuffle_is_an_order_of_all_places_each_as_likely():
    assert sorted(shuffled(1000)) == list(range(1000))
    assert len(shuffled(0)) == 0
    counts = np.zeros((6, 6), np.int64)
    for _ in range(3000):
        counts[np.arange(6), shuffled(6)] += 1
    assert stats.chisquare(counts.reshape(-1)).pvalue > 1e-6


def test_a_secret_is_neither_shown_nor_copied_nor_written():
    secret = Blinding.fresh()
    assert secret._own_scalar.hex() not in repr(secret)
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(PrivacyError, match="cannot be copied or written"):
            way(secret)
