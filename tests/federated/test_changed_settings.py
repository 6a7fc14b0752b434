"""A key of a configuration, or rows, changed while a job runs: refused until they are back."""

import json
import os
from dataclasses import asdict, fields, replace

import numpy as np
import pytest

from dplasso.federated import Refused
from dplasso.federated.deployment.settings import read_party_settings
from dplasso.federated.messages import Ask, PartyRequest
from dplasso.federated.service import open_coordinator, open_party
from dplasso.federated.terms import Proposal, Terms
from dplasso.ledger import Budget
from dplasso.storage.journal import Journal

ROWS = 60
PARTIES = ("clinic", "shop")
PROPOSAL = Proposal(
    parties=PARTIES, label_holder="clinic", n_rows=ROWS, epsilon=2.0, delta=1e-6, rounds=4,
    sketch_size=16,
)  # fmt: skip
PARTY = """\
data = "rows.csv"
id_column = "id"
{labels}
y_bound = 1.0
max_epsilon = 4.0
max_delta = 1e-4
max_row_budget = 10.0
secret = "secret"
ledger = "ledger.db"
state = "state"
answers = "dplasso.federated.service:open_party"

[columns]
age = "0:100"
town = "hash 4"
"""
LABELS = 'label_column = "sick"\nclasses = ["no", "yes"]'


@pytest.fixture
def folder(tmp_path):
    """Two parties, as their owners have set them up."""
    rng = np.random.default_rng(0)
    for name in PARTIES:
        kit = tmp_path / name
        kit.mkdir()
        lines = ["id,other,age,town,sick"]
        for k in range(ROWS):
            age, town, sick = rng.integers(0, 100), rng.choice(["Ulm", "Bern"]), rng.integers(0, 2)
            lines.append(f"p{k},q{k},{age},{town},{('no', 'yes')[sick]}")
        (kit / "rows.csv").write_text("\n".join(lines) + "\n")
        (kit / "secret").write_text("ab" * 32)
        ours = PARTY.format(labels=LABELS if name == "clinic" else "")
        (kit / "party.toml").write_text(ours)
    return tmp_path


def opened(folder, name):
    settings, opens = read_party_settings(folder / name, name)
    assert opens is open_party
    return opens(settings, "job")


def parties(folder):
    return {name: opened(folder, name) for name in PARTIES}


def steps(coordinator, known, count):
    for _ in range(count):
        asked = coordinator.requests()
        coordinator.receive({name: known[name].answer(request) for name, request in asked.items()})


def close(known):
    for party in known.values():
        party.close()


@pytest.fixture
def running(folder):
    """A job whose parties have agreed and released something."""
    known, coordinator = parties(folder), open_coordinator(PROPOSAL, folder)
    steps(coordinator, known, 6)
    yield folder, coordinator, known
    close(known)


def released(folder):
    """All that the parties have put on record."""
    return {
        path: path.read_bytes()
        for name in PARTIES
        for path in (folder / name / "state" / "job").iterdir()
    } | {name: Budget.open(folder / name / "ledger.db").spent_rho for name in PARTIES}


OTHER = {
    "job": "another",
    "label_holder": "shop",
    "n_rows": ROWS + 1,
    "epsilon": 1.0,
    "delta": 1e-7,
    "radius": 2.0,
    "rounds": 5,
    "sketch_size": 17,
    "y_bound": 2.0,
    "step": "universal",
    "sampling": "serial",
    "tau": 1,
    "probabilities": (0.5, 0.5),
    "seed": 1,
    "min_overlap": 0.5,
}


def test_every_key_of_the_terms_is_tried():
    assert {field.name for field in fields(Terms)} == {*OTHER, "parties", "protocol"}


@pytest.mark.parametrize("key", [*OTHER, "x_bound", "row_budget", "n_features"])
def test_no_key_of_the_terms_can_be_changed_once_they_are_agreed_on(running, key):
    """By whoever owns the job or the server: neither the terms nor a request by them are taken."""
    folder, coordinator, known = running
    terms = coordinator.coordinator.terms
    if key in OTHER:
        more = {"sampling": "arbitrary"} if key == "probabilities" else {}
        other = replace(terms, **{key: OTHER[key]}, **more)
    else:
        changed = replace(terms.parties[0], **{key: 2 * getattr(terms.parties[0], key)})
        other = replace(terms, parties=(changed, *terms.parties[1:]))
    before = released(folder)
    for number, name in enumerate(PARTIES):
        for kind, text in ((Ask.AGREE, other.to_json()), (Ask.SELECT, ""), (Ask.FINISH, "")):
            asked = PartyRequest(other.digest, number, 3, kind, text=text)
            with pytest.raises(Refused):
                known[name].answer(asked.to_bytes())
    assert released(folder) == before


@pytest.mark.parametrize("key", sorted({field.name for field in fields(Proposal)} - {"protocol"}))
def test_a_job_whose_proposal_was_changed_on_the_server_gets_no_further(running, key):
    """As if the server had been started again with an edited configuration of the job."""
    folder, _, known = running
    more = {"sampling": "arbitrary"} if key == "probabilities" else {}
    changed = {**OTHER, "parties": ("shop", "clinic"), "row_budget": 0.1, "colluders": 2}
    again = open_coordinator(replace(PROPOSAL, **{key: changed[key]}, **more), folder)
    before = released(folder)
    with pytest.raises(Refused):
        steps(again, known, 4)
    assert released(folder) == before


def test_a_key_that_is_not_known_makes_no_job_and_no_terms(running):
    _, coordinator, _ = running
    with pytest.raises(TypeError):
        Proposal(**asdict(PROPOSAL), more=1)
    for known, read in (
        (coordinator.coordinator.terms.to_json(), Terms.from_json),
        (coordinator.proposal.to_json(), Proposal.from_json),
    ):
        with pytest.raises(Refused):
            read(json.dumps({**json.loads(known), "more": 1}))


CHANGES = {
    "bounds of a column": ('age = "0:100"', 'age = "0:1000"'),
    "a column's role": ('age = "0:100"', 'age = "hash 2"'),
    "buckets": ('town = "hash 4"', 'town = "hash 5"'),
    "a column left out": ('town = "hash 4"', 'town = "ignore"'),
    "identifiers": ('id_column = "id"', 'id_column = "other"'),
    "classes": ('["no", "yes"]', '["yes", "no"]'),
    "labels": (LABELS, ""),
    "row budget": ("row_budget = 10.0", "row_budget = 1e-3"),
    "cap on epsilon": ("max_epsilon = 4.0", "max_epsilon = 1.0"),
    "cap on delta": ("max_delta = 1e-4", "max_delta = 1e-7"),
}
FILES = {
    "an entry": ("rows.csv", "p7,", "p7,q7,99,Ulm,yes\n#"),
    "a row that is gone": ("rows.csv", "p7,", "#"),
    "the secret": ("secret", "ab", "cd"),
}


def refuses(folder, name, request):
    with pytest.raises(ValueError):
        opened(folder, name).answer(request)


def goes_on(folder, coordinator, before):
    """With everything back, nothing was lost or released meanwhile, and the job ends."""
    assert released(folder) == before
    again = parties(folder)
    while coordinator.requests():
        steps(coordinator, again, 1)
    assert coordinator.coordinator.card().ended == "complete"
    close(again)


@pytest.mark.parametrize("change", CHANGES)
def test_a_key_that_a_party_changes_stops_its_jobs_until_it_is_back(running, change):
    folder, coordinator, known = running
    close(known)
    before, old_new = released(folder), CHANGES[change]
    path = folder / "clinic" / "party.toml"
    text = path.read_text()
    assert old_new[0] in text
    path.write_text(text.replace(*old_new))
    refuses(folder, "clinic", request_to(coordinator, "clinic"))
    path.write_text(text)
    goes_on(folder, coordinator, before)


def request_to(coordinator, name):
    """What a party is asked next, or would be."""
    asked = coordinator.requests()
    if name in asked:
        return asked[name]
    terms = coordinator.coordinator.terms
    return PartyRequest(terms.digest, terms.number_of(name), 3, Ask.SELECT).to_bytes()


@pytest.mark.parametrize("change", FILES)
def test_rows_or_a_secret_that_a_party_changes_stop_its_jobs_until_they_are_back(running, change):
    folder, coordinator, known = running
    close(known)
    name, old, new = FILES[change]
    path = folder / "clinic" / name
    text, before = path.read_text(), released(folder)
    lines = text.replace(old, new, 1).splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("#")))
    assert path.read_text() != text
    with pytest.raises(Refused, match="have changed since it was begun"):
        opened(folder, "clinic")
    path.write_text(text)
    os.utime(path, ns=(1, 1))
    goes_on(folder, coordinator, before)


def test_what_does_not_touch_the_rows_may_be_changed(running):
    folder, coordinator, known = running
    close(known)
    for name in PARTIES:
        path = folder / name / "party.toml"
        path.write_text(path.read_text().replace("row_budget = 10.0", "row_budget = 50.0"))
    goes_on(folder, coordinator, released(folder))


def test_jobs_killed_before_rows_were_noted_go_on(running):
    """Their release logs have no digest of the rows; they get one."""
    folder, coordinator, known = running
    close(known)
    for name in PARTIES:
        _forget_rows(folder / name / "state" / "job")
    again = parties(folder)
    while coordinator.requests():
        steps(coordinator, again, 1)
    assert coordinator.coordinator.card().ended == "complete"
    close(again)
    path = folder / "clinic" / "secret"
    path.write_text("cd" * 32)
    with pytest.raises(Refused, match="have changed since it was begun"):
        opened(folder, "clinic")


def _forget_rows(folder):
    path = folder / "job.notebook"
    with Journal(path) as journal:
        records = [record for record in journal.records() if record[:1] != b"h"]
    path.unlink()
    with Journal(path) as journal:
        for record in records:
            journal.append(record)
    (folder / "job.lock").write_bytes(len(records).to_bytes(8, "little"))
