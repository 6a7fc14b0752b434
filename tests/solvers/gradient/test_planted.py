"""Bugs of the kind that cost privacy, planted one by one: each is noticed."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit

from dplasso.losses import LogisticLoss
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import gaussian
from dplasso.solvers.gradient import gradient_descent
from dplasso.solvers.gradient import plan as planning
from dplasso.solvers.gradient.conditioning import Conditioning, Mass
from dplasso.solvers.gradient.plan import ROW_LENGTH, GradientPlan
from dplasso.solvers.gradient.rows import PrivateRows
from neighbours import assert_charged_for_mass, assert_charged_for_step, private_rows, small_plan
from planted.coefficients import plant

ROWS, COLUMNS = 60, 1100
LOSS = LogisticLoss()
Patch = pytest.MonkeyPatch


def problem(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (rng.random((ROWS, COLUMNS)) < 0.02).astype(float), rng.integers(0, 2, ROWS)


def releases(
    monkeypatch: Patch, plan: GradientPlan, seed: int = 0
) -> list[tuple[float, np.ndarray]]:
    """Of every release of a descent: the standard deviation of its noise, and the noise."""
    found, add = [], GridGaussian.add_to

    def recorded(self: GridGaussian, values: np.ndarray, *rest: object) -> None:
        before = values.copy()
        add(self, values, *rest)
        found.append((self.sigma, values - before))

    with monkeypatch.context() as patch:
        patch.setattr(GridGaussian, "add_to", recorded)
        gradient_descent(*problem(seed), loss=LOSS, plan=plan, generator=seed)
    return found


def check_rows(monkeypatch: Patch) -> None:
    """Rows of every kind, removed from among others: their change is what is charged at most."""
    X, y = problem()
    X[1], X[2, 3:] = 0.0, 0.0
    rng, plan = np.random.default_rng(1), small_plan(LOSS, COLUMNS, ROWS)
    centre = np.full(COLUMNS, 0.8 / math.sqrt(COLUMNS))
    conditioning = Conditioning.of(rng.uniform(0.1, 1.0, COLUMNS), centre)
    weights, intercepts = 5.0 * rng.normal(size=(1, COLUMNS)), np.array([-3.0])
    whole = private_rows(X, y, LOSS, plan, "unit")
    for row in range(12):
        others = np.arange(ROWS) != row
        less = private_rows(X[others], y[others], LOSS, plan, "unit")
        assert_charged_for_mass(whole.mass() - less.mass(), plan)
        change = whole.sums(conditioning, weights, intercepts)
        change -= less.sums(conditioning, weights, intercepts)
        assert_charged_for_step(change, plan)


def check_account(monkeypatch: Patch) -> None:
    """All noise that was really drawn, over what a row can change, costs what was asked."""
    for neighboring, changed in (("add_remove", 1), ("replace_one", 2)):
        plan = small_plan(LOSS, COLUMNS, ROWS, neighboring=neighboring)
        square = 0.0
        for sigma, noise in releases(monkeypatch, plan):
            length = 1.0 if len(noise) == COLUMNS else ROW_LENGTH
            square += (changed * plan.unit * length / sigma) ** 2
        assert math.sqrt(square) <= gaussian.mu_of(1.0, 1e-6) * (1 + 1e-12)


def check_noise(monkeypatch: Patch) -> None:
    """Every number of every release has noise of its own, of the size that is stated."""
    drawn = releases(monkeypatch, small_plan(LOSS, COLUMNS, ROWS))
    units = np.array([noise[:COLUMNS] / sigma for sigma, noise in drawn])
    assert all(np.all(noise != 0) for _, noise in drawn)
    assert np.all(np.abs(units.std(axis=1) - 1.0) < 0.15)
    assert np.all(np.abs(np.corrcoef(units) - np.eye(len(units))) < 0.2)


def check_interference(monkeypatch: Patch) -> None:
    """Where what is released is the same, so is the result, whatever the data are."""
    plan = small_plan(LOSS, COLUMNS, ROWS, epsilon=1000.0)  # masses are not all hidden by noise

    def solve(seed: int) -> np.ndarray:
        rng = np.random.default_rng(7)

        def fixed(self: GridGaussian, values: np.ndarray, *rest: object) -> None:
            values[:] = rng.normal(0.0, self.sigma, len(values)).astype(np.int64)

        with monkeypatch.context() as patch:
            patch.setattr(GridGaussian, "add_to", fixed)
            found = gradient_descent(*problem(seed), loss=LOSS, plan=plan)
        return np.append(found.weights, found.intercepts)

    assert np.array_equal(solve(0), solve(1))


def forget_the_clip(patch: Patch) -> None:
    def unclipped(loss, clip, margins, labels, row_weights, weights, constant, first, last, out):  # type: ignore[no-untyped-def]
        residual = (expit(margins[0, first:last]) - labels[first:last]) / clip
        out[0, first:last] = (residual * row_weights[first:last]).astype(np.int64)
        return np.array([int(np.sum((residual * constant).astype(np.int64)))])

    plant(patch, unclipped)


def weigh_rows_before_centring(patch: Patch) -> None:
    weigh = PrivateRows._weigh

    def uncentred(self: PrivateRows, conditioning: Conditioning) -> np.ndarray:
        return weigh(self, Conditioning.of(conditioning.damping, np.zeros(COLUMNS)))

    patch.setattr(PrivateRows, "_weigh", uncentred)


def weigh_rows_by_all_rows(patch: Patch) -> None:
    weigh = PrivateRows._weigh
    patch.setattr(
        PrivateRows, "_weigh", lambda self, place: weigh(self, place) * self._labels.mean() * 2.2
    )


def leave_the_mass_uncharged(patch: Patch) -> None:
    patch.setattr(planning.gaussian, "split", lambda mu, shares: (mu * math.sqrt(shares[0]), mu))


def count_a_replaced_row_once(patch: Patch) -> None:
    patch.setattr(GradientPlan, "rows_changed", 1)


def condition_by_the_exact_mass(patch: Patch) -> None:
    exact: list[np.ndarray] = []
    mass, read = PrivateRows.mass, Mass.of

    def remembered(self: PrivateRows) -> np.ndarray:
        exact.append(mass(self))
        return exact[-1].copy()

    patch.setattr(PrivateRows, "mass", remembered)
    patch.setattr(Mass, "of", lambda released, plan: read(exact[-1], plan))


def use_noise_again(patch: Patch) -> None:
    add = GridGaussian.add_to

    def same(self: GridGaussian, values: np.ndarray, *rest: object) -> None:
        add(self, values, random_bits(5).generator)

    patch.setattr(GridGaussian, "add_to", same)


def leave_the_intercept_without_noise(patch: Patch) -> None:
    add = GridGaussian.add_to

    def partly(self: GridGaussian, values: np.ndarray, *rest: object) -> None:
        add(self, values[:COLUMNS], *rest)

    patch.setattr(GridGaussian, "add_to", partly)


def halve_the_noise(patch: Patch) -> None:
    add = GridGaussian.add_to

    def quieter(self: GridGaussian, values: np.ndarray, *rest: object) -> None:
        noise = np.zeros_like(values)
        add(self, noise, *rest)
        values += noise // 2

    patch.setattr(GridGaussian, "add_to", quieter)


BUGS = {
    forget_the_clip: check_rows,
    weigh_rows_before_centring: check_rows,
    weigh_rows_by_all_rows: check_rows,
    leave_the_mass_uncharged: check_account,
    count_a_replaced_row_once: check_account,
    condition_by_the_exact_mass: check_interference,
    use_noise_again: check_noise,
    leave_the_intercept_without_noise: check_noise,
    halve_the_noise: check_noise,
}


@pytest.mark.parametrize("check", [check_rows, check_account, check_noise, check_interference])
def test_the_code_as_it_is_passes(check: Callable[[Patch], None], monkeypatch: Patch) -> None:
    check(monkeypatch)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_noticed(bug: Callable[[Patch], None], monkeypatch: Patch) -> None:
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        BUGS[bug](monkeypatch)
