"""The federation of the README, word for word: what a new user types, sees and gets."""

import contextlib
import csv
import json
import re
import shlex
import socket
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("nvflare")

from dplasso.ledger import Budget  # noqa: E402
from federation import COMMAND, ENVIRONMENT, LONG, free_port, run, until  # noqa: E402

pytestmark = pytest.mark.xdist_group("federation of the README")  # one federation for all of them

README = Path(__file__).resolve().parents[3] / "README.md"
ROWS = 20_000  # as the README says
LEVELS = 'levels = ["a", "b"]'
BLANKS = {  # what is publicly known
    "clinic": {
        "low = 0 ": "low = 18 ",
        "high = ": "high = ",
        LEVELS: 'levels = ["no", "yes"]',
        "classes": "classes",
    },
    "insurer": {
        "low = 0 ": "low = 0 ",
        "high = 100": "high = 20",
        LEVELS: 'levels = ["Ulm", "Graz"]',
    },
}


def commands():
    """The commands of the README, without their comments."""
    text = README.read_text().partition("### From features that may not leave their owners")[2]
    block = re.search(r"```\n(.*?)```", text, flags=re.DOTALL)[1]
    return [words for line in block.splitlines() if (words := shlex.split(line, comments=True))]


def write_tables(folder):
    rng = np.random.default_rng(0)
    age, visits = rng.integers(18, 95, ROWS), rng.poisson(3, ROWS)
    smoker, town = rng.random(ROWS) < 0.3, rng.choice(["Ulm", "Graz"], ROWS)
    score = (age - 55) / 20 + 2 * (smoker - 0.3) + (visits - 3) / 2 + rng.normal(size=ROWS)
    smokes, sick = (np.where(known, "yes", "no") for known in (smoker, score > 0))
    tables = {
        "clinic": (("id", "age", "smoker", "sick"), (age, smokes, sick)),
        "insurer": (("id", "visits", "town"), (visits, town)),
    }
    for name, (heads, columns) in tables.items():
        with open(folder / f"{name}.csv", "w", newline="") as file:
            rows = zip((f"p{i}" for i in range(ROWS)), *columns, strict=True)
            csv.writer(file).writerows([heads, *rows])
    return score > 0


def fill_in(path):
    text = path.read_text()
    for blank, value in BLANKS[path.stem].items():
        assert f"# {blank}" in text
        text = text.replace(f"# {blank}", value, 1)
    path.write_text(text)


class Reader:
    """Types the commands of the README, in a folder of their own."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.port, self.job, self.said, self.processes = (
            folder,
            free_port(),
            "",
            {},
            [],
        )
        monkeypatch.chdir(folder)
        self.sick = write_tables(folder)
        for first, *words in commands():
            if first == "dplasso":
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
        if words[0] == "schema":
            fill_in(self.folder / words[words.index("-o") + 1])
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
        return all("Successfully registered" in self.log(name) for name in BLANKS)

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
        made = Reader(tmp_path_factory.mktemp("readme"), monkeypatch)
        try:
            yield made
        finally:
            made.close()


def test_the_federation_of_the_readme_learns_and_predicts(reader):
    card = json.loads((reader.folder / "card.json").read_text())
    assert card["ended"] == "complete" and card["privacy"]["epsilon"] == 3.0
    with open(reader.folder / "predictions.csv", newline="") as file:
        _, *rows = csv.reader(file)
    assert [row[0] for row in rows] == [f"p{i}" for i in range(ROWS)]
    right = np.mean((np.array([float(row[1]) for row in rows]) > 0) == reader.sick)
    assert right > max(np.mean(reader.sick), 1 - np.mean(reader.sick)) + 0.1


def test_status_counts_the_matrix_of_the_job(reader):
    last = reader.said["status"].splitlines()[-1]
    assert last.split()[-5:] == ["ended", "1", "of", "1", "complete"]


def test_the_log_of_a_party_says_how_the_job_ended_and_what_it_cost(reader):
    spent = Budget.open(reader.folder / "study" / "clinic" / "ledger.db").spent_rho
    for name in ("clinic", "insurer"):
        (line,) = (line for line in reader.log(name).splitlines() if "has ended" in line)
        assert f"job {reader.job} has ended: complete; released here: " in line
        assert "lists of pseudonyms, to the server 1, shares of the noisy matrix 1;" in line
        assert f"charged rho {spent:.4g}, which is epsilon 3 at delta 1e-06" in line


def test_predictions_and_margins_are_for_their_owner_alone(reader):
    for name in ("predictions.csv", "clinic_margins.csv", "insurer_margins.csv"):
        assert stat.S_IMODE((reader.folder / name).stat().st_mode) == 0o600
