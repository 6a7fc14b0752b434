"""A small federation for tests of its transport: parties draw numbers, durably, and a coordinator
collects them. Some coordinators misbehave."""

import hashlib
import json
import secrets

from dplasso.federated import Refused
from dplasso.storage.journal import Journal

HONEST, CORRUPTING, REPLAYING = 1, 2, 3  # as `tau` of a job's terms
MISBEHAVES_IN = 4  # this round
PADDING = "x" * 12_000  # answers of a real party are about as long


def sealed(content):
    body = json.dumps(content)
    return json.dumps({"body": body, "seal": hashlib.sha256(body.encode()).hexdigest()}).encode()


def unsealed(request):
    try:
        told = json.loads(request)
        fine = hashlib.sha256(told["body"].encode()).hexdigest() == told["seal"]
    except (KeyError, ValueError):
        fine = False
    if not fine:
        raise Refused("the request is corrupt")
    return json.loads(told["body"])


class Party:
    """Draws a number for each round, and writes it to disk before it answers."""

    def __init__(self, holdings, job):
        self._holdings, self._job = holdings, job
        folder = holdings.state / job
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "drawn"
        with Journal(self._path) as journal:
            self._drawn = [json.loads(record) for record in journal.records()]

    def close(self):
        """Nothing stays open between requests."""

    def answer(self, request):
        asked = unsealed(request)
        if asked["job"] != self._job:
            raise Refused("the request is of another job")
        if asked["epsilon"] > self._holdings.max_epsilon:
            raise Refused("epsilon is beyond what this party will ever release")
        here = len(self._drawn)
        if asked["round"] not in (here - 1, here):
            raise Refused("the request is out of order")
        if asked["round"] == here:
            drawn = secrets.token_hex(8)
            with Journal(self._path) as journal:
                journal.append(json.dumps(drawn).encode())
            self._drawn.append(drawn)
        return json.dumps([self._drawn[asked["round"]], PADDING]).encode()


class Coordinator:
    def __init__(self, proposal):
        self.parties, self._terms, self._job = proposal.parties, proposal, proposal.job
        self._over = ""
        self._told, self._lost, self._sent = {party: [] for party in proposal.parties}, {}, []

    def requests(self):
        k = len(self._sent)
        if self._lost or self._over or k == self._terms.rounds:
            return {}
        request = sealed({"job": self._job, "round": k, "epsilon": self._terms.epsilon})
        self._sent.append(request)
        if k == MISBEHAVES_IN and self._terms.tau == CORRUPTING:
            request = request.replace(b"round", b"rouND")
        if k == MISBEHAVES_IN and self._terms.tau == REPLAYING:
            request = self._sent[1]
        return dict.fromkeys(self.parties, request)

    def receive(self, answers):
        for party, answer in answers.items():
            self._told[party].append(json.loads(answer)[0])

    def lose(self, party, why):
        self._lost[party] = why

    @property
    def rounds(self):
        return min(map(len, self._told.values())), self._terms.rounds

    @property
    def ended(self):
        return self._over or "complete"

    def end(self, why):
        self._over = why

    def result(self):
        return json.dumps({"told": self._told, "lost": self._lost, "ended": self._over}).encode()


def open_party(holdings, job):
    return Party(holdings, job)


def open_coordinator(proposal, folder):
    return Coordinator(proposal)
