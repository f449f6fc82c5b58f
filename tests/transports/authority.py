"""A small certificate authority for tests."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hedgerow.identity.identity import Identity

LOCAL = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
DAY = datetime.timedelta(days=1)


class Authority:
    def __init__(self, name: str = "test authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        built = _builder(self._name, self._name, self._key, -1, 1)
        built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.pem = built.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def identity(self, name: str, first_day: float = -0.5, last_day: float = 0.5, hosts=LOCAL) -> Identity:
        key = ec.generate_private_key(ec.SECP256R1())
        built = _builder(_named(name), self._name, key, first_day, last_day)
        built = built.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        return Identity(built.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.DER), key)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(subject, issuer, key, first_day, last_day) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + first_day * DAY)
        .not_valid_after(now + last_day * DAY)
    )
