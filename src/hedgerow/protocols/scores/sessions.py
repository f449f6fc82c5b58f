"""The active party's sessions with those who are asked about the same rows, held at the same time where they can be.

A session is with all parties of a *route*: those that are asked about some rows, and whose answers open together. A
party is in one session at a time. Sessions of routes that have no party in common begin together and are asked
together, an exchange for all of them; another with one of their parties ends them.
"""

from collections.abc import Callable, Iterable, Sequence

from hedgerow.corridor.messages import ScoresReady
from hedgerow.protocols.scores.active import SealedAsking
from hedgerow.protocols.scores.lockstep import together
from hedgerow.protocols.session.group import PartyGroup

Route = tuple[str, ...]
"""The parties that are asked about a row, in the plan's order; nobody, where all lack it of which one would speak."""


class Sessions:
    """A session for each route, as long as its parties are in no other."""

    def __init__(
        self,
        group: PartyGroup,
        make: Callable[[Route], SealedAsking],
        check: Callable[[SealedAsking], None],
        *,
        alone: bool = False,
    ) -> None:
        """`check` refuses a session before any row is asked about; `alone`: there is only one session at a time."""
        self.group, self._make, self._check, self._alone = group, make, check, alone
        self._begun: dict[Route, SealedAsking] = {}

    def waves(self, routes: Iterable[Route]) -> list[list[Route]]:
        """The routes, those together that have no party in common."""
        waves: list[list[Route]] = []
        for route in routes:
            free = (wave for wave in waves if not self._alone and not any(set(route) & set(other) for other in wave))
            if (wave := next(free, None)) is None:
                waves.append([route])
            else:
                wave.append(route)
        return waves

    def begin(self, wave: Sequence[Route]) -> list[SealedAsking]:
        """The sessions of these routes, which have no party in common; those that are not under way begin."""
        fresh = {route: self._make(route) for route in wave if route not in self._begun}
        called = {name for route in fresh for name in route}
        for route in [route for route in self._begun if fresh and (self._alone or called & set(route))]:
            self._begun.pop(route).close()
        together(self.group, [asking.beginning() for asking in fresh.values()], ScoresReady)
        for asking in fresh.values():
            self._check(asking)
        self._begun |= fresh
        return [self._begun[route] for route in wave]

    def close(self) -> None:
        """End all of them."""
        while self._begun:
            self._begun.popitem()[1].close()
