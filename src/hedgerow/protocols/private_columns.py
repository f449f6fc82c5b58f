"""Which columns all parties of a horizontal run have, found by their names; a name that not all have stays unknown.

    driver (carries the lists)            party (each)
    AskSetSize ... MarkCommon  <-------->  the conversation of `align`, over names of columns in place of rows' ids
    AskProofs                  --------->
                               <---------  Proofs, one for every other party
    AskCommonColumns(proofs)   --------->  checks that all others found the same names
                               <---------  CommonColumns: the columns that all have, as in an open run's Facts

Sees in the clear.  Driver: how many columns everyone has, how many any parties share, the columns that all have.
                    Party: how many columns everyone has, which of its own all have.
                    Nobody: a name that not all have. (Of two parties, each learns which of its names the other has.)

The driver has no list and no secret. Were it to mark other places than the common ones, parties would find different
names, and none would tell its own: a proof is a hash of the names under the secret of a pair of parties.

What is said here to one party and not to all is no part of what pads depend on; the columns come to every party in
Agree, which is, and a party takes no others there than it found itself.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping

import msgspec

from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.data.table import Column
from hedgerow.errors import PrivacyError, ProtocolError, RunError
from hedgerow.privacy.intersection import PROOF_BYTES, proof
from hedgerow.protocols import dropped_columns
from hedgerow.protocols.align.lists import Aligning, Alignment, Common, Counts, PlaceStore
from hedgerow.protocols.align.progress import COLUMNS
from hedgerow.protocols.align.ring import Ring
from hedgerow.protocols.columns import Common as Agreed
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.notify import Tell, silent

SETTLED = "the columns that all parties have"


def names_digest(names: Iterable[str], plan: bytes = b"") -> bytes:
    """A hash of names, whatever their order; whoever hears it knows the names, or is about to."""
    return hashlib.sha256(b"hedgerow columns" + plan + msgspec.json.encode(sorted(names))).digest()


class Carrier:
    """The driver, which carries the lists and has none."""

    def __init__(self, known: bytes) -> None:
        self.known = known

    def answer(self, request: Aligning) -> m.Answer:
        """Never asked."""
        raise ProtocolError(f"The driver has no columns of its own that {type(request).__name__} could ask for.")

    def digest(self, held_out: bool) -> bytes:  # noqa: ARG002  # names are of one kind
        """Of the names that were found before."""
        return self.known


def shared(
    group: PartyGroup, said: Mapping[str, m.Facts], before: Agreed | None, log: Log, tell: Tell, note: Tell = silent
) -> Mapping[str, m.Facts]:
    """The driver's side: what each party says, with the columns that all have.

    What becomes known here: those columns, everyone's number of columns, and how many any parties share.
    """
    plan = group.plan
    known = b"" if before is None else names_digest((c.name for c in before.columns), plan.digest)
    found = Ring(group, Carrier(known)).align(False, COLUMNS)
    if found is not None:
        found.note(log)
        lost = dropped_columns.counted(found.sizes, found.common)
        if lost:
            note(lost)
        else:
            tell(f"{found.common} columns are common to all parties.")
        dropped_columns.check_enough(plan, found.sizes, found.common)
    if before is not None:
        if found is not None and found.common != len(before.columns):
            raise RunError("The columns that all parties have are not those with which the run began; start a new run.")
        return said
    told = {name: answer.columns for name, answer in group.ask(_proven(group), m.CommonColumns).items()}
    if len({names_digest(c.name for c in columns) for columns in told.values()}) > 1:
        raise ProtocolError("The parties tell different columns as those that all of them have.")
    return {name: msgspec.structs.replace(facts, columns=told[name]) for name, facts in said.items()}


def _proven(group: PartyGroup) -> dict[str, m.Request]:
    """What each party is asked, with the proofs that all others have for it."""
    names, given = group.plan.names, group.tell(m.AskProofs(), m.Proofs)
    proofs: dict[tuple[str, str], bytes] = {}
    for of, answer in given.items():
        others = [name for name in names if name != of]
        if len(answer.blinded_names) != PROOF_BYTES * len(others):
            raise ProtocolError(f"Party {of!r} did not give a proof of its columns for every other party.")
        for i, to in enumerate(others):
            proofs[of, to] = answer.blinded_names[PROOF_BYTES * i : PROOF_BYTES * (i + 1)]
    return {to: m.AskCommonColumns(b"".join(proofs[of, to] for of in names if of != to)) for to in names}


class OwnNames:
    """A party's side: the names of its columns, of which it tells those that all parties have."""

    def __init__(
        self,
        plan: Plan,
        name: str,
        own_columns: tuple[Column, ...],
        threads: int,
        counts: Counts,
        tell: Tell = silent,
        note: Tell = silent,
        keeps: PlaceStore | None = None,
    ) -> None:
        self.plan, self.own_columns, self.journal, self.tell, self.note = plan, own_columns, counts.journal, tell, note
        self.alignment, self.keeps = Alignment(plan, name, COLUMNS, threads, counts, tell), keeps
        self.common = self._recalled()
        self.secrets: Mapping[int, bytes] = {}

    def _recalled(self) -> tuple[Column, ...] | None:
        """What a process before this one found, if it was settled: a run that goes on often need not align again."""
        places = None if self.keeps is None else self.keeps.read(False, len(self.own_columns))
        common = () if places is None else tuple(self.own_columns[place] for place in places)
        settled = self.journal.settled.get(SETTLED) == names_digest(column.name for column in common).hex()
        return common if settled else None

    def introduced(self, secrets: Mapping[int, bytes]) -> None:
        """Everybody was introduced anew, with these secrets of pairs: an alignment may begin again."""
        self.alignment.set, self.secrets = None, secrets

    def answer(self, request: Aligning | m.AskProofs | m.AskCommonColumns) -> m.Answer:
        """Of one step; at the end the columns that all have become known to the driver."""
        if isinstance(request, m.AskProofs):
            return m.Proofs(self._proofs(lambda own, other: (own, other)))
        if isinstance(request, m.AskCommonColumns):
            if not hmac.compare_digest(request.blinded_names, self._proofs(lambda own, other: (other, own))):
                raise PrivacyError("The driver cannot show that all parties found the same columns; this party stops.")
            return m.CommonColumns(self.columns)
        if request.held_out:
            raise ProtocolError("The driver aligns validation rows in a run that has none in common.")
        if isinstance(request, m.AskSetSize):
            names = [column.name for column in self.own_columns]
            known = b"" if self.common is None else names_digest((c.name for c in self.common), self.plan.digest)
            return self.alignment.begin(names, request.aligned, known)
        reply = self.alignment.answer(request)
        if not isinstance(reply, Common):
            return reply
        self._keep(reply)
        return m.Done()

    def _proofs(self, way: Callable[[int, int], tuple[int, int]]) -> bytes:
        """For every other party, in order: a hash of who tells whom and of the names, under the secret of the pair."""
        own, digest = self.alignment.number, names_digest((c.name for c in self.columns), self.plan.digest)
        return b"".join(
            proof(self.secrets[other], b"%d %d " % way(own, other) + digest)
            for other in range(len(self.plan.names))
            if other != own
        )

    def _keep(self, found: Common) -> None:
        digest = names_digest(found.ids)
        if self.journal.settled.get(SETTLED, digest.hex()) != digest.hex():
            raise ProtocolError("The columns that all parties have are not those that this run began with; start anew.")
        self.journal.settle(SETTLED, digest)
        if self.keeps is not None:
            self.keeps.write(False, len(self.own_columns), found.places)
        self.common = tuple(self.own_columns[place] for place in found.places)
        found.learnt.note(self.journal.log)
        told = self.tell if len(self.common) == len(self.own_columns) else self.note
        told(f"{len(self.common)} of this party's {len(self.own_columns)} columns are common to all parties.")

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those that all parties have, in this party's order."""
        if self.common is None:
            raise ProtocolError("The driver asks before the names of columns are aligned.")
        return self.common

    def agreed(self, request: m.Agree) -> tuple[Column, ...]:
        """The same, if the driver agreed on them and on no others."""
        if {c.name for c in request.columns} != {c.name for c in self.columns}:
            raise ProtocolError("The driver agrees on other columns than those that all parties have.")
        return self.columns
