"""A commitment holds the active party to its leaf values, and tells the others nothing of them."""

import hashlib
import struct
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from federated import labels, params_of, pooled_model, values
from hedgerow.agreement.plan import Goal
from hedgerow.data.table import Table
from hedgerow.errors import ModelError, PrivacyError
from hedgerow.model import commitment as c
from hedgerow.model.fixed_scores import fixed_scores
from hedgerow.model.model import Ownership
from learnt import CASES

SALT = bytes(range(32))


def trained(case="logistic", name="m"):
    kind, goal, params = CASES[case]
    X, signal = values(250)
    model = pooled_model(Table.of(X, labels(kind, signal)), params_of(**params), Goal(**goal))
    return replace(model, ownership=Ownership(name, "a", (("a", 2), ("b", 3)), whole=True))


@pytest.mark.parametrize("case", ["logistic", "softmax", "squared", "forest of two classes"])
def test_an_honest_opening_is_accepted(case):
    model = trained(case)
    kept = c.decoded_commitment(c.encoded(c.commitment(model, SALT)))
    opened = c.decoded_opening(c.encoded(c.opening(model, SALT)))
    c.check_opening(kept, opened)
    assert kept.digest == c.commit(model, SALT)
    assert opened.weights == fixed_scores(model).weights.tolist()


def test_the_hash_is_that_of_the_page():
    """Written once more from the description alone."""
    model = trained()
    fixed = fixed_scores(model)
    leaves = [int((fixed.trees == tree).sum()) for tree in range(model.forest.n_trees)]
    numbers = ([fixed.bits, fixed.exponent, fixed.n_classes], leaves, fixed.weights.tolist())
    parts = [SALT, b"m", *(b"".join(struct.pack("<q", x) for x in one) for one in numbers)]
    columns, children = model.forest.columns.tolist(), model.forest.children.tolist()
    lefts = [child if column >= 0 else -1 for column, child in zip(columns, children, strict=True)]
    owners = [-1 if column < 0 else int(column >= 2) for column in columns]
    parts.append(hashlib.sha256(b"".join(struct.pack("<q", x) for x in lefts + owners)).digest())
    raw = b"hedgerow leaf values 1" + b"".join(struct.pack("<Q", len(part)) + part for part in parts)
    assert c.commit(model, SALT) == hashlib.sha256(raw).digest()


CHANGES = {
    "a weight": lambda o: msgspec.structs.replace(o, weights=[o.weights[0] + 1, *o.weights[1:]]),
    "two weights swapped": lambda o: msgspec.structs.replace(o, weights=[o.weights[1], o.weights[0], *o.weights[2:]]),
    "the step": lambda o: msgspec.structs.replace(o, exponent=o.exponent + 1),
    "the bits": lambda o: msgspec.structs.replace(o, bits=o.bits + 1),
    "the salt": lambda o: msgspec.structs.replace(o, salt=bytes(32)),
    "trees": lambda o: msgspec.structs.replace(o, leaves=[o.leaves[0] - 1, o.leaves[1] + 1, *o.leaves[2:]]),
    "a leaf between trees and weights": lambda o: msgspec.structs.replace(o, leaves=o.leaves[:-1]),
    "how cuts lie": lambda o: msgspec.structs.replace(o, trees=bytes(32)),
    "half a hash of the trees": lambda o: msgspec.structs.replace(o, trees=o.trees[:16]),
    "a short salt": lambda o: msgspec.structs.replace(o, salt=SALT[:-1]),
    "no class": lambda o: msgspec.structs.replace(o, n_classes=0),
    "numbers that are too large": lambda o: msgspec.structs.replace(o, weights=[1 << 63, *o.weights[1:]]),
    "a tree without leaves": lambda o: msgspec.structs.replace(o, leaves=[0, sum(o.leaves[:2]), *o.leaves[2:]]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_opening_with_anything_changed_is_refused(change):
    model = trained()
    with pytest.raises(PrivacyError, match=r"are not those that|such as no model has"):
        c.check_opening(c.commitment(model, SALT), CHANGES[change](c.opening(model, SALT)))


def test_a_check_that_looks_at_the_model_alone_lets_changed_weights_pass(monkeypatch):
    """The sabotage: every hash is taken as the same."""
    model = trained()
    monkeypatch.setattr(c.hmac, "compare_digest", lambda *_: True)
    c.check_opening(c.commitment(model, SALT), CHANGES["a weight"](c.opening(model, SALT)))


def test_a_model_with_other_leaf_values_or_another_name_is_refused():
    model = trained()
    kept = c.commitment(model, SALT)
    other = replace(model, forest=replace(model.forest, values=model.forest.values * np.float32(1.5)))
    with pytest.raises(PrivacyError, match="are not those that"):
        c.check_opening(kept, c.opening(other, SALT))
    with pytest.raises(PrivacyError, match="of another model"):
        c.check_opening(kept, c.opening(trained(name="n"), SALT))


def test_a_model_whose_cuts_lie_otherwise_or_are_anothers_is_refused():
    """Else the same leaves could be shown to lie below other cuts, when a request is audited."""
    model = trained()
    kept, forest = c.commitment(model, SALT), model.forest
    at = np.flatnonzero(forest.columns >= 0)
    columns = forest.columns.copy()
    columns[at[0]] = 4 - columns[at[0]]
    children = forest.children.copy()
    children[at[0]] = children[at[-1]]
    others = [
        replace(model, forest=replace(forest, **changed)) for changed in ({"columns": columns}, {"children": children})
    ]
    for other in others:
        with pytest.raises(PrivacyError, match="are not those that"):
            c.check_opening(kept, c.opening(other, SALT))


def test_the_same_leaf_values_have_another_hash_with_another_salt():
    model = trained()
    salts = [c.new_salt() for _ in range(3)]
    assert {len(salt) for salt in salts} == {c.SALT}
    assert len({c.commit(model, salt) for salt in salts}) == 3


def test_the_salt_is_kept_for_its_owner_alone_and_opens_the_commitment(tmp_path):
    model, path = trained(), c.salt_beside(tmp_path / "m.json")
    salt = c.new_salt()
    c.keep_salt(path, model, salt, bits=12)
    assert path.name == "m.salt"
    assert path.stat().st_mode & 0o777 == 0o600
    c.check_opening(c.commitment(model, salt, bits=12), c.kept_opening(path, model))
    with pytest.raises(ModelError, match="the salt of another model's commitment"):
        c.kept_opening(path, trained(name="n"))
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ModelError, match="not the salt of a commitment, or it is damaged"):
        c.kept_opening(path, model)


@pytest.mark.parametrize(
    "raw", [b"", b"{}", b"[1", b'{"model":"m","digest":"AAAA"}', b'{"model":1,"digest":""}', b"\xff"]
)
def test_what_is_no_commitment_is_refused(raw):
    with pytest.raises(ModelError, match=r"no commitment|wrong length"):
        c.decoded_commitment(raw)
    with pytest.raises(ModelError, match="no opening"):
        c.decoded_opening(raw)


def test_a_model_of_one_place_has_nobody_to_commit_to():
    with pytest.raises(ModelError, match="not one of a vertical run"):
        c.commit(replace(trained(), ownership=None), SALT)
