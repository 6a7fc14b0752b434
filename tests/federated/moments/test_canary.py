"""One telling person, told from the opened matrix as well as each side could, and no better.

Jobs are run with the person's rows at all parties, and with another person or nobody instead.
Whoever attacks knows everybody else. The server sees the sum of shares, c parties the released
matrix (more than they get: weights) without the noise and the products that are theirs, and an
outsider that matrix. Each scores what it sees by the logarithm of the ratio of its likelihoods.
"""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from dplasso.audit.certify import certify
from dplasso.audit.statistics import mu_between
from dplasso.federated.moments import moment_plan
from dplasso.federated.moments.entries import cross_entries, opened_entries
from dplasso.federated.moments.plan import MomentPlan
from dplasso.federated.moments.server import opened_matrix
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.privacy import gaussian
from moment_jobs import Recording, agreed, exchanged, parties_of

MU, RUNS, ERROR = 2.5, 900, 1e-3
ROWS, CANARY = 4, 3  # rows of a job, and the place of the person
SERVER = "the server"
CHANCE = 5.0 * math.sqrt(2.0 / RUNS)  # of a shift of scores


@pytest.fixture(autouse=True)
def one_table_for_all_jobs(monkeypatch):
    """The table of a standard deviation takes longer than a job."""
    monkeypatch.setattr("moment_jobs.GridGaussian", lru_cache(GridGaussian))


def terms_of(neighboring, parties=3, colluders=1):
    promised = {"epsilon": gaussian.epsilon_of(MU, 1e-6), "delta": 1e-6}
    return agreed(
        (2,) * parties, n_rows=ROWS, colluders=colluders, neighboring=neighboring, **promised
    )


def worlds(terms):
    """Three people of little to tell, and one at every bound; and the others with or without one
    whose row is at a right angle to that row."""
    rng = np.random.default_rng(0)
    tables = {block.name: rng.uniform(-0.2, 0.2, (ROWS, 2)) for block in terms.parties}
    other = {name: table.copy() for name, table in tables.items()}
    y = rng.uniform(-0.1, 0.1, ROWS)
    y_other = y.copy()
    for name in tables:
        tables[name][CANARY], other[name][CANARY] = (1.0, 1.0), (1.0, -1.0)
    y[CANARY], y_other[CANARY] = 1.0, -1.0
    if terms.neighboring == "replace_one":
        return (tables, y, None), (other, y_other, None)
    places = {name: np.arange(CANARY) for name in tables}
    return (tables, y, None), ({name: t[:CANARY] for name, t in tables.items()}, y[:CANARY], places)


def opened(terms, world, seed):
    """The upper triangle of the released matrix, and of the noise of parties and server in it."""
    tables, y, places = world
    noise_of = {name: Recording() for name in terms.names}
    parties = parties_of(terms, tables, y, places, seed=1000 * seed, noise_of=noise_of)
    shares = exchanged(terms, parties, seed)[2]
    triangle, of_server = opened_entries(terms), Recording()
    key = NoiseKey((seed + 1).to_bytes(32, "big"), secure=False)
    total = opened_matrix(terms, shares, key, of_server)[triangle]
    noises = {name: one.matrix(terms, name)[triangle] for name, one in noise_of.items()}
    return total, {**noises, SERVER: of_server.matrix(terms)[triangle]}


@lru_cache
def jobs(terms):
    """In both worlds: the exact matrix, and the released ones with their noises."""
    found = []
    for place, world in enumerate(worlds(terms)):
        runs = [opened(terms, world, 2 * run + place) for run in range(RUNS)]
        total, noises = runs[0]
        found.append((total - sum(noises.values()), runs))
    return found


def scores(terms, viewers):
    """Scores of as many jobs in both worlds, to the server, to c parties, or to nobody: an
    outsider. And mu of these scores, from what is moved and the noise that is not known."""
    plan, (present, absent) = moment_plan(terms), jobs(terms)
    sigma = np.where(np.equal(*opened_entries(terms)), plan.sigma_on_diagonal, plan.sigma)
    if not viewers:
        sigma[cross_entries(terms)] = plan.sigma_between
    theirs = np.zeros(terms.n_columns, bool)  # the same in both worlds: they know their own rows
    for name in set(viewers) - {SERVER}:
        theirs[terms.columns(name)] = True
    rows, columns = opened_entries(terms)
    moved = ~(theirs[rows] & theirs[columns]) * (present[0] - absent[0]) / sigma
    found = []
    for _, runs in (present, absent):
        unknown = (total - sum(noises[one] for one in viewers) for total, noises in runs)
        found.append(np.array([float((moved / sigma) @ (seen - absent[0])) for seen in unknown]))
    return *found, float(np.linalg.norm(moved))


def shift(present, absent):
    """Of scores that are Gaussian, in standard deviations: mu."""
    return (present.mean() - absent.mean()) / math.sqrt((present.var() + absent.var()) / 2.0)


def certified_and_claimed(terms, viewers):
    """A lower limit on mu, and what is charged. The shift of scores is what follows from noise."""
    plan = moment_plan(terms)
    claimed = gaussian.mu(plan.event if viewers else plan.event_to(0))
    if viewers:
        assert claimed == pytest.approx(MU, rel=1e-6)
    present, absent, expected = scores(terms, viewers)
    assert expected < claimed * (1.0 + 1e-9)
    assert shift(present, absent) == pytest.approx(expected, abs=CHANCE)
    return certify(present[:, None], absent[:, None], mu_between, ERROR)[0], claimed


@pytest.mark.parametrize("viewers", [(SERVER,), ("p0",), ()])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_each_side_tells_a_person_as_well_as_is_charged_and_no_better(neighboring, viewers):
    certified, claimed = certified_and_claimed(terms_of(neighboring), viewers)
    assert 0.7 * claimed < certified < claimed


@pytest.mark.parametrize(
    ("parties", "viewers"), [(2, (SERVER,)), (2, ("p0",)), (3, (SERVER,)), (3, ("p0", "p2"))]
)
def test_all_parties_but_one_tell_a_person_there_no_better_than_is_charged(parties, viewers):
    terms = terms_of("add_remove", parties, parties - 1)
    certified, claimed = certified_and_claimed(terms, viewers)
    assert 0.6 * claimed < certified < claimed


def test_half_the_noise_is_certified_beyond_the_claim(monkeypatch):
    """Where it is drawn; the account does not know."""
    terms, honest = terms_of("add_remove"), MomentPlan.share_sigma
    monkeypatch.setattr(MomentPlan, "share_sigma", property(lambda plan: honest.fget(plan) / 2.0))
    terms = replace(terms, attempt=1)
    for viewer in (SERVER, "p0"):
        present, absent, _ = scores(terms, (viewer,))
        assert certify(present[:, None], absent[:, None], mu_between, ERROR)[0] > MU
