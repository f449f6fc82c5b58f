"""The active party's trees of its own columns in a run with one batch: nobody hears of them; nothing is said here."""

from hedgerow.protocols.vertical.active import VerticalRows
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.talk import Talk
from hedgerow.trees.local import LocalRows


class OwnRows(VerticalRows):
    """The own rows under trees of own columns, among those of all; nothing is said."""

    def __init__(self, talk: Talk, own: LocalRows, joint: AllColumns) -> None:
        super().__init__(talk._replace(asks=lambda _: ()), own, joint, 0)

    def _begin_run(self) -> None:
        """Nobody hears of it."""

    def _end_round(self) -> None:
        """Nobody hears of it."""
