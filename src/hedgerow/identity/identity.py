"""Who a party is: a certificate and the key behind it.

A party is known by the SHA-256 fingerprint of its certificate, pinned in the run's plan and in each owner's policy.
Signatures are ECDSA over P-256 or RSA-PSS, with SHA-256; what is signed is named, so that a signature given for one
purpose proves nothing for another.
"""

import datetime
import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from hedgerow.errors import IdentityError

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_PSS = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)


def fingerprint(certificate: bytes) -> str:
    """The SHA-256 of a certificate in DER, in hexadecimal, as `openssl x509 -fingerprint -sha256` prints it."""
    return hashlib.sha256(certificate).hexdigest()


@dataclass(frozen=True, eq=False)
class Identity:
    """A party's certificate (DER) and its private key, which never leaves this object."""

    certificate: bytes
    _key: PrivateKey = field(repr=False)

    @classmethod
    def load(cls, certificate: Path, key: Path) -> "Identity":
        """From two PEM files; refuses a key that does not belong to the certificate."""
        der = load_certificate(certificate)
        try:
            secret = serialization.load_pem_private_key(key.read_bytes(), None)
        except OSError as error:
            raise IdentityError(f"Cannot read the key {key}: {error.strerror or error}.") from None
        except (ValueError, TypeError):
            raise IdentityError(f"{key} is not an unencrypted private key in PEM.") from None
        if not isinstance(secret, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
            raise IdentityError(f"{key} is neither an elliptic-curve nor an RSA key; make one with `hedgerow certs`.")
        if secret.public_key() != x509.load_der_x509_certificate(der).public_key():
            raise IdentityError(f"The key {key} does not belong to the certificate {certificate}.")
        return cls(der, secret)

    @classmethod
    def fresh(cls, name: str) -> "Identity":
        """A new key with a certificate signed by itself, for parties that live in one process."""
        key = ec.generate_private_key(ec.SECP256R1())
        who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.UTC)
        built = (
            x509.CertificateBuilder()
            .subject_name(who)
            .issuer_name(who)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=1))
            .sign(key, hashes.SHA256())
        )
        return cls(built.public_bytes(serialization.Encoding.DER), key)

    @property
    def fingerprint(self) -> str:
        """By which others know this party."""
        return fingerprint(self.certificate)

    def pem(self) -> tuple[bytes, bytes]:
        """The private key and the certificate as TLS libraries want them; the key stays in this process's memory."""
        secret = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        shown = x509.load_der_x509_certificate(self.certificate).public_bytes(serialization.Encoding.PEM)
        return secret, shown

    def sign(self, purpose: str, message: bytes) -> bytes:
        """A signature that holds for this purpose only."""
        named = _named(purpose, message)
        if isinstance(self._key, rsa.RSAPrivateKey):
            return self._key.sign(named, _PSS, hashes.SHA256())
        return self._key.sign(named, ec.ECDSA(hashes.SHA256()))


def load_certificate(path: Path) -> bytes:
    """A PEM certificate as DER."""
    try:
        return x509.load_pem_x509_certificate(path.read_bytes()).public_bytes(serialization.Encoding.DER)
    except OSError as error:
        raise IdentityError(f"Cannot read the certificate {path}: {error.strerror or error}.") from None
    except ValueError:
        raise IdentityError(f"{path} is not a certificate in PEM.") from None


@lru_cache(maxsize=256)  # the parties of one process check the same signatures; refusals are not kept
def verify(certificate: bytes, purpose: str, message: bytes, signature: bytes) -> None:
    """Refuse a signature that the certificate's key did not make for this purpose."""
    try:
        public = x509.load_der_x509_certificate(certificate).public_key()
        named = _named(purpose, message)
        if isinstance(public, rsa.RSAPublicKey):
            public.verify(signature, named, _PSS, hashes.SHA256())
        elif isinstance(public, ec.EllipticCurvePublicKey):
            public.verify(signature, named, ec.ECDSA(hashes.SHA256()))
        else:
            raise IdentityError("A certificate holds a key that is neither elliptic-curve nor RSA.")
    except (InvalidSignature, ValueError):
        raise IdentityError(f"A signature for {purpose!r} was not made by the certificate's key.") from None


def _named(purpose: str, message: bytes) -> bytes:
    return b"hedgerow " + purpose.encode() + b"\0" + message
