"""One telling person, told from whole transcripts as well as anyone could: no better than claimed.

Jobs are run with the person's rows at all parties, and without. Whoever attacks knows everybody
else, and the secret; of every transcript the exact releases are computed for both worlds, and the
score is the logarithm of the ratio of its likelihoods.

A sketch is as many experiments as it has numbers: at sqrt(size) times the mu, a person is told from
one number of every sketch at mu = 1, and one job proves what thousands of small ones would.
"""

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest

from dplasso.audit.certify import certify
from dplasso.audit.statistics import mu_between, rho_between
from dplasso.federated import holdings
from dplasso.federated.messages import Gave
from dplasso.federated.plan import FederatedPlan, plan_of
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.privacy import zcdp
from federations import Data, Replay, agreed, run_job

FEATURES = {"bank": 1, "shop": 1}
RUNS, NUMBERS, ERROR = 140, 8000, 1e-5
CHANCE = 5.0 * math.sqrt(2.0 / RUNS)  # of a shift
NOISES = ["sum_noise", "sketch_noise", "label_sum_noise", "label_sketch_noise"]


def terms_of(size, rho):
    """A row's budget is just enough for one feature at each party, and so many rows are declared
    that centres are near 0."""
    return agreed(
        FEATURES,
        n_rows=max(1000, size),
        sketch_size=size,
        rounds=2,
        epsilon=zcdp.epsilon_of(rho, 1e-3),
        delta=1e-3,
        row_budget=1.1,
        step="universal",
    )


def worlds():
    """Three people of little to tell, and one at every bound; and the three alone."""
    rng = np.random.default_rng(0)
    blocks = {name: np.append(rng.uniform(-0.2, 0.2, 3), 1.0)[:, None] for name in FEATURES}
    names = ["ann", "bob", "cem", "canary"]
    data = Data(blocks, dict.fromkeys(FEATURES, names), np.array([0.1, 0.0, -0.1, -1.0]))
    return data, data.without("canary")


def ratios(releases, replays):
    """Logarithms of how much likelier the canary makes each number: of totals, and of sketches.

    Of a packed sketch the lowest bits are cut: their middle is taken, which is near enough.
    """
    totals, sketches = 0.0, 0.0
    noisy = [release for _, release in releases if release.kind in (Gave.LABELS, Gave.SHARED)]
    parts = zip(*(replay.parts(releases) for replay in replays), strict=True)
    for place, (one, other) in enumerate(parts):
        release, is_sketch = noisy[place // 2], place % 2
        cut = max(0, math.floor(math.log2(one.sigma)) - 7) if is_sketch else 0
        seen = ((release.numbers if is_sketch else release.total) + 0.5) * 2.0**cut
        losses = [(seen - part.exact) ** 2 for part in (one, other)]
        ratio = (losses[1] - losses[0]) / (2.0 * one.sigma**2)
        totals, sketches = (totals, sketches + ratio) if is_sketch else (totals + ratio, sketches)
    return totals, sketches


def told(terms, runs):
    """Scores of as many jobs with the canary, and without: of totals, and of sketches."""
    replays = [Replay(terms, world) for world in worlds()]
    found = [[], []]
    for place, run in itertools.product((0, 1), range(runs)):
        rounds, _ = run_job(terms, worlds()[place], random_state=2 * run + place)
        releases = [(message.party, message.release) for message in itertools.chain(*rounds)]
        found[place].append(ratios(releases, replays))
    return found


def by_job(terms):
    """One score a job, of all that is in its transcript."""
    return [
        np.array([float(np.sum(totals)) + float(np.sum(sketches)) for totals, sketches in world])
        for world in told(terms, RUNS)
    ]


def by_number(terms):
    """One score a number of the sketches, of one job in each world."""
    return [world[0][1] for world in told(terms, 1)]


@pytest.fixture(autouse=True)
def few_tables(monkeypatch):
    """Noise is rounded up to one of 64 sizes an octave, whose tables are made once."""

    @lru_cache
    def rounded(sigma):
        return GridGaussian(2.0 ** (math.ceil(64.0 * math.log2(sigma)) / 64.0))

    monkeypatch.setattr(holdings, "GridGaussian", rounded)


def certified(present, absent, measure):
    return certify(present[:, None], absent[:, None], measure, ERROR)[0]


@pytest.mark.parametrize(
    ("measure", "claimed", "share"),
    [(mu_between, 1.0, 0.65), (rho_between, 0.5, 0.3)],  # one event tells less of rho than of mu
)
def test_a_person_is_told_as_well_as_is_charged_and_no_better(measure, claimed, share):
    terms = terms_of(NUMBERS, NUMBERS / 2.0)
    assert zcdp.rho(plan_of(terms).event) == pytest.approx(NUMBERS / 2.0, rel=1e-6)
    assert share * claimed < certified(*by_number(terms), measure) < claimed


def test_scores_of_whole_transcripts_shift_by_what_is_claimed():
    assert 0.9 - CHANCE < shift(*by_job(terms_of(4, 0.5))) < 1.0 + CHANCE


def shift(present, absent):
    """Of scores that are Gaussian, in standard deviations: mu."""
    return (present.mean() - absent.mean()) / math.sqrt((present.var() + absent.var()) / 2.0)


def halve(monkeypatch, *names):
    for name in names:
        honest = getattr(FederatedPlan, name)
        if isinstance(honest, property):
            half = property(lambda plan, honest=honest: honest.fget(plan) / 2.0)
        else:
            half = lambda plan, centre, honest=honest: honest(plan, centre) / 2.0  # noqa: E731
        monkeypatch.setattr(FederatedPlan, name, half)


@pytest.mark.parametrize("name", ["sketch_noise", "label_sketch_noise"])
def test_sketches_of_half_the_noise_are_found(monkeypatch, name):
    """Where it is drawn; the account does not know."""
    terms = terms_of(NUMBERS, NUMBERS / 2.0)
    halve(monkeypatch, name)
    assert certified(*by_number(terms), mu_between) > 1.0


def test_transcripts_of_half_the_noise_are_found(monkeypatch):
    terms = terms_of(4, 0.5)
    halve(monkeypatch, *NOISES)
    assert shift(*by_job(terms)) > 1.0 + CHANCE
