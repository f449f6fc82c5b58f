"""What releases cost together: one epsilon for all that left, composed by `dp-accounting`, and refused if in doubt.

Each release states its noise and how far one row can move what was released (its sensitivity), both in the integer
units in which it was computed. The accountant composes privacy loss distributions (PLD) and, beside them, Renyi
divergences (RDP), which bound the same from farther away.

Three traps are avoided. The library's RDP accountant takes no notice of the relation between neighbours, so each
sensitivity is given by whoever releases and the library always told "add or remove one". Discrete noise can cost more
than continuous noise of the same size: it is accounted as continuous noise that is a little smaller or a sensitivity a
little larger, from which it could have been made (docs/explanation/privacy-accounting.md has the proofs). And rows
drawn by a public hash hide nobody: amplification by sampling is refused.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

from hedgerow.errors import MissingExtra, PrivacyError
from hedgerow.privacy.gaussian import check_delta, check_target, mu_of

LIBRARY = "dp-accounting"
Mechanism = Literal["gaussian", "laplace", "none"]
LEAST_SCALE = 8
"""Units of noise below which sums of discrete Gaussians are too coarse to be accounted for."""
ROUNDED_VARIANCE = 4
"""Units squared: a discrete Gaussian is a continuous one with so much less variance, rounded at random."""
ROUNDED_SHIFT = 2
"""Units: discrete Laplace noise is no better to tell apart than continuous with a sensitivity larger by so much."""
_SAMPLED = ("sampl", "poisson", "amplif", "shuffl")
_STEPS, _WHOLE = 2**30, 2.0**20
"""To fractions of this size mu is rounded down, so that every machine finds the same; units of a row."""


@dataclass(frozen=True)
class Release:
    """One thing that left, or one of several alike: what, with which noise."""

    what: str
    mechanism: Mechanism
    sensitivity: float
    """How far one row (or person) can move it, in units: L2 for Gaussian noise, L1 for Laplace."""
    scale: float
    """Of the noise that is certain to be in it: sigma or b, in units; honest parties' shares only."""
    times: int = 1
    """How many such releases; each has noise of its own."""


@dataclass(frozen=True)
class Spent:
    """What releases cost together."""

    epsilon: float
    delta: float
    rdp_epsilon: float
    """The same by Renyi divergences: never less."""
    unit: str
    """Whose presence is hidden: a row, or a person."""
    neighbours: str
    accountant: str
    version: str
    releases: tuple[Release, ...]


def shared(what: str, sensitivity: float, share: int, honest: int, times: int = 1) -> Release:
    """A release to which so many honest parties add Gaussian noise of this variance each.

    Sums of discrete Gaussians of at least 8 units are one, as far as numbers can tell; coarser shares are refused.
    """
    if share < LEAST_SCALE**2 or honest < 1:
        raise PrivacyError(
            f"Each party's share of the noise of the release {what!r} is {math.sqrt(max(share, 0)):.2g} units, too "
            f"coarse to be accounted for (at least {LEAST_SCALE}); choose a smaller epsilon, or fewer parties."
        )
    return Release(what, "gaussian", sensitivity, math.sqrt(share * honest), times)


def spent(releases: Sequence[Release], delta: float, unit: str = "row", neighbours: str = "add or remove one") -> Spent:
    """What these releases cost together at this delta; refuses those without noise, or with noise it does not know."""
    check_delta(delta)
    laplaces: Counter[float] = Counter()
    for release in releases:
        if release.mechanism == "laplace":
            laplaces[_multiplier(release)] += release.times
    epsilon, rdp = _composed(mu_of_releases(releases), frozenset(laplaces.items()), delta)
    if not math.isfinite(epsilon):
        raise PrivacyError(
            f"The accountant finds no epsilon for these releases at a delta of {delta:g}; use more noise or a larger "
            "delta."
        )
    return Spent(
        epsilon, delta, rdp, unit, neighbours, accountant=f"PLD accountant {LIBRARY}", version=_version(),
        releases=tuple(releases),
    )  # fmt: skip


def mu_of_releases(releases: Sequence[Release]) -> float:
    """The mu of all releases with Gaussian noise together, whose squares add up; 0 if there are none."""
    squares = [r.times / _multiplier(r) ** 2 for r in releases if r.mechanism != "laplace"]
    return math.sqrt(math.fsum(squares))


def at_most(releases: Sequence[Release], delta: float) -> float:
    """An epsilon that these releases do not exceed, by Renyi divergences: at once, however many there are."""
    check_delta(delta)
    dp = _library()
    kinds = {"gaussian": dp.GaussianDpEvent, "laplace": dp.LaplaceDpEvent}
    accountant = dp.rdp.RdpAccountant()
    for release in releases:
        accountant.compose(kinds[release.mechanism](_multiplier(release)), release.times)
    return float(accountant.get_epsilon(delta))


def calibrated(schedule: Callable[[float], Sequence[Release]], epsilon: float, delta: float) -> float:
    """The mu whose schedule of releases costs at most this epsilon: the closed form's, made smaller until it does.

    It is rounded down, so that all parties find the same.
    """
    check_target(epsilon, delta)
    most = mu = _rounded(mu_of(epsilon, delta))
    for _ in range(20):
        found = spent(schedule(mu), delta).epsilon
        if found <= epsilon:
            return mu
        mu = _rounded(mu * max(most / mu_of(found, delta), 0.5) * (1 - 1e-6))
    raise PrivacyError(f"No noise was found with which the releases cost at most an epsilon of {epsilon:g}.")


@cache
def mu_of_budget(epsilon: float, delta: float) -> float:
    """The mu that Gaussian releases may have together, whenever they are planned: `mu_of_releases` at most this."""
    return _rounded(calibrated(lambda mu: [whole(mu)], epsilon, delta))


def whole(mu: float) -> Release:
    """One release that costs what all of a run may cost together."""
    return Release("a whole run", "gaussian", _WHOLE, math.sqrt((_WHOLE / mu) ** 2 + ROUNDED_VARIANCE))


def _rounded(mu: float) -> float:
    rounded = (math.floor(mu * _STEPS) - 1) / _STEPS
    if rounded <= 0:
        raise PrivacyError("The noise that so small an epsilon needs cannot be computed; choose a larger one.")
    return rounded


def _multiplier(release: Release) -> float:
    """The noise of a sum that one row moves by 1; of continuous noise that is no better than the discrete one."""
    _check(release)
    if release.mechanism == "gaussian":
        return math.sqrt(release.scale**2 - ROUNDED_VARIANCE) / release.sensitivity
    return release.scale / (math.ceil(release.sensitivity) + ROUNDED_SHIFT)


def _check(release: Release) -> None:
    """Refuse a release of which nothing can be promised."""
    what, mechanism = release.what, release.mechanism
    if any(word in mechanism.lower() for word in _SAMPLED):
        raise PrivacyError(
            f"The release {what!r} counts on sampling ({mechanism!r}), but whoever knows the seed knows which rows "
            "were drawn, so nothing is gained by it; account for it as for all rows."
        )
    if mechanism == "none":
        raise PrivacyError(
            f"The release {what!r} has no noise, so no epsilon can be told; add noise to it, or declare what it tells."
        )
    if mechanism not in ("gaussian", "laplace"):
        raise PrivacyError(f"The accountant does not know the noise of the release {what!r}, {mechanism!r}.")
    whole = type(release.times) is int
    finite = math.isfinite(release.sensitivity) and math.isfinite(release.scale)
    if not whole or release.times < 1 or not finite or release.sensitivity <= 0:
        raise PrivacyError(f"The release {what!r} does not say how often, or how far one row can move it.")
    if release.scale < LEAST_SCALE:
        raise PrivacyError(
            f"The noise of the release {what!r} is {release.scale:g} units, too coarse to be accounted for; use finer "
            f"units, so that it is at least {LEAST_SCALE}."
        )


@cache
def _composed(mu: float, laplaces: frozenset[tuple[float, int]], delta: float) -> tuple[float, float]:
    """The epsilon by PLD and by RDP; remembered, because many releases take long.

    All Gaussian releases are one event, exactly: their privacy losses are normal, and so is the sum.
    """
    if not mu and not laplaces:
        return 0.0, 0.0
    dp = _library()
    events = [dp.SelfComposedDpEvent(dp.LaplaceDpEvent(noise), times) for noise, times in sorted(laplaces)]
    if mu:
        events.append(dp.GaussianDpEvent(1 / mu))
    found = []
    for accountant in (dp.pld.PLDAccountant(), dp.rdp.RdpAccountant()):
        accountant.compose(dp.ComposedDpEvent(events))
        found.append(float(accountant.get_epsilon(delta)))
    return found[0], found[1]


def _library() -> Any:
    try:
        import dp_accounting
        import dp_accounting.pld
        import dp_accounting.rdp
    except ImportError:
        raise MissingExtra(
            "Differential privacy needs dp-accounting to tell what it costs; run: pip install 'hedgerow[dp]'"
        ) from None
    return dp_accounting


@cache
def _version() -> str:
    _library()
    return version(LIBRARY)
