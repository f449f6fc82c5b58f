"""Rows are aligned by their ids, which nobody shows; what is out of order is refused."""

from dataclasses import replace as with_
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from federated import (
    TINY,
    Federation,
    Lossy,
    MemoryLog,
    Stopped,
    Stopping,
    labels,
    pooled_model,
    refuses,
    same,
    scattered,
    until,
    values,
)
from hedgerow import GBDTClassifier, NoPrivacy, Vertical
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import MOST_SMALL, decode_answer, decode_request, encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import CipherError, DataError, ParameterError, PrivacyError, ProtocolError
from hedgerow.privacy.intersection import Blinding
from hedgerow.protocols.align import lists as own_sets
from hedgerow.protocols.align import progress, ring
from hedgerow.protocols.driver import State
from hedgerow.protocols.session import journal, owner_ledger
from hedgerow.protocols.vertical import prepare as own_rows

replace = msgspec.structs.replace
IDS = [f"{(i + 5) * 2654435761 % 2**32:08x}-{i:04d}" for i in range(120)]


def table_of(n=120, ids=IDS):
    X, signal = values(n)
    return Table.of(X, labels("two", signal), ids=ids)


def federation(parties, **plan):
    plan = {"method": "vertical", "protection": "plain", "active": "party1", "align": "private", **plan}
    return Federation(parties, TINY, **plan)


def lists(fed):
    """Every list of points that a party gave, by who gave it and whose it is."""
    found, asked = {}, {}
    for one in fed.heard:
        if one.kind == "AskBlinded":
            asked[one.receiver] = one.message.owner
        if one.kind == "BlindedIds":
            key = (one.sender, asked[one.sender])
            found[key] = found.get(key, b"") + one.message.blinded_ids.tobytes()
    return {key: np.frombuffer(points, np.uint8).reshape(-1, 32) for key, points in found.items()}


@pytest.mark.parametrize("n", [2, 3, 5])
def test_everyone_keeps_the_rows_that_all_have_in_the_same_order(n):
    parties, shared = scattered(table_of(), n)
    fed = federation(parties)
    fed.model()
    for name in fed.plan.answering:
        own, _ = fed.parties[name].sets.tables
        assert own.ids.tolist() == sorted(shared.ids.tolist())
        rows = {one: row for row, one in enumerate(parties[name].ids.tolist())}
        expected = parties[name].values[[rows[one] for one in own.ids.tolist()]]
        assert np.array_equal(own.values, expected, equal_nan=True)


def test_long_lists_go_in_parts_and_progress_is_told(monkeypatch):
    for module in (ring, own_sets):
        monkeypatch.setattr(module, "STEP", 7)
    monkeypatch.setattr(progress, "TOLD_FROM", 1)
    parties, shared = scattered(table_of(), 3)
    told = []
    fed = federation(parties)
    assert same(fed.whole(tell=told.append, note=told.append), pooled_model(shared, TINY))
    assert told[0] == "Aligning rows: 35 of 324 ids blinded."
    assert told[9] == "Aligning rows: 324 of 324 ids blinded."
    counts = ", ".join(f"{shared.n_rows} of the 108 of 'party{i}'" for i in (1, 2, 3))
    assert told[10] == f"Only rows are used whose ids all parties have: {counts}."
    assert max(len(one.message.blinded_ids) for one in fed.of("BlindedIds", "BlindIds")) == 7 * 32


def test_what_is_left_out_is_counted_in_the_audit_log():
    parties, shared = scattered(table_of(), 2)
    noted = []
    log = SimpleNamespace(note=lambda event, **what: noted.append((event, what)), sync=lambda: None, lines=list)
    fed = federation(parties, logs={"party2": log})
    fed.model()
    sizes = ["party1 108", "party2 108"]
    assert ("aligned", {"what": "rows", "common": shared.n_rows, "sizes": sizes}) in noted


def test_an_estimator_is_told_whether_to_align():
    parties, shared = scattered(table_of(), 2)
    privacy = NoPrivacy(i_accept_disclosure=True)
    model = GBDTClassifier(n_estimators=2, federation=Vertical(privacy, align="private")).fit(parties)
    n = shared.n_rows
    counts = f"{n} of the 108 of 'party1', {n} of the 108 of 'party2'"
    assert model.notes_ == [f"Only rows are used whose ids all parties have: {counts}."]
    assert float(model.model_.forest.covers[0]) < shared.n_rows
    with pytest.raises(DataError, match="not those of the active party, in the same order"):
        GBDTClassifier(n_estimators=2, federation=Vertical(privacy, align="given")).fit(parties)


# Tables that cannot be aligned


def test_no_common_row_is_said_in_a_sentence():
    parties, _ = scattered(table_of(), 3)
    parties["party2"] = with_(parties["party2"], ids=np.arange(parties["party2"].n_rows))
    with pytest.raises(DataError, match="No id is common to all parties' rows; check that"):
        federation(parties).model()


@pytest.mark.parametrize("who", ["party1", "party2"])
def test_an_id_that_repeats_is_refused_with_a_count_and_without_the_id(who):
    parties, _ = scattered(table_of(), 2)
    ids = parties[who].ids.copy()
    ids[:4] = ids[4]
    parties[who] = with_(parties[who], ids=ids)
    with pytest.raises(DataError, match=r"^4 of the 108 ids repeat an earlier one; keep one row for each id\.$"):
        federation(parties).model()


@pytest.mark.parametrize("who", ["party1", "party2"])
def test_a_table_without_ids_cannot_be_aligned(who):
    parties, _ = scattered(table_of(), 2)
    parties[who] = with_(parties[who], ids=None)
    with pytest.raises(DataError, match="this table has none; name the column of ids"):
        federation(parties).model()


def test_a_party_without_validation_rows_is_named():
    parties, _ = scattered(table_of(), 2)
    valid = {"party1": parties["party1"]}
    with pytest.raises(DataError, match="Party 'party2' has no validation rows"):
        federation(parties, goal=Goal(follow=True), valid=valid).model()


def test_as_many_ids_as_the_plan_allows_are_aligned_and_no_more():
    parties, shared = scattered(table_of(), 2)
    assert same(federation(parties, most_ids=108).whole(), pooled_model(shared, TINY))
    with pytest.raises(DataError, match="has 108 ids, and the plan allows 107"):
        federation(parties, most_ids=107).model()


@pytest.mark.parametrize("most", [0, 10_000_001])
def test_the_cap_is_within_its_own(most):
    parties, _ = scattered(table_of(), 2)
    with pytest.raises(ParameterError, match="most_ids must be from 1 to 10000000"):
        federation(parties, most_ids=most)


def test_the_key_of_an_id_is_that_of_its_text():
    texts = [
        "12",
        "-7",
        "0",
        "007",
        "9223372036854775807",
        "9223372036854775808",
        "-",
        "",
        "1" * 30,
        "\N{CIRCLED DIGIT ONE}",
    ]
    table = Table.of(np.zeros((len(texts), 1)), ids=texts)
    keys = table.row_keys()
    numbers = Table.of(np.zeros((4, 1)), ids=[12, -7, 0, 9223372036854775807])
    assert keys[[0, 1, 2, 4]].tolist() == numbers.row_keys().tolist()
    assert len(set(keys.tolist())) == len(texts)


# What crosses


def crossed(fed):
    fed.model()
    return [one for one in fed.heard if isinstance(one.message, own_sets.Aligning | m.SetSize | m.BlindedIds | m.Marks)]


def found_in(heard, ids):
    return sum(one.encode() in heard_.frame for heard_ in heard for one in ids)


def test_no_id_crosses():
    heard = crossed(federation(scattered(table_of(), 3)[0]))
    assert len(heard) > 30
    assert not found_in(heard, IDS)


def test_an_id_that_crosses_is_noticed(monkeypatch):
    """The sabotage: ids as text in the place of points."""

    def as_text(self, ids, tag, threads):
        return np.frombuffer(b"".join(one.encode().ljust(32) for one in ids), np.uint8).reshape(-1, 32)

    monkeypatch.setattr(Blinding, "ids", as_text)
    monkeypatch.setattr(Blinding, "points", lambda self, points, threads: points)
    assert found_in(crossed(federation(scattered(table_of(), 3)[0])), IDS) > 100


def tried_out(fed, ids):
    """How many points that crossed are the bare hash of one of these ids."""
    fed.model()
    tag = own_sets.tag_of(fed.plan, "rows")
    tried = {row.tobytes() for row in Blinding((1).to_bytes(32, "little")).ids(ids, tag, 1)}
    return sum(row.tobytes() in tried for points in lists(fed).values() for row in points)


def test_trying_out_every_id_finds_none():
    assert tried_out(federation(scattered(table_of(), 3)[0]), IDS) == 0


def test_bare_hashes_are_found_by_trying_out_every_id(monkeypatch):
    """The sabotage: a secret of 1."""
    monkeypatch.setattr(Blinding, "fresh", lambda: Blinding((1).to_bytes(32, "little")))
    assert tried_out(federation(scattered(table_of(), 3)[0]), IDS) > 300


def test_the_same_ids_give_other_points_in_every_run_and_at_every_party():
    parties = partition.columns(table_of(), n=3)
    seen = []
    for _ in range(2):
        fed = federation(parties)
        fed.model()
        seen += [{row.tobytes() for row in points} for points in lists(fed).values()]
    final = [points for points in seen if sum(bool(points & other) for other in seen) > 1]
    # Only lists that have passed all secrets of a run have points in common.
    assert len(seen) == 12
    assert len(final) == 4
    assert not final[0] & final[2]


def believed(monkeypatch, parties):
    """Rows that the active party, comparing lists place by place, takes for rows of party2 that party3 has not."""
    kept = {}
    begun, compared = own_rows.own_sets, ring.in_all

    def noted(lists):
        own = kept["own"].kinds[False].set
        kept["lists"], kept["ids"] = lists, np.array(own.own_ids)[own.order].tolist()
        return compared(lists)

    monkeypatch.setattr(ring, "in_all", noted)
    monkeypatch.setattr(own_rows, "own_sets", lambda *a: kept.setdefault("own", begun(*a)))
    federation(parties).model()
    _, two, three = ({row.tobytes() for row in points} for points in kept["lists"])
    places = zip(kept["ids"], kept["lists"][0], strict=True)
    return {one for one, row in places if row.tobytes() in two and row.tobytes() not in three}


def truly(parties):
    own, two, three = (set(table.ids.tolist()) for table in parties.values())
    return own & two - three


def test_the_active_party_cannot_tell_which_of_its_rows_some_have_and_others_have_not(monkeypatch):
    parties, _ = scattered(table_of(), 3)
    guessed, true = believed(monkeypatch, parties), truly(parties)
    assert len(guessed) == len(true), "how many there are is known"
    assert len(guessed & true) < len(true) / 2


def test_without_shuffles_it_can(monkeypatch):
    """The sabotage: lists go back in the order in which they came."""
    monkeypatch.setattr(own_sets, "shuffled", np.arange)
    parties, _ = scattered(table_of(), 3)
    assert len(truly(parties)) > 5
    assert believed(monkeypatch, parties) == truly(parties)


def test_marks_are_all_that_depends_on_which_rows_are_shared():
    """Other ids of the same number change no clear field but the marks and the hash of the rows."""
    parties, _ = scattered(table_of(), 2)
    other = {**parties, "party2": with_(parties["party2"], ids=np.roll(parties["party2"].ids, 1))}
    kept = []
    for tables in (parties, other):
        heard = crossed(federation(tables))
        kept.append([
            (one.kind, name, encode_field(getattr(one.message, name)))
            for one in heard
            for name, how in m.travels(type(one.message)).items()
            if how.how == "clear" and name != "marks"
        ])  # fmt: skip
    assert kept[0] == kept[1]


def encode_field(value):
    return value.tobytes() if isinstance(value, np.ndarray) else value


# What is refused


def stopped_at(kind):
    """The second of three parties, and the request that it would hear next."""
    fed = federation(scattered(table_of(), 3)[0])
    request = until(fed, lambda request: isinstance(request, kind))
    return fed.parties["party2"], request


def test_an_alignment_begins_once():
    party, _ = stopped_at(m.BeginBlinding)
    refuses(party, m.AskSetSize(False), "begins an alignment twice")


def begun_again(fed, attempt):
    """Party 2 is introduced anew and asked how many ids it has."""
    introduced = fed.of("Introduce")[0].message
    fed.parties["party2"].answer(encode(replace(introduced, attempt=attempt)))
    fed.parties["party2"].answer(encode(m.AskSetSize(False)))


def test_a_run_aligns_its_rows_only_so_often():
    """Else the active party could try out new ids for ever."""
    fed = federation(scattered(table_of(), 2)[0])
    until(fed, lambda r: isinstance(r, m.AskBlinded))
    begin = fed.of("BeginBlinding")[0].message
    for attempt in range(2, journal.MOST_TIMES + 1):
        begun_again(fed, attempt)
        fed.parties["party2"].answer(encode(begin))
    begun_again(fed, journal.MOST_TIMES + 1)
    refuses(fed.parties["party2"], begin, "has begun 5 alignments of rows", PrivacyError)


@pytest.mark.parametrize("logged", [True, False])
def test_it_aligns_them_no_more_often_with_new_processes_where_there_is_a_log(logged):
    """The sabotage is the party without a log, which forgets."""
    fed = federation(scattered(table_of(), 2)[0], logs={"party2": MemoryLog()} if logged else {})
    for attempt in range(journal.MOST_TIMES):
        until(fed, lambda r: isinstance(r, m.AskBlinded), State(attempt=attempt))
        fed.restart("party2")
    sixth = (fed, lambda r: isinstance(r, m.AskBlinded), State(attempt=journal.MOST_TIMES))
    if logged:
        with pytest.raises(PrivacyError, match="has begun 5 alignments of rows"):
            until(*sixth)
    else:
        assert until(*sixth).owner == 1


class Places:
    """Where common rows are kept, as a file would."""

    def __init__(self):
        self.kept = {}

    def read(self, held_out, n_rows):
        return self.kept.get((held_out, n_rows))

    def write(self, held_out, n_rows, places):
        self.kept[held_out, n_rows] = places


def keeping(monkeypatch, parties):
    """A federation whose parties keep their common rows, as real parties do."""
    places = {name: Places() for name in parties}
    monkeypatch.setattr(
        Federation, "party", lambda self, name, make=Federation.party: kept_by(make(self, name), places[name])
    )
    fed = federation(parties, logs={name: MemoryLog() for name in parties if name != "party1"})
    own = own_rows.own_sets
    monkeypatch.setattr(own_rows, "own_sets", lambda plan, a, *more: own(plan, with_(a, keeps=places["party1"]), *more))
    return fed


def kept_by(party, places):
    party.owner = with_(party.owner, places=places)
    return party


def test_new_processes_that_have_kept_their_rows_do_not_align_again(monkeypatch):
    parties, shared = scattered(table_of(), 3)
    fed, log = keeping(monkeypatch, parties), MemoryLog()
    for attempt in range(3):
        stopping = Stopping(fed, lambda r: isinstance(r, m.BeginSealed))
        with pytest.raises(Stopped, match="BeginSealed"):
            fed.run(State(attempt=attempt), transport=stopping, log=log)
        fed.parties = {name: fed.party(name) for name in fed.plan.answering}
    assert len([one for one in fed.of("BeginBlinding") if one.receiver == "party2"]) == 1
    assert same(fed.whole(state=State(attempt=3), log=log), pooled_model(shared, TINY))


def test_once_the_active_party_knows_the_common_rows_they_are_not_aligned_anew(monkeypatch):
    """Else it could bring other ids in the middle of the run; rows that were kept need no other alignment."""
    fed = keeping(monkeypatch, scattered(table_of(), 2)[0])
    until(fed, lambda r: isinstance(r, m.BeginSealed))
    begun_again(fed, 2)
    begin = fed.of("BeginBlinding")[0].message
    refuses(fed.parties["party2"], begin, "aligns rows anew that are aligned already", PrivacyError)


def test_the_lists_of_a_run_stay_as_long_as_they_were():
    fed = federation(scattered(table_of(), 2)[0])
    until(fed, lambda r: isinstance(r, m.AskBlinded))
    begin = fed.of("BeginBlinding")[0].message
    begun_again(fed, 2)
    refuses(fed.parties["party2"], replace(begin, sizes=begin.sizes - [1, 0]), "more or fewer rows", PrivacyError)


def test_a_hash_of_the_common_rows_is_compared_and_never_told():
    """It has no key: of one row that the active party marked, it would tell the id to whoever tries out all ids."""
    fed = federation(scattered(table_of(), 2)[0])
    fed.run()
    party, introduced = fed.parties["party2"], fed.of("Introduce")[0].message
    right = party.sets.digest(False)
    assert not [one for one in fed.heard if one.sender == "party2" and right in one.frame]
    for attempt, told in enumerate([b"", right, *(bytes([i]) * 32 for i in range(owner_ledger.MOST_WRONG))], 2):
        party.answer(encode(replace(introduced, attempt=attempt)))
        said = decode_answer(party.answer(encode(m.AskSetSize(False, told))), MOST_SMALL)
        assert (said.n_ids, said.aligned) == (108, told == right)
    party.answer(encode(replace(introduced, attempt=100)))
    refuses(party, m.AskSetSize(False, right), "heard 3 wrong hashes", PrivacyError)


def test_what_has_not_begun_does_not_go_on():
    party, _ = stopped_at(m.AskSetSize)
    refuses(party, m.BeginBlinding(False, np.array([1, 1, 1])), "has not begun")
    refuses(party, m.AskColumns(b"", b""), "before the rows are aligned")


@pytest.mark.parametrize("sizes", [[108, 108], [108, 107, 108], [0, 108, 108], [108, 108, 2**40], [-1, 108, 108]])
def test_sizes_must_be_those_of_all_parties(sizes):
    party, _ = stopped_at(m.BeginBlinding)
    refuses(party, m.BeginBlinding(False, np.array(sizes, np.int64)), "sizes cannot be")


def test_sizes_do_not_change_any_more():
    party, _ = stopped_at(m.AskBlinded)
    refuses(party, m.BeginBlinding(False, np.array([108, 108, 108])), "sizes cannot be")


def test_nothing_is_blinded_before_the_sizes_are_known():
    party, _ = stopped_at(m.BeginBlinding)
    for owner in (0, 1, 2, 7, -1):
        refuses(party, m.AskBlinded(False, owner, 0), "another step of the alignment")


@pytest.mark.parametrize("request_", [m.AskBlinded(False, 1, 5), m.AskBlinded(False, 1, -1), m.AskBlinded(False, 9, 0)])
def test_parts_come_in_order(request_):
    party, _ = stopped_at(m.AskBlinded)
    refuses(party, request_, "another step of the alignment")


def test_a_list_that_has_not_come_whole_is_not_given_back():
    """Else a list of one id would tell whether a party has it, whatever the others have."""
    party, _ = stopped_at(m.BlindIds)
    refuses(party, m.AskBlinded(False, 0, 0), "has not come whole")
    refuses(party, m.AskBlinded(False, 1, 0), "another step of the alignment")


BAD = {
    "another place": ({"first": 1}, "another step", ProtocolError),
    "the party's own list": ({"owner": 1}, "its own list", ProtocolError),
    "nobody's list": ({"owner": 3}, "another step", ProtocolError),
    "too few": ({"blinded_ids": np.zeros(32, np.uint8)}, "where 3456 were asked for", ProtocolError),
    "the identity": ({"blinded_ids": np.zeros(108 * 32, np.uint8)}, "identity", CipherError),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_list_that_cannot_be_is_not_blinded(bad):
    party, request = stopped_at(m.BlindIds)
    change, match, kind = BAD[bad]
    refuses(party, replace(request, **change), match, kind)


def test_a_list_is_blinded_once():
    party, request = stopped_at(m.BlindIds)
    party.answer(encode(request))
    refuses(party, request, "another step")


def test_marks_must_be_of_lists_that_were_given_and_equally_many():
    party, _ = stopped_at(m.BlindIds)
    marks = np.packbits(np.arange(108) < 5)
    refuses(party, m.MarkCommon(False, 0, marks), "has not heard, or twice")
    party, request = stopped_at(m.MarkCommon)
    few = np.zeros_like(request.marks)
    refuses(party, replace(request, marks=few), "marks no ids")
    refuses(party, replace(request, marks=request.marks[1:]), "every place")
    refuses(party, replace(request, owner=7), "has not heard, or twice")
    party.answer(encode(request))
    refuses(party, request, "has not heard, or twice")
    few[0] = 1
    refuses(party, replace(request, owner=1, marks=few), "not equally many")


def test_after_the_alignment_nothing_of_it_is_left_to_ask_for():
    parties, _ = scattered(table_of(), 3)
    fed = federation(parties)
    request = until(fed, lambda r: isinstance(r, m.AskColumns))
    party = fed.parties["party2"]
    own = party.sets.kinds[False].set
    assert not own.own_ids
    assert not own.lists
    for again in (m.AskBlinded(False, 1, 0), m.AskBlinded(False, 1, 108), m.AskBlinded(False, 0, 0)):
        refuses(party, again, "another step|not come whole")
    refuses(party, m.MarkCommon(False, 1, np.zeros(14, np.uint8)), "has not heard, or twice")
    party.answer(encode(request))


def test_where_rows_are_as_given_nothing_is_aligned():
    fed = federation(partition.columns(table_of(), n=2), align="given")
    until(fed, lambda r: isinstance(r, m.AskColumns))
    refuses(fed.parties["party2"], m.AskSetSize(False), "does not allow AskSetSize")


def test_a_party_that_returns_too_few_points_is_named(monkeypatch):
    parties, _ = scattered(table_of(), 2)
    fed = federation(parties)
    give = own_sets.OwnSet.give
    monkeypatch.setattr(own_sets.OwnSet, "give", lambda self, r: m.BlindedIds(give(self, r).blinded_ids[32:]))
    with pytest.raises(ProtocolError, match="did not return as many blinded ids"):
        fed.model()


def test_a_list_that_holds_a_point_twice_ends_the_run(monkeypatch):
    parties, _ = scattered(table_of(), 2)
    monkeypatch.setattr(own_sets, "check_ids", lambda *_: None)
    ids = parties["party2"].ids.copy()
    ids[1] = ids[0]
    parties["party2"] = with_(parties["party2"], ids=ids)
    with pytest.raises(ProtocolError, match="do not belong together"):
        federation(parties).model()


# A party that is lost


def lossy(fed, lose):
    """Loses the first request for which `lose` is true."""
    lost = []

    def once(name, request):
        if name == "party2" and not lost and lose(request):
            lost.append(request)
            return True
        return False

    return Lossy(fed, once)


def test_after_a_new_process_of_a_party_rows_are_aligned_anew():
    parties, shared = scattered(table_of(), 3)
    fed = federation(parties)

    def lose(request):
        found = isinstance(request, m.MarkCommon)
        if found:
            fed.restart("party2")
        return found

    assert same(fed.whole(transport=lossy(fed, lose)), pooled_model(shared, TINY))
    assert len([one for one in fed.of("AskSetSize") if one.receiver == "party2"]) == 2
    assert len([one for one in fed.of("BlindIds") if one.receiver == "party3"]) == 4


def test_rows_that_all_have_aligned_already_are_not_aligned_again():
    parties, shared = scattered(table_of(), 3)
    fed = federation(parties)
    transport = lossy(fed, lambda r: isinstance(r, m.BeginSealed))
    assert same(fed.whole(transport=transport), pooled_model(shared, TINY))
    assert len([one for one in fed.of("AskSetSize") if one.receiver == "party2"]) == 2
    assert len([one for one in fed.of("BlindIds") if one.receiver == "party3"]) == 2


def test_a_party_whose_rows_have_changed_meanwhile_is_not_gone_on_with():
    parties, _ = scattered(table_of(), 2)
    fed = federation(parties)

    def lose(request):
        found = isinstance(request, m.BeginSealed)
        if found:
            fed.tables["party2"] = parties["party2"].take(np.arange(50))
            fed.restart("party2")
        return found

    with pytest.raises(PrivacyError, match="more or fewer rows than when this run began"):
        fed.model(transport=lossy(fed, lose))


class Log:
    """What outlives a process."""

    def __init__(self):
        self.kept = []

    def note(self, event, /, **facts):
        self.kept.append({"event": event, **facts})

    def lines(self):
        return iter(self.kept)

    def sync(self):
        pass


@pytest.mark.parametrize("who", ["party1", "party3"])
def test_a_new_process_knows_from_its_log_which_rows_all_had_and_goes_on_with_no_others(who):
    """All processes are new, party2 has other rows, and one of the others has its log."""
    parties, _ = scattered(table_of(), 3)
    logs, states = {"party1": Log(), "party3": Log()}, []
    federation(parties, logs=logs).model(keep=states.append, log=logs["party1"])
    ids = parties["party2"].ids.copy()
    ids[:20] = [f"another {i}" for i in range(20)]
    changed = {**parties, "party2": with_(parties["party2"], ids=ids)}
    new = {"party1": Log(), "party3": Log(), who: logs[who]}
    with pytest.raises(ProtocolError, match="not those that this run began with"):
        federation(changed, logs=new).model(state=states[0], log=new["party1"])


def test_with_the_same_rows_new_processes_go_on_to_the_same_model():
    parties, shared = scattered(table_of(), 3)
    fed, log, states = federation(parties), Log(), []
    fed.model(keep=states.append, log=log)
    fed.parties = {name: fed.party(name) for name in fed.plan.answering}
    first = next(state for state in states if not state.parts)
    assert same(fed.whole(state=first, log=log), pooled_model(shared, TINY))


def test_requests_of_an_alignment_can_be_read_back():
    _, request = stopped_at(m.BlindIds)
    assert encode(decode_request(encode(request))) == encode(request)
