"""Promises that every transport keeps: frames arrive whole, in order, once; who does not answer is named."""

import importlib.util
import os
import threading
from types import SimpleNamespace

import pytest

from federated import Federation, identity, labels, params_of, pooled_model, same, scattered, values
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.identity import x509
from hedgerow.identity.identity import Identity
from hedgerow.transports.inproc import InProcess

NAMES = ("party1", "party2", "party3")
MOST = 1 << 26
RUN = b"a run"
QUICK = {"lost_after": 1.0, "heartbeat": 0.2}


@pytest.fixture(scope="module")
def issued():
    """An authority, and a certificate of it for everyone."""
    ca = x509.new_ca("one for all", x509.in_days(1))
    hosts = x509.alternatives(["127.0.0.1", "localhost"])
    pairs = {n: x509.new_certificate(ca, n, x509.new_key(), hosts, x509.in_days(1)) for n in (*NAMES, "d")}
    pem = ca.certificate.public_bytes(x509.serialization.Encoding.PEM)
    return SimpleNamespace(ca=pem, identities={n: Identity(pair.der, pair.key) for n, pair in pairs.items()})


def in_process(answers, issued):
    return InProcess(answers)


def over_grpc(answers, issued):
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("grpcio is not installed")
    from hedgerow.transports.grpc.driver import GrpcTransport
    from hedgerow.transports.grpc.party import serve

    pins = {name: issued.identities[name].fingerprint for name in NAMES}
    transport = GrpcTransport("127.0.0.1:0", issued.identities["d"], issued.ca, pins, run=RUN, **QUICK)

    def party(name):
        address = f"127.0.0.1:{transport.port}"
        serve(address, issued.identities[name], issued.ca, name, answers[name], run=RUN, patience=5.0, **QUICK)

    for name in answers:
        threading.Thread(target=party, args=(name,), daemon=True).start()
    return transport


@pytest.fixture(params=[in_process, over_grpc])
def carried(request, issued):
    """Makes a transport between a driver and parties with these answers."""
    made = []

    def make(answers):
        made.append(request.param(answers, issued))
        made[-1].wait(frozenset(answers), 10.0)
        return made[-1]

    yield make
    for transport in made:
        transport.close()


def test_everyone_who_is_there_can_be_asked(carried):
    transport = carried(dict.fromkeys(NAMES, bytes))
    assert transport.here() == frozenset(NAMES)
    assert transport.wait(frozenset(NAMES), 5.0) == frozenset()


@pytest.mark.parametrize("size", [0, 1, 70_000, 3_000_000])
def test_a_frame_of_any_size_arrives_whole_both_ways(carried, size):
    transport = carried({"party1": lambda frame: bytes(frame)[::-1]})
    frame = os.urandom(size)
    assert transport.carry({"party1": frame}, 10.0, MOST) == ({"party1": frame[::-1]}, frozenset())


def test_everyone_hears_its_own_frame_and_is_heard_by_name(carried):
    transport = carried({name: (lambda frame, name=name: name.encode() + bytes(frame)) for name in NAMES})
    frames = {name: name[-1].encode() for name in NAMES}
    answers, missing = transport.carry(frames, 10.0, MOST)
    assert not missing
    assert answers == {name: name.encode() + name[-1].encode() for name in NAMES}


def test_only_those_who_are_asked_hear(carried):
    heard = []
    transport = carried({name: (lambda frame, name=name: heard.append(name) or b"") for name in NAMES})
    transport.carry({"party2": b"1"}, 10.0, MOST)
    assert heard == ["party2"]


def test_frames_are_heard_in_order_once_each_and_one_at_a_time(carried):
    heard, inside = {name: [] for name in NAMES}, []

    def answer_as(name):
        def answer(frame):
            inside.append(name)
            assert inside.count(name) == 1
            heard[name].append(int(bytes(frame)))
            inside.remove(name)
            return bytes(frame)

        return answer

    transport = carried({name: answer_as(name) for name in NAMES})
    for turn in range(30):
        transport.carry(dict.fromkeys(NAMES, b"%d" % turn), 10.0, MOST)
    assert heard == {name: list(range(30)) for name in NAMES}


def test_a_party_that_is_not_there_is_named_by_wait(carried):
    transport = carried(dict.fromkeys(NAMES[:2], bytes))
    assert transport.wait(frozenset(NAMES), 0.3) == frozenset(NAMES[2:])


def test_work_for_the_meantime_is_done_once_and_before_the_party_is_done(carried):
    done, times = threading.Event(), []

    def work():
        times.append(threading.current_thread())
        done.set()

    transport = carried({"party1": lambda _: b"done" if done.wait(10) else b"not done"})
    transport.meanwhile(work)
    for _ in range(2):
        assert transport.carry({"party1": b""}, 20.0, MOST) == ({"party1": b"done"}, frozenset())
    assert times == [threading.current_thread()]


CASES = {
    "two classes": ("two", Goal(), {"subsample": 0.8}),
    "two classes, plain": ("two", Goal(), {"colsample_bytree": 0.6}),
    "many classes": ("many", Goal(), {}),
    "numbers": ("numbers", Goal("squared"), {"colsample_bynode": 0.7}),
    "counts": ("counts", Goal("poisson"), {}),
    "amounts": ("counts", Goal("tweedie", 1.5), {}),
    "outliers": ("numbers", Goal("huber", 1.0), {}),
    "a random forest": ("two", Goal(), {"average": True, "subsample": 0.6}),
    "early stopping": ("two", Goal(follow=True, early_stopping_rounds=1), {"n_estimators": 8, "learning_rate": 1.0}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_federation_gives_the_pooled_forest(carried, issued, monkeypatch, case):
    """Every frame of a run, over this transport."""
    for name in NAMES:
        monkeypatch.setitem(identity.__globals__["_KNOWN"], name, issued.identities[name])
    kind, goal, params = CASES[case]
    X, signal = values(300)
    training = partition.rows(X, labels(kind, signal), 3, how="quantity")
    training, valid = partition.hold_out(training, 0.3) if goal.follow else (training, {})
    protection = "plain" if "plain" in case else "masked"
    fed = Federation(training, params_of(**params), goal, valid, protection=protection)
    transport = carried({name: fed.parties[name].answer for name in NAMES})
    model = fed.model(transport=transport, deadline=20.0, patience=10.0)
    assert same(model, pooled_model(fed.tables, fed.plan.params, goal, valid))


def test_rows_are_aligned_and_the_vertical_forest_is_the_pooled_one(carried, issued, monkeypatch):
    for name in NAMES:
        monkeypatch.setitem(identity.__globals__["_KNOWN"], name, issued.identities[name])
    X, signal = values(300)
    parties, shared = scattered(Table.of(X, labels("two", signal), ids=[f"row {i}" for i in range(300)]), 3)
    fed = Federation(
        parties, params_of(), method="vertical", protection="plain", active="party1", align="private"
    )  # fmt: skip
    transport = carried({name: fed.parties[name].answer for name in fed.plan.answering})
    assert same(fed.whole(transport=transport, deadline=20.0, patience=10.0), pooled_model(shared, params_of()))
