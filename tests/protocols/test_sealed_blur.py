"""Scores that owners blur: moved as far as their policies say, and never round to the other end of the range."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from asked import trained
from federated import params_of
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import PolicyError
from hedgerow.model.fixed_scores import BITS, BLUR_PART, fixed_scores
from hedgerow.privacy.shapes import score_modulus
from hedgerow.protocols.scores import owner_limits
from hedgerow.protocols.scores.blur import blur_width, blurred, check_blur
from sealed import Sealed, weights_of

N = 400
TIGHT = 24
"""Bits of scores with which the prime lies just above what it must hold, with and without room for blur."""
WIDEST = 1000 // BLUR_PART
"""Thousandths for which there is always room."""


@cache
def made(n):
    """Every passive party has a column of signs; if there is one, it decides all, and all scores are the largest."""
    rng = np.random.default_rng(0)
    signs = np.where(np.arange(N)[:, None] // 2 ** np.arange(n - 1) % 2, 1.0, -1.0)
    X = np.concatenate([rng.normal(size=(N, 1)), signs], axis=1).astype(np.float32)
    table = Table.of(X, (signs.sum(axis=1) > 0).astype(int), ids=[f"person {i}" for i in range(N)])
    parties = partition.columns(table, share=[[j] for j in range(n)])
    return *trained(parties, params_of(max_depth=n - 1, n_estimators=10)), parties


def world_of(permille=0, n=2, bits=TIGHT, with_room=True):
    """Parties of which each passive one blurs so much."""
    model, parts, parties = made(n)
    fixed = fixed_scores(model, bits)
    most = fixed.reach if with_room else fixed.largest
    policy = replace(ALLOW_ALL, blur_permille=permille)
    world = Sealed(model, parts, parties, weights_of(model, fixed), most, policy=policy)
    world.fixed = fixed
    assert len(world.present) == n - 1
    return world


def moved(world, n=2):
    """How far each opened score is from the true one."""
    true = world_of(n=n, bits=world.fixed.bits).scores().scores
    largest = world.fixed.largest
    assert n > 2 or set(true.reshape(-1).tolist()) == {-largest, largest}
    return world.scores().scores - true


@pytest.mark.parametrize("bits", [BITS, TIGHT])
def test_a_blurred_score_at_the_end_of_the_range_goes_beyond_it_and_not_round(bits):
    world = world_of(WIDEST, bits=bits)
    width, off = blur_width(world.plan.method, WIDEST), moved(world)
    assert np.abs(off).max() <= width
    assert off.min() < -0.9 * width
    assert off.max() > 0.9 * width
    assert np.abs(world.scores().scores).max() > world.fixed.largest


def test_under_a_prime_without_room_for_it_a_blurred_score_goes_round():
    """The sabotage: some scores come out at the other end, almost two ranges away."""
    world = world_of(WIDEST, with_room=False)
    off = np.abs(moved(world))
    assert 0.2 < (off > world.fixed.largest).mean() < 0.8


def test_owners_that_blur_share_the_room():
    world = world_of(WIDEST // 2, n=3)
    width, off = blur_width(world.plan.method, WIDEST // 2), np.abs(moved(world, n=3))
    assert 1.2 * width < off.max() <= 2 * width


@pytest.mark.parametrize("n", [2, 3])
def test_a_blur_wider_than_its_room_is_refused_in_one_sentence(n):
    for permille in (0, WIDEST // (n - 1)):
        world_of(permille, n).scoring()
    refused = world_of(180, n)
    told = rf"blurred by {180 * (n - 1)} thousandths of the largest score, and beyond 1\d\d one could come out"
    with pytest.raises(PolicyError, match=told) as caught:
        refused.scoring()
    assert ("'party2' and 'party3'" in str(caught.value)) is (n == 3)
    assert not refused.of_kind("AskScores")


def test_a_blur_that_nobody_checks_goes_round(monkeypatch):
    """The sabotage: an active party that takes any blur gets scores from the other end."""
    monkeypatch.setattr(owner_limits, "check_blur", lambda *_: None)
    world = world_of(180)
    scores = world.scoring().scores(world.tables[world.plan.active])
    exact = world_of().scoring().scores(world.tables[world.plan.active])
    assert (np.abs(scores - exact) > world.fixed.largest * world.fixed.step).any()


@pytest.mark.parametrize("bits", range(2, 27))
def test_an_eighth_of_the_largest_score_always_fits(bits):
    fixed = fixed_scores(made(2)[0], bits)
    method = replace_modulus(world_of().plan.method, score_modulus(fixed.reach))
    check_blur(method, fixed, {"party2": WIDEST})
    assert fixed.largest + blur_width(method, WIDEST) <= method.modulus // 2
    assert blur_width(method, WIDEST) >= fixed.largest * WIDEST // 1000


def replace_modulus(method, modulus):
    return type(method)(method.active, method.model, modulus, method.scores, method.privacy)


def test_blur_is_even_to_both_sides_and_none_is_none():
    method = world_of().plan.method
    width, drawn = blur_width(method, 10), blurred(20_000, method, 10)
    assert drawn.shape == (20_000, 1)
    assert np.abs(drawn).max() <= width
    assert abs(drawn.mean()) < 0.03 * width
    assert drawn.std() == pytest.approx(width / np.sqrt(3), rel=0.02)
    assert not blurred(5, method, 0).any()
