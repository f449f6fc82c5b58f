"""How fast the link to each party is: measured by bytes that mean nothing, before any plan is proposed.

    driver                                    party (one after the other)
    Probe(no bytes, 0 back)     ---------->   three times: the quickest round trip is the delay
                                <----------   Echo(no bytes)
    Probe(4 kB, 0 back) ...     ---------->   four times as many each time, until they take a tenth of a second
                                <----------   Echo(no bytes)                                  or there are 256 kB
    Probe(no bytes, 4 kB back)  ---------->   the same for the way back
                                <----------   Echo(4 kB) ...

Where there are several parties, all are then asked at once, by the smallest size that one of them came to, so that what
the driver's own line can carry to all of them together counts too. The last size is asked for three times, and the
quickest counts.

Sees in the clear.  Driver: how long bytes take. Party: when it is asked; nothing of the run has been said to it.
                    A driver that lies about what it measured changes what the run costs, never what it discloses.
"""

import secrets
import time
from collections.abc import Sequence

from hedgerow.agreement.link_speeds import LinkSpeed
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Echo, Probe
from hedgerow.corridor.wire import Corridor
from hedgerow.errors import PolicyError, ProtocolError
from hedgerow.protocols.session.group import ROOM, PartyGroup

FIRST, MOST, GROWTH = 1 << 12, 1 << 18, 4
LONG = 0.1
"""Seconds that tell enough of a link."""
TIMES, LEAST, SLOWER = 3, 1e-6, 0.75
BESIDE = 512
"""Bytes that each exchange counts beside its padding, so that there are not empty ones without end."""


def at_most(n_parties: int) -> tuple[int, int]:
    """Exchanges that a party takes part in, and bytes each way, where the link is fast."""
    sizes = [MOST] * TIMES
    while sizes[0] > FIRST:
        sizes = [sizes[0] // GROWTH, *sizes]
    together = n_parties > 1
    exchanges = (1 + together) * TIMES + 2 * (len(sizes) + TIMES * together)
    return exchanges, sum(sizes) + TIMES * MOST * together


def measured(corridor: Corridor, plan: Plan, deadline: float) -> tuple[LinkSpeed, ...]:
    """The link to each party that answers, all of which are here."""
    alone = {name: _Link(PartyGroup(corridor, plan, (name,), deadline)) for name in plan.answering}
    speeds = {name: link.speed() for name, link in alone.items()}
    if len(alone) > 1:
        every = _Link(PartyGroup(corridor, plan, plan.answering, deadline))
        size = min(link.size for link in alone.values())
        together = min(every.rate(size, back) for back in (False, True))
        if together < SLOWER * min(speeds.values()):  # than the slowest of them explains
            speeds = {name: min(speed, together) for name, speed in speeds.items()}
    return tuple(LinkSpeed.measured(name, speeds[name], link.delay) for name, link in alone.items())


class _Link:
    """The way to these parties, asked at once."""

    def __init__(self, group: PartyGroup) -> None:
        self.group, self.size = group, MOST
        self.delay = min(self._seconds(0, back=False) for _ in range(TIMES))

    def speed(self) -> float:
        """Mbit/s of the slower way."""
        return min(self._one_way(back) for back in (False, True))

    def rate(self, size: int, back: bool) -> float:
        """Mbit/s at which so many bytes go out, or come back, the delay left out."""
        taken = min(self._seconds(size, back) for _ in range(TIMES)) - self.delay
        return size * 8e-6 / max(taken, LEAST)

    def _one_way(self, back: bool) -> float:
        size = FIRST
        while size < MOST and self._seconds(size, back) - self.delay < LONG:
            size *= GROWTH
        self.size = min(self.size, size)
        return self.rate(size, back)

    def _seconds(self, size: int, back: bool) -> float:
        request = Probe(b"" if back else secrets.token_bytes(size), size if back else 0)
        begun = time.perf_counter()
        echoes = self.group.tell(request, Echo, size + ROOM)
        taken = time.perf_counter() - begun
        if any(len(echo.padding) != request.back for echo in echoes.values()):
            raise ProtocolError("A party answers another number of bytes than was asked for; the run stops.")
        return taken


class Echoes:
    """A party's side: so many bytes for all measurements of this process, and none once a plan is agreed on."""

    def __init__(self, most_bytes: int) -> None:
        self.left = most_bytes

    def answer(self, request: Probe, agreed: Plan | None) -> Echo:
        """Bytes that mean nothing."""
        if agreed is not None:
            raise ProtocolError("The plan is agreed on, and links are measured before that; this party stops.")
        if not 0 <= request.back <= MOST or len(request.padding) > MOST:
            raise ProtocolError(f"The driver measures the link by more than {MOST} bytes at once; this party stops.")
        self.left -= BESIDE + len(request.padding) + request.back
        if self.left < 0:
            raise PolicyError(
                "The driver measures the link by more bytes than this party's policy allows (most_probe_bytes); name "
                "the link's speed in the run file as link_mbit."
            )
        return Echo(secrets.token_bytes(request.back))


def sentence(links: Sequence[LinkSpeed]) -> str:
    """What was measured and chosen, for people."""
    slowest = min(link.mbit for link in links)
    told = "; ".join(map(str, links))
    return (
        f"Links measured: {told}. Ciphertexts are laid out for {slowest:g} Mbit/s, where their layout takes the least "
        "time by the cost model; [privacy] link_mbit names another speed."
    )
