"""The federation of two_parties.md, word for word: what a new user types, sees and gets."""

import contextlib
import csv
import json
import re
import shlex
import shutil
import socket
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("nvflare")

from doc_pages import blocks  # noqa: E402
from dplasso.ledger import Budget  # noqa: E402
from federation import COMMAND, ENVIRONMENT, LONG, free_port, run, until  # noqa: E402
from printed import difference  # noqa: E402

pytestmark = pytest.mark.xdist_group("federation of the tutorial")  # one federation for all of them

DOCS = Path(__file__).resolve().parents[3] / "docs"
TUTORIAL = DOCS / "tutorials" / "two_parties.md"
GUIDE = DOCS / "how_to" / "federated_deployment.md"
MARK = "<!-- run by tests/federated/deployment/test_by_the_tutorial.py -->\n"
PARTIES = ("clinic", "insurer")


def found(pattern, page=TUTORIAL):
    return re.findall(pattern, page.read_text(), flags=re.DOTALL)


def commands(page=TUTORIAL):
    """The commands of a page that are run here, without their comments."""
    lines = "".join(found(rf"{MARK}```sh\n(.*?)```", page)).splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def write_tables(folder):
    """Write the tables and schemas of the tutorial, and return its variables."""
    for name, text in found(r"<!-- file: (\w+\.toml) -->\n```toml\n(.*?)```"):
        (folder / name).write_text(text)
    names = {}
    exec(found(r"```python\n(.*?)```")[0], names)
    return names


class Reader:
    """Types the commands of the tutorial, in a folder of their own."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.port, self.job, self.said, self.processes = (
            folder,
            free_port(),
            "",
            {},
            [],
        )
        monkeypatch.chdir(folder)
        self.sick = write_tables(folder)["illness"] > 0
        for first, *words in commands():
            assert first == "dplasso"
            self.type(*(self.job if word == "JOB" else word for word in words))

    def type(self, *words):
        if words[:2] in (("federated", "server"), ("federated", "party")):
            self.start(words)
            return
        port = ("--port", str(self.port)) if words[:2] == ("federated", "init") else ()
        if words[:2] == ("federated", "submit"):
            until(self.all_are_here, "the parties are connected")
        done = run([COMMAND, *words, *port])
        assert done.returncode == 0, done.stderr
        if words[:2] == ("federated", "submit"):
            self.job = done.stdout.strip()
        self.said[words[1]] = done.stdout + done.stderr

    def start(self, words):
        name = Path(words[-1]).name
        with open(self.folder / f"{name}.log", "a") as log:
            process = subprocess.Popen([COMMAND, *words], stdout=log, stderr=log, env=ENVIRONMENT)
        self.processes.append(process)
        if name == "server":
            until(self.is_up, "the server listens")

    def is_up(self):
        with contextlib.suppress(OSError):
            socket.create_connection(("localhost", self.port), 5).close()
            return True
        return False

    def all_are_here(self):
        return all("Successfully registered" in self.log(name) for name in PARTIES)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def close(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(LONG)


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.delenv("PYTHONWARNINGS", raising=False)
        made = Reader(tmp_path_factory.mktemp("tutorial"), monkeypatch)
        try:
            yield made
        finally:
            made.close()


def test_the_federation_of_the_tutorial_learns_and_predicts(reader):
    card = json.loads((reader.folder / "card.json").read_text())
    assert card["ended"] == "complete" and card["privacy"]["epsilon"] == 3.0
    with open(reader.folder / "predictions.csv", newline="") as file:
        _, *rows = csv.reader(file)
    assert [row[0] for row in rows] == [f"p{i}" for i in range(len(reader.sick))]
    right = np.mean((np.array([float(row[1]) for row in rows]) > 0) == reader.sick)
    assert right > max(np.mean(reader.sick), 1 - np.mean(reader.sick)) + 0.1


def test_status_counts_the_matrix_of_the_job(reader):
    last = reader.said["status"].splitlines()[-1]
    assert last.split()[-5:] == ["ended", "1", "of", "1", "complete"]


def test_what_the_tutorial_shows_of_the_job_is_what_there_is(reader):
    status, coefficients = (
        next(block.code for block in blocks(TUTORIAL.read_text()) if block.code.startswith(word))
        for word in ("Parties", "feature,coefficient")
    )
    _, heading, last = reader.said["status"].rpartition("Parties")
    assert difference(status, heading + last) is None
    (written,) = reader.folder.glob("study/clinic/state/*/coefficients.csv")
    assert difference(coefficients, written.read_text(), "numbers vary") is None


def test_the_log_of_a_party_says_how_the_job_ended_and_what_it_cost(reader):
    spent = Budget.open(reader.folder / "study" / "clinic" / "ledger.db").spent_rho
    for name in PARTIES:
        (line,) = (line for line in reader.log(name).splitlines() if "has ended" in line)
        assert f"job {reader.job} has ended: complete; released here: " in line
        assert "lists of pseudonyms, to the server 1, shares of the noisy matrix 1;" in line
        assert f"charged rho {spent:.4g}, which is epsilon 3 at delta 1e-06" in line


def test_predictions_and_margins_are_for_their_owner_alone(reader):
    for name in ("predictions.csv", "clinic_margins.csv", "insurer_margins.csv"):
        assert stat.S_IMODE((reader.folder / name).stat().st_mode) == 0o600


def test_the_commands_of_the_guide_are_those_of_the_tutorial_or_run_after_them(reader):
    shutil.copy(reader.folder / "study" / "clinic" / "startup" / "client.crt", "clinic.crt")
    typed = commands()
    others = [words for words in commands(GUIDE) if words not in typed]
    assert [words[2] for words in others] == ["configure", "renew", "renew"]
    for _, *words in others:
        reader.type(*words)
    assert Budget.open(reader.folder / "study" / "clinic" / "ledger.db").epsilon == 12.0
