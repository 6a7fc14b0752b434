"""Who is not let in: by the server's handshake, at its registration, and by the policy for jobs."""

import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("nvflare")

from cryptography import x509  # noqa: E402
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: E402
from cryptography.x509.oid import NameOID  # noqa: E402

from dplasso.federated.deployment.certificates import check_certificate  # noqa: E402
from dplasso.federated.deployment.permissions import write_policy  # noqa: E402
from federation import ENVIRONMENT, LONG, PARTIES, USUAL, made, until  # noqa: E402

pytestmark = pytest.mark.xdist_group("federation")  # one federation for all of them


def issue(folder, authority, name, days):
    """A key and a certificate by an authority, for so many days from now; less than 0: over."""
    folder.mkdir()
    root = x509.load_pem_x509_certificate((authority / "rootCA.pem").read_bytes())
    signer = serialization.load_pem_private_key((authority / "rootCA.key").read_bytes(), None)
    key, now = rsa.generate_private_key(65537, 2048), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder(
            root.subject, subject, key.public_key(), x509.random_serial_number()
        )
        .not_valid_before(now - timedelta(days=30))
        .not_valid_after(now + timedelta(days=days))
        .sign(signer, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    (folder / "client.key").write_bytes(key.private_bytes(pem, form, plain))
    (folder / "client.crt").write_bytes(certificate.public_bytes(pem))
    return folder


@contextlib.contextmanager
def connection(federation, pair):
    """A connection to the server by whoever has this certificate, or none."""
    context = ssl.create_default_context(cafile=federation.folder / "authority" / "rootCA.pem")
    context.check_hostname = False
    if pair is not None:
        context.load_cert_chain(pair / "client.crt", pair / "client.key")
    with (
        socket.create_connection(("localhost", federation.port), LONG) as plain,
        context.wrap_socket(plain) as safe,
    ):
        yield safe


def is_turned_away(federation, pair):
    """Whether the server hangs up; it says nothing before it is spoken to."""
    try:
        with connection(federation, pair) as line:
            return not line.recv(1)
    except (ssl.SSLError, ConnectionError):
        return True


def test_only_a_valid_certificate_of_the_authority_gets_through_the_handshake(federation, tmp_path):
    authority = federation.folder / "authority"
    other = made(tmp_path / "other", federation.port)["clinic"]
    over = issue(tmp_path / "over", authority, "clinic", days=-1)
    for pair in (None, over, other.startup):
        assert is_turned_away(federation, pair)
    fresh = issue(tmp_path / "fresh", authority, "clinic", days=1)
    with connection(federation, fresh) as line:
        taken = f"<= 127.0.0.1:{line.getsockname()[1]} SSL clinic] is created"
        until(lambda: taken in federation.log("server").read_text(), "the server lets it in")


def test_a_party_cannot_take_the_name_of_another(federation, tmp_path):
    """NVFlare's own client, past our checks: the certificate of one, and the name of another."""
    kit = replace(federation.kits["insurer"], folder=tmp_path / "insurer")
    shutil.copytree(federation.folder / "insurer", kit.folder)
    write_policy(kit, data=str(kit.folder / "rows.csv"))
    told = ["secure_train=true", "uid=clinic", "org=federation", "config_folder=config"]
    client = "nvflare.private.fed.app.client.client_train"
    command = [sys.executable, "-m", client, "-m", kit.folder, "-s", "fed_client.json", "--set"]
    with open(tmp_path / "log", "w") as log:
        impostor = subprocess.Popen([*command, *told], stdout=log, stderr=log, env=ENVIRONMENT)
    refusal = "authenticated as 'insurer' but claimed endpoint 'clinic'"
    try:
        until(lambda: refusal in federation.log("server").read_text(), "the server hangs up")
    finally:
        impostor.kill()
        impostor.wait(LONG)
    assert "Successfully registered" not in (tmp_path / "log").read_text()


# Two jobs that an administrator may not have run: one brings code, one names another class.
FOREIGN = """
import json, pathlib, sys
from dplasso.federated.terms import Proposal
from dplasso.federated.deployment import administration
from dplasso.federated.deployment.kits import open_kit
written, terms = administration._write_job, json.loads(sys.argv[2])
def with_code(*told):
    job = written(*told)
    (job / "federation" / "custom").mkdir()
    (job / "federation" / "custom" / "code.py").write_text("raise SystemExit")
    return job
def of_another_class(*told):
    job = written(*told)
    path = job / "federation" / "config" / "config_fed_server.json"
    path.write_text(path.read_text().replace("coordination.Coordination", "attendance.Attendance"))
    return job
with administration.administering(open_kit(pathlib.Path(sys.argv[1]), "admin")) as admin:
    for administration._write_job in (with_code, of_another_class):
        print(admin.submit(Proposal(**terms)))
"""


def test_a_job_brings_no_code_and_builds_no_class_but_ours(federation, tmp_path):
    said = federation.administer(FOREIGN, json.dumps(USUAL)).split()
    for job, why in zip(said, ("BYOC not permitted", "is not in allow_list"), strict=True):
        until(lambda job=job, why=why: federation.says("server", job, why), "the job is refused")
        assert not any(federation.drawn(name, job) for name in PARTIES)
    admin = federation.folder / "admin"
    seen = json.loads(federation.command("status", admin, "--follow", "--json").splitlines()[-1])
    states = {job["job"]: job["state"] for job in seen["jobs"]}
    assert [states[job] for job in said] == ["failed", "failed"]
    for job, why in ((said[0], "has no model card yet"), ("none", "there is no job none")):
        assert why in federation.complaint("fetch", admin, job, "-o", tmp_path / "card.json")


def test_a_kit_that_would_be_turned_away_says_so_itself(federation, tmp_path):
    authority = federation.folder / "authority"
    other = made(tmp_path / "other", federation.port)["clinic"]
    wrong = {
        "only; ask for a new kit": issue(tmp_path / "over", authority, "clinic", days=-1),
        "certificate of insurer": federation.kits["insurer"].startup,
        "not issued by this federation": other.startup,
    }
    for message, pair in wrong.items():
        kit = replace(federation.kits["clinic"], folder=tmp_path / message)
        shutil.copytree(federation.folder / "clinic", kit.folder)
        for name in ("client.crt", "client.key"):
            shutil.copy(pair / name, kit.startup)
        with pytest.raises(ValueError, match=message):
            check_certificate(kit)
    shutil.copy(federation.kits["clinic"].certificate, kit.startup)
    with pytest.raises(ValueError, match="does not belong to the key"):
        check_certificate(kit)
    check_certificate(federation.kits["clinic"])
