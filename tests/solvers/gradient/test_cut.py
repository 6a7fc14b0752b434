"""Weights that are dropped: which they are, and that their columns cost nothing more."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dplasso.base import threads as pool
from dplasso.data.unit_rows import UnitRows
from dplasso.kernels import descent
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.solvers.gradient import gradient_descent, held_columns
from dplasso.solvers.gradient.conditioning import Conditioning, Mass, MeanLength
from dplasso.solvers.gradient.cut import largest_weights
from dplasso.solvers.gradient.descent import Descent
from dplasso.solvers.gradient.held_columns import HeldColumns
from dplasso.solvers.gradient.iterate import ThreadIterate
from neighbours import LOSSES, private_rows, small_plan

SIZES = st.sampled_from([0.0, 5e-324, 1e-300, 0.5, 1.0, 1.0 + 2**-52, 3.0, 1e300])


def largest_by_sorting(sizes: np.ndarray, count: int) -> list[int]:
    """The same by a stable sort of all."""
    order = np.argsort(-sizes, kind="stable")[:count]
    return sorted(place for place in order.tolist() if sizes[place] > 0.0)


def largest_of(sizes: np.ndarray, count: int, threads: int) -> list[int]:
    """Places of the largest, of weights in columns of mass 1."""
    marks = largest_weights(sizes[None], np.ones(len(sizes)), None, count, threads)
    return np.flatnonzero(marks[0]).tolist()


@settings(deadline=None)
@given(
    hnp.arrays(np.float64, st.integers(1, 60), elements=SIZES | st.floats(0.0, 1e3)),
    st.integers(1, 60),
    st.integers(1, 5),
)
def test_the_largest_are_those_that_a_sort_finds(
    sizes: np.ndarray, count: int, threads: int
) -> None:
    assert largest_of(sizes, count, threads) == largest_by_sorting(sizes, count)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_largest_of_many(threads: int) -> None:
    rng = np.random.default_rng(0)
    sizes = np.abs(rng.normal(size=50_000)).round(4)
    for count in (1, 10, 5_000, 49_999, 50_000):
        assert largest_of(sizes, count, threads) == largest_by_sorting(sizes, count)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_columns_are_taken_whatever_the_runs(threads: int) -> None:
    """Compiled loops over runs, beside what numpy does with masks."""
    rng = np.random.default_rng(threads)
    for width in (1, 7, 300):
        for share in (0.0, 0.1, 0.9, 1.0):
            columns = np.flatnonzero(rng.random(width) < share)
            numbers, runs = rng.integers(-9, 9, width), pool.even_runs(len(columns), threads)
            taken = np.empty(len(columns), np.int64)
            pool.run(descent.take, [(numbers, columns, *run, taken) for run in runs])
            assert np.array_equal(taken, numbers[columns])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_held_columns_serve_those_that_are_among_them(threads: int) -> None:
    rng = np.random.default_rng(0)
    X = sp.csc_array((rng.random((50, 20_000)) < 0.05).astype(float))
    rows, every = UnitRows.of(X, "presence"), np.arange(20_000)
    asked = np.flatnonzero(rng.random(20_000) < 0.8)
    held = HeldColumns(rows, asked, threads)
    assert held.entries == X[:, asked].nnz
    assert held.serves(rows, asked) and held.serves(rows, np.delete(asked, [0, 9_000]))
    assert not held.serves(rows, asked[: len(asked) // 2])  # which are far fewer
    other = np.setdiff1d(every, asked)[-1:]
    assert not held.serves(rows, np.sort(np.append(asked, other)))
    assert not held.serves(rows, None)


def test_columns_beyond_32_bits_have_longer_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = sp.csc_array((rng.random((50, 3_000)) < 0.05).astype(float))
    rows = UnitRows.of(X, "presence")
    short = HeldColumns(rows, None, 1)
    monkeypatch.setattr(held_columns, "MANY", 2_999)
    long = HeldColumns(rows, None, 1)
    assert short.columns.dtype == np.int32 and long.columns.dtype == np.int64
    assert np.array_equal(short.columns, long.columns)


def released(plan, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(0.0, plan.step_sigma, (plan.outputs, plan.n_columns + 1)).astype(np.int64)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_a_cut_keeps_the_weights_that_move_margins_most(name: str, threads: int) -> None:
    rng, plan = np.random.default_rng(0), small_plan(LOSSES[name], 1200, n_nonzero=30)
    mass = Mass.of((rng.random(1200) * plan.unit * plan.n_rows).astype(np.int64), plan)
    walk = Descent(plan, mass, ThreadIterate(plan.outputs, 1200, threads), threads=threads)
    cuts, cut = 0, Descent.__dict__["_cut"]
    while walk.done < plan.steps:
        before, left = walk.conditioning, plan.weights_left(walk.done + 1)
        noted: list[tuple] = []

        def watched(self: Descent, noted: list = noted) -> None:
            at = self.conditioning
            noted.append((self.iterate.weights().copy(), at, at.damping.copy()))
            cut(self)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Descent, "_cut", watched)
            walk.receive(released(plan, rng))
        if not noted:
            assert walk.conditioning.columns is before.columns
            continue
        weights, at, damping = noted[0]
        assert np.array_equal(at.damping, damping)  # which is valid until the next cut
        cuts += 1
        reach = (np.abs(weights) * np.sqrt(mass.present)).ravel()
        expected = np.zeros(reach.size)
        kept = largest_by_sorting(reach, left)
        expected[kept] = weights.ravel()[kept]
        assert np.array_equal(walk.iterate.weights().ravel(), expected)
        columns = np.flatnonzero(expected.reshape(weights.shape).any(axis=0))
        assert np.array_equal(walk.conditioning.columns, columns)
        assert not np.delete(walk.conditioning.damping, columns).any()
        length = MeanLength.of(mass, Conditioning.of(mass.damping(), mass.centre()))
        again = length.kept(at, damping, columns, 1)
        assert np.array_equal(walk.conditioning.damping, again.damping)
        assert np.array_equal(walk.conditioning.whole_centre, again.whole_centre)
    assert cuts > 5 and np.count_nonzero(walk.averaged()) == 30


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("scaling", ["presence", "unit"])
def test_sums_of_the_columns_left_are_those_without_the_others(threads: int, scaling: str) -> None:
    """Dampings of 0 drop columns, too, with or without a list of those that are left."""
    rng, plan = np.random.default_rng(1), small_plan(LOSSES["softmax"], 40)
    X = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.2)
    y, columns = rng.integers(0, 3, 300), np.array([0, 3, 4, 17, 39])
    left = np.isin(np.arange(40), columns)
    damping, centre = rng.uniform(0.1, 2.0, 40) * left, rng.uniform(0.0, 0.1, 40)
    weights, intercepts = rng.normal(size=(3, 40)) * left, rng.normal(size=3)
    private = private_rows(X, y, LOSSES["softmax"], plan, scaling, threads)
    whole = Conditioning.of(damping, centre)
    listed = whole.rescaled(damping, 1.0, columns=columns)
    expected = private.sums(whole, weights, intercepts)
    assert np.array_equal(private.sums(listed, weights, intercepts), expected)
    assert not expected[:, :-1][:, ~left].any() and expected[:, columns].any()
    assert np.array_equal(private.sums(whole, weights, intercepts), expected)


def test_columns_may_be_asked_for_in_any_turn() -> None:
    """A descent asks for fewer and fewer; nothing goes wrong if it does not."""
    rng, plan, loss = (
        np.random.default_rng(1),
        small_plan(LOSSES["logistic"], 40),
        LOSSES["logistic"],
    )
    X, y = rng.random((300, 40)) < 0.2, rng.integers(0, 2, 300)
    private, weights = private_rows(X, y, loss, plan, "presence", 2), rng.normal(size=(1, 40))
    for count in (40, 39, 20, 25, 3, 40, 1):
        columns = np.sort(rng.permutation(40)[:count])
        left = np.isin(np.arange(40), columns)
        whole = Conditioning.of(left * rng.uniform(0.1, 2.0, 40), np.zeros(40))
        place = (left * weights, np.ones(1))
        fresh = private_rows(X, y, loss, plan, "presence").sums(whole, *place)
        listed = whole.rescaled(whole.damping, 1.0, columns=columns)
        assert np.array_equal(private.sums(listed, *place), fresh)


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_what_is_drawn_is_for_the_columns_that_are_left(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every number that rows enter has noise; the others are 0 and have none."""
    drawn, add = [], GridGaussian.add_to

    def noted(self: GridGaussian, values: np.ndarray, *rest: object) -> None:
        before = values.copy()
        add(self, values, *rest)
        drawn.append((before, values - before))

    monkeypatch.setattr(GridGaussian, "add_to", noted)
    rng, loss = np.random.default_rng(0), LOSSES[name]
    plan = small_plan(loss, 1100, rows=60, n_nonzero=20)
    X = sp.csr_array((rng.random((60, 1100)) < 0.02).astype(float))
    gradient_descent(X, rng.integers(0, 2, 60), loss=loss, plan=plan, generator=0)
    counts = []
    for sums, noise in drawn[1:]:
        sums, noise = (part.reshape(plan.outputs, -1) for part in (sums, noise))
        silent = (noise == 0).all(axis=0)
        assert np.all(noise[:, ~silent] != 0) and not sums[:, silent].any()
        assert not silent[-1]
        counts.append(int((~silent).sum()) - 1)
    assert counts[0] == 1100 and 20 >= counts[-1] >= 20 // plan.outputs
    assert all(one >= other for one, other in zip(counts, counts[1:], strict=False))
