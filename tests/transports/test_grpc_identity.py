"""Who is let in: by certificate only, before anything that was sent is parsed."""

import os
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from authority import Authority
from cryptography import x509
from peers import QUICK, RUN

from hedgerow.errors import IdentityError, MissingExtra, ParameterError, PartyLost, ProtocolError, RunError
from hedgerow.transports.grpc import envelope
from hedgerow.transports.grpc import server as reception
from hedgerow.transports.grpc.driver import GrpcTransport
from hedgerow.transports.grpc.party import serve
from hedgerow.transports.grpc.tls_streams import library

grpc = library()
HELLO = envelope.encode(envelope.Hello(envelope.VERSION, "a", b"0" * 16, RUN))


@pytest.fixture
def parsed(monkeypatch):
    """Everything that the driver's decoders were given."""
    seen = []
    for name in ("read_hello", "read_from_party"):
        real = getattr(reception, name)
        monkeypatch.setattr(reception, name, lambda raw, real=real: (seen.append(raw), real(raw))[1])
    return seen


def refused(port, ca, identity=None, secure=True):
    """The status with which a stream that says hello ends."""
    address = f"127.0.0.1:{port}"
    pair = identity.pem() if identity is not None else (None, None)
    secret = grpc.ssl_channel_credentials(ca, *pair)
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
    channel = grpc.secure_channel(address, secret, options) if secure else grpc.insecure_channel(address, options)
    with channel, pytest.raises(grpc.RpcError, match=r"status = StatusCode\.") as error:
        list(channel.stream_stream("/hedgerow/stream")(iter([HELLO])))
    return error.value


def test_a_pinned_party_is_let_in(net, parsed):
    """Without this, the tests below would pass with a driver that lets nobody in."""
    driver = net.driver()
    net.raw(driver.port, "a").send(HELLO)
    driver.events.wait("here", "a")
    assert parsed == [HELLO]


def test_a_connection_without_a_certificate_is_refused(net, parsed):
    driver = net.driver()
    assert refused(driver.port, net.authority.pem).code() == grpc.StatusCode.UNAVAILABLE
    assert parsed == []


def test_a_certificate_of_another_authority_is_refused(net, parsed):
    driver = net.driver()
    other = Authority("another").identity("a")
    assert refused(driver.port, net.authority.pem, other).code() == grpc.StatusCode.UNAVAILABLE
    assert parsed == []


def test_a_certificate_of_another_authority_with_the_same_name_is_refused(net, parsed):
    driver = net.driver()
    other = Authority().identity("a")
    assert refused(driver.port, net.authority.pem, other).code() == grpc.StatusCode.UNAVAILABLE
    assert parsed == []


@pytest.mark.parametrize(("first", "last"), [(-3, -2), (2, 3)], ids=["expired", "not yet valid"])
def test_a_certificate_out_of_its_dates_is_refused_even_if_pinned(net, parsed, first, last):
    identity = net.authority.identity("a", first, last)
    driver = GrpcTransport(
        "127.0.0.1:0", net.identities["driver"], net.authority.pem, {"a": identity.fingerprint}, **QUICK
    )
    try:
        error = refused(driver.port, net.authority.pem, identity)
        assert error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED)
        assert parsed == []
        assert driver.here() == frozenset()
    finally:
        driver.close()


def test_a_certificate_of_the_same_authority_that_is_not_pinned_is_refused(net, parsed):
    driver = net.driver()
    error = refused(driver.port, net.authority.pem, net.identities["stranger"])
    assert error.code() == grpc.StatusCode.UNAUTHENTICATED
    assert "is not in the plan" in error.details()
    assert net.identities["stranger"].fingerprint in driver.events.wait("refused")
    assert parsed == []


def test_a_revoked_certificate_is_refused(net, parsed):
    revoked = net.identities["a"].certificate
    driver = net.driver(revoked=lambda certificate: certificate == revoked)
    error = refused(driver.port, net.authority.pem, net.identities["a"])
    assert (error.code(), error.details()) == (
        grpc.StatusCode.UNAUTHENTICATED,
        "The certificate of a was revoked; get a new one and have it pinned.",
    )
    assert parsed == []


def test_a_plaintext_connection_is_refused(net, parsed):
    driver = net.driver()
    assert refused(driver.port, net.authority.pem, secure=False).code() == grpc.StatusCode.UNAVAILABLE
    assert parsed == []


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_1_2_is_refused_and_1_3_accepted(net, tmp_path, version):
    driver = net.driver()
    (tmp_path / "pair.pem").write_bytes(b"".join(net.identities["a"].pem()))
    context = ssl.create_default_context(cadata=net.authority.pem.decode())
    context.load_cert_chain(tmp_path / "pair.pem")
    context.set_alpn_protocols(["h2"])
    context.minimum_version = context.maximum_version = version
    with socket.create_connection(("127.0.0.1", driver.port), 5) as plain:
        if version == ssl.TLSVersion.TLSv1_2:
            with pytest.raises(ssl.SSLError, match=r"EOF|ALERT|alert"):
                context.wrap_socket(plain, server_hostname="127.0.0.1")
        else:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                assert secure.version() == "TLSv1.3"
                assert secure.recv(1)


def test_a_process_that_imported_grpc_before_cannot_become_a_driver(net, tmp_path):
    """Sabotage: gRPC reads its list of ciphers when it is imported; the driver notices that it came too late."""
    script = (
        "import sys, grpc; sys.path[:0] = [sys.argv[1]]\n"
        "from authority import Authority\n"
        "from hedgerow.transports.grpc.driver import GrpcTransport\n"
        "a = Authority(); i = a.identity('d')\n"
        "try: GrpcTransport('127.0.0.1:0', i, a.pem, {'a': i.fingerprint})\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRPC_")}
    out = subprocess.run(command, capture_output=True, text=True, timeout=20, env=environment).stdout
    assert out.startswith("PrivacyError gRPC was imported in this process before")


def test_another_partys_name_in_the_hello_is_refused(net):
    driver = net.driver()
    raw = net.raw(driver.port, "a")
    raw.hello("b")
    with pytest.raises(IdentityError, match="certificate of a was shown by a party that calls itself 'b'"):
        raw.next()
    driver.events.wait("refused", "'b'")
    assert driver.here() == frozenset()


def test_another_version_is_refused_and_both_are_named(net):
    driver = net.driver()
    raw = net.raw(driver.port, "a")
    raw.send(b"\x93\x01\x63\xa3new")  # [1, 99, "new"]: only the place of the version is agreed on for ever
    with pytest.raises(ProtocolError, match="speaks version 99 of the transport and the driver version 1"):
        raw.next()


def test_a_party_of_another_run_is_refused(net):
    driver = net.driver()
    result = net.party(driver.port, "a", bytes, run=b"another").ended()
    assert isinstance(result, ProtocolError)
    assert "refuses this party's greeting: it drives another run, or" in str(result)
    driver.events.wait("refused", "a is here for another run; start it with this run's plan.")


@pytest.mark.parametrize(
    "junk", [b"", b"\xff", b"\x91\x07", b"\xdf\xff\xff\xff\xff", b"\x91" * 5000, b"\xc6\xff\xff\xff\xff"]
)
def test_junk_instead_of_a_hello_is_refused(net, junk):
    driver = net.driver()
    raw = net.raw(driver.port, "a")
    raw.send(junk)
    with pytest.raises(ProtocolError, match="is not one of the transport's"):
        raw.next()
    assert driver.here() == frozenset()


def test_two_processes_with_one_certificate_are_not_both_let_in(net):
    driver = net.driver()
    first, second = net.raw(driver.port, "a"), net.raw(driver.port, "a")
    first.hello("a", b"1" * 16)
    assert isinstance(first.next(), envelope.Welcome)
    first.beat()
    second.hello("a", b"2" * 16)
    with pytest.raises(IdentityError, match="two processes with the certificate of a"):
        second.next()
    assert driver.here() == frozenset("a")


def test_a_second_process_is_let_in_once_the_first_is_silent(net):
    driver = net.driver()
    first = net.raw(driver.port, "a")
    first.hello("a", b"1" * 16)
    first.next()
    net.party(driver.port, "a", bytes)
    driver.events.wait("restarted", "a")


def test_a_party_can_hold_only_a_few_streams_open(net):
    driver = net.driver(lost_after=20)
    streams = [net.raw(driver.port, "a") for _ in range(reception.STREAMS_PER_PARTY + 1)]
    driver.events.wait("refused", "streams open already")
    del streams
    net.party(driver.port, "b", bytes)
    assert driver.wait(frozenset("b"), 5) == frozenset()


# What a party says of a driver it cannot use


def failing(net, address, ca=None, identity=None, **more):
    options = {"run": RUN, "patience": 0.5, **QUICK, **more}
    serve(address, identity or net.identities["a"], ca or net.authority.pem, "a", bytes, **options)


def test_nobody_at_the_address_is_said_after_the_patience(net):
    with pytest.raises(PartyLost, match=r"Nobody listens at 127.0.0.1:1; .* gave up after 0.5 seconds"):
        failing(net, "127.0.0.1:1")


def test_a_host_that_is_not_known_is_said(net):
    with pytest.raises(PartyLost, match=r"The host of nowhere.invalid:1 is not known"):
        failing(net, "nowhere.invalid:1")


def test_a_driver_of_another_authority_is_refused_at_once(net):
    driver = net.driver()
    with pytest.raises(IdentityError, match="not signed by the CA given here"):
        failing(net, f"127.0.0.1:{driver.port}", Authority("another").pem, patience=60)


def test_a_driver_whose_certificate_is_for_another_host_is_refused_unless_named(net):
    identity = net.authority.identity("driver", hosts=[x509.DNSName("driver.example")])
    pins = {"a": net.identities["a"].fingerprint}
    driver = GrpcTransport("127.0.0.1:0", identity, net.authority.pem, pins, **QUICK)
    try:
        with pytest.raises(
            IdentityError,
            match=r"made for another host; put a host that it names into \[driver\] address, or have it made for ",
        ):
            failing(net, f"127.0.0.1:{driver.port}", patience=60)
        party = net.party(driver.port, "a", bytes, server_name="driver.example")
        assert driver.wait(frozenset("a"), 10) == frozenset()
    finally:
        driver.close()
    assert party.ended() == "The run is over."


def test_another_party_of_the_same_authority_cannot_play_the_driver(net):
    impostor = GrpcTransport(
        "127.0.0.1:0", net.identities["b"], net.authority.pem, {"a": net.identities["a"].fingerprint}, **QUICK
    )
    try:
        with pytest.raises(IdentityError, match="does not have the certificate that is in the plan"):
            failing(net, f"127.0.0.1:{impostor.port}", driver=net.identities["driver"].fingerprint, patience=60)
    finally:
        impostor.close()


def test_a_welcome_signed_for_someone_else_is_refused(net):
    driver = net.raw_driver()
    driver.start = b"e" * 16
    driver.identity, shown = net.identities["b"], net.identities["driver"]
    sign = driver.identity.sign
    driver.identity = type("Mixed", (), {"certificate": shown.certificate, "sign": staticmethod(sign)})
    with pytest.raises(IdentityError, match="was not made by the certificate's key"):
        failing(net, f"127.0.0.1:{driver.port}", patience=60)


def test_a_party_that_is_not_pinned_is_told_so_once_and_stops(net):
    driver = net.driver()
    with pytest.raises(IdentityError, match=r"does not accept this party's certificate: it is not pinned in the plan"):
        failing(net, f"127.0.0.1:{driver.port}", identity=net.identities["stranger"], patience=60)
    driver.events.wait("refused", "is not in the plan; ask the driver to pin it")


def test_a_party_whose_certificate_the_driver_does_not_trust_stops_after_a_few_tries(net):
    driver = net.driver()
    with pytest.raises(IdentityError, match="closes the connection right after the handshake"):
        failing(net, f"127.0.0.1:{driver.port}", identity=Authority("another").identity("a"), patience=60)


def test_a_party_with_an_expired_certificate_does_not_dial(net):
    with pytest.raises(IdentityError, match=r"The certificate of a expired on \d{4}-"):
        failing(net, "127.0.0.1:1", identity=net.authority.identity("a", -3, -2), patience=60)


def test_a_port_that_does_not_speak_tls_is_said(net):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            while True:
                try:
                    plain, _ = server.accept()
                except OSError:
                    return
                plain.recv(100)
                plain.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                plain.close()

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(PartyLost, match=r"does not speak TLS 1\.3"):
            failing(net, f"127.0.0.1:{server.getsockname()[1]}")
        server.shutdown(socket.SHUT_RDWR)


def test_a_ca_that_is_not_one_is_refused(net):
    with pytest.raises(IdentityError, match="The CA is not a certificate in PEM"):
        failing(net, "127.0.0.1:1", ca=b"nonsense")


def test_a_port_that_is_taken_is_refused(net):
    driver = net.driver()
    with pytest.raises(RunError, match=f"Cannot listen on 127.0.0.1:{driver.port}"):
        GrpcTransport(f"127.0.0.1:{driver.port}", net.identities["driver"], net.authority.pem, {"a": "00"})


def test_one_certificate_for_two_parties_is_refused(net):
    with pytest.raises(ParameterError, match="same certificate"):
        GrpcTransport("127.0.0.1:0", net.identities["driver"], net.authority.pem, {"a": "00:aA", "b": "00aa"})


def test_without_the_library_the_extra_is_named(net, monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(MissingExtra, match=r"pip install 'hedgerow\[grpc\]'"):
        GrpcTransport("127.0.0.1:0", net.identities["driver"], net.authority.pem, {"a": "00"})
    with pytest.raises(MissingExtra, match=r"pip install 'hedgerow\[grpc\]'"):
        failing(net, "127.0.0.1:1")
