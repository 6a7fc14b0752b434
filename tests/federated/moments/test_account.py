"""Epsilon against another computation, from the noise that is drawn and what a person moves."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dplasso.federated.moments import agree_moments, moment_plan
from dplasso.federated.moments.noise import NoiseShare
from dplasso.mechanisms.gaussian_cells import LEAST_SIGMA, MOST_SIGMA
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import zcdp
from dplasso.privacy.events import PureDP
from moment_jobs import agreed


def delta_of(epsilon, mu):
    """Balle and Wang (2018), in 50 digits."""
    with mpmath.workdps(50):
        mu = mpmath.mpf(mu)
        near, far = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
        return float(mpmath.ncdf(near) - mpmath.exp(epsilon) * mpmath.ncdf(far))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0])
@pytest.mark.parametrize(("parties", "colluders"), [(1, 0), (2, 1), (5, 1), (5, 0), (6, 4)])
def test_epsilon_is_that_of_the_noise_that_is_left(parties, colluders, epsilon):
    terms = agreed((2,) * parties, colluders=colluders, epsilon=epsilon)
    plan = moment_plan(terms)
    for known in range(parties):
        left = plan.share_sigma * math.sqrt(parties - known)
        mu = plan.squared_length / math.sqrt(2) / left
        assert delta_of(plan.epsilon_to(known), mu) == pytest.approx(terms.delta, rel=1e-6)
    assert plan.epsilon_to(colluders) == pytest.approx(epsilon, rel=1e-7)
    assert plan.epsilon_to(colluders) <= epsilon
    assert plan.epsilon_to(parties) == math.inf


def test_a_party_faces_more_than_an_outsider():
    """The figures of the design: with noise for outsiders only, 1 becomes 1.44 and 1.24."""
    for parties, faced in ((2, 1.44), (3, 1.24)):
        plan = moment_plan(agreed((2,) * parties, colluders=0, delta=1e-9))
        assert plan.epsilon_to(0) == pytest.approx(1.0)
        assert plan.epsilon_to(1) == pytest.approx(faced, abs=0.01)


@pytest.mark.parametrize("parties", [1, 2, 5])
def test_the_sum_of_all_noise_is_a_gaussian_of_the_stated_size(parties):
    terms = agreed((60, *(1,) * (parties - 1)))
    plan, size = moment_plan(terms), terms.n_columns
    share, bits = NoiseShare(plan), random_bits(5)
    total = sum(share.drawn(bits.generator) for _ in range(parties)) + parties / 2
    on = np.equal(*np.triu_indices(size))
    sigma = plan.total_sigma * plan.entry**2
    assert stats.kstest(total[~on] / sigma, "norm").pvalue > 1e-3
    assert stats.kstest(total[on] / (math.sqrt(2) * sigma), "norm").pvalue > 1e-3


@pytest.mark.parametrize(
    "job",
    [
        {"epsilon": 200.0},
        {"epsilon": 0.01, "delta": 1e-12},
        {"widths": (2,) * 20, "n_rows": 2**26},
        {"widths": (2000, 1)},
    ],
)
def test_grids_leave_room_for_noise_and_sums(job):
    plan = moment_plan(agreed(**job))
    assert LEAST_SIGMA == 2**12 <= plan.share_sigma
    assert plan.share_sigma_on_diagonal <= MOST_SIGMA
    most = plan.terms.n_rows * plan.squared_length + 10 * plan.total_sigma * plan.entry**2
    assert most < 2**63


def test_noise_that_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="epsilon=1e-300"):
        moment_plan(agreed(epsilon=1e-300, delta=1e-300))


def test_without_privacy_the_event_says_so():
    assert moment_plan(agreed(epsilon=math.inf)).event == PureDP(math.inf)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0])
def test_a_job_that_ledgers_add_up_takes_a_few_percent_more_noise(epsilon):
    public = {"n_rows": 1000, "epsilon": epsilon, "delta": 1e-9}
    exact, of_ledgers = (
        moment_plan(agree_moments({"a": 3, "b": 4}, "a", **public, account=account))
        for account in ("exact", "rho")
    )
    assert 1.03 < of_ledgers.multiplier / exact.multiplier < 1.08
    rho = zcdp.rho(of_ledgers.event)
    assert rho <= zcdp.rho_of(epsilon, 1e-9) and of_ledgers.epsilon_to(1) < epsilon


def test_the_first_part_and_the_matrix_add_up_to_the_promise():
    public = {"n_rows": 10**6, "n_people": 10**5, "min_overlap": 0.25, "account": "rho"}
    terms = agree_moments({"a": 3, "b": 4, "c": 1}, "a", epsilon=1.0, delta=1e-9, **public)
    plan = moment_plan(terms)
    assert plan.count.signs > 0 and plan.capacity.sigma > 0.0
    first, matrix = zcdp.rho(plan.count_event), zcdp.rho(plan.model_event)
    assert first + matrix == pytest.approx(zcdp.rho_of(1.0, 1e-9), rel=1e-9)
    assert first < 0.061 * (first + matrix)
    assert plan.epsilon_to(0) < plan.epsilon_to(1) < 1.0 < plan.epsilon_to(2)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 30.0, 1e5])
def test_noise_of_a_job_that_is_agreed_on_can_be_drawn(epsilon):
    """What cannot be drawn is refused with the terms, and not after a charge."""
    public = {"n_rows": 10**7, "n_people": 500, "min_overlap": 0.25, "account": "rho"}
    try:
        terms = agree_moments({"a": 3, "b": 4}, "a", epsilon=epsilon, delta=1e-9, **public)
        plan = moment_plan(terms)
    except ValueError as error:
        assert "too small or too large" in str(error)
        return
    noises = [plan.share_sigma, plan.share_sigma_on_diagonal, plan.capacity.noise]
    noises += [plan.count.noise] if plan.count.signs else []
    assert all(LEAST_SIGMA <= noise <= MOST_SIGMA for noise in noises)
    assert plan.capacity.rho <= 0.0101 * zcdp.rho(plan.event)
