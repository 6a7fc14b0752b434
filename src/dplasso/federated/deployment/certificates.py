"""The check of a kit's own certificate, before the server rejects it."""

from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from dplasso.federated.deployment.kits import Kit


def check_certificate(kit: Kit) -> None:
    """Refuse a certificate that has expired, or belongs to another participant or federation.

    The server checks the same in the handshake and when a party registers.
    """
    own, root = (_load(kit, path.name) for path in (kit.certificate, kit.startup / "rootCA.pem"))
    name = own.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    if name != kit.name:
        raise ValueError(
            f"{kit.certificate} is the certificate of {name!s}, but this is the kit of {kit.name}; "
            "every participant needs its own"
        )
    now = datetime.now(UTC)
    if not own.not_valid_before_utc <= now <= own.not_valid_after_utc:
        raise ValueError(
            f"{kit.certificate} is valid from {own.not_valid_before_utc:%Y-%m-%d} to "
            f"{own.not_valid_after_utc:%Y-%m-%d} only; ask for a new kit"
        )
    try:
        own.verify_directly_issued_by(root)
    except (InvalidSignature, TypeError, ValueError):
        raise ValueError(
            f"{kit.certificate} was not issued by this federation's authority"
        ) from None
    key = load_pem_private_key(kit.certificate.with_suffix(".key").read_bytes(), None)
    if key.public_key() != own.public_key():
        raise ValueError(f"{kit.certificate} does not belong to the key next to it")


def _load(kit: Kit, name: str) -> x509.Certificate:
    path = kit.startup / name
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError:
        raise ValueError(f"{path} is no certificate; ask for a new copy of the kit") from None
