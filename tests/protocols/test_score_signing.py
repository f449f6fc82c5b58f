"""What the active party signs of a batch: all that the party was told, so that nothing of it can be denied."""

import msgspec
import pytest

from federated import identity
from hedgerow.agreement.options import SealedPrediction
from hedgerow.agreement.plan import Member
from hedgerow.corridor.messages import AskScores
from hedgerow.errors import IdentityError
from hedgerow.protocols.scores.active import sealed_plan
from hedgerow.protocols.scores.pads import batch_hash
from hedgerow.protocols.scores.signing import PURPOSE, check_signed, key_hash, signed

MEMBERS = tuple(Member(name, identity(name).fingerprint) for name in ("a", "b"))
PLAN = sealed_plan("a test", MEMBERS, SealedPrediction("a", "a model", 65537), identity("a").fingerprint)
SESSION, KEY = b"s" * 32, key_hash(b"a public key")


def asked(by="a", key=KEY, session=SESSION):
    request = AskScores(3, ("row1", "row2"), False, (b"weights",), (b"relays",), b"")
    said = batch_hash(PLAN.digest, session, request.batch, request.ids)
    return msgspec.structs.replace(request, signature=identity(by).sign(PURPOSE, signed(said, key, request)))


def check(request):
    return check_signed(PLAN, identity("a").certificate, SESSION, KEY, request)


def test_a_signed_batch_is_taken_and_its_hash_is_that_of_its_ids():
    assert check(asked()) == batch_hash(PLAN.digest, SESSION, 3, ("row1", "row2"))


@pytest.mark.parametrize(
    "other",
    [
        {"batch": 4},
        {"ids": ("row1", "row3")},
        {"reasons": True},
        {"sealed_weights": (b"others",)},
        {"sealed_relays": (b"others",)},
        {"signature": b""},
    ],
)
def test_whatever_is_changed_after_it_was_signed_is_refused(other):
    with pytest.raises(IdentityError, match="was not made by"):
        check(msgspec.structs.replace(asked(), **other))


@pytest.mark.parametrize("other", [{"by": "b"}, {"key": key_hash(b"another key")}, {"session": b"t" * 32}])
def test_a_signature_of_another_or_for_another_session_or_key_is_refused(other):
    with pytest.raises(IdentityError, match="was not made by"):
        check(asked(**other))
