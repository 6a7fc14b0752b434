"""A descent on a card has the bits of one on threads: releases, weights and intercepts.

The card is its twin, which runs the same kernels and the same calls on the processor.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.audit.descent.recording import Recording
from dplasso.data.unit_rows import UnitRows
from dplasso.losses import LogisticLoss, Loss, SoftmaxLoss, SquaredLoss
from dplasso.losses.encoded import EncodedLabels, encoded, row_weights
from dplasso.losses.smoothed_hinge import SmoothedHingeLoss
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import random_bits
from dplasso.solvers.gradient import GradientPlan, GradientSolution, plan_descent
from dplasso.solvers.gradient.backend import Backend, ThreadBackend
from dplasso.solvers.gradient.card import CardBackend
from dplasso.solvers.gradient.card_rows import CardRows
from dplasso.solvers.gradient.rows import PrivateRows
from dplasso.solvers.gradient.solve import descend
from twin import Twin

ROWS, COLUMNS = 300, 1300
RNG = np.random.default_rng(0)


def wide() -> sp.csr_array:
    """Real values; one column that all rows have, an empty row, an almost full one."""
    X = sp.random_array((ROWS, COLUMNS), density=0.02, rng=RNG, format="lil")
    X[:, 3], X[5, :], X[7, 40:] = 1.0, 0.0, 1.5
    return X.tocsr()


X = wide()
BINARY = RNG.integers(0, 2, ROWS)
SOFTMAX = SoftmaxLoss(["a", "b", "c"])
NUMBERS = SquaredLoss(2.0)
# Name: loss, rows, labels, scaling, further numbers of the plan.
PROBLEMS = {
    "0/1": (LogisticLoss(), X, BINARY, "presence", {}),
    "real values": (LogisticLoss(), X, BINARY, "unit", {}),
    "softmax": (SOFTMAX, X, RNG.choice(list("abc"), ROWS), "presence", {}),
    "squared": (NUMBERS, X, RNG.normal(size=ROWS), "unit", {}),
    "clipped": (SquaredLoss(2.0, 0.5), X, RNG.normal(size=ROWS), "unit", {}),
    "hinge": (SmoothedHingeLoss(smoothing=0.5), X, BINARY, "unit", {}),
    "few nonzeros": (LogisticLoss(), X, BINARY, "presence", {"n_nonzero": 100}),
    "few nonzeros of several classes": (
        *(SOFTMAX, X, RNG.choice(list("abc"), ROWS), "presence", {"n_nonzero": 200}),
    ),
    "few nonzeros of equal columns": (
        *(LogisticLoss(), sp.hstack([X, X], "csr"), BINARY, "presence"),
        {"n_nonzero": 101, "epsilon": math.inf},
    ),
    "dense": (LogisticLoss(), RNG.normal(size=(ROWS, 30)), BINARY, "unit", {}),
    "people": (
        *(LogisticLoss(), X, EncodedLabels(BINARY.astype(float), RNG.random(ROWS)), "unit"),
        {"rows_per_person": 2},
    ),
    "no noise": (LogisticLoss(), X, BINARY, "presence", {"epsilon": math.inf}),
}


def planned(problem: str) -> GradientPlan:
    loss, rows, _, _, more = PROBLEMS[problem]
    public = {"epsilon": 2.0, "delta": 1e-6, "n_rows": ROWS, "n_columns": rows.shape[1], **more}
    plan = plan_descent(loss, **public)
    # Steps enough for two changes of weights of columns, cuts, and a mean.
    return replace(plan, steps=min(plan.steps, 20))


def facts(problem: str) -> tuple[UnitRows, np.ndarray, Loss, np.ndarray | None]:
    loss, rows, labels, scaling, _ = PROBLEMS[problem]
    unit = UnitRows.of(rows, scaling)
    return unit, encoded(loss, labels, ROWS), loss, row_weights(labels)


def on_threads(problem: str, plan: GradientPlan) -> Backend:
    rows, labels, loss, weights = facts(problem)
    return ThreadBackend(PrivateRows(rows, labels, loss, plan, 2, weights), plan, 2)


def on_card(problem: str, plan: GradientPlan, device: Twin, room: int | None = None) -> Backend:
    rows, labels, loss, weights = facts(problem)
    return CardBackend(device, CardRows(device, rows, labels, loss, plan, weights, room), plan)


def run(backend: Backend, plan: GradientPlan, noise: NoiseOf = GridGaussian) -> GradientSolution:
    return descend(backend, plan, random_bits(1), keep_releases=True, noise_of=noise)


def assert_same(found: GradientSolution, expected: GradientSolution) -> None:
    assert np.array_equal(found.mass, expected.mass)
    for mine, other in zip(found.releases, expected.releases, strict=True):
        assert np.array_equal(mine, other)
    difference = sp.csr_array(found.weights) - sp.csr_array(expected.weights)
    assert difference.count_nonzero() == 0
    assert np.array_equal(found.intercepts, expected.intercepts)
    assert sp.csr_array(found.weights).count_nonzero() > 0


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_card_has_the_bits_of_threads(problem: str) -> None:
    plan = planned(problem)
    assert_same(run(on_card(problem, plan, Twin()), plan), run(on_threads(problem, plan), plan))


@pytest.mark.parametrize("problem", ["0/1", "real values", "softmax", "dense"])
def test_data_that_do_not_fit_stream_through_the_card(problem: str) -> None:
    plan, device = planned(problem), Twin()
    backend = on_card(problem, plan, device, room=2500)
    assert not backend._rows.resident
    assert_same(run(backend, plan), run(on_threads(problem, plan), plan))


@pytest.mark.parametrize("problem", ["0/1", "real values", "dense"])
def test_lanes_share_rows_and_columns(problem: str) -> None:
    plan = replace(planned(problem), steps=2)
    found = run(on_card(problem, plan, Twin(lanes=True)), plan)
    assert_same(found, run(on_threads(problem, plan), plan))


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 40), (2, 5000)])
def test_odd_shapes(shape: tuple[int, int]) -> None:
    rows = UnitRows.of(sp.random_array(shape, density=0.5, rng=np.random.default_rng(1)), "unit")
    loss, labels = LogisticLoss(), np.arange(shape[0]) % 2.0
    plan = plan_descent(loss, epsilon=1.0, delta=1e-6, n_rows=10, n_columns=shape[1])
    plan, device = replace(plan, steps=3), Twin()
    card = CardBackend(device, CardRows(device, rows, labels, loss, plan), plan)
    threads = ThreadBackend(PrivateRows(rows, labels, loss, plan, 1), plan, 1)
    found, expected = run(card, plan), run(threads, plan)
    assert np.array_equal(found.mass, expected.mass)
    assert np.array_equal(found.releases, expected.releases)


def test_long_columns_are_cut_into_pieces() -> None:
    """One column in all of many rows, beside many short ones."""
    count, columns = 7000, 9000
    places = np.random.default_rng(2).integers(1, columns, (count, 2))
    indices = np.concatenate((np.zeros(count, np.int64), places.ravel()))
    row = np.concatenate((np.arange(count), np.repeat(np.arange(count), 2)))
    matrix = sp.coo_array((np.ones(len(row)), (row, indices)), shape=(count, columns)).tocsc()
    rows, labels, loss = UnitRows.of(matrix), np.arange(count) % 2.0, LogisticLoss()
    plan = plan_descent(loss, epsilon=1.0, delta=1e-6, n_rows=count, n_columns=columns)
    plan, device = replace(plan, steps=3), Twin()
    card = CardBackend(device, CardRows(device, rows, labels, loss, plan), plan)
    assert_same(
        run(card, plan), run(ThreadBackend(PrivateRows(rows, labels, loss, plan, 2), plan, 2), plan)
    )
    assert "weighted_sums_pieces_32" in device.launched and "scatter_pieces_32" in device.launched


def test_indices_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, device = planned("real values"), Twin()
    monkeypatch.setattr("dplasso.solvers.gradient.card_rows.SMALL", 100)
    backend = on_card("real values", plan, device)
    assert backend._rows._columns.kinds.index_bytes == 8
    assert_same(run(backend, plan), run(on_threads("real values", plan), plan))


def test_an_audits_noise_is_added_in_memory() -> None:
    plan, recording = planned("0/1"), Recording()
    assert_same(
        run(on_card("0/1", plan, Twin()), plan, recording), run(on_threads("0/1", plan), plan)
    )
    assert len(recording.found) == 1 + plan.steps


@pytest.mark.parametrize(("problem", "most"), [("0/1", 100), ("few nonzeros", COLUMNS)])
def test_a_step_copies_nothing_as_long_as_the_columns(problem: str, most: int) -> None:
    """But for the first cut, and for the steps that re-weight columns.

    Other cuts copy histograms, which have one length.
    """
    plan, device = replace(planned(problem), reweighted=False), Twin()
    backend = on_card(problem, plan, device)
    copied, histogram = [], 4 * 8 * 2**14 + 8 * 2**7
    descend(backend, plan, random_bits(1), progress=lambda _: copied.append(device.copied))
    steps = np.diff(copied)
    steps[steps > histogram] -= histogram
    assert np.sort(steps)[-2] < most
    assert ("drop" in device.launched) == (problem == "few nonzeros")


def test_a_loss_without_a_kernel_is_rejected() -> None:
    class Mine(LogisticLoss):
        loops = LogisticLoss.loops._replace(on_card=None)

    rows, plan = UnitRows.of(X), planned("0/1")
    with pytest.raises(ValueError, match="Mine.*device='cpu'"):
        CardRows(Twin(), rows, BINARY.astype(float), Mine(), plan)
