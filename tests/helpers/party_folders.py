"""Parties in folders, as their owners set them up, and jobs on them without a network."""

import numpy as np

from dplasso.federated.deployment.settings import read_party_settings
from dplasso.federated.service import open_coordinator
from dplasso.federated.terms import Proposal
from dplasso.ledger import Budget

PARTIES = ("clinic", "insurer", "registry")
SECRET = "ab" * 32
PARTY = """\
data = "rows.csv"
id_column = "id"
{labels}
y_bound = 1.0
max_epsilon = {epsilon}
max_delta = 1e-6
max_row_budget = 100.0
secret = "secret"
ledger = "ledger.db"
state = "state"
answers = "dplasso.federated.service:open_party"

[columns]
age = "0:100"
"""
LABELS = 'label_column = "sick"\nclasses = ["no", "yes"]'


def set_up(folder, rows=60, epsilon=1.0, spelling=None, first=None):
    """Three parties of the same people, whose identifiers follow ``spelling`` and begin at
    ``first`` where that names a party."""
    rng = np.random.default_rng(0)
    for name in PARTIES:
        kit = folder / name
        kit.mkdir()
        spelt, start = (spelling or {}).get(name, "p{}"), (first or {}).get(name, 0)
        ages, sick = rng.integers(0, 100, rows), rng.integers(0, 2, rows)
        lines = [
            f"{spelt.format(start + k)},{ages[k]},{('no', 'yes')[sick[k]]}" for k in range(rows)
        ]
        (kit / "rows.csv").write_text("\n".join(["id,age,sick", *lines]) + "\n")
        (kit / "secret").write_text(SECRET)
        labels = LABELS if name == "clinic" else ""
        (kit / "party.toml").write_text(PARTY.format(labels=labels, epsilon=epsilon))
    return folder


def proposed(**terms):
    """A small job of all parties."""
    usual = {"n_rows": 60, "epsilon": 1.0, "delta": 1e-6, "rounds": 6, "sketch_size": 16}
    return Proposal(parties=PARTIES, label_holder="clinic", **{**usual, **terms})


def opened(folder, job="job", names=PARTIES):
    """The parties of a job, new or as they were left."""
    found = {}
    for name in names:
        settings, opens = read_party_settings(folder / name, name)
        found[name] = opens(settings, job)
    return found


def close(parties):
    for party in parties.values():
        party.close()


def step(coordinator, parties):
    """One exchange, in which a refusal is a loss, as the conductor of a job makes it."""
    answers, lost = {}, {}
    for name, request in coordinator.requests().items():
        try:
            answers[name] = parties[name].answer(request)
        except ValueError as refusal:
            lost[name] = str(refusal)
            coordinator.lose(name, lost[name])
    coordinator.receive(answers)
    return lost


def run(folder, proposal, names=PARTIES):
    """Run a job to its end; returns its coordinator."""
    coordinator, parties = open_coordinator(proposal, folder), opened(folder, proposal.job, names)
    try:
        while coordinator.requests():
            step(coordinator, parties)
    finally:
        close(parties)
    return coordinator


def spent(folder):
    """What every party was charged, in rho."""
    ledgers = {name: folder / name / "ledger.db" for name in PARTIES}
    return {
        name: Budget.open(path).spent_rho if path.exists() else 0.0
        for name, path in ledgers.items()
    }
