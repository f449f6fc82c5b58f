"""The cipher that a plan names."""

from hedgerow.errors import ParameterError
from hedgerow.plan import Plan
from hedgerow.privacy.additive import Cipher
from hedgerow.privacy.lattice import Lattice
from hedgerow.privacy.paillier import Paillier
from hedgerow.privacy.unencrypted import Unencrypted


def cipher_of(plan: Plan) -> Cipher:
    """What hides gradients; there is no way back to a weaker one."""
    if plan.protection == "lattice":
        return Lattice(plan.link_mbit)
    if plan.protection == "paillier":
        return Paillier(plan.key_bits)
    if plan.protection == "plain":
        return Unencrypted()
    raise ParameterError(f"{plan.protection!r} hides no gradients; a vertical run needs lattice or paillier.")
