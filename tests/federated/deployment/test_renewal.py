"""Certificates that are renewed in place: the same names and keys, accepted where the old were."""

import shutil
import ssl
import warnings
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("nvflare")

from cryptography.hazmat.primitives.serialization import Encoding  # noqa: E402

from dplasso.federated.deployment import renewal  # noqa: E402
from dplasso.federated.deployment.certificates import (  # noqa: E402
    check_certificate,
    load_certificate,
)
from dplasso.federated.deployment.kits import read_kit  # noqa: E402
from dplasso.federated.deployment.provisioning import make_federation  # noqa: E402
from dplasso.federated.deployment.renewal import Authority  # noqa: E402

KITS = ("server", "admin", "clinic", "insurer")


@pytest.fixture(scope="module")
def provisioned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "study"
    make_federation(folder, "localhost", ["clinic", "insurer"], 4321)
    return folder


@pytest.fixture
def study(provisioned, tmp_path):
    return shutil.copytree(provisioned, tmp_path / "study")


def age(study, left, kits=KITS, root=None):
    """Let certificates have been issued so that ``left`` is left of them."""
    authority = Authority(study / "authority")
    if root is not None:
        authority._certificate = authority._issued(authority._certificate, root)
        for place in (study / "authority", *(study / kit / "startup" for kit in kits)):
            (place / "rootCA.pem").write_bytes(authority._certificate.public_bytes(Encoding.PEM))
    for kit in kits:
        path = read_kit(study / kit).certificate
        old = authority._issued(load_certificate(path), left)
        path.write_bytes(old.public_bytes(Encoding.PEM))


def shake_hands(study, client):
    """Mutual TLS between the server and a client, by their files alone."""
    contexts = []
    for kit, purpose in (("server", ssl.Purpose.CLIENT_AUTH), (client, ssl.Purpose.SERVER_AUTH)):
        found = read_kit(study / kit)
        context = ssl.create_default_context(purpose, cafile=found.startup / "rootCA.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(found.certificate, found.certificate.with_suffix(".key"))
        contexts.append(context)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        contexts[0].wrap_bio(to_server, to_client, server_side=True),
        contexts[1].wrap_bio(to_client, to_server, server_hostname="localhost"),
    ]
    for _ in range(10):
        for side in list(sides):
            try:
                side.do_handshake()
                sides.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert not sides


def test_expired_certificates_are_refused_and_renewed_ones_accepted(study):
    age(study, timedelta(minutes=-1))
    with pytest.raises(ValueError, match="only; ask the keeper of the authority to renew it"):
        check_certificate(read_kit(study / "clinic"))
    with pytest.raises(ssl.SSLError):
        shake_hands(study, "clinic")
    kept = {kit: read_kit(study / kit).certificate.with_suffix(".key").read_bytes() for kit in KITS}
    renewed = Authority(study / "authority").renew([study / kit for kit in KITS])
    assert [one.name for one in renewed] == [read_kit(study / kit).name for kit in KITS]
    for kit, one in zip(KITS, renewed, strict=True):
        assert one.until > datetime.now(UTC) + timedelta(days=300)
        assert one.path.with_suffix(".key").read_bytes() == kept[kit]
        assert one.path.stat().st_mode & 0o077 == 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_certificate(read_kit(study / kit))
    for client in ("clinic", "insurer", "admin"):
        shake_hands(study, client)


def test_what_a_certificate_says_stays_the_same(study):
    for kit in KITS:
        path = read_kit(study / kit).certificate
        before = load_certificate(path)
        Authority(study / "authority").renew([study / kit])
        after = load_certificate(path)
        assert (after.subject, after.issuer) == (before.subject, before.issuer)
        assert after.public_key() == before.public_key()
        assert list(after.extensions) == list(before.extensions)
        assert after.serial_number != before.serial_number


def test_a_copy_of_a_certificate_is_enough(study, tmp_path):
    """Its owner sends it, and puts it back: the key never leaves the kit."""
    age(study, timedelta(minutes=-1), kits=["clinic"])
    own = read_kit(study / "clinic").certificate
    shutil.copy(own, tmp_path / "clinic.crt")
    Authority(study / "authority").renew([tmp_path / "clinic.crt"])
    shutil.copy(tmp_path / "clinic.crt", own)
    check_certificate(read_kit(study / "clinic"))
    shake_hands(study, "clinic")


def test_an_authority_of_a_year_renews_itself(study):
    """As the first versions made them: kits with its old certificate still know the new kits."""
    age(study, timedelta(days=20), root=timedelta(days=20))
    with pytest.warns(UserWarning, match="is valid until .* renew it"):
        check_certificate(read_kit(study / "clinic"))
    Authority(study / "authority").renew([study / "server", study / "clinic"])
    for client in ("clinic", "insurer"):
        shake_hands(study, client)
    lasts = load_certificate(study / "clinic" / "startup" / "rootCA.pem").not_valid_after_utc
    assert lasts > datetime.now(UTC) + timedelta(days=renewal.AUTHORITY_DAYS - 2)


def test_a_foreign_certificate_is_not_renewed_nor_any_given_with_it(study, tmp_path):
    make_federation(tmp_path / "other", "localhost", ["clinic", "insurer"], 4321)
    own = read_kit(study / "clinic").certificate
    before = own.read_bytes()
    with pytest.raises(ValueError, match="is not of this authority; nothing was renewed"):
        Authority(study / "authority").renew([study / "clinic", tmp_path / "other" / "clinic"])
    assert own.read_bytes() == before
    with pytest.raises(ValueError, match="is no authority"):
        Authority(study / "clinic")
    shutil.copy(tmp_path / "other" / "authority" / "rootCA.key", study / "authority")
    with pytest.raises(ValueError, match="is not the key of"):
        Authority(study / "authority")
