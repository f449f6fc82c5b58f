"""Words of a server that a party does not know yet reach no error; what a status means is said in its own words."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from peers import QUICK, RUN
from typer.testing import CliRunner

from hedgerow import cli
from hedgerow.errors import HedgerowError, IdentityError, PartyLost, ProtocolError
from hedgerow.transports.grpc.party import serve
from hedgerow.transports.grpc.tls_streams import Dialled, library

grpc = library()
WORDS = "\x1b]0;title\x07\x1b[2JThe run is finished.\nhedgerow: now run this" + "A" * 5000
CODES = {
    "UNAUTHENTICATED": (IdentityError, "does not accept this party's certificate"),
    "PERMISSION_DENIED": (IdentityError, "does not accept this party's certificate"),
    "FAILED_PRECONDITION": (ProtocolError, "refuses this party's greeting"),
    "UNIMPLEMENTED": (ProtocolError, "is not a driver of hedgerow"),
    "UNAVAILABLE": (PartyLost, "broke; check the network"),
    "INTERNAL": (PartyLost, "broke; check the network"),
}


@contextmanager
def ending(net, code):
    """The port of a server with a certificate of the same CA, which ends every stream with this status."""

    def stream(_messages, context):
        context.abort(grpc.StatusCode[code], WORDS)
        yield b""

    server = grpc.server(ThreadPoolExecutor(2))
    handler = grpc.stream_stream_rpc_method_handler(stream)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("hedgerow", {"stream": handler}),))
    pair = net.identities["stranger"].pem()
    port = server.add_secure_port(
        "127.0.0.1:0", grpc.ssl_server_credentials([pair], net.authority.pem, require_client_auth=True)
    )
    server.start()
    try:
        yield port
    finally:
        server.stop(0)


def said(net, code):
    """The error of a party that dials such a server."""
    pin = net.identities["driver"].fingerprint
    with ending(net, code) as port, pytest.raises(HedgerowError, match=r"127\.0\.0\.1|title") as error:
        serve(
            f"127.0.0.1:{port}", net.identities["a"], net.authority.pem, "a", bytes, run=RUN, driver=pin, patience=0.3,
            **QUICK,
        )  # fmt: skip
    return error.value


@pytest.mark.parametrize("code", CODES)
def test_the_text_of_a_strangers_status_is_not_in_the_error(net, code):
    kind, sentence = CODES[code]
    error = said(net, code)
    assert isinstance(error, kind)
    assert sentence in str(error)
    assert str(error).isprintable()
    assert "finished" not in str(error)
    assert len(str(error)) < 300


def test_a_party_that_believes_the_text_is_noticed(net, monkeypatch):
    """The sabotage: a stream whose other end counts as known from the beginning."""
    monkeypatch.setattr(Dialled, "known", True)
    assert "The run is finished." in str(said(net, "FAILED_PRECONDITION"))


def test_the_status_of_the_driver_that_was_welcomed_is_told_in_its_own_words(net):
    driver = net.raw_driver()
    party = net.party(driver.port, "a", bytes, driver=net.identities["driver"].fingerprint)
    party.events.wait("here", "driver")

    def broken():
        raise ProtocolError("a broke the rules of the transport.")

    driver._next = broken
    result = party.ended()
    assert isinstance(result, ProtocolError)
    assert str(result) == "a broke the rules of the transport."


def test_an_error_is_printed_without_control_characters(monkeypatch):
    """The last line of defence: whatever an error holds, a terminal obeys none of it."""

    def broken(error):
        return cli.REFUSED, f"{error}\x1b[2J\x07"

    monkeypatch.setattr(cli, "_failure", broken)
    result = CliRunner().invoke(cli.app, ["show", "nothing.json"])
    assert "\x1b" not in result.stderr
    assert "\x07" not in result.stderr
    assert "\\x1b[2J" in result.stderr
