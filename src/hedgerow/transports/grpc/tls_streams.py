"""Streams of byte messages over gRPC with mutual TLS 1.3; the only file that imports gRPC.

gRPC for Python has no switch for the version of TLS. Its list of cipher suites is that of TLS 1.2 only, so a list
without a usable suite leaves TLS 1.3. `listen` greets itself in TLS 1.2 and refuses to start if that is accepted.
"""

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import HedgerowError, IdentityError, MissingExtra, PrivacyError, ProtocolError, RunError
from hedgerow.identity.identity import Identity
from hedgerow.transports.grpc import connections
from hedgerow.transports.grpc.envelope import MOST_MESSAGE, short

_NEVER_IN_TLS12 = "ECDHE-PSK-CHACHA20-POLY1305"
_HANDSHAKE = b"\x16"
_SERVICE, _METHOD = "hedgerow", "stream"
_LENGTHS = [("grpc.max_receive_message_length", MOST_MESSAGE), ("grpc.max_send_message_length", MOST_MESSAGE)]


class Broken(HedgerowError):
    """The stream could not be made or has ended; it may work later."""


class Shut(Broken):
    """The driver closed the connection right after the handshake, as it does with a certificate it does not trust."""


class Occupied(IdentityError):
    """Another process with the same certificate is connected."""


_REFUSALS: dict[type[HedgerowError], str] = {
    Occupied: "What listens at {address} already has a stream from a process with this party's certificate; stop one "
    "of the two processes.",
    IdentityError: "What listens at {address} does not accept this party's certificate: it is not pinned in the plan, "
    "out of date, revoked, or another party's; ask the driver's operator, whose output says which.",
    ProtocolError: "What listens at {address} refuses this party's greeting: it drives another run, or has another "
    "release of hedgerow; compare the run files and the releases.",
}
"""What a party says of a status before it knows whose it is."""


@dataclass(frozen=True)
class Caller:
    """A stream that a party opened, seen from the driver: its certificate (DER), its messages, and an end to it."""

    certificate: bytes
    messages: Iterator[bytes]
    cut: Callable[[], object]


@dataclass(frozen=True)
class Listener:
    """The driver's open port."""

    port: int
    stop: Callable[[], None]


class _Daemons(Executor):
    """A thread for each stream, none of which keeps a process from ending."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except Exception as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True, name="hedgerow-stream").start()
        return future


def library() -> Any:
    """The gRPC library, told to speak TLS 1.3 only and to keep its log to itself."""
    os.environ["GRPC_SSL_CIPHER_SUITES"] = _NEVER_IN_TLS12
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        import grpc
    except ImportError:
        raise MissingExtra("Parties in several places need gRPC; run: pip install 'hedgerow[grpc]'") from None
    return grpc


def listen(
    address: str, identity: Identity, ca: bytes, talk: Callable[[Caller], Iterator[bytes]], most_streams: int
) -> Listener:
    """Open the driver's port; `talk` is called for each stream, and a HedgerowError from it ends that stream."""
    grpc = library()

    def stream(messages: Any, context: Any) -> Iterator[bytes]:
        try:
            yield from talk(Caller(_certificate(context), _until_gone(grpc, messages), context.cancel))
        except HedgerowError as error:
            context.abort(_status(grpc, error), short(str(error)))

    options = [*_LENGTHS, *connections.limits(most_streams), ("grpc.so_reuseport", 0)]
    server = grpc.server(_Daemons(), options=options, maximum_concurrent_rpcs=most_streams)
    handler = grpc.stream_stream_rpc_method_handler(stream)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {_METHOD: handler}),))
    credentials = grpc.ssl_server_credentials([identity.pem()], ca, require_client_auth=True)
    try:
        port: int = server.add_secure_port(address, credentials)
    except RuntimeError:
        port = 0
    if not port:
        raise RunError(f"Cannot listen on {address}; check that it is this machine's and that the port is free.")
    server.start()
    try:
        _refuse_tls12(address, port)
    except PrivacyError:
        server.stop(0)
        raise
    return Listener(port, lambda: server.stop(0.5).wait(2) and None)


def _certificate(context: Any) -> bytes:
    shown = context.auth_context().get("x509_pem_cert", ())
    if len(shown) != 1:
        raise IdentityError("The connection shows no certificate; the driver accepts mutual TLS only.")
    return ssl.PEM_cert_to_DER_cert(shown[0].decode())


def _until_gone(grpc: Any, messages: Any) -> Iterator[bytes]:
    try:
        yield from messages
    except grpc.RpcError:
        return


def _refuse_tls12(address: str, port: int) -> None:
    host = address.rpartition(":")[0].strip("[]")
    if host in ("", "0.0.0.0", "::"):  # noqa: S104  # asked about, not listened on
        host = "localhost"
    try:
        with socket.create_connection((host, port), 5) as plain:
            plain.sendall(_hello_of_tls12())
            agreed = plain.recv(1) == _HANDSHAKE  # a refusal is an alert or the end
    except ConnectionError:
        return
    except OSError as error:
        raise PrivacyError(f"Cannot check that {address} refuses TLS 1.2: {error.strerror or error}.") from None
    if not agreed:
        return
    raise PrivacyError(
        "gRPC was imported in this process before hedgerow and would accept TLS 1.2; "
        "start the run in a process of its own."
    )


def _hello_of_tls12() -> bytes:
    """The first bytes of a client that knows nothing newer than TLS 1.2."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    said = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), said).do_handshake()
    return said.read()


def _status(grpc: Any, error: HedgerowError) -> Any:
    if isinstance(error, Occupied):
        return grpc.StatusCode.ALREADY_EXISTS
    return grpc.StatusCode.UNAUTHENTICATED if isinstance(error, IdentityError) else grpc.StatusCode.FAILED_PRECONDITION


class Dialled:
    """A stream to the driver, seen from a party: iterate over its messages; raises Broken or why the driver ended it.

    Whoever listens at the address chooses the text of a status. Until `known` is set, which is when the welcome of the
    pinned driver was verified, none of it goes into an error: a terminal or a log would show a stranger's words.
    """

    known = False

    def __init__(
        self, address: str, identity: Identity, ca: bytes, server_name: str | None, outgoing: Iterator[bytes]
    ) -> None:
        self._grpc, self._address = library(), address
        options: list[tuple[str, Any]] = [
            *_LENGTHS,
            ("grpc.use_local_subchannel_pool", 1),  # a new stream is a new connection, with no memory of failures
            ("grpc.enable_retries", 0),
        ]
        if server_name is not None:
            options.append(("grpc.ssl_target_name_override", server_name))
        credentials = self._grpc.ssl_channel_credentials(ca, *identity.pem())
        self._channel = self._grpc.secure_channel(address, credentials, options)
        self._call = self._channel.stream_stream(f"/{_SERVICE}/{_METHOD}")(outgoing)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._call
        except self._grpc.RpcError:
            raise self._what_happened() from None

    def cut(self) -> None:
        """End it from here."""
        self._call.cancel()
        self._channel.close()

    def _what_happened(self) -> HedgerowError:
        codes, code, details = self._grpc.StatusCode, self._call.code(), self._call.details() or ""
        if code == codes.UNIMPLEMENTED:
            return ProtocolError(f"What listens at {self._address} is not a driver of hedgerow; check the address.")
        kind = {
            codes.ALREADY_EXISTS: Occupied,
            codes.UNAUTHENTICATED: IdentityError,
            codes.PERMISSION_DENIED: IdentityError,
            codes.FAILED_PRECONDITION: ProtocolError,
        }.get(code)
        if kind is None:
            return _trouble(self._address, details)
        return kind(short(details) if self.known else _REFUSALS[kind].format(address=self._address))


def _trouble(address: str, details: str) -> HedgerowError:
    """What gRPC says of a connection that failed, as a sentence for the party's user."""
    if "Hostname Verification" in details:
        return IdentityError(
            f"The certificate shown at {address} was made for another host; put a host that it names into [driver] "
            "address, or have it made for this one (hedgerow certs renew --host)."
        )
    if any(sign in details for sign in ("CERTIFICATE_VERIFY_FAILED", "BAD_SIGNATURE", "certificate signature failure")):
        return IdentityError(
            f"The certificate shown at {address} is not signed by the CA given here, or is out of date; "
            "check the CA's file and the address."
        )
    if "Tls handshake failed" in details or "Ssl handshake failed" in details:
        return Broken(f"What listens at {address} does not speak TLS 1.3; check the address")
    if "refused" in details:
        return Broken(f"Nobody listens at {address}; check the address and that the driver was started")
    if "resolving" in details or "lookup" in details:
        return Broken(f"The host of {address} is not known; check the address")
    if "failed to connect" in details and "Socket closed" in details and "Handshake read" not in details:
        return Shut(
            f"The driver at {address} closes the connection right after the handshake; "
            "check that this party's certificate is in date and signed by the CA that the driver trusts"
        )
    return Broken(f"The connection to {address} broke; check the network and that the driver runs")
