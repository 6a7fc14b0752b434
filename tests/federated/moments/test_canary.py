"""One telling person, told from the opened matrix as well as a party could: no better than claimed.

Jobs are run with the person's rows at all parties, and with another person or nobody instead.
Whoever attacks is a party: it knows everybody else, and its own noise. It scores an opened matrix
by the logarithm of the ratio of its likelihoods.
"""

import math
from functools import lru_cache

import numpy as np
import pytest

from dplasso.audit.certify import certify
from dplasso.audit.statistics import mu_between
from dplasso.federated.moments import messages, moment_plan, ring
from dplasso.federated.moments.messages import Kind
from dplasso.federated.moments.plan import MomentPlan
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.privacy import gaussian
from moment_jobs import Recording, agreed, exchanged, parties_of

MU, RUNS, ERROR = 2.5, 900, 1e-3
ROWS, CANARY = 4, 3  # rows of a job, and the place of the person
CHANCE = 5.0 * math.sqrt(2.0 / RUNS)  # of a shift of scores


@pytest.fixture(autouse=True)
def one_table_for_all_jobs(monkeypatch):
    """The table of a standard deviation takes longer than a job."""
    monkeypatch.setattr("moment_jobs.GridGaussian", lru_cache(GridGaussian))


def terms_of(neighboring):
    epsilon = gaussian.epsilon_of(MU, 1e-6)
    return agreed((2, 2, 2), n_rows=ROWS, epsilon=epsilon, delta=1e-6, neighboring=neighboring)


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
    """The upper triangle of the opened matrix, and of the noise of every party."""
    tables, y, places = world
    noise_of = {name: Recording() for name in terms.names}
    parties = parties_of(terms, tables, y, places, seed=1000 * seed, noise_of=noise_of)
    shares = exchanged(terms, parties, seed)[2]
    size = terms.n_columns
    triangle = np.triu_indices(size)
    bodies = [
        messages.unpacked(Kind.SHARE, terms, name, shares[name], 8 * len(triangle[0]))
        for name in terms.names
    ]
    total = sum(ring.from_bytes(body, triangle[0].shape) for body in bodies).view(np.int64)
    return total, [recording.matrix(size)[triangle] for recording in noise_of.values()]


def scores(terms):
    """Scores of as many jobs in both worlds."""
    plan, both = moment_plan(terms), worlds(terms)
    rows, columns = np.triu_indices(terms.n_columns)
    on = rows == columns
    sigma = np.where(on, math.sqrt(2.0), 1.0) * plan.sigma
    exact = []
    for world in both:
        total, noise = opened(terms, world, 0)
        exact.append(total - sum(noise))
    moved = (exact[0] - exact[1]) / sigma**2
    return [
        np.array(
            [
                float(moved @ (total - noise[0] - exact[1]))
                for total, noise in (opened(terms, world, 2 * run + place) for run in range(RUNS))
            ]
        )
        for place, world in enumerate(both)
    ]


def shift(present, absent):
    """Of scores that are Gaussian, in standard deviations: mu."""
    return (present.mean() - absent.mean()) / math.sqrt((present.var() + absent.var()) / 2.0)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_a_party_tells_a_person_as_well_as_is_charged_and_no_better(neighboring):
    terms = terms_of(neighboring)
    assert gaussian.mu(moment_plan(terms).event) == pytest.approx(MU, rel=1e-6)
    present, absent = scores(terms)
    certified = certify(present[:, None], absent[:, None], mu_between, ERROR)[0]
    assert 0.7 * MU < certified < MU
    assert 0.9 * MU - CHANCE < shift(present, absent) < MU + CHANCE


def test_half_the_noise_is_certified_beyond_the_claim(monkeypatch):
    """Where it is drawn; the account does not know."""
    terms, honest = terms_of("add_remove"), MomentPlan.share_sigma
    monkeypatch.setattr(MomentPlan, "share_sigma", property(lambda plan: honest.fget(plan) / 2.0))
    present, absent = scores(terms)
    assert certify(present[:, None], absent[:, None], mu_between, ERROR)[0] > MU
