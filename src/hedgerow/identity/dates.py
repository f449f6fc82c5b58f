"""What is checked of a certificate beyond what TLS checks."""

import datetime

from cryptography import x509

from hedgerow.errors import IdentityError


def check_dates(certificate: bytes, what: str) -> None:
    """Refuse a certificate (DER) before its first day and after its last."""
    try:
        parsed = x509.load_der_x509_certificate(certificate)
    except ValueError:
        raise IdentityError(f"{what} cannot be read; make a new one.") from None
    now = datetime.datetime.now(datetime.UTC)
    if now < parsed.not_valid_before_utc:
        raise IdentityError(f"{what} is valid only from {parsed.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on.")
    if now > parsed.not_valid_after_utc:
        raise IdentityError(f"{what} expired on {parsed.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; get a new one.")


def check_authority(ca: bytes) -> None:
    """Refuse what is not a list of certificates in PEM."""
    try:
        x509.load_pem_x509_certificates(ca)
    except ValueError:
        raise IdentityError("The CA is not a certificate in PEM; check the CA's file.") from None
