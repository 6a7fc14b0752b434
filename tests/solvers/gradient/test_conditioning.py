"""What is made of releases: dampings, centre, shares of signal."""

import math
import pickle

import numpy as np
import pytest

from dplasso.kernels import mixture as kernel
from dplasso.losses import LogisticLoss
from dplasso.solvers.gradient import mixture
from dplasso.solvers.gradient.conditioning import Conditioning, Mass
from dplasso.solvers.gradient.mixture import BIN, LAST, SignalShare, size_counts
from dplasso.solvers.gradient.plan import Thresholds
from neighbours import small_plan


def signal_share(z: np.ndarray) -> np.ndarray:
    return SignalShare(size_counts(z))(z)


def test_masses_are_read_as_means() -> None:
    plan = small_plan(LogisticLoss(), 3, rows=10_000)
    released = np.array([0.5, 0.0, -0.001]) * plan.unit * 10_000
    mass = Mass.of(released.astype(np.int64), plan)
    assert mass.mean == pytest.approx([0.5, 0.0, -0.001], abs=1e-9)
    # A share of 10 % of mu^2, over the number of rows.
    assert mass.noise == pytest.approx(1.0 / (10_000 * plan.mu * math.sqrt(0.1)))


def test_heavy_columns_are_damped_and_certain_ones_centred() -> None:
    mass = Mass(np.array([0.5, 0.02, 0.0004, -0.0005]), 0.0001, Thresholds(0.005, 5.0))
    assert mass.damping() == pytest.approx([0.1, 0.5, 1.0, 1.0])
    assert mass.centre() == pytest.approx([0.5, 0.02, 0.0, 0.0])


@pytest.mark.parametrize("numbers", [None, np.array([1])])
def test_the_signs_of_columns_make_no_difference(numbers: np.ndarray | None) -> None:
    """Words are hashed with signs elsewhere. Means that noise may explain keep theirs."""
    mean, signs = np.array([0.5, 0.02, 0.0004, 0.01, -0.0005]), np.array([-1, 1, 1, -1, 1])
    plain, signed = (
        Mass(row, 0.0001, Thresholds(0.005, 5.0), numbers) for row in (mean, signs * mean)
    )
    assert np.array_equal(signed.damping(), plain.damping())
    assert np.array_equal(signed.present, plain.present)
    assert np.array_equal(signed.centre(), signs * plain.centre())
    assert signed.present[4] == 0.0001 / 2.0


def test_rows_with_much_in_common_are_centred_in_all_columns() -> None:
    mean = np.array([0.5, 0.5, 0.1, -0.02])
    noise = 0.05
    shared = float(mean @ mean) - 4 * noise**2
    wholly = Mass(mean, noise, Thresholds(0.02, 20.0, shared=shared - 1e-9)).centre()
    assert wholly == pytest.approx(0.27 + (mean - 0.27) * (1.0 - noise**2 / mean.var()))
    assert not Mass(mean, noise, Thresholds(0.02, 20.0, shared=shared + 1e-9)).centre().any()


def test_a_shrunk_centre_is_nearer_to_the_mean_than_what_was_released() -> None:
    rng = np.random.default_rng(0)
    mean, noise = np.full(60, 0.9 / math.sqrt(60)), 0.07
    released = mean + noise * rng.normal(size=(200, 60))
    centres = np.array(
        [Mass(row, noise, Thresholds(0.02, 20.0, shared=0.3)).centre() for row in released]
    )
    errors = [np.mean(np.sum((found - mean) ** 2, axis=1)) for found in (centres, released)]
    # Of columns that are all alike next to nothing but their average is left.
    assert errors[0] < 0.1 * errors[1]


@pytest.mark.parametrize("mean", [[0.9], [0.6, 0.6], [0.6, 0.59]])
def test_masses_that_noise_may_explain_are_centred_at_their_average(mean: list[float]) -> None:
    for noise in (0.0, 0.05):
        centre = Mass(np.array(mean), noise, Thresholds(0.02, 20.0, shared=0.3)).centre()
        expected = mean if noise == 0.0 else np.full(len(mean), np.mean(mean))
        assert centre == pytest.approx(expected)


def test_no_centre_is_longer_than_a_row_and_no_damping_larger_than_fits() -> None:
    conditioning = Conditioning.of(np.full(1000, 1e9), np.full(1000, 50.0))
    assert np.linalg.norm(conditioning.head_centre) <= 1.0 + 1e-12
    assert conditioning.damping.max() <= 64.0
    assert conditioning.square_centre < 2**50


def test_shares_of_signal_are_those_of_the_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws from a known mixture: the share fitted to the end is the posterior mean."""
    monkeypatch.setattr(mixture, "ROUNDS", 3000)
    rng = np.random.default_rng(0)
    chances, scales = np.array([0.9, 0.1]), np.array([0.0, 4.0])
    picked = scales[(rng.random(200_000) < chances[1]).astype(int)]
    z = picked * rng.normal(size=200_000) + rng.normal(size=200_000)
    variances = 1.0 + scales**2
    posterior = chances * np.exp(-0.5 * z[:, None] ** 2 / variances) / np.sqrt(variances)
    posterior /= posterior.sum(axis=1, keepdims=True)
    truth = posterior @ (scales**2 / variances)
    assert np.abs(signal_share(z) - truth).mean() < 0.02


def test_few_rounds_tell_noise_from_signal() -> None:
    rng = np.random.default_rng(0)
    noise = signal_share(rng.normal(size=50_000))
    mixed = signal_share(np.concatenate((rng.normal(size=50_000), rng.normal(0, 10, 5000))))
    assert noise.mean() < 0.25
    assert mixed[:50_000].mean() < 0.35
    assert mixed[50_000:].mean() > 0.6


def test_shares_lie_between_nothing_and_all_and_grow_with_size() -> None:
    z = np.concatenate((np.random.default_rng(1).normal(size=5000), np.linspace(-100, 100, 400)))
    share = signal_share(z)
    assert np.all((share >= 0.0) & (share <= 1.0))
    order = np.argsort(np.abs(z))
    assert np.all(np.diff(share[order]) >= -1e-9)
    halves = sum(size_counts(part) for part in z.reshape(2, -1))
    assert np.array_equal(SignalShare(halves)(z), share)


@pytest.mark.parametrize("left", [None, np.array([0, 3, 4, 700])])
def test_compiled_signals_are_those_of_numpy_to_the_last_bit(left: np.ndarray | None) -> None:
    rng = np.random.default_rng(2)
    spread, noise = rng.uniform(0.5, 3.0, 1001), 0.37
    gathered = rng.normal(size=(3, 1001)) * 10.0 ** rng.uniform(-3.0, 3.0, 1001)
    gathered[:, 0] = 0.0
    z = gathered / (noise * np.sqrt(spread))
    z = z if left is None else z[:, left]
    counts = size_counts(z.ravel())
    facts = (gathered, spread, noise, left)
    assert np.array_equal(kernel.size_counts(*facts, BIN, LAST, 0, z.shape[1]), counts)
    share = SignalShare(counts)
    part = share(z)
    expected, found = np.zeros(1001), np.zeros(1001)
    roots = np.sqrt(np.sqrt((z * part) ** 2 + part).mean(axis=0))
    expected[slice(None) if left is None else left] = roots
    lines = (share.middles, share.shares, share.slopes)
    kernel.signals(*facts, *lines, 0, z.shape[1], found)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("columns", [None, [0, 3, 8], list(range(30)), []])
def test_another_process_gets_the_same_conditioning(columns: list[int] | None) -> None:
    rng = np.random.default_rng(4)
    first = Conditioning.of(rng.uniform(0.1, 1.0, 40), rng.normal(size=40) * (np.arange(40) < 9))
    left = None if columns is None else np.array(columns, np.int64)
    sent = first.rescaled(first.damping, 1.7, columns=left)
    found = pickle.loads(pickle.dumps(sent))
    for name, value in vars(sent).items():
        assert np.array_equal(getattr(found, name), value), name
    assert (sent.few is None) == (columns is None or len(columns) > 5)
