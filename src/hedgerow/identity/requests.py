"""Requests for certificates: a party makes its key where it stays, and only what the CA must sign travels.

NAME.key  NAME.csr    the party's key, and its request
NAME.pem              what the CA makes of it, to be sent back
"""

from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from hedgerow.errors import IdentityError
from hedgerow.identity import authority
from hedgerow.identity import x509 as issuing
from hedgerow.storage.atomic import write_whole

LEAST_RSA_BITS = 2048
_PEM = serialization.Encoding.PEM


def request(folder: Path, name: str, hosts: Sequence[str] = authority.HOSTS) -> Path:
    """A new key in this folder, and a request for its certificate; never in place of others."""
    authority.check_name(name)
    san, key = issuing.alternatives(hosts), issuing.new_key()
    for file in (folder / f"{name}.key", folder / f"{name}.csr"):
        if file.exists():
            raise IdentityError(f"There is a {file.name} in {folder} already; use it, or take it away first.")
    built = x509.CertificateSigningRequestBuilder().subject_name(issuing.named(name)).add_extension(san, critical=False)
    secret = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IdentityError(f"Cannot make the folder {folder}: {error.strerror or error}.") from None
    write_whole(folder / f"{name}.key", secret, IdentityError, 0o600)
    write_whole(folder / f"{name}.csr", built.sign(key, hashes.SHA256()).public_bytes(_PEM), IdentityError)
    return folder / f"{name}.csr"


def sign(folder: Path, files: Sequence[Path], days: int = 365) -> list[authority.Certificate]:
    """Certificates for these requests by the CA in this folder, each beside it as NAME.pem; all or none."""
    read = [_request(file) for file in files]
    return authority.certify(folder, [(issuing.common_name(one), *_key_and_hosts(one)) for one in read], days)


def _request(file: Path) -> x509.CertificateSigningRequest:
    try:
        found = x509.load_pem_x509_csr(file.read_bytes())
        genuine = found.is_signature_valid
    except OSError as error:
        raise IdentityError(f"Cannot read the request {file}: {error.strerror or error}.") from None
    except ValueError:
        raise IdentityError(
            f"{file} is no request for a certificate in PEM; give what `hedgerow certs request` wrote."
        ) from None
    if not genuine:
        raise IdentityError(f"The request {file} is not signed by the key in it; have it made anew.")
    return found


def _key_and_hosts(request: x509.CertificateSigningRequest) -> tuple[issuing.PublicKey, x509.SubjectAlternativeName]:
    """The key and the hosts of a request; nothing else in it is taken over."""
    key = request.public_key()
    weak = isinstance(key, rsa.RSAPublicKey) and key.key_size < LEAST_RSA_BITS
    if weak or not isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
        raise IdentityError(
            "A request holds a key that is too short or of another kind; use elliptic curves, or RSA of 2048 bits."
        )
    try:
        return key, request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return key, issuing.alternatives(authority.HOSTS)
