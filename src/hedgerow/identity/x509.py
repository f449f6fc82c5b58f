"""X.509 in memory: a certificate authority (CA), what it signs, and how both are read. `certs` keeps them in files."""

import datetime
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hedgerow.errors import IdentityError, ParameterError
from hedgerow.identity.identity import PrivateKey

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
MOST_DAYS = 36500
SKEW = datetime.timedelta(minutes=5)
"""By how much another's clock may be behind ours."""

_HOST = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*")
_USES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip
_BOTH_ENDS = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])


@dataclass(frozen=True, eq=False)
class Pair:
    """A certificate and the private key behind it."""

    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)

    @property
    def der(self) -> bytes:
        """The certificate's bytes."""
        return self.certificate.public_bytes(serialization.Encoding.DER)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A key on P-256."""
    return ec.generate_private_key(ec.SECP256R1())


def new_ca(name: str, until: datetime.datetime) -> Pair:
    """A CA that signs parties' certificates, not those of other CAs."""
    key, who = new_key(), named(name)
    built = (
        _begun(who, who, key.public_key(), until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage("key_cert_sign", "crl_sign"), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Pair(built, key)


def new_certificate(
    ca: Pair, name: str, key: PrivateKey, hosts: x509.SubjectAlternativeName, until: datetime.datetime
) -> Pair:
    """A party's certificate and its key."""
    return Pair(certified(ca, name, key.public_key(), hosts, until), key)


def certified(
    ca: Pair, name: str, key: PublicKey, hosts: x509.SubjectAlternativeName, until: datetime.datetime
) -> x509.Certificate:
    """A party's certificate for both ends of a connection; it ends with its CA at the latest."""
    return (
        _begun(named(name), ca.certificate.subject, key, min(until, ca.certificate.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage("digital_signature"), critical=True)
        .add_extension(_BOTH_ENDS, critical=False)
        .add_extension(hosts, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.key.public_key()), critical=False)
        .sign(ca.key, hashes.SHA256())
    )


def new_list(
    ca: Pair, old: x509.CertificateRevocationList | None, gone: x509.Certificate | None, until: datetime.datetime
) -> x509.CertificateRevocationList:
    """A revocation list with all of the old one, and this certificate; its number is one more."""
    number = 0 if old is None else old.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
    entries = list(old or ())
    if gone is not None and gone.serial_number not in serials(old):
        entries.append(x509.RevokedCertificateBuilder(gone.serial_number, now()).build())
    return (
        x509.CertificateRevocationListBuilder(revoked_certificates=entries)
        .issuer_name(ca.certificate.subject)
        .last_update(now() - SKEW)
        .next_update(until)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.key.public_key()), critical=False)
        .add_extension(x509.CRLNumber(number + 1), critical=False)
        .sign(ca.key, hashes.SHA256())
    )


def serials(crl: x509.CertificateRevocationList | None) -> frozenset[int]:
    """The serial numbers on a list."""
    return frozenset() if crl is None else frozenset(entry.serial_number for entry in crl)


def read_certificate(der: bytes) -> x509.Certificate:
    """A certificate from its bytes."""
    try:
        return x509.load_der_x509_certificate(der)
    except ValueError:
        raise IdentityError("What was given as a certificate is none; give one in DER.") from None


def read_authority(pem: bytes) -> x509.Certificate:
    """The certificate of a CA, from the file that the parties got."""
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError:
        raise IdentityError("The CA is not a certificate in PEM; give the ca.pem that the parties got.") from None


def read_list(pem: bytes, ca: x509.Certificate) -> x509.CertificateRevocationList:
    """A list that this CA signed and that covers all its certificates; whether it is current is another question."""
    try:
        crl = x509.load_pem_x509_crl(pem)
        partial = any(extension.critical for extension in crl.extensions)
    except ValueError:
        raise IdentityError("The revocation list is not one in PEM; get it again from who runs the CA.") from None
    key = ca.public_key()
    signs = isinstance(key, (ec.EllipticCurvePublicKey, rsa.RSAPublicKey)) and crl.is_signature_valid(key)
    if crl.issuer != ca.subject or not signs:
        raise IdentityError("The revocation list was not signed by the CA; get it again from who runs the CA.")
    if partial:
        raise IdentityError("The revocation list covers only some certificates; get a full one from who runs the CA.")
    return crl


def check_current(crl: x509.CertificateRevocationList) -> None:
    """Refuse a list past its next update: what was revoked since is not on it."""
    until = crl.next_update_utc
    if until is None or now() > until:
        when = "it names none" if until is None else f"{until:%Y-%m-%d}"
        raise IdentityError(
            f"The revocation list is past its next update ({when}); who runs the CA renews it with "
            "'hedgerow certs revoke FOLDER'."
        )
    if now() < crl.last_update_utc:
        raise IdentityError("The revocation list is from the future; look whether this machine's clock is right.")


def check_issued(ca: x509.Certificate, certificate: x509.Certificate, what: object) -> None:
    """Refuse a certificate that this CA did not sign."""
    try:
        certificate.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature):
        raise IdentityError(f"{what} was not issued by the CA of this folder; name one that was.") from None


def common_name(certificate: x509.Certificate | x509.CertificateSigningRequest) -> str:
    """The name in a certificate or a request for one, which anyone could have written there."""
    return next((str(a.value) for a in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)), "")


def alternatives(hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    """Host names and IP addresses as a certificate holds them."""
    found: list[x509.GeneralName] = []
    for host in hosts:
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            if not _HOST.fullmatch(host):
                raise ParameterError(f"{host!r} is neither a host name nor an IP address; correct it.") from None
            found.append(x509.DNSName(host))
    if not found:
        raise ParameterError("A certificate needs at least one host; name one.")
    return x509.SubjectAlternativeName(found)


def now() -> datetime.datetime:
    """The time, in UTC."""
    return datetime.datetime.now(datetime.UTC)


def in_days(days: int) -> datetime.datetime:
    """So many days from now."""
    if not 1 <= days <= MOST_DAYS:
        raise ParameterError(f"The days must be a number from 1 to {MOST_DAYS}; they are {days}.")
    return now() + datetime.timedelta(days=days)


def _begun(who: x509.Name, by: x509.Name, key: PublicKey, until: datetime.datetime) -> x509.CertificateBuilder:
    """What a CA's and a party's certificate have in common."""
    return (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(by)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - SKEW)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*uses: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{use: use in uses for use in _USES})


def named(name: str) -> x509.Name:
    """A name as certificates have it."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
