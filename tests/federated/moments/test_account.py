"""Epsilon against another computation, from the noise that is drawn and what a person moves."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dplasso.federated.moments import agree_moments, moment_plan
from dplasso.federated.moments.entries import cross_entries, opened_entries, own_entries
from dplasso.federated.moments.noise import NoiseShare
from dplasso.federated.moments.server_noise import ServerNoise
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
        between = math.hypot(plan.share_sigma * math.sqrt(parties - known), plan.server_sigma)
        within = float(plan.moved_squared - plan.moved_between) / plan.sigma**2
        mu = math.sqrt(float(plan.moved_between) / between**2 + within)
        assert delta_of(plan.epsilon_to(known), mu) == pytest.approx(terms.delta, rel=1e-6)
        assert plan.epsilon_to(known) < plan.epsilon_to(known + 1)
    assert plan.epsilon_to_server == plan.epsilon_to(colluders)
    assert plan.epsilon_to(colluders) == pytest.approx(epsilon, rel=1e-7)
    assert plan.epsilon_to(colluders) <= epsilon
    assert plan.epsilon_to(parties) == math.inf


@pytest.mark.parametrize(("parties", "one", "colluders"), [(2, 1.20, 0), (3, 1.14, 0), (3, 1.0, 1)])
def test_a_party_faces_more_than_an_outsider(parties, one, colluders):
    """Where noise is for outsiders and the server only, a party faces more than is promised."""
    plan = moment_plan(agreed((4,) * parties, colluders=colluders, delta=1e-9))
    assert plan.epsilon_to_server == pytest.approx(1.0)
    assert plan.epsilon_to(1) == pytest.approx(one, abs=0.01)
    assert plan.epsilon_to(0) < plan.epsilon_to(1)


def test_a_replaced_person_is_told_no_better_than_the_least_noise_says():
    plan = moment_plan(agreed((2,) * 4, colluders=2, neighboring="replace_one"))
    assert [plan.epsilon_to(known) for known in (0, 1, 2)] == [plan.epsilon_to_server] * 3
    mu = math.sqrt(plan.moved_squared) / (plan.sigma * math.sqrt(3 / 4))
    assert delta_of(plan.epsilon_to(3), mu) == pytest.approx(plan.terms.delta, rel=1e-6)


@pytest.mark.parametrize(("parties", "colluders"), [(1, 0), (2, 0), (2, 1), (5, 0), (5, 1), (5, 4)])
def test_all_noise_on_a_block_is_a_gaussian_of_the_stated_size(parties, colluders):
    """And so is what is left of it for colluders, and for the server."""
    terms = agreed((60, *(20,) * (parties - 1)), colluders=colluders)
    plan, bits = moment_plan(terms), random_bits(5)
    shares = [NoiseShare(plan, name).drawn(bits.generator) for name in terms.names]
    server = ServerNoise(plan).drawn(bits.generator)
    on, own = np.equal(*opened_entries(terms)), ~cross_entries(terms)
    everything = sum(shares) + server + 0.5
    assert normal(everything[own & ~on] / plan.sigma)
    assert normal(everything[own & on] / plan.sigma_on_diagonal)
    for name, share in zip(terms.names, shares, strict=True):
        of_others = own & ~own_entries(terms, name)
        assert not np.any(share[of_others])
    assert not np.any(server[own])
    if parties > 1:
        drawn = parties + (colluders > 0)
        ways = {
            plan.sigma_between: everything + (drawn - 1) / 2,
            plan.sigma: sum(shares) + parties / 2,  # as the server sees it
            plan.sigma * (1 + 1e-13): sum(shares[colluders:]) + server + (drawn - colluders) / 2,
        }
        for sigma, seen in ways.items():
            assert normal(seen[~own] / sigma)


@pytest.mark.parametrize(
    ("parties", "colluders", "silent"), [(2, 1, 1), (3, 1, 1), (5, 3, 2), (5, 4, 4)]
)
def test_silent_parties_count_as_colluders_but_towards_the_server(parties, colluders, silent):
    """Noise is drawn as ever; the first parties send theirs as zeros."""
    terms = agreed((60, *(20,) * (parties - 1)), colluders=colluders)
    plan, bits = moment_plan(terms), random_bits(6)
    shares = [NoiseShare(plan, name).drawn(bits.generator) for name in terms.names]
    sent = [np.zeros_like(share) if k < silent else share for k, share in enumerate(shares)]
    server, cross = ServerNoise(plan).drawn(bits.generator), cross_entries(terms)
    # The silent parties and others, c of them: what they do not know is what was promised.
    unknown = sum(sent[colluders:]) + server + (parties - colluders + 1) / 2
    assert normal(unknown[cross] / plan.sigma)
    left = plan.sigma * math.sqrt((parties - silent) / parties)
    to_server = sum(sent) + (parties - silent) / 2
    assert normal(to_server[cross] / left) and not normal(to_server[cross] / plan.sigma)
    for name in terms.names[:silent]:
        assert not np.any((sum(sent) + server)[own_entries(terms, name)])


def normal(values):
    """Whether numbers look standard normal."""
    return stats.kstest(values, "norm").pvalue > 1e-3


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
    assert plan.sigma_on_diagonal <= MOST_SIGMA
    assert plan.share_sigma <= plan.server_sigma <= plan.sigma
    longest = plan.length_of_features + plan.length_of_labels
    most = plan.terms.n_rows * longest + 10 * plan.sigma_on_diagonal
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
    noises = [plan.share_sigma, plan.sigma_on_diagonal, plan.capacity.noise]
    noises += [plan.count.noise] if plan.count.signs else []
    assert all(LEAST_SIGMA <= noise <= MOST_SIGMA for noise in noises)
    assert plan.capacity.rho <= 0.0101 * zcdp.rho(plan.event)
