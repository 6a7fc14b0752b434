"""Deployed jobs of moments without a network: parties in folders, and every message recorded."""

import json

from dplasso.federated.deployment.settings import read_party_settings
from dplasso.federated.messages import PartyRelease, PartyRequest
from dplasso.federated.terms import Proposal
from dplasso.ledger import Budget
from party_folders import PARTIES
from recording_parties import open_coordinator, open_party

PEOPLE = 60


def proposed(**terms):
    """A small job of all parties; moments follow from the public rule."""
    usual = {"n_rows": PEOPLE, "epsilon": 1.0, "delta": 1e-6}
    return Proposal(parties=PARTIES, label_holder="clinic", **{**usual, **terms})


def opened(folder, name, job="job"):
    """A party, new or as it was left; its noise is recorded."""
    settings, _ = read_party_settings(folder / name, name)
    return open_party(settings, job)


class Job:
    """A job whose server and parties may be stopped and opened again at any exchange."""

    def __init__(self, folder, proposal=None):
        self.folder, self.proposal = folder, proposal or proposed()
        (folder / "server").mkdir(exist_ok=True)
        self.coordinator = open_coordinator(self.proposal, folder / "server")
        self.parties = {name: opened(folder, name) for name in PARTIES}
        self.past, self.requests = [], []

    def restart(self, name):
        """Close a party, and open it from its files."""
        self.parties[name].close()
        self.parties[name] = opened(self.folder, name)

    def restart_server(self):
        """A new server gets the same answers, and must come to the same requests."""
        again = open_coordinator(self.proposal, self.folder / "server")
        for requests, answers in zip(self.requests, self.past, strict=True):
            assert again.requests() == requests
            again.receive(answers)
        self.coordinator = again

    @property
    def kind(self):
        """The kind of the requests that are due, if any are."""
        requests = self.coordinator.requests()
        return PartyRequest.from_bytes(next(iter(requests.values()))).kind if requests else None

    def answers(self):
        asked = self.coordinator.requests()
        return {name: self.parties[name].answer(request) for name, request in asked.items()}

    def step(self):
        requests, answers = self.coordinator.requests(), self.answers()
        self.requests.append(requests)
        self.past.append(answers)
        self.coordinator.receive(answers)

    def until(self, kind, round=0):
        """Go on until a request of a kind is due."""
        while (found := self.kind) is not None:
            first = PartyRequest.from_bytes(next(iter(self.coordinator.requests().values())))
            if found == kind and first.round == round:
                return self
            self.step()
        raise AssertionError(f"the job ended before {kind!r}: {self.coordinator.ended}")

    def finish(self):
        while self.coordinator.requests():
            self.step()
        return self.card

    @property
    def card(self):
        return json.loads(self.coordinator.result())

    def releases(self, name):
        """What a party has sent, in order."""
        return [PartyRelease.from_bytes(answers[name]) for answers in self.past]

    def charges(self, name):
        """The charges of a party's ledger."""
        path = self.folder / name / "ledger.db"
        return [entry.event for entry in Budget.open(str(path)).entries()] if path.exists() else []

    def close(self):
        for party in self.parties.values():
            party.close()


def write_rows(folder, name, lines):
    """Replace a party's table."""
    (folder / name / "rows.csv").write_text("\n".join(["id,age,sick", *lines]) + "\n")


def some_rows(rng, people=range(PEOPLE), classes=("no", "yes")):
    """Lines of a table of these people."""
    return [f"p{k},{rng.integers(0, 100)},{rng.choice(classes)}" for k in people]
