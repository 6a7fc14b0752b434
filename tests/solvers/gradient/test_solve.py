"""A whole descent: it learns, it is a function of what it releases, and its noise is its own."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.mechanisms.random_bits import random_bits
from dplasso.solvers.gradient import GradientSolution, gradient_descent, plan_descent, replay
from dplasso.solvers.gradient.conditioning import Mass
from dplasso.solvers.gradient.descent import Descent
from dplasso.solvers.gradient.iterate import ThreadIterate
from neighbours import LOSSES, small_plan


def text(rows: int = 4000, columns: int = 2000, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of rare and frequent words, a few of which decide the label."""
    rng = np.random.default_rng(seed)
    chances = np.minimum(0.3, 20.0 / np.arange(1, columns + 1))
    X = sp.csr_array((rng.random((rows, columns)) < chances).astype(np.float64))
    truth = np.zeros(columns)
    truth[rng.choice(min(150, columns), 30, replace=False)] = rng.normal(0.0, 3.0, 30)
    margins = X @ truth
    return X, margins - np.median(margins)


def unit(X: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(sp.diags_array(1.0 / np.sqrt(np.maximum(X.sum(axis=1), 1.0))) @ X)


def fit(X, y, loss, epsilon=4.0, seed=0, n_nonzero=None, **options) -> GradientSolution:
    rows, columns = X.shape
    public = {"n_rows": rows, "n_columns": columns, "n_nonzero": n_nonzero}
    plan = plan_descent(loss, epsilon=epsilon, delta=1e-8, **public)
    return gradient_descent(X, y, loss=loss, plan=plan, generator=seed, **options)


def test_two_classes_are_learned() -> None:
    X, margins = text()
    y = (margins > 0).astype(int)
    found = fit(X[:3000], y[:3000], LogisticLoss())
    right = (unit(X[3000:]) @ found.weights[0] + found.intercepts[0] > 0) == y[3000:]
    assert right.mean() > 0.8
    few = fit(X[:3000], y[:3000], LogisticLoss(), n_nonzero=60)
    assert few.weights.nnz == 60
    right = (unit(X[3000:]) @ few.weights.toarray()[0] + few.intercepts[0] > 0) == y[3000:]
    assert right.mean() > 0.75


def test_three_classes_are_learned() -> None:
    X, margins = text()
    y = np.digitize(margins, np.quantile(margins, [1 / 3, 2 / 3]))
    found = fit(X[:3000], y[:3000], SoftmaxLoss(classes=(0, 1, 2)), epsilon=8.0)
    predicted = np.argmax(unit(X[3000:]) @ found.weights.T + found.intercepts, axis=1)
    assert (predicted == y[3000:]).mean() > 0.6


@pytest.mark.parametrize("residual_bound", [math.inf, 1.0])
def test_numbers_are_learned(residual_bound: float) -> None:
    X, margins = text()
    y = np.clip(margins / margins.std() + 0.5, -2, 2)
    found = fit(X[:3000], y[:3000], SquaredLoss(2.0, residual_bound), epsilon=8.0)
    predicted = unit(X[3000:]) @ found.weights[0] + found.intercepts[0]
    assert np.mean((predicted - y[3000:]) ** 2) < 0.6 * np.var(y[3000:])


def test_accuracy_grows_with_epsilon() -> None:
    X, margins = text()
    y, right = (margins > 0).astype(int), []
    for epsilon in (0.1, 1.0, math.inf):
        found = fit(X[:3000], y[:3000], LogisticLoss(), epsilon=epsilon)
        predicted = unit(X[3000:]) @ found.weights[0] + found.intercepts[0] > 0
        right.append(np.mean(predicted == y[3000:]))
    assert right[0] < right[1] - 0.05 < right[2] - 0.08


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("columns", [50, 1500])
def test_the_solution_is_a_function_of_the_releases(name: str, columns: int) -> None:
    loss = LOSSES[name]
    X, margins = text(300, columns)
    plan = small_plan(loss, columns, rows=300, epsilon=3.0)
    y = (margins > 0).astype(int)
    found = gradient_descent(X, y, loss=loss, plan=plan, generator=1, keep_releases=True)
    again = replay(plan, found.mass, found.releases)
    assert len(found.releases) == plan.steps
    assert np.array_equal(again.weights, found.weights)
    assert np.array_equal(again.intercepts, found.intercepts)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("columns", [50, 1500])
def test_so_is_one_that_was_cut_and_it_has_as_many_weights_as_asked(
    name: str, columns: int
) -> None:
    loss = LOSSES[name]
    X, margins = text(300, columns)
    plan = small_plan(loss, columns, rows=300, epsilon=3.0, n_nonzero=7)
    y = (margins > 0).astype(int)
    found = gradient_descent(X, y, loss=loss, plan=plan, generator=1, keep_releases=True)
    again = replay(plan, found.mass, found.releases)
    assert found.weights.nnz == 7
    assert np.array_equal(again.weights.toarray(), found.weights.toarray())
    assert np.array_equal(again.intercepts, found.intercepts)


def test_weights_that_stay_take_over_from_those_dropped() -> None:
    """Thirty columns alike share a weight; one that is left has all of it."""
    rng = np.random.default_rng(0)
    X = (rng.random((3000, 200)) < 0.1).astype(np.float64)
    X[:, :30] = rng.integers(0, 2, (3000, 1))
    y = np.where(rng.random(3000) < 0.9, X[:, 0], 1.0 - X[:, 0])
    few = fit(X, y, LogisticLoss(), epsilon=8.0, n_nonzero=1)
    all_weights = fit(X, y, LogisticLoss(), epsilon=8.0).weights
    assert few.weights.nnz == 1 and few.weights.indices[0] < 30
    assert few.weights.data[0] > 3.0 * all_weights.max()


def test_the_result_does_not_depend_on_threads_or_format() -> None:
    X, margins = text(500, 3000)
    y = (margins > 0).astype(int)
    one = fit(X, y, LogisticLoss(), n_threads=1)
    for other in (fit(X, y, LogisticLoss(), n_threads=3), fit(X.toarray(), y, LogisticLoss())):
        assert np.array_equal(other.weights, one.weights)
        assert np.array_equal(other.intercepts, one.intercepts)


def test_the_result_is_centred_as_the_descent_was() -> None:
    """A row equal to the centre has the margin of the intercept, with all weights and with few."""
    X, margins = text(2000, 1200)
    y, public = (margins > 0).astype(int), {"rows": 2000, "epsilon": 4.0}
    plan = small_plan(LogisticLoss(), 1200, **public)
    cut = small_plan(LogisticLoss(), 1200, n_nonzero=20, **public)
    options = {"loss": LogisticLoss(), "plan": plan, "generator": 0}
    found = gradient_descent(X, y, keep_releases=True, **options)
    few = gradient_descent(X, y, keep_releases=True, **(options | {"plan": cut}))
    for planned, solution in ((plan, found), (cut, few)):
        intercept = np.zeros(planned.steps + 1)
        for step, released in enumerate(solution.releases):
            taken = planned.intercept_step * planned.grid * (released[0, -1] + 0.5)
            intercept[step + 1] = intercept[step] - taken
        mass = Mass.of(solution.mass, planned)
        assert np.linalg.norm(mass.centre()) < 1.0  # else it would have been shortened
        last = intercept[-math.ceil(planned.steps / 4) :].mean()
        weights = sp.csr_array(solution.weights).toarray()[0]
        assert solution.intercepts[0] + weights @ mass.centre() == pytest.approx(last)


@pytest.mark.parametrize("n_nonzero", [None, 1000, 20])
def test_few_of_very_many_columns_are_learnt_in_proportion(n_nonzero: int | None) -> None:
    """Three words tell, and a hundred thousand say nothing: margins stay those of a probability."""
    rng = np.random.default_rng(0)
    telling = rng.random((5000, 3)) < 0.3
    others = sp.random_array((5000, 100_000), density=5e-4, rng=rng) != 0
    X = sp.hstack([sp.csr_array(telling), others], format="csr").astype(float)
    y = telling.any(axis=1) ^ (rng.random(5000) < 0.1)
    public = {"rows": 5000, "epsilon": 4.0, "n_nonzero": n_nonzero}
    plan = small_plan(LogisticLoss(), X.shape[1], **public)
    found = gradient_descent(X, y.astype(int), loss=LogisticLoss(), plan=plan, generator=0)
    margins = sp.csr_array(unit(X) @ sp.csr_array(found.weights).T).toarray()[:, 0]
    margins += found.intercepts
    assert ((margins > 0) == y).mean() > 0.87
    assert np.median(np.abs(margins)) < 10.0


@pytest.mark.parametrize("n_nonzero", [None, 50])
def test_weights_that_are_held_back_come_out_whole(n_nonzero: int | None) -> None:
    """From the same releases: what is held back is where gradients are asked for, nothing else."""
    X, margins = text(2000, 1200)
    plan = small_plan(LogisticLoss(), 1200, rows=2000, epsilon=4.0, n_nonzero=n_nonzero)
    options = {"loss": LogisticLoss(), "generator": 0, "keep_releases": True}
    whole = gradient_descent(X, (margins > 0).astype(int), plan=plan, **options)
    held = dataclasses.replace(plan, held_back=0.25)
    walk = Descent(held, Mass.of(whole.mass, held), ThreadIterate(1, 1200, 1))
    first = Descent(plan, Mass.of(whole.mass, plan), ThreadIterate(1, 1200, 1))
    for released in whole.releases[:10]:
        walk.receive(released)
        first.receive(released)
    assert first.iterate.weights().any()
    assert np.allclose(walk.iterate.weights(), 0.25 * first.iterate.weights(), rtol=1e-12)
    again = replay(held, whole.mass, whole.releases)
    difference = sp.csr_array(again.weights) - sp.csr_array(whole.weights)
    assert difference.count_nonzero() == 0
    assert np.array_equal(again.intercepts, whole.intercepts)


@pytest.mark.parametrize("balanced_from", [0, 27, 29, 30])
def test_iterates_with_margins_on_one_side_are_not_averaged(balanced_from: int) -> None:
    """Where weights were held back; all residuals have one sign in the steps before."""
    X, margins = text(2000, 1200)
    plan = small_plan(LogisticLoss(), 1200, rows=2000, epsilon=4.0)
    plan = dataclasses.replace(plan, steps=30, held_back=0.25)
    options = {"loss": LogisticLoss(), "generator": 0, "keep_releases": True}
    found = gradient_descent(X, (margins > 0).astype(int), plan=plan, **options)
    walk = Descent(plan, Mass.of(found.mass, plan), ThreadIterate(1, 1200, 1))
    all_of_one_sign = round(0.3 * plan.clip * plan.n_rows / plan.grid)
    iterates = []
    for step, released in enumerate(found.releases):
        released[:, -1] = 0 if step >= balanced_from else all_of_one_sign
        walk.receive(released)
        iterates.append(walk.iterate.weights().copy())
    # The last quarter, from the second balanced release on, and always the last one.
    first = min(max(22, balanced_from + 1 if balanced_from else 0), 29)
    assert np.allclose(walk.averaged(), np.mean(iterates[first:], axis=0), rtol=1e-12)


def test_fresh_noise_every_time_and_the_same_for_a_seed() -> None:
    X, margins = text(200, 1200)
    y = (margins > 0).astype(int)
    assert np.array_equal(fit(X, y, LogisticLoss()).mass, fit(X, y, LogisticLoss()).mass)
    secure = [fit(X, y, LogisticLoss(), seed=random_bits()).mass for _ in range(2)]
    assert not np.any(secure[0] == secure[1])


def test_the_order_of_rows_cannot_show() -> None:
    X, margins = text(300, 1200)
    y = (margins > 0).astype(int)
    order = np.random.default_rng(0).permutation(300)
    assert np.array_equal(
        fit(X[order], y[order], LogisticLoss()).weights, fit(X, y, LogisticLoss()).weights
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": 11}, "X has 10 columns and the plan 11"),
        ({"loss": SoftmaxLoss(classes=(0, 1, 2))}, "loss has 1 outputs and the plan 3"),
    ],
)
def test_plans_for_something_else_are_refused(change: dict, message: str) -> None:
    plan = small_plan(**({"loss": LogisticLoss(), "columns": 10} | change))
    with pytest.raises(ValueError, match=message):
        gradient_descent(np.ones((5, 10)), np.ones(5), loss=LogisticLoss(), plan=plan)


def test_bad_options_are_named() -> None:
    plan = small_plan(LogisticLoss(), 10)
    X, y = np.ones((5, 10)), np.ones(5)
    for options, message in (
        ({"n_threads": 0}, "n_threads must be"),
        ({"scaling": "max"}, "scaling must be"),
        ({"generator": "x"}, "generator must be"),
    ):
        with pytest.raises(ValueError, match=message):
            gradient_descent(X, y, loss=LogisticLoss(), plan=plan, **options)
    with pytest.raises(ValueError, match="loss must be a Loss"):
        gradient_descent(X, y, loss="logistic", plan=plan)
    with pytest.raises(ValueError, match="differ in their number of rows") as raised:
        gradient_descent(X, y[:-1], loss=LogisticLoss(), plan=plan)
    assert "5" not in str(raised.value)


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1200)])
def test_rows_without_entries_do_no_harm(shape: tuple[int, int], epsilon: float) -> None:
    found = fit(sp.csr_array(shape), np.ones(shape[0]), LogisticLoss(), epsilon=epsilon)
    assert np.all(np.isfinite(found.weights))
    assert np.all(np.isfinite(found.intercepts))


def test_progress_is_told() -> None:
    X, margins = text(100, 1200)
    told: list[int] = []
    fit(X, (margins > 0).astype(int), LogisticLoss(), progress=told.append)
    assert told == list(range(1, len(told) + 1))
    assert len(told) >= 5
