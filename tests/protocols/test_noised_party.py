"""What a party of a noised run withstands: a driver that asks otherwise, and sums that are not counted."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from hedgerow import DP, GBDTClassifier, Horizontal, partition
from hedgerow.agreement.dp_words import adversary
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_request, encode
from hedgerow.errors import HedgerowError, PolicyError, PrivacyError, ProtocolError
from hedgerow.model.file import decoded, encoded
from hedgerow.model.noised_terms import all_released, terms_of
from hedgerow.privacy.accountant import spent
from hedgerow.privacy.ledger import Ledger
from hedgerow.privacy.noised_words import NoisedWords
from hedgerow.protocols.horizontal.steps import MaskedSender
from hedgerow.protocols.noised import own_releases as party_side
from hedgerow.protocols.state import State
from hedgerow.transports.inproc import InProcess
from hedgerow.trees.noised.rule import schedule
from noised import Killed, OnDisk, noised, rows

ADDITIVE = DP(8, method="additive")


class Lying(InProcess):
    """A driver whose requests to all parties are changed on the way; `change` may return None for "as it is"."""

    def __init__(self, fed, change):
        super().__init__(fed.transport.answers)
        self.change = change

    def carry(self, frames, deadline, most_bytes):
        changed = {name: self._changed(bytes(frame)) for name, frame in frames.items()}
        return super().carry(changed, deadline, most_bytes)

    def _changed(self, frame):
        other = self.change(decode_request(frame))
        return frame if other is None else encode(other)


def asked_again(folder, change, release=7):
    """A run that ends before a release was kept, and a second attempt in which requests are changed."""
    fed = OnDisk(folder, ADDITIVE)

    def keep(state):
        if len(state.opened) == release + 1:
            raise Killed

    states = []
    with pytest.raises(Killed):
        fed.run(keep=lambda state: (keep(state), states.append(state)))
    fed.run(State(5, opened=states[-1].opened), transport=Lying(fed, change))


def changed(kind, where=lambda _: True, **fields):
    """Requests of a kind with other fields."""

    def change(request):
        if not isinstance(request, kind) or not where(request):
            return None
        made = {name: value(request) if callable(value) else value for name, value in fields.items()}
        return msgspec.structs.replace(request, **made)

    return change


# A driver that asks otherwise


def test_a_release_is_not_given_again_for_another_request(tmp_path):
    """Scores of its own choice would make it another sum, with the same noise."""
    change = changed(m.AskNoisedSums, lambda r: r.release == 7, values=lambda r: r.values + np.float32(0.5))
    with pytest.raises(PrivacyError, match="was answered before for other cuts"):
        asked_again(tmp_path, change)


def test_the_same_request_again_is_answered(tmp_path):
    asked_again(tmp_path, lambda _: None)


@pytest.mark.parametrize("n_rows", [lambda r: r.n_rows + 1, 1.0, 1e9])
def test_the_number_of_rows_is_not_told_otherwise_in_another_attempt(n_rows, tmp_path):
    """Another number could mean another schedule, and releases of both."""
    with pytest.raises(PrivacyError, match="changes cut points and the number of rows"):
        asked_again(tmp_path, changed(m.BeginNoised, n_rows=n_rows))


@pytest.mark.parametrize("n_rows", [-1e300, 0.0, 1.0, 1e3, 39_999.0, 40_000.0, 1e6, 1e300])
@pytest.mark.parametrize("dp", [DP(1), DP(0.1), DP(30), DP(1, rows_per_id=4), DP(2, label_range=(0, 1)), DP(5, 1e-9)])
def test_whatever_number_of_rows_a_driver_tells_all_releases_cost_no_more(n_rows, dp):
    columns = rows().columns
    terms = terms_of(dp, columns, 0 if dp.label_range else 2)
    for n, colluders in ((1, 0), (3, 0), (5, 1), (5, 4), (12, 5)):
        releases = all_released(schedule(terms, n_rows).planned, n, colluders)
        assert spent(releases, dp.delta).epsilon <= dp.epsilon


@pytest.mark.parametrize("first", [1, 4, 5, 9])
def test_releases_are_given_in_the_order_of_the_plan_and_once(first):
    fed = noised(dp=ADDITIVE)
    change = changed(m.AskNoisedCounts | m.AskNoisedSums, lambda r: r.release == first, release=lambda r: r.release - 1)
    with pytest.raises(HedgerowError, match=r"not those which the plan has next|values where"):
        fed.run(transport=Lying(fed, change))


@pytest.mark.parametrize("release", [-1, 3, 25, 10**9, -(2**40)])
def test_a_release_that_there_is_not_is_refused(release):
    fed = noised(dp=ADDITIVE)
    change = changed(m.AskNoisedSums, lambda r: r.release == 6, release=release)
    with pytest.raises(ProtocolError, match="not those which the plan has next"):
        fed.run(transport=Lying(fed, change))


def test_sums_that_were_never_given_are_not_told_as_known():
    fed = noised(dp=ADDITIVE)
    with pytest.raises(PrivacyError, match="which this party has not given"):
        fed.run(transport=Lying(fed, changed(m.AskNoisedSums, lambda r: r.release == 8, opened=True)))


def test_counts_are_not_asked_for_after_the_trees_have_begun():
    fed = noised(dp=ADDITIVE)
    none = np.empty(0, np.int32), np.empty(0, np.uint32), np.empty(0, np.uint8)

    def change(request):
        late = isinstance(request, m.AskNoisedSums) and request.release == 5
        return m.AskNoisedCounts(5, False, *none) if late else None

    with pytest.raises(ProtocolError, match="not those which the plan has next"):
        fed.run(transport=Lying(fed, change))


def test_prefixes_that_count_a_row_twice_are_refused():
    """One row would move the counts by more than the noise is made for."""
    fed = noised(dp=ADDITIVE)

    def twice(request):
        return np.zeros(len(request.prefix), np.uint32)

    with pytest.raises(ProtocolError, match=r"twice|disjoint|once"):
        fed.run(transport=Lying(fed, changed(m.AskNoisedCounts, lambda r: r.release == 1, prefix=twice)))


@pytest.mark.parametrize("column", [lambda c: c - 4, lambda c: np.where(c == 3, -1, c), lambda c: c + 1])
def test_counts_are_given_of_the_columns_of_the_table_and_by_one_number_each(column):
    """A column from behind is one of them once more, and its rows would be counted twice."""
    fed = noised(dp=ADDITIVE, tables=partition.rows(rows(columns=4), n=4))
    change = changed(m.AskNoisedCounts, lambda r: r.release == 1, column=lambda r: column(r.column).astype(np.int32))
    with pytest.raises(ProtocolError, match="of columns that are not to be cut"):
        fed.run(transport=Lying(fed, change))


def test_counts_that_are_not_well_formed_are_refused():
    fed = noised(dp=ADDITIVE)
    change = changed(m.AskNoisedCounts, lambda r: r.release == 1, column=lambda r: r.column[:-1])
    with pytest.raises(ProtocolError, match="not well formed"):
        fed.run(transport=Lying(fed, change))


def test_cut_points_without_a_place_for_missing_values_are_refused():
    fed = noised(dp=ADDITIVE)
    change = changed(m.BeginNoised, has_missing=lambda r: np.zeros(len(r.has_missing), np.bool_))
    with pytest.raises(ProtocolError, match="no place for missing values"):
        fed.run(transport=Lying(fed, change))


@pytest.mark.parametrize("field", ["epsilon", "releases", "unit", "promise"])
def test_a_model_that_promises_other_than_was_released_is_not_kept(field):
    fed = noised(dp=ADDITIVE)

    def change(request):
        if not isinstance(request, m.Farewell):
            return None
        model = decoded(request.model, "it")
        others = {"epsilon": 9.0, "releases": model.promise.releases[:-1], "unit": "person"}
        promise = None if field == "promise" else replace(model.promise, **{field: others[field]})
        return m.Farewell(encoded(replace(model, promise=promise)))

    with pytest.raises(PrivacyError, match="promises other than what this party's ledger tells"):
        fed.run(transport=Lying(fed, change))
    assert not fed.kept


def test_an_answer_without_noise_is_refused_by_the_driver():
    fed = noised(dp=ADDITIVE)
    honest = fed.transport.answers["party2"]

    def answer(frame):
        right = honest(frame)
        request = decode_request(bytes(frame))
        return encode(m.MaskedSums(np.zeros(1, np.uint64))) if isinstance(request, m.AskNoisedCounts) else right

    with pytest.raises(ProtocolError, match="'party2' answered MaskedSums where NoisedSums"):
        fed.run(transport=InProcess({**fed.transport.answers, "party2": answer}))


@pytest.mark.parametrize(
    ("colluders", "against"), [(0, "but not against the parties"), (1, "up to one party of the 2")]
)
def test_without_colluders_nothing_is_promised_against_parties_that_know_their_own_noise(colluders, against):
    fed = noised(partition.rows(rows(), n=2), dp=DP(8, method="additive", colluders=colluders), allow_two=True)
    assert against in adversary(fed.plan)
    assert bool(fed.plan.method.warnings(2)) == (colluders == 0)


# The ledger


def test_a_sum_that_is_not_in_the_ledger_stops_the_run(monkeypatch):
    """The sabotage: a release of which the plan knows nothing."""
    real = party_side.released

    def other(planned, *shares):
        release = real(planned, *shares)
        return replace(release, what="one more") if planned.what == "additive round" else release

    monkeypatch.setattr(party_side, "released", other)
    with pytest.raises(PrivacyError, match="'one more' is not among those that the run has planned"):
        noised(dp=ADDITIVE).run()


def test_a_forgotten_release_is_noticed(monkeypatch):
    """The sabotage: a party that counts no additive rounds, and so promises less than the driver's model."""
    real = Ledger.release

    def release(self, key, release, told=b"", draw=""):
        if release.what != "additive round" or not draw:  # the driver's has no draws
            real(self, key, release, told, draw)

    monkeypatch.setattr(Ledger, "release", release)
    with pytest.raises(PrivacyError, match="promises other than what this party's ledger tells"):
        noised(dp=ADDITIVE).run()


def test_nothing_leaves_without_noise_by_the_ways_of_other_runs(monkeypatch):
    """The sabotage: a role that gives exact words in a plan with noise."""
    monkeypatch.setattr(
        MaskedSender, "noised", lambda self, noised_words, parties: self.words(noised_words.copy(), parties)
    )
    with pytest.raises(PrivacyError, match="Sums without noise were to leave this party"):
        noised(dp=ADDITIVE).run()


def test_an_owner_refuses_more_than_its_policy_allows():

    strict = replace(ALLOW_ALL, most_epsilon=1.0)
    with pytest.raises(PolicyError, match="promises an epsilon of only 8"):
        noised(dp=ADDITIVE, policy=strict).run()
    noised(dp=DP(0.9, method="additive"), policy=strict).run()


def test_the_words_that_leave_are_those_that_are_kept(monkeypatch):
    seen = []
    real = NoisedWords.words

    def words(self, *given, **more):
        seen.append(real(self, *given, **more))
        return seen[-1]

    monkeypatch.setattr(NoisedWords, "words", words)
    fed = noised(dp=ADDITIVE)
    _, state = fed.run()
    for i, one in enumerate(state.opened):
        assert np.array_equal(one.words, np.sum(seen[4 * i : 4 * i + 4], axis=0))


def test_estimators_promise_what_the_federation_does():
    parties = partition.rows(rows(), n=3)
    model = GBDTClassifier(federation=Horizontal(dp=DP(2, method="additive"))).fit(parties).model_
    assert (model.promise.epsilon, model.promise.unit) == (2.0, "row")
    assert "up to one party of the 3" in model.promise.adversary
    assert model.promise.composed <= 2


@pytest.mark.parametrize(
    ("classes", "taken"), [((), "; not for the classes, taken from the tables as known"), ((0, 1), "")]
)
def test_the_promise_says_what_was_taken_from_tables(classes, taken):
    model = noised(dp=DP(8, method="additive", classes=classes)).model()
    assert model.promise.scope == f"every sum that is opened in the run, and the model{taken}"


def test_without_colluders_nothing_is_promised_against_the_parties():
    method = Horizontal(dp=DP(1, colluders=0))
    assert "nothing is promised against the parties" in method.warnings(3)[0]
    assert not Horizontal(dp=DP(1)).warnings(2)
    assert "but not against the parties" in noised(dp=DP(8, method="additive", colluders=0)).model().promise.adversary
