"""A data owner's side of a run: hears frames, answers frames, and nothing else.

Sees in the clear.  What the driver sends: the plan, the others' certificates, what was agreed, the trees.
Gives away only what `messages` lists, each answer noted in the party's own audit log before it leaves.
"""

from collections.abc import Callable
from functools import partial

from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Frame
from hedgerow.errors import ProtocolError
from hedgerow.protocols.columns import own_facts
from hedgerow.protocols.horizontal.batch import Pending, worked_out
from hedgerow.protocols.joining import Membership
from hedgerow.protocols.probe import Echoes
from hedgerow.protocols.roles import ROLES, role_of
from hedgerow.protocols.session.owner import Attempt, Owner, PartyContext, books_of
from hedgerow.protocols.session.shell import Shell, Table

__all__ = ["Owner", "Party"]


class Party(Shell[Pending]):
    """Consents to a plan, is introduced to the others, and then answers as its role in that plan says."""

    def __init__(self, owner: Owner, threads: int, keep_model: Callable[[bytes], None] | None = None) -> None:
        super().__init__(owner.log, partial(worked_out, threads=threads))
        self.owner, self.threads, self.keep_model = owner, threads, keep_model
        self.member = Membership(owner.name, owner.policy, owner.identity, owner.revoked)
        self.echoes = Echoes(owner.policy.most_probe_bytes)
        self.joining: Table[Pending] = {
            m.Probe: self._echo, m.Propose: self._consent, m.Introduce: self._introduce,
        }  # fmt: skip
        self.table = self.joining

    def _echo(self, request: m.Probe, _: Frame) -> m.Echo:
        return self.echoes.answer(request, self.member.plan)

    def _consent(self, request: m.Propose, _: Frame) -> m.Consent:
        """A policy's rules for predictions are others than for training, so that one is not taken for the other."""
        plan = Plan.read(request.plan)
        if type(plan.method) not in ROLES:
            raise ProtocolError("The driver proposes a prediction, and this party is here to train.")
        consent = self.member.consent(request)
        if self.role is None:
            role, books = role_of(plan), books_of(self.owner, plan)
            self.role = role(PartyContext(self.owner, plan, *books, self.threads, self.sent, self.keep_model))
        return consent

    def _introduce(self, request: m.Introduce, frame: Frame) -> m.Facts:
        """An attempt begins, and whatever another had agreed on is over."""
        if self.role is None:
            raise ProtocolError("The driver asks before this party has consented to a plan.")
        secrets, owner, plan = self.member.meet(request), self.owner, self.role.context.plan
        facts = own_facts(plan, owner.name, owner.policy, owner.own_table, owner.own_valid)
        self.role.context.journal.introduce(request.attempt, [key.name for key in request.keys])
        self.table, names = self.joining, plan.names
        present = tuple(sorted(names.index(key.name) for key in request.keys))
        attempt = Attempt(names.index(owner.name), present, secrets, request, facts, self.hear_from(plan, frame))
        self.table = {**self.joining, **self.role.introduced(attempt)}
        return facts
