"""Certificates for those who have none: a small certificate authority (CA) in a folder.

    ca.pem    ca.key      the CA's certificate and key, P-256
    NAME.pem  NAME.key    a party's; after renewals its former ones are NAME.old.pem, NAME.old.2.pem and so on
    crl.pem               what is revoked, signed by the CA; it must be renewed before its next update

Who holds `ca.key` can make a certificate in any name. A run withstands that because its plan pins fingerprints, not
names. Keys can be read by their owner alone from the moment they exist.
"""

import datetime
import fcntl
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from hedgerow.errors import IdentityError, ParameterError
from hedgerow.identity import x509 as issuing
from hedgerow.identity.identity import Identity, PrivateKey, fingerprint, load_certificate
from hedgerow.identity.x509 import Pair, PublicKey, in_days, read_certificate, serials
from hedgerow.storage.atomic import write_whole

HOSTS = ("localhost", "127.0.0.1")

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_OLD = re.compile(r"\.old(\.[0-9]+)?$", re.IGNORECASE)
_PRINT = re.compile(r"[0-9a-f]{64}")
_PEM = serialization.Encoding.PEM


@dataclass(frozen=True)
class Certificate:
    """A certificate in a file; `revoked` is None where no list lies beside it."""

    name: str
    file: Path
    fingerprint: str
    until: datetime.datetime
    revoked: bool | None = None


@dataclass(frozen=True)
class RevocationList:
    """A list that was written: its number, how many certificates are on it, and when it must be renewed."""

    file: Path
    number: int
    n_revoked: int
    until: datetime.datetime


def make_ca(folder: Path, name: str = "Hedgerow CA", days: int = 3650) -> Certificate:
    """A new CA in this folder, which is made if it is not there; never in place of another."""
    if not (1 <= len(name) <= 64 and name.isprintable()):
        raise ParameterError("The name of a CA must have 1 to 64 printable characters; choose another.")
    until = in_days(days)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise IdentityError(f"Cannot make the folder {folder}: {error.strerror or error}.") from None
    with _alone(folder):
        _check_free(folder, "ca")
        return _write(folder, "ca", issuing.new_ca(name, until))


def issue(folder: Path, *names: str, hosts: Sequence[str] = HOSTS, days: int = 365) -> list[Certificate]:
    """A new key and certificate for each name; nothing is written if one is refused."""
    san, until = issuing.alternatives(hosts), in_days(days)
    for name in names:
        check_name(name)
    if len({name.lower() for name in names}) != len(names):
        raise ParameterError("A name is given twice; give each party a name of its own.")
    with _alone(folder):
        ca = _load_ca(folder)
        for name in names:
            _check_free(folder, name)
        made = {name: issuing.new_certificate(ca, name, issuing.new_key(), san, until) for name in names}
        return [_write(folder, name, pair) for name, pair in made.items()]


def certify(
    folder: Path, asked: Sequence[tuple[str, PublicKey, x509.SubjectAlternativeName]], days: int
) -> list[Certificate]:
    """Certificates for keys that others hold; nothing is written if one is refused."""
    until = in_days(days)
    for name, _, _ in asked:
        check_name(name)
    if len({name.lower() for name, _, _ in asked}) != len(asked):
        raise ParameterError("Two requests are of one name; give each party a name of its own.")
    with _alone(folder):
        ca = _load_ca(folder)
        for name, _, _ in asked:
            _check_free(folder, name)
        made = {name: issuing.certified(ca, name, key, hosts, until) for name, key, hosts in asked}
        for name, certificate in made.items():
            write_whole(folder / f"{name}.pem", certificate.public_bytes(_PEM), IdentityError)
        files = {name: folder / f"{name}.pem" for name in made}
        return [_described(files[name], load_certificate(files[name]), None) for name in made]


def renew(folder: Path, name: str, hosts: Sequence[str] = (), days: int = 365, *, new_key: bool = False) -> Certificate:
    """A new certificate for the same key and, unless others are given, the same hosts; the fingerprint changes."""
    check_name(name)
    until = in_days(days)
    with _alone(folder):
        ca, old = _load_ca(folder), _load_pair(folder, name)
        issuing.check_issued(ca.certificate, old.certificate, folder / f"{name}.pem")
        if not new_key and old.certificate.serial_number in serials(_read_list(folder)):
            raise IdentityError(f"The certificate of {name} is revoked; renew it with a new key (--new-key).")
        kept = old.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        san = issuing.alternatives(hosts) if hosts else kept
        key = issuing.new_key() if new_key else old.key
        renewed = issuing.new_certificate(ca, name, key, san, until)
        _write(folder, _old_name(folder, name), old, with_key=new_key)
        return _write(folder, name, renewed, with_key=new_key)


def revoke(folder: Path, who: str | None = None, days: int = 30) -> RevocationList:
    """Put the certificate of a name or a fingerprint on the list, or none; the list holds for `days` from now."""
    until = in_days(days)
    with _alone(folder):
        ca = _load_ca(folder)
        gone = None if who is None else _find(folder, who)
        if gone is not None:
            issuing.check_issued(ca.certificate, gone, f"The certificate of {who}")
        signed = issuing.new_list(ca, _read_list(folder), gone, until)
        write_whole(folder / "crl.pem", signed.public_bytes(_PEM), IdentityError)
    number = signed.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
    return RevocationList(folder / "crl.pem", number, len(signed), until)


def revoked_checker(crl_pem: bytes, ca_pem: bytes) -> Callable[[bytes], bool]:
    """A function that says whether a certificate (DER) is on this list; refuses a list that cannot be trusted now."""
    crl = issuing.read_list(crl_pem, issuing.read_authority(ca_pem))
    issuing.check_current(crl)
    revoked = serials(crl)
    return lambda certificate: read_certificate(certificate).serial_number in revoked


def check_valid(certificate: bytes, at: datetime.datetime | None = None) -> None:
    """Refuse a certificate (DER) that is not valid at this time, or now."""
    found, at = read_certificate(certificate), at or issuing.now()
    name, begins, ends = issuing.common_name(found), found.not_valid_before_utc, found.not_valid_after_utc
    if at > ends:
        raise IdentityError(f"The certificate of {name!r} expired on {ends:%Y-%m-%d}; renew it, or make a new one.")
    if at < begins:
        raise IdentityError(
            f"The certificate of {name!r} is not valid before {begins:%Y-%m-%d %H:%M} UTC; "
            "look whether this machine's clock is right."
        )


def certificates(path: Path) -> list[Certificate]:
    """The certificate in a file, or those in a folder, with what the list beside them says."""
    if not path.is_dir():
        return [_described(path, load_certificate(path), _read_list(path.parent))]
    crl = _read_list(path)
    files = [file for file in sorted(path.glob("*.pem")) if b"BEGIN CERTIFICATE-" in file.read_bytes()]
    if not files:
        raise IdentityError(f"There is no certificate in {path}; name a folder with .pem files, or one such file.")
    return [_described(file, load_certificate(file), crl) for file in files]


def check_list(folder: Path) -> None:
    """Refuse a folder's revocation list that is not current; a folder may also have none."""
    crl = _read_list(folder)
    if crl is not None:
        issuing.check_current(crl)


def _load_ca(folder: Path) -> Pair:
    for file in (folder / "ca.pem", folder / "ca.key"):
        if not file.exists():
            raise IdentityError(f"There is no {file.name} in {folder}; make a CA with 'hedgerow certs ca {folder}'.")
    ca = _load_pair(folder, "ca")
    check_valid(ca.der)
    return ca


def _load_pair(folder: Path, name: str) -> Pair:
    file = folder / f"{name}.key"
    identity = Identity.load(folder / f"{name}.pem", file)
    key = serialization.load_pem_private_key(file.read_bytes(), None)
    return Pair(read_certificate(identity.certificate), cast(PrivateKey, key))


def _read_list(folder: Path) -> x509.CertificateRevocationList | None:
    """The list in this folder, checked against the CA there; None if either is not there."""
    file = folder / "crl.pem"
    if not file.exists() or not (folder / "ca.pem").exists():
        return None
    try:
        content = file.read_bytes()
    except OSError as error:
        raise IdentityError(f"Cannot read the revocation list {file}: {error.strerror or error}.") from None
    return issuing.read_list(content, read_certificate(load_certificate(folder / "ca.pem")))


def _find(folder: Path, who: str) -> x509.Certificate:
    """The certificate of a name or a fingerprint."""
    wanted = who.replace(":", "").lower()
    if not _PRINT.fullmatch(wanted):
        check_name(_OLD.sub("", who))
        return read_certificate(load_certificate(folder / f"{who}.pem"))
    found = [c.file for c in certificates(folder) if c.fingerprint == wanted and c.file.name != "ca.pem"]
    if not found:
        raise IdentityError(f"No party in {folder} has the fingerprint {wanted}; see 'hedgerow certs show {folder}'.")
    return read_certificate(load_certificate(found[0]))


def _described(file: Path, certificate: bytes, crl: x509.CertificateRevocationList | None) -> Certificate:
    found = read_certificate(certificate)
    revoked = None if crl is None else found.serial_number in serials(crl)
    return Certificate(issuing.common_name(found), file, fingerprint(certificate), found.not_valid_after_utc, revoked)


def _write(folder: Path, name: str, pair: Pair, *, with_key: bool = True) -> Certificate:
    """The key before the certificate: what has a certificate has a key."""
    if with_key:
        form, lock = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        write_whole(folder / f"{name}.key", pair.key.private_bytes(_PEM, form, lock), IdentityError, 0o600)
    file = folder / f"{name}.pem"
    write_whole(file, pair.certificate.public_bytes(_PEM), IdentityError)
    return _described(file, pair.der, None)


def _old_name(folder: Path, name: str) -> str:
    """A free name for what is renewed: it can only be revoked as long as it is kept."""
    names = itertools.chain([f"{name}.old"], (f"{name}.old.{i}" for i in itertools.count(2)))
    return next(old for old in names if not (folder / f"{old}.pem").exists())


def check_name(name: str) -> None:
    """Refuse what cannot be a party's name, and so part of a file's."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"{name!r} cannot be the name of a party: use at most 64 letters, digits, '-', '_' and '.', "
            "beginning with a letter, a digit or '_'."
        )
    if name.lower() in ("ca", "crl") or _OLD.search(name):
        raise ParameterError(f"{name!r} is a name that the folder needs for itself; choose another.")


def _check_free(folder: Path, name: str) -> None:
    for file in (folder / f"{name}.pem", folder / f"{name}.key"):
        if file.exists():
            raise IdentityError(
                f"{file} exists and is not overwritten; choose another name or folder, or move it away."
            )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One change of a folder at a time: of two revocations at once, none is lost."""
    if not folder.is_dir():
        raise IdentityError(f"There is no folder {folder}; make a CA there with 'hedgerow certs ca {folder}'.")
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise IdentityError(f"Cannot open the folder {folder}: {error.strerror or error}.") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
