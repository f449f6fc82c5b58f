"""The link is measured before the plan is signed: by bounded bytes that mean nothing; the layout follows from it."""

from dataclasses import replace

import msgspec
import pytest

from federated import TINY, identity, until, vertical
from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.link_speeds import STEPS, LinkSpeed
from hedgerow.agreement.options import Lattice, Paillier
from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Corridor, decode_request, encode
from hedgerow.errors import CipherError, ParameterError, PolicyError, ProtocolError
from hedgerow.protocols import probe
from hedgerow.protocols.probe import BESIDE, MOST, Echoes, measured
from hedgerow.run.forecast.disclosures import used
from hedgerow.transports.inproc import InProcess


def real(policy=ALLOW_ALL, **plan):
    """As between real parties: with a driver's certificate."""
    coordinator = identity("driver").fingerprint
    return vertical(TINY, policy=policy, coordinator=coordinator, **{"protection": "lattice", **plan})


def at(fed, mbit, delay=20):
    return replace(fed.plan, link_speeds=tuple(LinkSpeed(name, mbit, delay) for name in fed.plan.answering))


class Slow(InProcess):
    """Tells the clock of the measurement how long a link of its own would have taken; `speeds` by party, in Mbit/s."""

    def __init__(self, fed, speeds, line=1e9, delay=0.02):
        super().__init__(fed.transport.answers)
        self.speeds, self.line, self.delay, self.now = speeds, line, delay, 0.0

    def carry(self, frames, deadline, most_bytes):
        answers, missing = super().carry(frames, deadline, most_bytes)
        sizes = {name: max(len(frames[name]), len(answers[name])) * 8e-6 for name in frames}
        each = max(sizes[name] / self.speeds[name] for name in frames)
        self.now += self.delay + max(each, sum(sizes.values()) / self.line)
        return answers, missing


def speeds_of(fed, monkeypatch, *given, **more):
    slow = Slow(fed, dict(zip(fed.plan.answering, given, strict=True)), **more)
    monkeypatch.setattr(probe.time, "perf_counter", lambda: slow.now)
    return [(one.mbit, one.delay_ms) for one in measured(Corridor(slow), fed.plan, 1.0)]


def test_speed_and_delay_of_each_link_are_found(monkeypatch):
    assert speeds_of(real(), monkeypatch, 97.0, 11.0) == [(100.0, 20), (10.0, 20)]
    assert speeds_of(real(), monkeypatch, 0.5, 1e6, delay=0.15) == [(0.5, 150), (500.0, 150)]
    assert LinkSpeed.measured("bob", 1e-9, 1e9) == LinkSpeed("bob", 0.1, 60_000)


def test_what_the_drivers_own_line_carries_to_all_together_counts(monkeypatch):
    assert speeds_of(real(), monkeypatch, 100.0, 100.0, line=100.0) == [(50.0, 20), (50.0, 20)]


def test_a_measurement_takes_fewer_bytes_than_the_usual_policy_allows(monkeypatch):
    fed = real(policy=Policy())
    assert [speeds_of(fed, monkeypatch, 1e9, 1e9) for _ in range(3)]
    with pytest.raises(PolicyError, match="more bytes than this party's policy allows"):
        speeds_of(fed, monkeypatch, 1e9, 1e9)


def test_probes_without_bytes_come_to_an_end_too():
    """Each is two lines of the party's log, which nobody has consented to fill."""
    echoes = Echoes(100 * BESIDE)
    for _ in range(100):
        echoes.answer(m.Probe(b"", 0), None)
    with pytest.raises(PolicyError, match="more bytes than this party's policy allows"):
        echoes.answer(m.Probe(b"", 0), None)


def test_the_forecast_of_a_measurement_is_what_crosses(monkeypatch):
    fed = real()
    slow = Slow(fed, dict.fromkeys(fed.plan.answering, 1e9))
    monkeypatch.setattr(probe.time, "perf_counter", lambda: slow.now)
    heard = []
    measured(Corridor(slow, (lambda *told: heard.append(told),)), fed.plan, 1.0)
    to_one = [message for _, receiver, message, _ in heard if receiver == "party2"]
    assert (len(to_one), sum(len(message.padding) for message in to_one)) == probe.at_most(2)


@pytest.mark.parametrize(
    "request_", [m.Probe(bytes(MOST + 1), 0), m.Probe(b"", MOST + 1), m.Probe(b"", -1)], ids=["out", "back", "negative"]
)
def test_no_single_probe_is_larger_than_all_agree(request_):
    with pytest.raises(ProtocolError, match="bytes at once"):
        Echoes(1 << 40).answer(request_, None)


def test_once_a_plan_is_agreed_on_nothing_is_measured_any_more():
    fed = real()
    until_introduced(fed)
    with pytest.raises(ProtocolError, match="links are measured before that"):
        fed.parties["party2"].answer(encode(m.Probe(b"", 8)))


def until_introduced(fed):
    return until_asked(fed, m.Introduce)


def until_asked(fed, kind):
    fed.driver_identity = identity("driver")
    run = fed.run
    fed.run = lambda state=None, **more: run(state, identity=identity("driver"), **more)
    return until(fed, lambda request: isinstance(request, kind))


def test_a_party_that_answers_another_number_of_bytes_is_refused(monkeypatch):
    fed = real()
    monkeypatch.setattr(Echoes, "answer", lambda *_: m.Echo(b"short"))
    with pytest.raises(ProtocolError, match="another number of bytes"):
        measured(Corridor(fed.transport), fed.plan, 1.0)


def test_measured_links_are_part_of_what_is_signed_and_not_of_what_files_belong_to():
    fed = real()
    plan = at(fed, 100.0)
    assert Plan.read(plan.text) == plan
    assert (plan.digest, plan.signed != fed.plan.signed) == (fed.plan.digest, True)
    assert fed.plan.digest == fed.plan.signed
    assert b"link_speeds" not in fed.plan.text


@pytest.mark.parametrize("mbit", [3.0, 1e9, 0.0, float("nan")])
def test_a_speed_that_is_no_step_is_refused(mbit):
    with pytest.raises(ParameterError, match="the speed must be one of"):
        LinkSpeed("bob", mbit, 1)
    text = at(real(), 100.0).text.replace(b"100.0", str(mbit).encode())
    with pytest.raises((ParameterError, ProtocolError), match=r"cannot be read|must be one of"):
        Plan.read(text)


def test_links_are_measured_only_where_a_layout_depends_on_them():
    for plan in (
        real(link_mbit=50.0).plan, real(protection="paillier").plan, vertical(protection="lattice").plan,
    ):  # fmt: skip
        assert not plan.measures
        assert not {m.Probe, m.Echo} & set(used(plan))
        with pytest.raises(ParameterError, match="where none are to be measured"):
            replace(plan, link_speeds=tuple(LinkSpeed(name, 100.0, 20) for name in plan.answering))
    fed = real()
    assert {m.Probe, m.Echo} < set(used(fed.plan))
    with pytest.raises(ParameterError, match="not one to each party"):
        replace(fed.plan, link_speeds=(LinkSpeed("party2", 100.0, 20),))


def test_the_slowest_link_decides_and_a_named_speed_overrides():
    fed = real()
    mixed = replace(fed.plan, link_speeds=(LinkSpeed("party2", 200.0, 1), LinkSpeed("party3", 10.0, 20)))
    assert cipher_of(mixed) == Lattice(10.0)
    assert cipher_of(fed.plan) == Lattice(None)
    assert cipher_of(real(link_mbit=7.0).plan) == Lattice(7.0)
    assert cipher_of(real(protection="paillier").plan) == Paillier(3072)


def test_an_owner_refuses_a_layout_for_a_slower_link_than_its_policy_allows():
    fed = real(policy=replace(ALLOW_ALL, least_link_mbit=5.0))
    fed.plan = at(fed, 2.0)
    with pytest.raises(PolicyError, match=r"laid out for a link of only 2\.0 Mbit/s.*least_link_mbit"):
        fed.run(identity=identity("driver"))


def test_a_party_that_has_consented_refuses_other_links():
    fed = real()
    fed.plan = at(fed, 100.0)
    until_introduced(fed)
    other, driver = at(fed, 10.0), identity("driver")
    request = m.Propose(other.text, driver.certificate, driver.sign("plan", other.signed))
    with pytest.raises(ProtocolError, match="another plan than the one this party consented to"):
        fed.parties["party2"].answer(encode(request))


def test_parties_that_were_told_different_links_do_not_begin():
    """The driver, who is believed by each alone, is found out when they see each other's signatures."""
    fed = real()
    fed.plan = at(fed, 100.0)
    whole = InProcess.carry

    def two_plans(self, frames, deadline, most_bytes):
        request = decode_request(next(iter(frames.values())))
        if isinstance(request, m.Propose):
            other, driver = at(fed, 10.0), identity("driver")
            told = m.Propose(other.text, driver.certificate, driver.sign("plan", other.signed))
            frames = {**frames, "party3": encode(told)}
        return whole(self, frames, deadline, most_bytes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcess, "carry", two_plans)
        with pytest.raises(Exception, match="was not made by"):
            fed.run(identity=identity("driver"))


def test_what_is_sealed_for_another_link_than_the_plan_says_is_refused():
    """A driver's layout must be what the cost model says of the links that were signed."""
    fed = real()
    fed.plan = at(fed, 1.0)
    honest = until_asked(fed, m.AskSealedSums)
    assert isinstance(honest, m.AskSealedSums)
    cheat = real()
    cheat.plan = at(cheat, 500.0)
    other = until_asked(cheat, m.AskSealedSums)
    mixed = msgspec.structs.replace(honest, public_key=other.public_key, sealed_gradients=other.sealed_gradients)
    with pytest.raises(CipherError):
        fed.parties["party2"].answer(encode(mixed))


def test_the_model_is_the_same_whatever_was_measured():
    forests = []
    for mbit in (STEPS[0], STEPS[-1]):
        fed = real()
        fed.plan = at(fed, mbit)
        forests.append(fed.model(identity=identity("driver")).forest)
    assert forests[0] == forests[1]
