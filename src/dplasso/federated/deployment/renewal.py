"""Renewed certificates: the same names and keys, valid for longer, issued by the same authority."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import NameOID

from dplasso.federated.deployment.certificates import load_certificate
from dplasso.federated.deployment.kits import read_kit
from dplasso.storage.atomic import replace_file

AUTHORITY_DAYS = 20 * 365
_DAYS = 360
_EARLIER = timedelta(minutes=5)  # for clocks that are a little behind


@dataclass(frozen=True)
class Renewed:
    """A certificate that was renewed in place."""

    name: str
    until: datetime
    path: Path


class Authority:
    """The authority of a federation, which issued all certificates of its kits.

    It renews itself, with the same name and key, before it would end earlier than a certificate
    that it issues. Its old and its new certificate verify the same signatures.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "rootCA.pem"
        if not self._path.is_file() or not (folder / "rootCA.key").is_file():
            raise ValueError(
                f"{folder} is no authority: it lacks rootCA.pem or rootCA.key; give the folder "
                "authority that dplasso federated init made"
            )
        self._certificate = load_certificate(self._path)
        key = load_pem_private_key((folder / "rootCA.key").read_bytes(), None)
        if not isinstance(key, RSAPrivateKey) or key.public_key() != self._certificate.public_key():
            raise ValueError(f"rootCA.key in {folder} is not the key of rootCA.pem")
        self._key = key

    def renew(self, places: Sequence[Path]) -> list[Renewed]:
        """Renew the certificates of kits, or copies of kits' certificates, in place.

        Private keys stay where they are: only certificates, which are public, are needed. If one
        of them was not issued by this authority, none is renewed.
        """
        old = {place: self._own(place) for place in places}
        self._last_longer(timedelta(days=_DAYS))
        return [self._renewed(place, found) for place, found in old.items()]

    def _own(self, place: Path) -> x509.Certificate:
        """Read a certificate that this authority has issued; it may have expired."""
        found = load_certificate(_path_of(place))
        try:
            found.verify_directly_issued_by(self._certificate)
        except (InvalidSignature, TypeError, ValueError):
            raise ValueError(f"{place} is not of this authority; nothing was renewed") from None
        return found

    def _renewed(self, place: Path, old: x509.Certificate) -> Renewed:
        path, new = _path_of(place), self._issued(old, timedelta(days=_DAYS))
        if place.is_dir():
            _write(path.with_name("rootCA.pem"), self._certificate)
        _write(path, new)
        name = new.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
        return Renewed(str(name), new.not_valid_after_utc, path)

    def _last_longer(self, wanted: timedelta) -> None:
        if self._certificate.not_valid_after_utc < datetime.now(UTC) + wanted:
            self._certificate = self._issued(self._certificate, timedelta(days=AUTHORITY_DAYS))
            _write(self._path, self._certificate)

    def _issued(self, old: x509.Certificate, valid: timedelta) -> x509.Certificate:
        now = datetime.now(UTC)
        new = (
            x509.CertificateBuilder()
            .subject_name(old.subject)
            .issuer_name(old.issuer)
            .public_key(old.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _EARLIER)
            .not_valid_after(now + valid)
        )
        for extension in old.extensions:
            new = new.add_extension(extension.value, extension.critical)
        return new.sign(self._key, hashes.SHA256())


def _path_of(place: Path) -> Path:
    return read_kit(place).certificate if place.is_dir() else place


def _write(path: Path, certificate: x509.Certificate) -> None:
    replace_file(path, certificate.public_bytes(Encoding.PEM))
