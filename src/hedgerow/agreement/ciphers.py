"""The cipher that a plan names."""

from hedgerow import _native
from hedgerow.agreement.options import Lattice, NoPrivacy, Paillier
from hedgerow.agreement.plan import Plan
from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.additive import Merging
from hedgerow.privacy.unencrypted.cipher import Unencrypted

MEANS = {Lattice: ("lattice_seal_rows", "lattice_group_sums"), Paillier: ("paillier_own_seal", "paillier_primes")}
"""What the native part must have for each."""


def key_bytes(plan: Plan, merging: Merging = ()) -> int:
    """Bytes of a public key as it is sent with every tree; it holds what the run needs, and its proofs."""
    slots = bool(plan.opener) or plan.method.hidden_rows
    return cipher_of(plan).key_bytes(rows=not plan.opener, slots=slots, merging=merging)


def cipher_of(plan: Plan) -> Lattice | Paillier | Unencrypted:
    """What hides gradients; there is no way back to a weaker one."""
    privacy = plan.method.privacy
    if isinstance(privacy, NoPrivacy):
        return Unencrypted()
    if not isinstance(privacy, Lattice | Paillier):
        raise ParameterError("Nothing in this plan hides gradients; use lattice or paillier.")
    if not all(hasattr(_native, name) for name in MEANS[type(privacy)]):
        raise PrivacyError(
            f"This hedgerow was built without {plan.method.protection} encryption; the run stops before any data "
            "moves. Install a build that has it."
        )
    return Lattice(link_of(plan)) if isinstance(privacy, Lattice) else privacy


def link_of(plan: Plan) -> float | None:
    """The speed in Mbit/s that lattice ciphertexts are laid out for: as named, else as measured; None: one machine."""
    privacy = plan.method.privacy
    named = privacy.link_mbit if isinstance(privacy, Lattice) else None
    return plan.link_mbit if named is None else named
