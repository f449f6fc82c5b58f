from types import SimpleNamespace

import pytest
from authority import Authority
from campaign.proxy import Proxy
from peers import QUICK, RUN, Events, Party, RawDriver, RawParty

from hedgerow.transports.grpc.driver import GrpcTransport

NAMES = ("a", "b", "c")


@pytest.fixture(scope="session")
def authority():
    return Authority()


@pytest.fixture(scope="session")
def identities(authority):
    return {name: authority.identity(name) for name in (*NAMES, "driver", "stranger")}


@pytest.fixture
def net(authority, identities):
    """Makes drivers, parties, proxies and rude peers, and ends them all."""
    made = []

    def keep(one):
        made.append(one)
        return one

    def driver(**more):
        events = Events()
        pins = {name: identities[name].fingerprint for name in NAMES}
        options = {"run": RUN, "on_event": events, **QUICK, **more}
        transport = keep(GrpcTransport("127.0.0.1:0", identities["driver"], authority.pem, pins, **options))
        transport.events = events
        return transport

    def party(port, name, answer, **more):
        return Party(port, more.pop("identity", identities[name]), authority.pem, name, answer, **more)

    def raw(port, name):
        return keep(RawParty(port, identities[name], authority.pem))

    def raw_driver():
        return keep(RawDriver(identities["driver"], authority.pem))

    yield SimpleNamespace(
        driver=driver, party=party, raw=raw, raw_driver=raw_driver, proxy=lambda port: keep(Proxy(port)),
        authority=authority, identities=identities,
    )  # fmt: skip
    for one in reversed(made):
        one.close()
