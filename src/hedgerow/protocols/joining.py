"""Who takes part: every party consents to the plan with its signature, and checks everybody else's.

    driver                                party (each)
    Propose(plan)       ------------->    checks it by its owner's policy
                        <-------------    Consent(fresh X25519 key, certificate, signature)
    Introduce(all keys) ------------->    checks each certificate against the plan, each signature, makes pair secrets
                        <-------------    Facts

Sees in the clear.  Everyone: the plan, certificates, public keys.  Driver: names and categories of columns, classes.
                    Nobody but the two parties of a pair: their secret. It lives in memory, as long as the process.
"""

from collections.abc import Callable, Mapping, Sequence

from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import Policy
from hedgerow.corridor.messages import Consent, Facts, Introduce, Key, Propose
from hedgerow.errors import IdentityError, PrivacyError, ProtocolError
from hedgerow.identity.authority import check_valid
from hedgerow.identity.identity import Identity, fingerprint, verify
from hedgerow.privacy.masks import PairKeys
from hedgerow.protocols.session.group import PartyGroup


def _consented(plan: Plan, name: str, public_key: bytes) -> bytes:
    return plan.signed + name.encode() + b"\0" + public_key


def check_key(plan: Plan, key: Key) -> None:
    """Refuse a key that is not signed by the certificate the plan names for that party."""
    if key.name not in plan.fingerprints:
        raise IdentityError(f"{key.name!r} is not a party of the plan.")
    if fingerprint(key.certificate) != plan.fingerprints[key.name]:
        raise IdentityError(f"The certificate shown for {key.name!r} is not the one the plan names.")
    verify(key.certificate, "consent", _consented(plan, key.name, key.public_key), key.signature)


def propose(group: PartyGroup, driver: Identity | None) -> tuple[Key, ...]:
    """The driver's side: everyone's consent, checked."""
    plan = group.plan
    certificate, signature = (driver.certificate, driver.sign("plan", plan.signed)) if driver else (b"", b"")
    keys = []
    for name, answer in group.tell(Propose(plan.text, certificate, signature), Consent).items():
        keys.append(Key(name, answer.public_key, answer.certificate, answer.signature))
        check_key(plan, keys[-1])
    return tuple(keys)


def introduce(group: PartyGroup, keys: Sequence[Key], attempt: int) -> dict[str, Facts]:
    """The driver's side: what each party says of its columns and classes."""
    return group.tell(Introduce(attempt, tuple(keys)), Facts)


class Membership:
    """A party's side: one plan, one fresh key pair for as long as the process lives."""

    def __init__(
        self, name: str, policy: Policy, identity: Identity, revoked: Callable[[bytes], bool] = lambda _: False
    ) -> None:
        self.name, self.policy, self.identity, self.revoked = name, policy, identity, revoked
        self.plan: Plan | None = None
        self._pair_keys = PairKeys.fresh()

    def consent(self, request: Propose) -> Consent:
        """Sign the plan, if the owner's rules allow it. What becomes known: that they do."""
        plan = Plan.read(request.plan)
        if self.plan is not None and plan.signed != self.plan.signed:
            raise ProtocolError("The driver proposes another plan than the one this party consented to.")
        if self.plan is None:
            self._check(plan, request)
        self.plan = plan
        public = self._pair_keys.public
        signature = self.identity.sign("consent", _consented(plan, self.name, public))
        return Consent(public, self.identity.certificate, signature)

    def _check(self, plan: Plan, request: Propose) -> None:
        self.policy.check(plan, self.name)
        if plan.fingerprints.get(self.name) != self.identity.fingerprint:
            raise IdentityError(f"The plan does not name this party as {self.name!r} with the certificate it has.")
        if plan.coordinator:
            if fingerprint(request.certificate) != plan.coordinator:
                raise IdentityError("The driver's certificate is not the one the plan names.")
            verify(request.certificate, "plan", plan.signed, request.signature)

    def meet(self, request: Introduce) -> Mapping[int, bytes]:
        """Secrets with every other party whose signed key is pinned in the plan."""
        plan = self.agreed_plan
        self._check_keys(request.keys)
        if not plan.goes_on and {key.name for key in request.keys} != set(plan.answering):
            raise PrivacyError(
                "The driver leaves out a party of the plan, which is to be waited for; this party stops."
            )
        if not (plan.method.masked or plan.method.private_names or plan.method.shares):
            return {}
        return {plan.names.index(name): secret for name, secret in self._secrets(request.keys).items()}

    def meet_some(self, keys: Sequence[Key]) -> Mapping[str, bytes]:
        """Secrets with those parties of the plan that are asked; who is left out is the driver's to say."""
        self._check_keys(keys)
        return self._secrets(keys)

    def _check_keys(self, keys: Sequence[Key]) -> None:
        """Refuse keys that are not pinned in the plan, and a list without this party's own."""
        names = [key.name for key in keys]
        if len(set(names)) != len(names) or self.name not in names:
            raise ProtocolError("The introduction names a party twice, or not this one.")
        for key in keys:
            check_key(self.agreed_plan, key)
            if self.agreed_plan.coordinator:
                self._check_peer(key)
            if key.name == self.name and key.public_key != self._pair_keys.public:
                raise PrivacyError("The driver shows the others a key for this party that is not its own.")

    def _secrets(self, keys: Sequence[Key]) -> dict[str, bytes]:
        digest = self.agreed_plan.digest
        return {key.name: self._pair_keys.shared(key.public_key, digest) for key in keys if key.name != self.name}

    def _check_peer(self, key: Key) -> None:
        """Refuse a certificate that has expired or was revoked; in one process all are fresh."""
        check_valid(key.certificate)
        if self.revoked(key.certificate):
            raise IdentityError(
                f"The certificate of {key.name!r} was revoked; this party does not share secrets with it."
            )

    @property
    def agreed_plan(self) -> Plan:
        """The plan this party has consented to."""
        if self.plan is None:
            raise ProtocolError("The driver asks before this party has consented to a plan.")
        return self.plan
