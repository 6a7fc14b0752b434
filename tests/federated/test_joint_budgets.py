"""Ways past a joint budget, of jobs that overlap, share a name, or are left half paid."""

from copy import copy

import numpy as np
import pytest

pytest.importorskip("cryptography")

from dplasso.federated import Caps, Party, Refused  # noqa: E402
from dplasso.federated.joint_spending import job_key, spent_on_jobs  # noqa: E402
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest  # noqa: E402
from dplasso.federated.opening_coordinator import OpeningCoordinator  # noqa: E402
from dplasso.federated.opening_party import OpeningParty  # noqa: E402
from dplasso.federated.terms import Proposal  # noqa: E402
from dplasso.ledger import Budget  # noqa: E402
from dplasso.privacy.events import Gaussian  # noqa: E402

SECRET, DELTA, ROWS = b"of all parties, not the server's", 1e-6, 40


class Parties:
    """Four parties with ledgers; the cap of c is 1."""

    def __init__(self, folder, **caps):
        rng = np.random.default_rng(0)
        self.folder, caps = folder, {"a": 3.0, "b": 3.0, "c": 1.0, "d": 3.0} | caps
        self.ledgers = {
            name: Budget(cap, DELTA, store=str(folder / f"{name}.db")) for name, cap in caps.items()
        }
        self.caps = {name: Caps(max_epsilon=cap, max_delta=DELTA) for name, cap in caps.items()}
        self.X = {name: rng.choice([0.0, 1.0], (ROWS, 3)) for name in caps}
        self.y = rng.choice([-1.0, 1.0], ROWS)
        self.opened = []

    def party(self, name, job, names):
        def opened(terms, folder, keys):
            y = self.y if terms.label_holder == name else None
            own = {"y": y, "accountant": self.ledgers[name], "folder": folder}
            return Party(terms, name, self.X[name], range(ROWS), SECRET, **own)

        folder = self.folder / name / f"{job}-{''.join(names)}"
        place = name, job, 3, self.caps[name], folder, SECRET, opened, self.ledgers[name]
        self.opened.append(OpeningParty(*place, y_bound=1.0))
        return self.opened[-1]

    def close(self):
        for party in self.opened:
            party.close()

    def job(self, job, names, epsilon):
        proposal = Proposal(
            job=job,
            parties=tuple(names),
            label_holder=names[0],
            n_rows=ROWS,
            epsilon=epsilon,
            delta=DELTA,
            rounds=2,
            sketch_size=16,
        )
        parties = {name: self.party(name, job, names) for name in names}
        return OpeningCoordinator(proposal), parties

    def run(self, job, names, epsilon):
        go_on(*self.job(job, names, epsilon))


def step(coordinator, parties):
    requests = coordinator.requests()
    coordinator.receive({name: parties[name].answer(one) for name, one in requests.items()})


def go_on(coordinator, parties):
    while coordinator.requests():
        step(coordinator, parties)


@pytest.fixture
def four(tmp_path):
    parties = Parties(tmp_path)
    yield parties
    parties.close()


def test_a_report_that_another_job_has_made_old_is_not_paid_upon(four):
    late, parties = four.job("late", "bc", 0.9)
    step(late, parties)
    step(late, parties)  # they have agreed, and reported their ledgers
    four.run("first", "ab", 0.9)
    with pytest.raises(Refused, match="b has paid for another job since it agreed"):
        go_on(late, parties)
    assert len(spent_on_jobs(four.ledgers["b"])) == 1 and parties["b"].outcome is None


def test_nobody_releases_before_all_have_said_that_they_paid(four):
    job, parties = four.job("job", "abc", 0.9)
    for _ in range(3):
        step(job, parties)
    requests = job.requests()
    answers = {name: parties[name].answer(requests[name]) for name in "ab"}
    asked = PartyRequest.from_bytes(requests["c"])
    own = {
        name: PartyRelease.from_bytes(answers[other]).letters["c"]
        for name, other in zip("ab", "ba", strict=True)
    }
    for letters in ({}, own):  # none, or those that were meant for the party itself
        forged = PartyRelease(asked.digest, asked.party, 0, Gave.BEGUN, letters=letters)
        again = copy(job)
        again.receive({**answers, "c": forged.to_bytes()})
        with pytest.raises(Refused, match=r"needs a letter|has not said that it has paid"):
            parties["a"].answer(again.requests()["a"])
    terms = parties["a"]._agreed.terms
    labels = PartyRequest(terms.digest, terms.number_of("a"), 0, Ask.LABELS).to_bytes()
    with pytest.raises(Refused, match="before all parties have paid"):
        parties["a"].answer(labels)
    assert not any(parties["a"].outcome.releases.values())


def test_two_jobs_of_one_name_are_two_jobs(four):
    four.run("J", "ab", 0.9)
    four.run("J", "cd", 0.6)
    with pytest.raises(Refused, match="with earlier jobs and those of other parties"):
        four.run("K", "ac", 0.6)
    assert len({*spent_on_jobs(four.ledgers["a"]), *spent_on_jobs(four.ledgers["c"])}) == 2


def test_what_others_paid_beyond_a_count_is_counted(four):
    four.run("J", "ab", 0.9)
    (job,) = spent_on_jobs(four.ledgers["a"])
    # As if c had left J after a count that cost next to nothing.
    count = {
        "delta": DELTA,
        "neighboring": "add_remove",
        "label": f"federated job {job}: common rows",
    }
    four.ledgers["c"].charge(Gaussian(1000.0), **count)
    assert job in spent_on_jobs(four.ledgers["c"])
    with pytest.raises(Refused, match="those of other parties"):
        four.run("K", "bc", 0.9)


def test_begin_names_its_part(four):
    job, parties = four.job("job", "ab", 0.9)
    for _ in range(3):
        step(job, parties)
    terms = parties["a"]._agreed.terms
    for part in ("count", "", "all"):
        asked = PartyRequest(terms.digest, terms.number_of("a"), 0, Ask.BEGIN, text=part)
        with pytest.raises(Refused, match="not due"):
            parties["a"].answer(asked.to_bytes())
    assert four.ledgers["a"].spent_rho == 0.0
    go_on(job, parties)
    assert list(spent_on_jobs(four.ledgers["a"])) == [job_key("job", terms.digest)]


def test_an_end_of_other_terms_ends_nothing(four):
    job, parties = four.job("job", "ab", 0.9)
    for _ in range(3):
        step(job, parties)
    terms = parties["a"]._agreed.terms
    other = PartyRequest(bytes(32), terms.number_of("a"), 0, Ask.END, text="stopped").to_bytes()
    with pytest.raises(Refused, match="another job or with other terms"):
        parties["a"].answer(other)
    go_on(job, parties)
