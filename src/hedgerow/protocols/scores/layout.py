"""Which slots each party of a sealed prediction has, and in which order parties are asked."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import Lattice, Paillier, SealedPrediction
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.corridor.messages import SlotsTold
from hedgerow.model.candidates import leaves_of
from hedgerow.model.fixed_scores import FixedScores
from hedgerow.model.model import Model
from hedgerow.model.part import Part, ownership_of
from hedgerow.model.score_slots import ClassSlots, PartySlots, known_part
from hedgerow.privacy.shapes import score_modulus
from hedgerow.protocols.scores import tables
from hedgerow.trees.params import TreeParams


def sealed_plan(run: str, members: tuple[Member, ...], method: SealedPrediction, coordinator: str = "") -> Plan:
    """What the parties of a sealed prediction agree to."""
    return Plan(run, members, Goal(), TreeParams(), method, coordinator)


def method_of(model: Model, fixed: FixedScores, privacy: Lattice | Paillier) -> SealedPrediction:
    """What the plan of a sealed prediction says of the model."""
    own = ownership_of(model)
    modulus = score_modulus(fixed.reach)
    return SealedPrediction(own.active, own.model, modulus, model.loss.n_trees, privacy, own.groups, bool(own.units))


def placed(model: Model, fixed: FixedScores) -> NDArray[np.int64]:
    """The weights of leaves at their places in the forest."""
    weights = np.zeros(len(model.forest.columns), np.int64)
    weights[leaves_of(model)] = fixed.weights
    return weights


@dataclass(frozen=True, eq=False)
class Layout:
    """Which slots each party has, and in which order parties are asked."""

    names: tuple[str, ...]
    """The parties that are asked."""
    known: Part
    """The cuts that the active party answers."""
    classes: tuple[ClassSlots, ...]
    told: tuple[tuple[SlotsTold, ...], ...]
    """What each party is told, class by class."""
    waves: tuple[tuple[int, ...], ...]
    """Parties that are asked at the same time, by number, one wave after the other."""

    @classmethod
    def of(cls, model: Model, names: Sequence[str], scores: int) -> "Layout":
        """The layout of a model with so many scores a row, where these parties are asked."""
        classes = tuple(ClassSlots(model, number, names) for number in range(scores))
        told = tuple(tuple(_told(c.parties, party) for c in classes) for party in range(len(names)))
        return cls(tuple(names), known_part(model, names), classes, told, _waves(told))

    @property
    def most_rows(self) -> int:
        """Rows of a batch."""
        return min((tables.most_rows(told) for told in self.told), default=tables.MOST_ROWS)


def _told(parties: Sequence[PartySlots], party: int) -> SlotsTold:
    """One party's slots of a class; if any has some, all answer, since pads cancel among all."""
    own = parties[party]
    told = SlotsTold(
        own.entries, own.sources, own.shared, own.relays.reshape(-1), own.relay_sources.reshape(-1), own.targets
    )
    return tables.filled(told) if any(len(each.entries) + len(each.shared) for each in parties) else told


def _waves(told: Sequence[Sequence[SlotsTold]]) -> tuple[tuple[int, ...], ...]:
    """A party comes after all whose relays it takes; relays go to parties further on."""
    wave = [0] * len(told)
    for party, slots in enumerate(told):
        for target in {target for own in slots for target in own.targets.tolist()}:
            wave[target] = max(wave[target], wave[party] + 1)
    return tuple(tuple(p for p, own in enumerate(wave) if own == w) for w in range(max(wave, default=-1) + 1))
