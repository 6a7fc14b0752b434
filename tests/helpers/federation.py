"""A real federation on this machine: a server and three parties, each a process of its own, that
speak mutual TLS on loopback."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from dplasso.federated.deployment.provisioning import make_federation
from dplasso.storage.journal import Journal
from drawing_parties import HONEST

COMMAND = Path(sys.executable).with_name("dplasso")
PARTIES = ("clinic", "insurer", "registry")
USUAL = {"epsilon": 0.5, "delta": 1e-6, "radius": 1.0, "rounds": 9, "tau": HONEST}
USUAL |= {"sketch_size": 10, "n_rows": 100, "label_holder": "clinic", "parties": PARTIES}
LONG = 180.0  # seconds, for a busy machine
TESTS = str(Path(__file__).parent)
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([TESTS, os.environ.get("PYTHONPATH", "")]),
}

SUBMIT = """
import json, pathlib, sys
from dplasso.federated.terms import Proposal
from dplasso.federated.deployment.administration import administering
from dplasso.federated.deployment.kits import open_kit
with administering(open_kit(pathlib.Path(sys.argv[1]), "admin")) as admin:
    for terms in json.loads(sys.argv[2]):
        print(admin.submit(Proposal(**terms)))
"""


def until(true, what, seconds=LONG, pause=0.1):
    """Wait until ``true()`` is true, and return its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := true():
            return found
        time.sleep(pause)
    raise AssertionError(f"{what}: not within {seconds:g} seconds")


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG, env=ENVIRONMENT)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def set_in(path, **values):
    """Change settings in a file with one setting per line."""
    lines = path.read_text().splitlines()
    for name, value in values.items():
        (k,) = (k for k, line in enumerate(lines) if line.startswith(f"{name} = "))
        lines[k] = f"{name} = {json.dumps(value)}"
    path.write_text("\n".join(lines) + "\n")


def made(folder, port):
    """A federation whose parties draw numbers; the clinic will release less than the others."""
    kits = {kit.folder.name: kit for kit in make_federation(folder, "localhost", PARTIES, port)}
    for name in PARTIES:
        table = folder / name / "rows.csv"
        table.write_text("id,x\n1,0.5\n")
        limits = {"max_epsilon": 1.0 if name == "clinic" else 9.0, "max_delta": 1e-3}
        answers = "drawing_parties:open_party"
        settings = folder / name / "party.toml"
        set_in(settings, data="rows.csv", answers=answers, **limits)
        settings.write_text(settings.read_text() + 'x = "0:1"\n')
    coordinates = "drawing_parties:open_coordinator"
    set_in(folder / "server" / "server.toml", coordinates=coordinates, patience=LONG)
    return kits


class Federation:
    def __init__(self, folder):
        self.port = free_port()
        self.folder = folder / "federation"
        self.kits = made(self.folder, self.port)
        self._logs, self.processes = folder, {}

    def command(self, *words):
        done = run([COMMAND, "federated", *map(str, words)])
        assert done.returncode == 0, done.stderr
        return done.stdout

    def complaint(self, *words):
        """The error output of a command that is rejected."""
        done = run([COMMAND, "federated", *map(str, words)])
        assert done.returncode == 1
        return done.stderr

    def start(self, name):
        role = "server" if name == "server" else "party"
        with open(self.log(name), "a") as log:
            self.processes[name] = subprocess.Popen(
                [COMMAND, "federated", role, self.folder / name],
                stdout=log,
                stderr=log,
                env=ENVIRONMENT,
            )

    def log(self, name):
        return self._logs / f"{name}.log"

    def says(self, name, *words):
        """Whether the log of a process has all these words, the last after the first."""
        before, found, after = self.log(name).read_text().partition(words[0])
        return bool(found) and all(word in after for word in words[1:])

    def is_up(self):
        with contextlib.suppress(OSError):
            socket.create_connection(("localhost", self.port), 5).close()
            return True
        return False

    def start_all(self):
        for name in ("server", *PARTIES):
            self.start(name)
        until(self.is_up, "the server listens")
        for name in PARTIES:
            until(lambda name=name: self.registrations(name), f"{name} is registered")

    def registrations(self, name):
        return self.log(name).read_text().count("Successfully registered client")

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait(LONG)

    def stop(self, name):
        """Stop a process as the system would, and return how it ended."""
        self.processes[name].terminate()
        return self.processes[name].wait(LONG)

    def submit(self, *jobs):
        """Hand in jobs, one after another in one session; returns their ids."""
        terms = json.dumps([{**USUAL, **job} for job in jobs])
        return self.administer(SUBMIT, terms).split()

    def administer(self, script, *words):
        """Run a script with a session of the administrator."""
        done = run([sys.executable, "-c", script, self.folder / "admin", *words])
        assert done.returncode == 0, done.stderr
        return done.stdout

    def results(self, job):
        return self.folder / "server" / "results" / job

    def outcome(self, job, seconds=LONG):
        """How a job ended, and its model card."""
        path = self.results(job) / "outcome.json"
        until(path.exists, f"job {job} ends", seconds)
        card = json.loads((self.results(job) / "model_card.json").read_text())
        return json.loads(path.read_text()), card

    def drawn(self, name, job):
        """The numbers that a party has drawn for a job, in order."""
        path = self.folder / name / "state" / job / "drawn"
        if not path.exists():
            return []
        with Journal(path) as journal:
            return [json.loads(record) for record in journal.records()]

    def close(self):
        ends = {name: self.stop(name) for name in self.processes}
        assert set(ends.values()) <= {0, -9}, ends
