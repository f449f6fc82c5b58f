import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import ParameterError
from hedgerow.privacy.gaussian import delta_of, epsilon_of, mu_of


@pytest.mark.parametrize(
    ("sigma", "delta", "epsilon"),
    [(1, 1e-6, 4.88655), (1, 1e-5, 4.37718), (0.5, 1e-6, 10.99715), (10, 1e-6, 0.39686), (2, 1e-5, 1.99309),
     (36.30469, 1e-6, 0.1), (8.05762, 1e-6, 0.5), (4.224679, 1e-6, 1), (2.230476, 1e-6, 2), (0.541087, 1e-6, 10)],
)  # fmt: skip
def test_the_closed_form_gives_known_answers(sigma, delta, epsilon):
    assert epsilon_of(1 / sigma, delta) == pytest.approx(epsilon, abs=1e-5)
    assert 1 / mu_of(epsilon, delta) == pytest.approx(sigma, abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-3, 100), st.floats(-15, -2))
def test_mu_and_epsilon_undo_each_other_and_never_promise_more_than_delta(epsilon, exponent):
    delta = 10**exponent
    mu = mu_of(epsilon, delta)
    assert delta_of(epsilon, mu) <= delta
    assert delta_of(epsilon, mu * (1 + 1e-6)) > delta
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-6)


def test_delta_is_what_integrating_the_two_densities_gives():
    mu, epsilon, step = 0.7, 1.3, 1e-4
    xs = [i * step for i in range(-80_000, 80_000)]
    density = [math.exp(-((x - mu) ** 2) / 2) - math.exp(epsilon - x * x / 2) for x in xs]
    integral = sum(max(d, 0.0) for d in density) * step / math.sqrt(2 * math.pi)
    assert delta_of(epsilon, mu) == pytest.approx(integral, rel=1e-6)


def test_noise_so_large_that_delta_alone_covers_it_has_epsilon_0():
    assert epsilon_of(1e-7, 1e-6) == 0


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 1e-6), (-1, 1e-6), (math.nan, 1e-6), (math.inf, 1e-6), (True, 1e-6)]
)
def test_what_is_no_epsilon_is_refused(epsilon, delta):
    with pytest.raises(ParameterError, match="epsilon must be a number above 0"):
        mu_of(epsilon, delta)


@pytest.mark.parametrize("delta", [0, 1, -1e-6, 1e-16, math.nan])
def test_what_is_no_delta_is_refused(delta):
    with pytest.raises(ParameterError, match="delta must be a number from 1e-15"):
        mu_of(1, delta)
    with pytest.raises(ParameterError, match="delta must be a number from 1e-15"):
        epsilon_of(1, delta)


def test_what_is_no_mu_is_refused():
    with pytest.raises(ParameterError, match="mu must be a number above 0"):
        epsilon_of(math.inf, 1e-6)
