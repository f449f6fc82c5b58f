"""The active party's rows are linked with every passive party's ids, which nobody shows; one id may have many rows."""

from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federated import MemoryLog
from hedgerow.corridor import messages as m
from hedgerow.data.payments import generate_payments
from hedgerow.data.table import Table
from hedgerow.errors import CipherError, DataError, PrivacyError, ProtocolError
from hedgerow.privacy.intersection import Blinding, places_of
from hedgerow.protocols.link import active, passive
from hedgerow.protocols.link.ids import linkages, row_ids
from hedgerow.protocols.session import journal, owner_ledger
from linked import ACTIVE, Linkage, bank, joined, small

replace = msgspec.structs.replace
BOTH = pytest.mark.parametrize("private", [True, False])


def agrees(linkage, found, held_out=False):
    """Both sides of every pair have the rows of the naive join, in the agreed order."""
    rows = linkage.valid if held_out else linkage.rows
    for name, own in found.items():
        party, table = linkage.parties[name], linkage.parties[name].own[held_out]
        pairs = joined(rows, table)
        assert own.dtype == np.int64
        assert own.tolist() == [row for row, _ in pairs]
        assert party.places[held_out].tolist() == [place for _, place in pairs]
        taken = party.tables[held_out]
        assert np.array_equal(taken.values, table.values[[place for _, place in pairs]])
    return True


# What is found


@BOTH
def test_links_are_those_of_a_naive_join_with_overlaps_other_sizes_and_no_common_id(private):
    linkage = small(private=private)
    found = linkage.link()
    assert agrees(linkage, found)
    assert set(found["bank1"]) & set(found["bank2"]), "some rows are held by both"
    assert not len(found["bank3"])
    assert linkage.parties["bank3"].tables[0].n_rows == 0


IDS = st.integers(0, 12)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(IDS, min_size=1, max_size=30), st.lists(st.sets(IDS, min_size=1), min_size=1, max_size=3), st.booleans()
)
def test_links_of_any_small_tables_are_those_of_a_naive_join(rows, banks, private):
    linkage = Linkage(np.array(rows), {f"b{i}": bank(list(ids)) for i, ids in enumerate(banks)}, private=private)
    assert agrees(linkage, linkage.link())


@BOTH
def test_long_lists_go_in_parts_of_which_some_are_of_one_side_only(monkeypatch, private):
    for module in (active, passive):
        monkeypatch.setattr(module, "STEP", 5)
    linkage = small(private=private)
    assert agrees(linkage, linkage.link())
    asked = [one.receiver for one in linkage.of("LinkIds", "ShowIds")]
    assert asked.count("bank2") == (13 if private else 3)
    assert asked.count("bank3") == 3


def test_payments_are_linked_with_the_accounts_of_their_banks():
    network = generate_payments(600, banks=4)
    linkage = Linkage(network.account, network.banks)
    found = linkage.link()
    assert agrees(linkage, found)
    assert sum(map(len, found.values())) <= 600
    assert max(np.bincount(network.account)) > 1


@pytest.mark.parametrize(
    "rows",
    [np.array(["7", "", "8", "7"]), np.array(["7", None, "8", "7"], object), np.array([7, np.nan, 8, 7])],
    ids=["empty", "None", "NaN"],
)
@BOTH
def test_a_row_without_an_id_is_held_by_nobody(rows, private):
    linkage = Linkage(rows, {"one": bank([8, 7])}, private=private)
    assert linkage.link()["one"].tolist() == [0, 3, 2]
    assert linkage.parties["one"].tables[0].ids.tolist() == [7, 7, 8]


@pytest.mark.parametrize("ids", [[7, 10, 9, 10, 100, -3, 7], [], [2**63, 5, 5]])
def test_whole_numbers_are_linked_as_their_texts_are(ids):
    if not ids:
        with pytest.raises(DataError, match="has an id"):
            row_ids(np.array(ids, np.int64))
        return
    numbers, texts = row_ids(np.array(ids)), row_ids(np.array([str(one) for one in ids]))
    assert numbers.ids == texts.ids
    assert numbers.n_rows == texts.n_rows
    assert numbers.counts.tolist() == texts.counts.tolist()
    assert numbers.rows.tolist() == texts.rows.tolist()


def test_a_table_gives_its_ids():
    table = Table.of(np.zeros((3, 1)), ids=["c", "a", "b"])
    linkage = Linkage(table, {"one": bank(["a", "c", "d"])})
    assert linkage.link()["one"].tolist() == [1, 0]


@BOTH
def test_validation_rows_are_linked_with_the_validation_table_or_the_only_one(private):
    valid = np.array(["account-003", "account-009", "account-003", "other"])
    tables = {"bank2": bank(["other", "account-003"])}
    linkage = small(valid=valid, valid_banks=tables, private=private)
    linkage.link()
    found = linkage.link(held_out=True)
    assert agrees(linkage, found, held_out=True)
    assert found["bank1"].tolist() == [0, 2, 1]
    assert found["bank2"].tolist() == [0, 2, 3]
    assert linkage.parties["bank2"].tables[1].ids.tolist() == ["account-003", "account-003", "other"]


def test_both_sides_are_told_what_was_found_and_what_it_cost():
    log = MemoryLog()
    linkage = small(logs={"bank1": log})
    linkage.link()
    own, theirs = linkage.links.found["bank1", False], linkage.parties["bank1"].found[False]
    assert len(joined(linkage.rows, linkage.banks["bank1"])) == 45
    assert (own.rows, own.n_rows, own.ids) == (45, 62, 9)
    assert own.sentence.startswith("Party 'bank1' holds 45 of your 62 rows (9 ids); 25 group operations, ")
    assert theirs.own_sentence.startswith("9 of this party's 13 ids are linked with 45 rows of the active party; 25 ")
    assert {own.sentence, theirs.own_sentence} <= set(linkage.told)
    assert own.cost.seconds > 0
    assert theirs.cost.seconds > 0
    assert any(
        "'bank3' holds none of your 62 rows" in line and "'7', '007' and '7.0' differ" in line for line in linkage.told
    )
    most = max(np.unique([row for row in linkage.rows if row in linkage.banks["bank1"].ids], return_counts=True)[1])
    noted = {"party": ACTIVE, "what": "rows", "rows": 45, "ids": 9, "most": most}
    assert {"event": "linked", "operations": 25, **noted} in log.kept
    noted["most_rows_of_an_id"] = noted.pop("most")
    assert linkages(log.kept) == [noted]


def test_the_small_side_of_a_linkage_does_as_many_operations_as_the_large_one():
    linkage = Linkage(np.arange(500) % 300, {"small": bank([1, 2])})
    linkage.link()
    assert linkage.parties["small"].found[False].cost.operations == 302


# Tables that cannot be linked


@BOTH
def test_an_id_that_repeats_at_a_passive_party_is_refused_with_a_count_and_without_the_id(private):
    table = bank(["a", "b", "c"])
    doubled = Table(table.columns, table.values, ids=np.array(["a", "b", "a"]))
    with pytest.raises(DataError, match=r"^1 of the 3 ids repeat an earlier one; keep one row for each id\.$"):
        Linkage(np.array(["a"]), {"one": doubled}, private=private).link()


def test_tables_without_ids_cannot_be_linked():
    table = Table.of(np.zeros((3, 1)))
    with pytest.raises(DataError, match="this table has none; name the column of ids"):
        Linkage(np.array(["a"]), {"one": table}).link()
    with pytest.raises(DataError, match="Rows are linked by ids, one for each row"):
        Linkage(table, {"one": bank(["a"])})
    with pytest.raises(DataError, match="No row of the active party has an id"):
        Linkage(np.array(["", ""]), {"one": bank(["a"])})
    with pytest.raises(DataError, match="not all whole numbers or text"):
        Linkage(np.array([1.5]), {"one": bank(["a"])})


def test_validation_rows_that_are_not_there_are_not_linked():
    with pytest.raises(DataError, match="no validation rows that could be linked"):
        small().link(held_out=True)


def test_as_many_ids_as_the_plan_allows_are_linked_and_no_more():
    rows, banks = np.arange(8), {"one": bank(list(range(4, 12)))}
    assert len(Linkage(rows, banks, most_ids=8).link()["one"]) == 4
    with pytest.raises(DataError, match="The active party has 8 ids, and the plan allows 7"):
        Linkage(rows, banks, most_ids=7)
    with pytest.raises(DataError, match="has 8 ids, and the plan allows 7"):
        Linkage(rows[:2], banks, most_ids=7).link()
    linkage = small(most_ids=70)
    linkage.alter = lambda name, answer: m.LinkSize(71, False)
    with pytest.raises(ProtocolError, match="'bank1' brings no ids, or more than the 70 that are allowed"):
        linkage.link()


# What crosses

ALL = [f"account-{i:03d}" for i in range(70)] + ["elsewhere-1", "elsewhere-2"]


def found_in(heard, ids=ALL):
    return sum(one.encode() in message.frame for message in heard for one in ids)


def crossed(linkage):
    linkage.link()
    return linkage.heard


def test_no_id_crosses():
    heard = crossed(small())
    assert len(heard) == 18
    assert not found_in(heard)


def as_text(self, ids, tag, threads):
    return np.frombuffer(b"".join(one.encode().ljust(32) for one in ids), np.uint8).reshape(-1, 32)


def test_an_id_that_crosses_is_noticed(monkeypatch):
    """The sabotage: ids as text in the place of points."""
    monkeypatch.setattr(Blinding, "ids", as_text)
    monkeypatch.setattr(Blinding, "points", lambda self, points, threads: points)
    assert found_in(crossed(small())) > 100


def test_ids_that_are_no_secret_cross_from_the_active_party_alone():
    linkage = small(private=False)
    heard, own = crossed(linkage), set(linkage.rows.tolist())
    assert found_in(heard)
    assert not found_in([one for one in heard if one.receiver == "driver"])
    assert not found_in(heard, [one for one in ALL if one not in own])


def tried_out(linkage):
    """How many points that crossed are the bare hash of an id, by whoever tries out all."""
    linkage.link()
    points = {row for one in linkage.of("LinkIds", "LinkedIds") for row in points_of(one.message)}
    bare, found = Blinding((1).to_bytes(32, "little")), 0
    for name in linkage.banks:
        tried = bare.ids(ALL, passive.link_tag(linkage.plan, name, "rows"), 1)
        found += sum(row.tobytes() in points for row in tried)
    return found


def points_of(message):
    parts = [message.blinded_ids] + ([message.blinded_own] if isinstance(message, m.LinkedIds) else [])
    return [row.tobytes() for part in parts for row in part.reshape(-1, 32)]


def test_trying_out_every_id_finds_none():
    assert tried_out(small()) == 0


def test_bare_hashes_are_found_by_trying_out_every_id(monkeypatch):
    """The sabotage: a secret of 1."""
    monkeypatch.setattr(Blinding, "fresh", lambda: Blinding((1).to_bytes(32, "little")))
    assert tried_out(small()) > 80


def test_the_same_ids_are_other_points_for_every_party_and_at_every_time():
    linkage = small()
    linkage.link()
    linkage.again()
    linkage.restart(ACTIVE)
    for name in linkage.banks:
        linkage.restart(name)
    linkage.link()
    lists = [set(points_of(one.message)) for one in linkage.of("LinkIds")]
    assert len(lists) == 6
    assert not any(one & other for i, one in enumerate(lists) for other in lists[:i])


def is_steady(order):
    """Whether neighbours mostly rise, as in the table, or mostly fall."""
    return not 0.35 < np.mean([a < b for a, b in pairwise(order)]) < 0.65


def orders(rows, ids):
    """The orders in which the active party's ids and a bank's travelled."""
    linkage, kept = Linkage(rows, {"one": bank(ids)}), []
    linked, listed = active.HiddenPair.linked, passive.HiddenLink.listed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(active.HiddenPair, "linked", lambda self: kept.append(self.order.tolist()) or linked(self))
        patch.setattr(passive.HiddenLink, "listed", lambda self: kept.append(self.order.tolist()) or listed(self))
        linkage.link()
    return kept


MANY = [f"{i:05d}" for i in range(900)]


def test_lists_travel_in_an_order_that_tells_nothing_of_the_tables():
    both = orders(np.array(MANY).repeat(2), MANY)
    assert [len(order) for order in both] == [900, 900]
    assert not any(map(is_steady, both))


def test_without_shuffles_they_would(monkeypatch):
    """The sabotage: lists in the order of the table."""
    for module in (active, passive):
        monkeypatch.setattr(module, "shuffled", np.arange)
    assert all(map(is_steady, orders(np.array(MANY).repeat(2), MANY)))


def linked_rows_of_banks(rows):
    linkage = small()
    linkage.rows = rows
    linkage.restart(ACTIVE)
    linkage.link()
    return {name: party.places[False].tolist() for name, party in linkage.parties.items()}


def test_the_order_of_the_active_table_changes_nothing_that_a_bank_has():
    rows = small().rows
    assert linked_rows_of_banks(rows) == linked_rows_of_banks(np.random.default_rng(1).permutation(rows))


def test_rows_of_ids_that_a_bank_lacks_change_nothing_that_it_is_told():
    """Non-interference: a bank hears how many ids there are, and of its own ids how many rows each has."""
    heard = []
    for other in ("secret-1", "secret-2"):
        rows = np.array(["a", "a", other, other])
        linkage = Linkage(rows, {"one": bank(["b", "a"])})
        linkage.link()
        clear = [(one.kind, one.message.held_out) for one in linkage.heard if one.sender == "driver"]
        counts = sorted(linkage.of("LinkCounts")[0].message.counts.tolist())
        heard.append((clear, linkage.of("BeginLink")[0].message.n_ids, counts))
    assert heard[0] == heard[1]
    assert heard[0][1:] == (2, [0, 2])


# Attempts and processes


@BOTH
def test_another_attempt_of_the_same_processes_links_nothing_anew(private):
    linkage = small(private=private)
    before = linkage.link()
    linkage.again()
    n = len(linkage.of("LinkIds", "ShowIds"))
    after = linkage.link()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert len(linkage.of("LinkIds", "ShowIds")) == n


@pytest.mark.parametrize("who", [ACTIVE, "bank1"])
@BOTH
def test_a_process_that_is_started_again_finds_the_same_order(who, private):
    logs = {name: MemoryLog() for name in (ACTIVE, "bank1", "bank2", "bank3")}
    linkage = small(private=private, logs=logs)
    before = linkage.link()
    linkage.again()
    linkage.restart(who)
    after = linkage.link()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert agrees(linkage, after)
    assert len(linkage.of("LinkCounts")) == (6 if who == ACTIVE else 4), "only who has forgotten is linked anew"


class Places:
    """Where linked rows are kept, as a file would."""

    def __init__(self):
        self.kept = {}

    def read(self, held_out, n_rows):
        places = self.kept.get((held_out, n_rows))
        assert places is None or ((places >= 0) & (places < n_rows)).all()
        return places

    def write(self, held_out, n_rows, places):
        self.kept[held_out, n_rows] = places


def keeping():
    names = (ACTIVE, "bank1", "bank2", "bank3")
    logs, stores = {name: MemoryLog() for name in names}, {name: Places() for name in names}
    return small(logs=logs, stores=stores)


def test_new_processes_that_have_kept_their_rows_do_not_link_again():
    linkage = keeping()
    before = linkage.link()
    for name in (ACTIVE, *linkage.banks):
        linkage.restart(name)
    after = linkage.link()
    assert len(linkage.of("LinkIds")) == 3
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert agrees(linkage, after)


def test_once_training_has_begun_nothing_is_linked_anew():
    linkage = keeping()
    linkage.link()
    for party in linkage.parties.values():
        party.close()
        party.introduced()
    assert len(linkage.link()["bank1"])
    linkage.again()
    linkage.stores[ACTIVE].kept.clear()
    linkage.restart(ACTIVE)
    with pytest.raises(PrivacyError, match="links rows anew that are linked already"):
        linkage.link()


def renamed(linkage, one, other):
    """The active party starts again, without its log, with other ids in its rows."""
    linkage.rows = np.where(linkage.rows == one, other, linkage.rows)
    linkage.again()
    linkage.restart(ACTIVE)


def test_a_bank_refuses_a_linkage_of_other_ids_in_the_same_run():
    linkage = small(logs={"bank1": MemoryLog()})
    linkage.link()
    renamed(linkage, "account-001", "account-005")
    with pytest.raises(ProtocolError, match="linked with this party are not those that this run began with"):
        linkage.link()


def test_a_bank_refuses_a_linkage_of_more_or_fewer_ids_in_the_same_run():
    linkage = small(logs={"bank1": MemoryLog()})
    linkage.link()
    renamed(linkage, "account-001", "account-002")
    with pytest.raises(PrivacyError, match="brings more or fewer rows than when this run began"):
        linkage.link()


def test_the_active_party_refuses_a_bank_that_holds_other_rows_than_before():
    linkage = small(logs={ACTIVE: MemoryLog()})
    linkage.link()
    linkage.restart(ACTIVE)
    linkage.banks["bank1"] = bank([f"account-{i:03d}" for i in range(20, 33)])
    for name in linkage.banks:
        linkage.restart(name)
    with pytest.raises(ProtocolError, match="that party 'bank1' holds are not those that this run began with"):
        linkage.link()


def test_a_run_links_its_rows_only_so_often_whatever_processes_there_are():
    """Else the active party could try out new ids for ever."""
    linkage = small(logs={"bank1": MemoryLog()})
    for _ in range(journal.MOST_TIMES):
        linkage.link()
        linkage.restart(ACTIVE)
        linkage.again()
        linkage.restart("bank1")
    with pytest.raises(PrivacyError, match="has begun 5 alignments of rows"):
        linkage.link()


def test_without_a_log_it_would_go_on():
    """The sabotage: a bank that forgets."""
    linkage = small()
    for _ in range(journal.MOST_TIMES + 1):
        linkage.link()
        linkage.restart(ACTIVE)
        for name in linkage.banks:
            linkage.restart(name)
    assert len(linkage.of("LinkCounts")) == 3 * (journal.MOST_TIMES + 1)


def test_whoever_tries_out_hashes_is_stopped():
    linkage = small(logs={"bank1": MemoryLog()})
    linkage.link()
    party = linkage.parties["bank1"]
    for guess in range(owner_ledger.MOST_WRONG):
        party.introduced()
        assert not party.answer(m.BeginLink(False, 12, bytes([guess]) * 32)).linked
    party.introduced()
    with pytest.raises(PrivacyError, match="has heard 3 wrong hashes of its rows"):
        party.answer(m.BeginLink(False, 12, b"x"))


# What is refused

OTHER, NOT_BEGUN = "another step of the linkage than the next", "has not begun, or is complete"


def asked(private=True, kind="LinkCounts"):
    """A bank that is about to hear this, and what it would hear."""
    linkage = small(private=private)
    linkage.link()
    party, heard = linkage.party("bank1"), [one.message for one in linkage.heard if one.receiver == "bank1"]
    for message in heard:
        if type(message).__name__ == kind:
            return party, message
        party.answer(message)
    raise AssertionError(kind)


@BOTH
def test_steps_come_once_and_in_order(private):
    step = "LinkIds" if private else "ShowIds"
    party, ids = asked(private, step)
    with pytest.raises(ProtocolError, match="begins a linkage twice"):
        party.answer(m.BeginLink(False, 12, b""))
    with pytest.raises(ProtocolError, match="asks before the rows are linked"):
        _ = party.tables
    with pytest.raises(ProtocolError, match="before all ids have passed"):
        party.answer(m.LinkCounts(False, np.ones(13, np.uint32)))
    with pytest.raises(ProtocolError, match=OTHER):
        party.answer(replace(ids, first=1))
    with pytest.raises(ProtocolError, match=NOT_BEGUN):
        party.answer(replace(ids, held_out=True))
    party.answer(ids)
    with pytest.raises(ProtocolError, match=OTHER):
        party.answer(ids)
    party, counts = asked(private)
    party.answer(counts)
    for late in (counts, ids):
        with pytest.raises(ProtocolError, match=NOT_BEGUN):
            party.answer(late)


def test_ids_are_hidden_or_shown_as_the_plan_says_and_not_otherwise():
    party, hidden = asked(True, "LinkIds")
    other, shown = asked(False, "ShowIds")
    with pytest.raises(ProtocolError, match="shows ids, which the plan of this run keeps secret"):
        party.answer(shown)
    with pytest.raises(ProtocolError, match="blinded ids where the plan of this run shows them"):
        other.answer(hidden)


@pytest.mark.parametrize("n", [0, -1, 10**9])
def test_the_active_party_brings_some_ids_and_not_too_many(n):
    party, _ = asked(kind="BeginLink")
    with pytest.raises(ProtocolError, match="brings no ids, or more than the 10000000 that are allowed"):
        party.answer(m.BeginLink(False, n, b""))


@pytest.mark.parametrize("point", [bytes(32), b"\xff" * 32, b"\x01" + bytes(31)], ids=["identity", "large", "odd"])
def test_a_bank_refuses_what_is_no_point(point):
    party, ids = asked(kind="LinkIds")
    blinded = ids.blinded_ids.copy()
    blinded[:32] = np.frombuffer(point, np.uint8)
    with pytest.raises(CipherError, match="not a point of the group, or is its identity"):
        party.answer(replace(ids, blinded_ids=blinded))


@pytest.mark.parametrize("change", [slice(0, -32), slice(0, -1), slice(0, 0)])
def test_a_bank_refuses_lists_of_another_length(change):
    party, ids = asked(kind="LinkIds")
    with pytest.raises(ProtocolError, match="bytes of blinded ids where 384 were asked for"):
        party.answer(replace(ids, blinded_ids=ids.blinded_ids[change]))
    party, ids = asked(False, "ShowIds")
    with pytest.raises(ProtocolError, match="ids where 12 were asked for"):
        party.answer(replace(ids, ids=ids.ids[1:]))
    party, ids = asked(False, "ShowIds")
    with pytest.raises(ProtocolError, match="shows an id twice"):
        party.answer(replace(ids, ids=ids.ids[:1] * 12))


def test_a_bank_refuses_counts_that_cannot_be():
    few, many = np.zeros(12, np.uint32), np.ones(13, np.uint32)
    party, counts = asked()
    with pytest.raises(ProtocolError, match="12 counts of rows where 13 were asked for"):
        party.answer(replace(counts, counts=few))
    with pytest.raises(ProtocolError, match="more ids than it brought, or more rows than can be"):
        party.answer(replace(counts, counts=many))
    with pytest.raises(ProtocolError, match="more ids than it brought, or more rows than can be"):
        party.answer(replace(counts, counts=np.where(np.arange(13) == 0, 2**32 - 1, 0).astype(np.uint32)))
    party, counts = asked(private=False)
    with pytest.raises(ProtocolError, match="has no row of an id that it has shown"):
        party.answer(replace(counts, counts=counts.counts * np.uint32(0)))


def spoilt(part, place, content):
    def alter(name, answer):
        if name != "bank2" or not isinstance(answer, m.LinkedIds):
            return answer
        points = getattr(answer, part).copy().reshape(-1, 32)
        points[place] = points[1] if content is None else np.frombuffer(content, np.uint8)
        return replace(answer, **{part: points.reshape(-1)})

    return alter


TWICE, IDENTITY = "holds one of them twice", "is the identity of the group|or is its identity"


@pytest.mark.parametrize(
    ("part", "content", "match"),
    [
        ("blinded_own", bytes(32), IDENTITY),
        ("blinded_own", b"\xff" * 32, "not a point of the group"),
        ("blinded_ids", bytes(32), IDENTITY),
        ("blinded_own", None, TWICE),
        ("blinded_ids", None, TWICE),
    ],
)
def test_the_active_party_refuses_bad_points_and_names_who_sent_them(part, content, match):
    linkage = small()
    linkage.alter = spoilt(part, 0, content)
    with pytest.raises(CipherError, match=rf"Party 'bank2' answered what cannot be used\. .*({match})"):
        linkage.link()


@pytest.mark.parametrize("part", ["blinded_ids", "blinded_own"])
def test_the_active_party_refuses_lists_of_another_length(part):
    linkage = small()
    linkage.alter = lambda name, one: (
        replace(one, **{part: getattr(one, part)[32:]}) if isinstance(one, m.LinkedIds) else one
    )
    with pytest.raises(ProtocolError, match="bytes of blinded ids where"):
        linkage.link()
    linkage = small(private=False)
    linkage.alter = lambda name, one: replace(one, held=one.held[1:]) if isinstance(one, m.HeldIds) else one
    with pytest.raises(ProtocolError, match="does not mark every place"):
        linkage.link()


def test_a_party_that_claims_to_have_linked_what_was_never_linked_is_refused():
    linkage = small()
    linkage.alter = lambda name, one: m.LinkSize(5, True) if isinstance(one, m.LinkSize) else one
    with pytest.raises(ProtocolError, match="brings no ids"):
        linkage.link()


def test_an_answer_of_the_other_kind_is_refused():
    for private, other in (
        (True, m.HeldIds(np.zeros(2, np.uint8))),
        (False, m.LinkedIds(*[np.zeros(0, np.uint8)] * 2)),
    ):
        linkage = small(private=private)
        linkage.alter = lambda name, one, other=other: one if isinstance(one, m.LinkSize) else other
        with pytest.raises(ProtocolError, match="with something else"):
            linkage.link()


def test_places_of_points_are_those_of_a_naive_search():
    rng = np.random.default_rng(0)
    among = rng.integers(0, 255, (40, 32), np.uint8)
    points = np.concatenate([among[[7, 3]], rng.integers(0, 255, (5, 32), np.uint8), among[[39]]])
    assert places_of(points, among).tolist() == [7, 3, -1, -1, -1, -1, -1, 39]
