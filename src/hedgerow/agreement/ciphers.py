"""The cipher that a plan names."""

from hedgerow import _native
from hedgerow.agreement.plan import Plan
from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.paillier.cipher import Paillier
from hedgerow.privacy.unencrypted.cipher import Unencrypted

MEANS = {"lattice": ("lattice_seal_rows", "lattice_group_sums"), "paillier": ("paillier_own_seal", "paillier_primes")}
"""What the native part must have for each."""


def key_bytes(plan: Plan) -> int:
    """Bytes of a public key as it is sent with every tree; it holds what the run needs, and its proofs."""
    return cipher_of(plan).key_bytes(rows=not plan.opener, slots=bool(plan.opener) or plan.hidden_rows)


def cipher_of(plan: Plan) -> Lattice | Paillier | Unencrypted:
    """What hides gradients; there is no way back to a weaker one."""
    if not all(hasattr(_native, name) for name in MEANS.get(plan.protection, ())):
        raise PrivacyError(
            f"This hedgerow was built without {plan.protection} encryption; the run stops before any data moves. "
            "Install a build that has it."
        )
    if plan.protection == "lattice":
        return Lattice(plan.link_mbit)
    if plan.protection == "paillier":
        return Paillier(plan.key_bits)
    if plan.protection == "plain":
        return Unencrypted()
    raise ParameterError(f"{plan.protection!r} hides no gradients; a vertical run needs lattice or paillier.")
