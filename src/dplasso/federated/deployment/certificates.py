"""The check of a kit's own certificate, before the server rejects it."""

import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from dplasso.federated.deployment.kits import Kit

_SOON = timedelta(days=30)
_REMEDY = "ask the keeper of the authority to renew it (dplasso federated renew)"


def check_certificate(kit: Kit) -> None:
    """Refuse a certificate that has expired, or belongs to another participant or federation.

    The server checks the same in the handshake and when a party registers. A certificate that
    expires soon gives a warning.
    """
    own, root = load_certificate(kit.certificate), load_certificate(kit.startup / "rootCA.pem")
    name = own.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    if name != kit.name:
        raise ValueError(
            f"{kit.certificate} is the certificate of {name!s}, but this is the kit of {kit.name}; "
            "every participant needs its own"
        )
    now = datetime.now(UTC)
    for path, found in ((kit.certificate, own), (kit.startup / "rootCA.pem", root)):
        first, last = found.not_valid_before_utc, found.not_valid_after_utc
        if not first <= now <= last:
            raise ValueError(
                f"{path} is valid from {first:%Y-%m-%d} to {last:%Y-%m-%d} only; {_REMEDY}"
            )
        if last < now + _SOON:
            warnings.warn(f"{path} is valid until {last:%Y-%m-%d} only; {_REMEDY}", stacklevel=2)
    try:
        own.verify_directly_issued_by(root)
    except (InvalidSignature, TypeError, ValueError):
        raise ValueError(
            f"{kit.certificate} was not issued by this federation's authority"
        ) from None
    key = load_pem_private_key(kit.certificate.with_suffix(".key").read_bytes(), None)
    if key.public_key() != own.public_key():
        raise ValueError(f"{kit.certificate} does not belong to the key next to it")


def load_certificate(path: Path) -> x509.Certificate:
    """Read a certificate; anything else is refused."""
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError:
        raise ValueError(f"{path} is no certificate; ask for a new copy of the kit") from None
