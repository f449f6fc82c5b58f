"""What a passive party brings to a prediction: its part of a model, and its own rows, found by their ids."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.agreement.policy import Policy
from hedgerow.data.ids import check_once
from hedgerow.data.table import Table
from hedgerow.errors import ModelError, PolicyError
from hedgerow.identity.identity import Identity
from hedgerow.model.model import dense
from hedgerow.model.part import Part
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.predict.active import Places
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.owner_ledger import Ledger


@dataclass(frozen=True, eq=False)
class PartOwner:
    """Whose part it is: its own table, rules, identity and log."""

    name: str
    part: Part
    own_table: Table
    policy: Policy
    identity: Identity
    log: Log | None = None
    ledger: Log | None = None
    """Where rows are counted over all predictions of this owner; None: in the log."""

    def check(self) -> None:
        """Refuse a part that is another's, or that cuts columns which the owner's policy does not give."""
        check_owner(self.part, self.name)
        given, cut = self.policy.columns, {self.part.columns[j].name for j in self.part.column.tolist()}
        if given is not None and not cut <= set(given):
            raise PolicyError("The model cuts a column of this party that its policy does not give (columns).")


def check_owner(part: Part, name: str) -> None:
    """Refuse a part that is another party's."""
    if part.party != name:
        raise ModelError(f"The part is that of {part.party!r}, not of {name!r}; give this party's own.")


class OwnRows:
    """A party's own rows, found by their ids."""

    def __init__(self, own: PartOwner, models: tuple[str, ...] = ()) -> None:
        """`models` are the ids of those whose cuts are in the part, if it is not one model's."""
        self.own_values = dense(own.own_table.aligned(own.part.columns))
        ids = texts_of(own.own_table)
        self._own_places = {text: row for row, text in enumerate(ids)}
        check_once(len(ids), len(self._own_places))
        self.ledger, self._own, self._models = Ledger(own.ledger or own.log), own, models or (own.part.model,)

    def places(self, ids: Sequence[str]) -> Places:
        """Where rows are among the party's own; -1 for one that it does not have."""
        return np.array([self._own_places.get(text, -1) for text in ids], np.int64)

    def counted(self, ids: Sequence[str]) -> Places:
        """The same of rows that the active party asks about, counted in the owner's ledger before anything is told."""
        own = self._own
        for model in self._models:
            self.ledger.predict(model, len(ids), own.policy.most_predicted_rows)
        places = self.places(ids)
        if own.log is not None:
            own.log.note("rows asked about", rows=len(ids), known=int((places >= 0).sum()))
        return places
