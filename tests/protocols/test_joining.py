"""Who takes part: keys are believed only under the pinned certificate's signature of this very plan."""

import msgspec
import numpy as np
import pytest

import federated
from federated import Federation, identity, two_class, until
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.errors import IdentityError, ParameterError, PolicyError, PrivacyError, ProtocolError
from hedgerow.identity import x509
from hedgerow.identity.identity import Identity
from hedgerow.privacy.masks import PairKeys
from hedgerow.protocols.joining import Membership, _consented
from hedgerow.protocols.party import Owner, Party

replace = msgspec.structs.replace


def introduced(change):
    """Parties that have consented, and an introduction in which the key shown for party2 was changed."""
    fed = Federation(two_class(3))
    request = until(fed, lambda r: isinstance(r, m.Introduce))
    keys = [change(fed, key) if key.name == "party2" else key for key in request.keys]
    return fed, replace(request, keys=tuple(keys))


def signed(fed, who: Identity, name="party2", plan=None):
    public = PairKeys.fresh().public
    plan = plan or fed.plan
    return m.Key(name, public, who.certificate, who.sign("consent", _consented(plan, name, public)))


def other_plan(fed):
    return Federation(fed.tables, run="another run").plan


BAD_KEYS = {
    "swapped": (lambda fed, key: replace(key, public_key=PairKeys.fresh().public), "was not made by"),
    "signed by another certificate": (lambda fed, key: signed(fed, Identity.fresh("party2")), "not the one the plan"),
    "signed by another party": (lambda fed, key: signed(fed, identity("party3")), "not the one the plan"),
    "another party's": (lambda fed, key: replace(signed(fed, identity("party3"), "party3"), name="party2"), "not the"),
    "of a stranger": (lambda fed, key: signed(fed, identity("eve"), "eve"), "not a party of the plan"),
    "signed for another plan": (lambda fed, key: signed(fed, identity("party2"), plan=other_plan(fed)), "was not made"),
    "signed for another purpose": (
        lambda fed, key: replace(key, signature=identity("party2").sign("plan", fed.plan.digest)),
        "was not made",
    ),
    "without signature": (lambda fed, key: replace(key, signature=b""), "was not made"),
    "without certificate": (lambda fed, key: replace(key, certificate=b""), "not the one"),
}


@pytest.mark.parametrize("bad", BAD_KEYS)
def test_a_key_that_is_not_signed_by_the_pinned_certificate_is_refused(bad):
    change, match = BAD_KEYS[bad]
    fed, request = introduced(change)
    with pytest.raises(IdentityError, match=match):
        fed.parties["party1"].answer(encode(request))


def test_a_valid_certificate_of_the_same_authority_is_refused_where_it_is_not_pinned(monkeypatch):
    """Whoever owns the authority can name anyone; the plan pins the very certificate."""
    ca = x509.new_ca("one for all", x509.in_days(1))
    for name in ("party1", "party2", "party3"):
        monkeypatch.setitem(federated._KNOWN, name, issued(ca, name))
    fed, request = introduced(lambda fed, key: signed(fed, issued(ca, "party2")))
    with pytest.raises(IdentityError, match="not the one the plan names"):
        fed.parties["party1"].answer(encode(request))
    fed, request = introduced(lambda fed, key: signed(fed, identity("party2")))
    assert fed.parties["party1"].answer(encode(request))


def issued(ca, name) -> Identity:
    pair = x509.new_certificate(ca, name, x509.new_key(), x509.alternatives(["localhost"]), x509.in_days(1))
    return Identity(pair.der, pair.key)


def test_a_key_signed_by_the_pinned_certificate_is_accepted():
    """The sabotage beside the refusals: the same key, rightly signed, passes."""
    fed, request = introduced(lambda fed, key: signed(fed, identity("party2")))
    assert fed.parties["party1"].answer(encode(request))


def test_a_driver_that_swaps_a_partys_own_key_is_noticed_by_it():
    fed, request = introduced(lambda fed, key: signed(fed, identity("party2")))
    with pytest.raises(PrivacyError, match="not its own"):
        fed.parties["party2"].answer(encode(request))


@pytest.mark.parametrize("names", [("party1", "party1", "party2"), ("party2", "party3")])
def test_an_introduction_names_everyone_once_and_its_reader(names):
    fed = Federation(two_class(3))
    request = until(fed, lambda r: isinstance(r, m.Introduce))
    keys = {key.name: key for key in request.keys}
    with pytest.raises(ProtocolError, match="twice, or not this one"):
        fed.parties["party1"].answer(encode(replace(request, keys=tuple(keys[name] for name in names))))


def test_the_driver_checks_keys_too():
    fed = Federation(two_class(3))
    stranger = Party(Owner("party2", fed.tables["party2"], None, ALLOW_ALL, identity("party2")), 1)
    stranger.member = Membership("party2", ALLOW_ALL, identity("party2"))
    stranger.member.identity = Identity.fresh("party2")
    stranger.member._check = lambda plan, request: None
    fed.parties["party2"] = stranger
    with pytest.raises(IdentityError, match="not the one the plan names"):
        fed.model()


def test_a_party_refuses_a_plan_that_pins_another_certificate_for_it():
    fed = Federation(two_class(3))
    owner = Owner("party2", fed.tables["party2"], None, ALLOW_ALL, Identity.fresh("party2"))
    fed.parties["party2"] = Party(owner, 1)
    with pytest.raises(IdentityError, match="does not name this party"):
        fed.model()


def test_a_party_refuses_a_driver_that_is_not_the_plans():
    tables = two_class(3)
    pinned = {"coordinator": identity("driver").fingerprint}
    assert Federation(tables, **pinned).model(identity=identity("driver"))
    for driver in (None, identity("eve")):
        with pytest.raises(IdentityError, match="driver's certificate is not the one"):
            Federation(tables, **pinned).model(identity=driver)


def test_a_plan_that_the_driver_did_not_sign_is_refused():
    fed = Federation(two_class(3), coordinator=identity("driver").fingerprint)
    signature = identity("driver").sign("plan", other_plan(fed).digest)
    request = m.Propose(fed.plan.text, identity("driver").certificate, signature)
    with pytest.raises(IdentityError, match="'plan' was not made by"):
        fed.parties["party1"].answer(encode(request))


def test_a_party_consents_to_one_plan():
    fed = Federation(two_class(3))
    fed.model()
    with pytest.raises(ProtocolError, match="another plan than the one"):
        fed.parties["party1"].answer(encode(m.Propose(other_plan(fed).text, b"", b"")))


def test_an_attempt_is_not_repeated():
    fed = Federation(two_class(3))
    fed.model()
    introduction = fed.of("Introduce")[0]
    with pytest.raises(PrivacyError, match="repeats an attempt"):
        fed.parties["party1"].answer(introduction.frame)


# Few parties


def test_one_party_alone_cannot_be_masked():
    with pytest.raises(ParameterError, match="there is one, with nobody to hide among"):
        Federation(two_class(1))


def test_two_parties_need_the_consent_of_the_plan_and_of_both_owners():
    tables = two_class(2)
    with pytest.raises(ParameterError, match="shows each the other's sums"):
        Federation(tables)
    careful = {"party1": ALLOW_ALL, "party2": Policy(min_cut_rows=1)}
    with pytest.raises(PolicyError, match=r"only 2 parties.*allow_two"):
        Federation(tables, policy=careful, allow_two=True).model()
    assert Federation(tables, allow_two=True).model()


def test_an_introduction_of_two_of_three_opens_nothing():
    fed = Federation(two_class(3), on_loss="continue")
    request = until(fed, lambda r: isinstance(r, m.Introduce))
    party = fed.parties["party1"]
    party.answer(encode(replace(request, keys=request.keys[:2])))
    columns = fed.tables["party1"].columns
    party.answer(encode(m.Agree(columns, (0, 1), "")))
    counts = m.AskCounts(0, np.zeros(1, np.int32), np.zeros(1, np.uint32), np.full(1, 32, np.uint8))
    with pytest.raises(PrivacyError, match="over all parties of the plan or not at all"):
        party.answer(encode(counts))


def test_a_party_of_the_plan_that_is_waited_for_cannot_be_left_out():
    fed = Federation(two_class(4))
    request = until(fed, lambda r: isinstance(r, m.Introduce))
    with pytest.raises(PrivacyError, match="leaves out a party of the plan"):
        fed.parties["party1"].answer(encode(replace(request, keys=request.keys[:3])))


def test_a_party_that_was_left_out_cannot_come_back():
    fed = Federation(two_class(5), on_loss="continue")
    request = until(fed, lambda r: isinstance(r, m.Introduce))
    party = fed.parties["party1"]
    party.answer(encode(replace(request, keys=request.keys[:4])))
    with pytest.raises(PrivacyError, match="brings back a party"):
        party.answer(encode(replace(request, attempt=request.attempt + 1)))
