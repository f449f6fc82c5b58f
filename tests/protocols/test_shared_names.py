"""Names of columns that not all parties of a horizontal run have: nobody else hears them."""

from dataclasses import replace as with_

import msgspec
import numpy as np
import pytest

from federated import TINY, Federation, Lossy, labels, refuses, same, until, values
from hedgerow import GBDTClassifier, Horizontal
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError, PrivacyError, ProtocolError
from hedgerow.privacy.intersection import Blinding
from hedgerow.protocols import private_columns
from hedgerow.protocols.align import lists as own_sets
from hedgerow.protocols.align import ring
from hedgerow.protocols.align.lists import tag_of

replace = msgspec.structs.replace
SHARED = ["blood pressure", "stay", "age"]
PRIVATE = {
    "party1": ["hiv status", "ward"],
    "party2": ["debts", "ward"],
    "party3": ["genome"],
    "party4": [],
    "party5": [],
}


def tables(n=3, **changed):
    """Parties with three columns in common and others of their own, each in an order of its own."""
    out = {}
    for i, (name, own) in enumerate(list(PRIVATE.items())[:n]):
        names = changed.get(name, [*SHARED, *own])
        X, signal = values(60, n_columns=3, missing=0, seed=i)
        rng = np.random.default_rng(i)
        X = np.hstack([X, rng.normal(size=(60, 5))])[:, : len(names)].astype(np.float32)
        order = rng.permutation(len(names))
        here = [names[j] for j in order]
        out[name] = Table.of(np.ascontiguousarray(X[:, order]), labels("two", signal), names=here)
    return out


def federation(parties=None, **plan):
    return Federation(parties or tables(), TINY, **{"column_names": "private", **plan})


def found(fed, texts):
    return [text for text in texts if any(text.encode() in one.frame for one in fed.heard)]


UNKNOWN = [name for own in PRIVATE.values() for name in own]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_model_is_that_of_a_run_with_open_names(n):
    more = {"allow_two": n == 2}
    model = federation(tables(n), **more).model()
    assert same(model, Federation(tables(n), TINY, **more).model())
    assert set(model.names) == {*SHARED, *(["ward"] if n == 2 else [])}


def test_it_does_not_need_masks():
    plain = {"protection": "plain"}
    assert same(federation(**plain).model(), Federation(tables(), TINY, **plain).model())


def test_a_name_that_not_all_have_is_in_no_frame():
    fed = federation()
    fed.model()
    assert not found(fed, UNKNOWN)
    assert found(fed, SHARED) == SHARED


def test_in_an_open_run_it_is():
    """The sabotage: the same search finds them."""
    fed = federation(column_names="open")
    fed.model()
    assert set(found(fed, UNKNOWN)) == {name for own in list(PRIVATE.values())[:3] for name in own}


def tried_out(fed):
    """Names of which the bare hash is among the points that crossed."""
    fed.model()
    points = Blinding((1).to_bytes(32, "little")).ids(UNKNOWN, tag_of(fed.plan, "columns"), 1)
    frames = b"".join(one.frame for one in fed.heard)
    return [name for name, point in zip(UNKNOWN, points, strict=True) if point.tobytes() in frames]


def test_trying_out_names_finds_none():
    assert not tried_out(federation())


def test_bare_hashes_of_names_are_found_by_trying_out(monkeypatch):
    """The sabotage: a secret of 1."""
    monkeypatch.setattr(Blinding, "fresh", lambda: Blinding((1).to_bytes(32, "little")))
    assert len(tried_out(federation())) == 5


def test_the_names_of_others_change_nothing_that_is_said_in_the_clear():
    """But for which of a shuffled list's places are marked."""
    said = []
    for names in (["hiv status", "ward"], ["shoe size", "hat size"]):
        fed = federation(tables(party1=[*SHARED, *names]))
        fed.model()
        hows = [
            (one, field)
            for one in fed.heard
            for field, how in m.travels(type(one.message)).items()
            if how.how == "clear"
        ]
        random = ("Consent", "Introduce", "MarkCommon", "Marks")
        said.append([getattr(one.message, field) for one, field in hows if one.kind not in random])
    plain = [[v.tobytes() if isinstance(v, np.ndarray) else repr(v) for v in run] for run in said]
    assert plain[0] == plain[1]


def test_columns_that_the_owners_policy_keeps_back_are_not_even_in_the_list():
    policies = dict.fromkeys(tables(), ALLOW_ALL) | {"party1": with_(ALLOW_ALL, columns=("age", "ward"))}
    fed = federation(policy=policies, allow_few_columns=True)
    assert fed.model().names == ("age",)
    assert next(one.message.n_ids for one in fed.of("SetSize") if one.sender == "party1") == 2


def test_the_estimator_takes_it_as_an_option():
    model = GBDTClassifier(n_estimators=2, federation=Horizontal(column_names="private")).fit(tables())
    assert set(model.model_.names) == set(SHARED)


# Refused


def test_a_list_of_every_name_there_may_be_is_refused(monkeypatch):
    monkeypatch.setattr(own_sets, "MOST_NAMES", 4)
    with pytest.raises(
        DataError, match=r"This party has 5 columns, and 4 names are aligned; use column_names = \"open\""
    ):
        federation().model()


def test_parties_without_a_common_name_are_told_so():
    with pytest.raises(DataError, match="No name of a column is common to all parties; compare their headers"):
        federation(tables(party2=["x", "y", "z"])).model()


def test_a_common_name_of_two_kinds_is_refused_as_in_an_open_run():
    parties = tables()
    own = parties["party2"]
    kinds = [with_(c, kind="categorical", categories=("a",)) if c.name == "age" else c for c in own.columns]
    parties["party2"] = with_(own, columns=tuple(kinds))
    with pytest.raises(DataError, match="Column 'age' holds categorical values at party 'party2'"):
        federation(parties).model()


PLANS = {
    "all columns": ({"columns": "all"}, 'use columns = "shared"'),
    "going on": ({"on_loss": "continue"}, 'use on_loss = "wait"'),
}


@pytest.mark.parametrize("what", PLANS)
def test_what_does_not_go_with_private_names_is_refused(what):
    plan, match = PLANS[what]
    with pytest.raises(ParameterError, match=match):
        federation(**plan)


def stopped_at(kind, **plan):
    fed = federation(**plan)
    return fed.parties["party1"], until(fed, lambda request: isinstance(request, kind))


def test_the_driver_cannot_ask_for_other_columns_than_those_that_all_have():
    party, agree = stopped_at(m.Agree)
    more = (*agree.columns, with_(agree.columns[0], name="ward"))
    refuses(party, replace(agree, columns=more), "agrees on other columns")
    refuses(party, replace(agree, columns=agree.columns[1:]), "agrees on other columns")
    party.answer(encode(agree))


def marking_more(lists):
    """What a driver that cheats marks: in every list as many places as the shortest has, and not the common ones."""
    n = min(map(len, lists))
    return [np.arange(len(one)) >= len(one) - n for one in lists]


def test_a_driver_that_marks_other_places_than_the_common_ones_is_told_no_name(monkeypatch):
    monkeypatch.setattr(ring, "in_all", marking_more)
    fed = federation()
    with pytest.raises(PrivacyError, match="cannot show that all parties found the same columns"):
        fed.model()
    assert not found(fed, UNKNOWN)


def test_without_the_proofs_it_would_be_told(monkeypatch):
    """The sabotage: a party that looks at no proof."""
    monkeypatch.setattr(ring, "in_all", marking_more)
    monkeypatch.setattr(private_columns.hmac, "compare_digest", lambda *_: True)
    fed = federation()
    with pytest.raises(ProtocolError, match="tell different columns"):
        fed.model()
    assert found(fed, UNKNOWN)


def test_a_proof_is_for_one_party_from_one_other():
    party, asked = stopped_at(m.AskCommonColumns)
    own = party.names.answer(m.AskProofs()).blinded_names
    halves = asked.blinded_names[:32], asked.blinded_names[32:]
    for proofs in (own, halves[1] + halves[0], halves[0], b"", bytes(64)):
        refuses(party, m.AskCommonColumns(proofs), "this party stops", PrivacyError)
    party.answer(encode(asked))


def test_nothing_is_agreed_before_names_are_aligned():
    party, request = stopped_at(m.AskSetSize)
    refuses(party, m.AskProofs(), "before the names of columns are aligned")
    refuses(party, m.AskCommonColumns(b""), "before the names of columns are aligned")
    refuses(party, m.Agree((), (0, 1), ""), "before the names of columns are aligned")
    refuses(party, replace(request, held_out=True), "aligns validation rows")


def test_an_open_run_aligns_no_names():
    fed = federation(column_names="open")
    until(fed, lambda request: isinstance(request, m.Agree))
    for request in (m.AskSetSize(False), m.AskProofs(), m.AskCommonColumns(b"")):
        refuses(fed.parties["party1"], request, f"does not allow {type(request).__name__}")


def test_parties_that_tell_different_columns_end_the_run(monkeypatch):
    answer = private_columns.OwnNames.answer

    def lying(self, request):
        told = answer(self, request)
        own = isinstance(told, m.CommonColumns) and self.alignment.number == 1
        return m.CommonColumns(told.columns[1:]) if own else told

    monkeypatch.setattr(private_columns.OwnNames, "answer", lying)
    with pytest.raises(ProtocolError, match="tell different columns"):
        federation().model()


# A party that is lost


def lossy(fed, restart):
    lost = []

    def lose(name, request):
        if name != "party2" or lost or not isinstance(request, m.AskHistograms):
            return False
        lost.append(request)
        restart()
        return True

    return Lossy(fed, lose)


def test_a_new_process_aligns_its_names_anew_and_the_model_is_the_same():
    fed = federation()
    model = fed.model(transport=lossy(fed, lambda: fed.restart("party2")))
    assert same(model, federation().model())
    assert len([one for one in fed.of("BeginBlinding") if one.receiver == "party1"]) == 2


def test_names_that_were_aligned_are_not_aligned_again():
    fed = federation()
    fed.model(transport=lossy(fed, lambda: None))
    assert len([one for one in fed.of("BeginBlinding") if one.receiver == "party1"]) == 1


def test_a_hash_of_the_names_that_all_have_is_in_no_answer():
    """It has no key: were other places marked than the common ones, it could be tried out which names they are."""
    fed = federation()
    fed.model(transport=lossy(fed, lambda: None))
    known = private_columns.names_digest(SHARED, fed.plan.digest)
    assert {one.sender for one in fed.heard if known in one.frame} == {"driver"}
    assert [one.message.aligned for one in fed.of("SetSize")] == [False] * 3 + [True] * 3


def test_other_columns_in_the_middle_of_a_run_end_it():
    fed = federation()

    def restart():
        fed.tables = tables(party2=["age", "stay"])
        fed.restart("party2")

    with pytest.raises(PrivacyError, match="more or fewer columns than when this run began"):
        fed.model(transport=lossy(fed, restart))
