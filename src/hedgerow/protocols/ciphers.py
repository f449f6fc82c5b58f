"""The cipher that a plan names."""

from functools import lru_cache

from hedgerow import _native
from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.plan import Plan
from hedgerow.privacy.lattice import Lattice
from hedgerow.privacy.paillier import Paillier
from hedgerow.privacy.unencrypted import Unencrypted

MEANS = {"lattice": ("lattice_seal_rows", "lattice_group_sums"), "paillier": ("paillier_own_seal", "paillier_primes")}
"""What the native part must have for each."""


SMALLEST = 2048
"""Bits of the Paillier keys by which the length of all is known: larger ones take seconds to make."""


def key_bytes(plan: Plan) -> float:
    """Bytes of a public key as it is sent with every tree, and of all that goes with it."""
    if plan.protection == "paillier":
        return _key_bytes(Paillier(SMALLEST)) * plan.key_bits / SMALLEST
    return _key_bytes(cipher_of(plan))


@lru_cache(maxsize=16)
def _key_bytes(cipher: Lattice | Paillier | Unencrypted) -> int:
    """By making one, so that it follows whatever a key consists of."""
    return len(cipher.new_key(1).public.encode())


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
