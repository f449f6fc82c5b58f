"""How the active party of a vertical run speaks with the others in one attempt; nothing is said here."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.session.participants import asked
from hedgerow.protocols.vertical.answer_checks import SaidBefore
from hedgerow.protocols.vertical.held_rows import RowsByParty
from hedgerow.protocols.vertical.keys_ahead import KeysAhead
from hedgerow.protocols.vertical.keys_ahead import KeyUse as KeyUse

Asks = Callable[[int], Sequence[str]]
"""The passive parties that a round asks for sums."""


class Talk(NamedTuple):
    """How the active party speaks with the others."""

    group: PartyGroup
    keys: KeysAhead
    asks: Asks
    before: SaidBefore
    """What the others said in attempts before this one."""
    links: RowsByParty
    """The rows of each party that does not have all of them in order."""

    @classmethod
    def of(cls, group: PartyGroup, before: SaidBefore, links: RowsByParty) -> "Talk":
        """With the parties that are present in this attempt."""
        plan = group.plan
        return cls(group, KeysAhead(cipher_of(plan)), lambda round_: asked(plan, round_, group.present), before, links)
