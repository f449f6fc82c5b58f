"""An auditor opens sealed predictions: an honest active party passes, and one that sealed other weights is found."""

import hashlib
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from asked import trained
from federated import identity, labels, values
from hedgerow.agreement.options import Lattice, Paillier
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import AuditError, RunError
from hedgerow.model import commitment as c
from hedgerow.model.fixed_scores import fixed_scores
from hedgerow.model.model import dense
from hedgerow.model.score_slots import FilledSlots
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.scores import opening_checks
from hedgerow.protocols.scores.active import SealedAsking
from hedgerow.protocols.scores.layout import Layout, placed
from hedgerow.protocols.scores.opening_checks import Evidence, check
from hedgerow.run.folder.openings_file import OpeningsFolder, read_opening
from hedgerow.storage.audit import AuditLog
from sealed import Sealed

SHARE = [[4, 0], [1, 2], [3]]
SALT = bytes(range(32))
N = 12


@pytest.fixture(scope="module")
def made():
    """A model in parts, of which the leaf values are committed to, and rows to predict."""
    X, signal = values(300)
    table = Table.of(X, labels("many", signal), ids=np.arange(300))
    model, parts = trained(partition.columns(table, share=SHARE))
    commitment = c.commit(model, SALT)
    rows = partition.columns(table.take(np.arange(N)), share=SHARE)
    return model, {name: replace(part, commitment=commitment) for name, part in parts.items()}, rows


class Audit:
    """A prediction whose openings and logs are kept, as an auditor gets them."""

    def __init__(self, made, folder, privacy=Lattice(), weights=None):  # noqa: B008
        self.model, self.parts, tables = made
        self.fixed, self.folder = fixed_scores(self.model), folder
        weights = placed(self.model, self.fixed) if weights is None else weights
        self.sealed = Sealed(self.model, self.parts, tables, weights, self.fixed.reach, privacy=privacy)
        self.logs = {name: AuditLog(None, "a run", name) for name in self.sealed.present}
        for name, party in self.sealed.choosing.items():
            party.log = self.logs[name]
        keys = propose(self.sealed.group, None)
        layout = Layout.of(self.model, self.sealed.present, self.model.loss.n_trees)
        me = identity(self.sealed.plan.active)
        self.asking = SealedAsking(self.sealed.group, layout, weights, keys, me, openings=OpeningsFolder(folder))
        self.asking.begun()

    def ask(self, *rows, **more):
        table = self.sealed.tables[self.sealed.plan.active].take(np.array(rows or range(N)))
        return self.asking.ask(texts_of(table), dense(table), **more)

    def opened(self):
        self.asking.close()
        [file] = self.folder.glob("*.opening")
        return read_opening(file)

    def evidence(self, party="party2", **more):
        leaves = c.opening(more.get("model", self.model), SALT)
        found = Evidence(self.model, leaves, self.parts[party], list(self.logs[party].lines()))
        return replace(found, **more)


@pytest.fixture
def audit(made, tmp_path):
    return Audit(made, tmp_path)


@pytest.mark.parametrize("privacy", [Lattice(), Lattice(100.0), Paillier(bits=2048)], ids=str)
def test_an_honest_active_party_passes_at_every_party(made, tmp_path, privacy):
    audit = Audit(made, tmp_path, privacy)
    audit.ask(reasons=True)
    audit.ask(3, 1)
    opened = audit.opened()
    found = {name: check(opened, audit.evidence(name), 2) for name in ("party2", "party3")}
    assert {(one.batches, one.rows, one.unanswered) for one in found.values()} == {(2, N + 2, 0)}
    assert found["party2"].unchecked == 0
    assert found["party3"].unchecked > 0, "what party2 relays to it is noise"


def test_the_log_has_neither_ids_nor_tables(audit):
    audit.ask()
    [line] = [line for line in audit.logs["party2"].lines() if line["event"] == "scores told"]
    names = {"n", "at", "event", "rows", "scores", "relays", "reasons", "previous", "hash"}
    assert set(line) == names | {"batch", "session", "key", "begun", "signed", "signature"}
    head = audit.opened().head
    assert (line["session"], line["key"]) == (head.session.hex(), hashlib.sha256(head.public_key).hexdigest())


def test_the_opening_is_its_owners_alone_and_its_key_is_used_no_more(audit):
    audit.ask(0)
    [file] = audit.folder.glob("*.opening")
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RunError, match="has no key"):
        read_opening(file)
    audit.opened()
    audit.asking.renew()
    audit.ask(1)
    audit.asking.close()
    assert len(list(audit.folder.glob("*.opening"))) == 2
    file.write_bytes(file.read_bytes()[20:])
    with pytest.raises(RunError, match="not the opening of a sealed prediction"):
        read_opening(file)


# A cheating active party


def powers(honest, filled, party, came):
    """In place of weights, powers of two: their sum would name the chosen."""
    weights = honest(filled, party, came)
    return np.tile(1 << np.arange(weights.shape[1]) % 12, (len(weights), 1))


def one_alone(honest, filled, party, came):
    """All but one weight of the first row are left out: the sum would tell on which side of one cut the row is."""
    weights = honest(filled, party, came)
    weights[0, np.flatnonzero(weights[0])[1:]] = 0
    return weights


CHEATS = {"powers of two": powers, "one weight alone": one_alone}


def cheated(patch, audit, how):
    honest = FilledSlots.entries
    patch.setattr(FilledSlots, "entries", lambda filled, party, came: CHEATS[how](honest, filled, party, came))
    audit.ask(*range(5))
    audit.ask(*range(5, N))
    return audit.opened()


def test_powers_of_two_are_found(audit, monkeypatch):
    opened = cheated(monkeypatch, audit, "powers of two")
    with pytest.raises(AuditError, match=f"weights of {N} of {N} rows, the first in batch 0, are none that the comm"):
        check(opened, audit.evidence())


def test_a_weight_that_was_left_out_is_found_in_its_row(audit, monkeypatch):
    opened = cheated(monkeypatch, audit, "one weight alone")
    with pytest.raises(AuditError, match=f"weights of 2 of {N} rows"):
        check(opened, audit.evidence())


@pytest.mark.parametrize("how", CHEATS)
def test_without_the_check_of_weights_a_cheat_passes(audit, monkeypatch, how):
    """The sabotage."""
    opened = cheated(monkeypatch, audit, how)
    monkeypatch.setattr(opening_checks, "check_weights", lambda *_: None)
    assert check(opened, audit.evidence()).rows == N


def test_other_leaf_values_than_those_committed_to_are_found(made, tmp_path):
    model = made[0]
    audit = Audit(made, tmp_path, weights=-placed(model, fixed_scores(model)))
    audit.ask()
    opened = audit.opened()
    with pytest.raises(AuditError, match="none that the committed leaf values allow"):
        check(opened, audit.evidence())
    other = replace(model, forest=replace(model.forest, values=-model.forest.values))
    with pytest.raises(AuditError, match="not those that the active party committed to"):
        check(opened, audit.evidence(model=other))


def test_a_batch_that_is_left_out_or_changed_is_found(audit):
    audit.ask(*range(5))
    audit.ask(*range(5, N))
    opened, evidence = audit.opened(), audit.evidence()
    requests = [one for one in opened.requests if one[0] == "party2"]
    with pytest.raises(AuditError, match=r"Requests for 7 rows in the log of 'party2' are not in the opening"):
        check(replace(opened, requests=tuple(requests[:1])), evidence)
    changed = msgspec.structs.replace(requests[1][1], ids=tuple("abcdefg"))
    with pytest.raises(AuditError, match=r"Requests for 7 rows in the log of 'party2' are not in the opening"):
        check(replace(opened, requests=(requests[0], ("party2", changed))), evidence)


def test_a_request_that_was_not_answered_is_counted_and_no_more(audit):
    audit.ask(*range(5))
    audit.ask(*range(5, N))
    evidence = audit.evidence()
    told = [line for line in evidence.log if line.get("batch") != 1]
    assert check(audit.opened(), replace(evidence, log=told)).unanswered == 1
    with pytest.raises(AuditError, match="has no answer of this session"):
        check(audit.opened(), replace(evidence, log=told[:1]))


def changed_line(audit, **facts):
    return [{**line, **facts} if line["event"] == "scores told" else line for line in audit.evidence().log]


def test_a_passive_party_cannot_accuse_with_a_request_that_nobody_signed(audit):
    audit.ask()
    other = identity("eve").sign("scores", b"what was signed").hex()
    with pytest.raises(AuditError, match=f"Requests for {N} rows .* have no signature of the active party"):
        check(audit.opened(), audit.evidence(log=changed_line(audit, signature=other)))
    with pytest.raises(AuditError, match="have no signature of the active party"):
        check(audit.opened(), audit.evidence(log=changed_line(audit, signature="no hexadecimal")))
    with pytest.raises(AuditError, match="lacks what a party keeps of an answer"):
        check(audit.opened(), audit.evidence(log=changed_line(audit, signed=5)))


def test_another_certificate_key_model_or_slots_are_found(audit, made, tmp_path):
    audit.ask()
    opened, evidence = audit.opened(), audit.evidence()

    def head(**changes):
        return replace(opened, head=msgspec.structs.replace(opened.head, **changes))

    other = Audit(made, tmp_path / "other")
    other.ask()
    others = other.opened()
    wrong = {
        "is not the active party's of the plan": (head(certificate=identity("eve").certificate), evidence),
        "not the secret half of this public key": (replace(opened, key=others.key), evidence),
        "public key in the log is not that of the opening": (head(public_key=others.head.public_key), evidence),
        "has no answer of this session": (others, evidence),
        "told other slots than the model has": (opened, replace(evidence, log=changed_line(audit, begun="00"))),
        "did not ask 'party2'": (head(keys=opened.head.keys[1:]), evidence),
        "cannot be read": (head(plan=b"{}"), evidence),
        "has no commitment": (opened, replace(evidence, part=replace(evidence.part, commitment=None))),
        "does not fit the trees": (
            opened,
            replace(evidence, part=replace(evidence.part, node=evidence.part.node + 50)),
        ),
        "other than the 12 bits": (opened, at_bits(evidence, 12)),
    }
    for said, given in wrong.items():
        with pytest.raises(AuditError, match=said):
            check(*given)


def at_bits(evidence, bits):
    """As if the leaf values had been committed to in fewer bits."""
    part = replace(evidence.part, commitment=c.commit(evidence.model, SALT, bits))
    return replace(evidence, leaves=c.opening(evidence.model, SALT, bits), part=part)
