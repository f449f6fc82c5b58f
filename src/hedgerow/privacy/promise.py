"""What is promised of a model with differential privacy: in one struct that files carry, and in sentences.

The epsilon that is claimed is the one that was planned before any data moved. Noise may depend on what was released
before, and a run may end early: what the releases that were made add up to stands beside it, and is never more.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hedgerow.errors import PrivacyError
from hedgerow.privacy.accountant import Release, Spent
from hedgerow.privacy.ledger import Budget

NO_EPSILON = "No epsilon is promised"
_BEYOND = "Sampling of rows does not lower it: whoever knows the seed knows which rows were drawn."


@dataclass(frozen=True)
class Promise:
    """How little a model tells of one row (or person), to whom, and by which accountant."""

    epsilon: float
    delta: float
    unit: str
    """Whose presence is hidden: "row", "person", "label"."""
    neighbours: str
    """In what two tables differ that can hardly be told apart."""
    adversary: str
    """Against whom."""
    scope: str
    """What they may see all of."""
    composed: float
    """The epsilon of the releases that were made."""
    rdp: float
    """The same by Renyi divergences, which bound it from farther away."""
    accountant: str
    version: str
    releases: tuple[Release, ...]

    def __post_init__(self) -> None:
        numbers = (self.epsilon, self.delta, self.composed, self.rdp)
        if self.nothing_released and not any(numbers):
            return
        if not all(map(math.isfinite, numbers)) or min(self.epsilon, self.delta) <= 0 or not self.releases:
            raise PrivacyError(f"{NO_EPSILON}: it, or what was released, is not known.")
        if bare := [release.what for release in self.releases if release.mechanism == "none"]:
            raise PrivacyError(f"{NO_EPSILON}: {bare[0]!r} was released without noise.")
        if self.composed > self.epsilon:
            raise PrivacyError(
                f"{NO_EPSILON}: what was released costs {self.composed:.6g}, more than the {self.epsilon:g} that were "
                "planned."
            )

    @property
    def nothing_released(self) -> bool:
        """Whether nothing that they see depends on what is protected, so that there is nothing to add up."""
        return not self.releases and self.epsilon == 0

    @property
    def n_releases(self) -> int:
        """How many sums, or vectors of sums, were released."""
        return sum(release.times for release in self.releases)


def promised(budget: Budget, spent: Spent, adversary: str, scope: str) -> Promise:
    """What is promised of a run that has released this."""
    return Promise(
        epsilon=budget.epsilon,
        delta=budget.delta,
        unit=budget.unit,
        neighbours=budget.neighbours,
        adversary=adversary,
        scope=scope,
        composed=spent.epsilon,
        rdp=spent.rdp_epsilon,
        accountant=spent.accountant,
        version=spent.version,
        releases=spent.releases,
    )


def nothing_told(unit: str, neighbours: str, adversary: str, scope: str) -> Promise:
    """What is promised where nothing that they see depends on what is protected."""
    return Promise(
        epsilon=0.0,
        delta=0.0,
        unit=unit,
        neighbours=neighbours,
        adversary=adversary,
        scope=scope,
        composed=0.0,
        rdp=0.0,
        accountant="",
        version="",
        releases=(),
    )


def headline(promise: Promise) -> str:
    """The promise in one sentence."""
    if promise.nothing_released:
        of = f"for one {promise.unit}, {promise.neighbours}, against {promise.adversary}, for {promise.scope}"
        return f"epsilon 0 {of}; none of it depends on that"
    n = promise.n_releases
    return (
        f"epsilon {at_most(promise.epsilon)} at delta {promise.delta:g} for one {promise.unit}, {promise.neighbours}, "
        f"against {promise.adversary}, for {promise.scope}; {promise.accountant} {promise.version}; "
        f"{n:,} release{'s' * (n > 1)}"
    )


def sentences(promise: Promise) -> Iterator[str]:
    """The promise as a report or a manifest has it: in one sentence, then each kind of release."""
    yield f"{headline(promise)}."
    if promise.nothing_released:
        return
    yield (
        f"The releases add up to an epsilon of {at_most(promise.composed)} (by Renyi divergences "
        f"{at_most(promise.rdp)}): {'; '.join(map(release_text, promise.releases))}. {_BEYOND}"
    )


def release_text(release: Release) -> str:
    """One kind of release: how often, and with how much noise for each unit that a row can move it."""
    noise = "Gaussian" if release.mechanism == "gaussian" else "Laplace"
    ratio = release.scale / release.sensitivity
    return f"{release.times:,} x {release.what} with {noise} noise of {ratio:.4g} times what one unit can move"


def at_most(epsilon: float) -> str:
    """An epsilon rounded up to a thousandth (below 0.1, to three digits): never less than it is."""
    digits = 3 if epsilon >= 0.1 or epsilon <= 0 else 2 - math.floor(math.log10(epsilon))
    scaled = epsilon * 10**digits
    nearest = round(scaled)
    whole = nearest if math.isclose(scaled, nearest, rel_tol=1e-12) else math.ceil(scaled)
    return f"{whole / 10**digits:.{digits}f}"
