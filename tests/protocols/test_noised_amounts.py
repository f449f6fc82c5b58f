"""How much noise the opened sums of several parties have, and that it would be seen if it were less."""

import numpy as np
import pytest

from hedgerow import DP, partition
from hedgerow.corridor import messages as m
from hedgerow.model.noised_terms import terms_of
from hedgerow.protocols.horizontal.prepare import grid_of
from hedgerow.protocols.noised import own_releases as party_side
from hedgerow.protocols.noised.told import ToldSums
from hedgerow.trees.noised.public_trees import PublicTrees
from hedgerow.trees.noised.rule import schedule
from hedgerow.trees.noised.sums import OwnRows, OwnSums
from injected_noise import leave_out, note, weaken
from noised import noised, rows
from statistics_of_noise import has_deviation

ADDITIVE = DP(8, method="additive")
HONEST = 5 / 4
"""Five parties, of which one may collude: all together add 1.25 times the variance."""


class ExactSums:
    """All rows in one table, told what the parties were told."""

    def __init__(self, fed, model):
        table = partition.pooled(dict(fed.tables))
        self.terms = terms_of(fed.plan.method.dp, model.columns, len(model.classes))
        own = OwnSums(OwnRows(table.values, table.absent, table.labels.astype(np.float32)), self.terms)
        self.told = ToldSums(own, self.terms)
        self.columns, self.seed = model.columns, fed.plan.params.random_state

    def begin(self, request):
        told = schedule(self.terms, request.n_rows)
        grid = grid_of(request, self.columns, told.max_bin)
        self.told.begin(grid, told, PublicTrees(grid, self.seed))

    def words(self, request):
        place = self.told.next_place(request)
        self.told.hear(place, request)
        return self.told.own_words(place, request)


def exact_sums(fed, model):
    """The exact words of every release, by what was told before it; one party's requests are everybody's."""
    whole, out = ExactSums(fed, model), []
    for one in fed.heard:
        if one.receiver == "party1" and isinstance(one.message, m.BeginNoised):
            whole.begin(one.message)
        elif one.receiver == "party1" and isinstance(one.message, m.AskNoisedCounts | m.AskNoisedSums):
            out.append(whole.words(one.message))
    return out


def noise_of(dp=ADDITIVE):
    """What every opened word is beyond the exact sum, in units of the deviation that the promise needs."""
    fed = noised(partition.rows(rows(400, 27), n=5), dp=dp)
    model, state = fed.run()
    scales = [release.scale for release in model.promise.releases for _ in range(release.times)]
    parts = zip(state.opened, exact_sums(fed, model), scales, strict=True)
    return np.concatenate([(one.words - words) / scale for one, words, scale in parts])


def test_the_opened_sums_have_the_noise_of_all_parties():
    assert has_deviation(noise_of(), HONEST)


def without_every_fifth(monkeypatch):
    """Of five parties one adds nothing."""
    real, calls = party_side.noise.gaussian, [0]

    def gaussian(n, variance):
        calls[0] += 1
        return real(n, variance) if calls[0] % 5 else np.zeros(n, np.int64)

    monkeypatch.setattr(party_side.noise, "gaussian", gaussian)


def test_colluders_that_take_their_own_noise_away_leave_what_is_promised(monkeypatch):
    """The noise of four of five is that of the promise."""
    without_every_fifth(monkeypatch)
    assert has_deviation(noise_of(), 1.0)


@pytest.mark.parametrize("colluders", [0, 2, 4])
def test_more_colluders_mean_more_noise_of_each(colluders):
    assert has_deviation(noise_of(DP(8, method="additive", colluders=colluders)), 5 / (5 - colluders))


def half(monkeypatch):
    weaken(monkeypatch, 0.5)


def on_a_copy(monkeypatch):
    """Noise is drawn and added to words that do not leave."""

    def noised_copy(self, place, told, own_words):
        exact = own_words()
        release = party_side.released(place.planned, *self.shares)
        self.words.words(place.key, release, told, lambda: exact + party_side.noise.gaussian(len(exact), 1 << 20))
        return exact

    monkeypatch.setattr(party_side.OwnReleases, "noised", noised_copy)


@pytest.mark.parametrize("sabotage", [half, on_a_copy, without_every_fifth, leave_out])
def test_too_little_noise_would_be_seen(sabotage, monkeypatch):
    """The sabotages: half the noise, noise on a copy, none at one party, none at all."""
    sabotage(monkeypatch)
    assert not has_deviation(noise_of(), HONEST)


def test_masked_sums_are_the_exact_integers_and_the_drawn_shares_bit_for_bit(monkeypatch):
    noted = note(monkeypatch)
    fed = noised(dp=ADDITIVE)
    model, state = fed.run()
    exact, totals = exact_sums(fed, model), noted.totals(4)
    assert len(totals) == len(exact) == 25
    for one, words, total in zip(state.opened, exact, totals, strict=True):
        assert np.array_equal(one.words, words + total)
