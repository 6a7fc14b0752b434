"""Bounds by bends hold whatever is released, and no way to compute bends changes the draw.

Here walks are made by hand: an adversary chooses vertices, steps, and which columns are scored.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.kernels import envelope as tiers
from dplasso.kernels import head as head_kernels
from dplasso.kernels.bends import MARKED, score_and_bends
from dplasso.kernels.intervals import intervals
from dplasso.kernels.problem import SCALE
from dplasso.kernels.scores import grain_size
from dplasso.kernels.steps import PAD, release
from dplasso.mechanisms.selection import cohorts, lazy, lazy_tiers
from dplasso.mechanisms.selection.lazy import LazyDraw
from reference import LOSSES, make_problem, make_walk, seeded

ROUNDS = 60


class Walker:
    """A rule whose vertices are chosen instead of drawn."""

    def __init__(self, X, labels, *, radius, nats, x_bound=1.0, rng=None):
        loss = LOSSES["logistic"]
        theta = nats / (len(X) * loss.gradient_bound(radius, x_bound))
        self.problem = make_problem(X, labels, loss, radius=radius, theta=theta, x_bound=x_bound)
        self.walk = make_walk(self.problem, 1)
        self.rule = LazyDraw(self.problem, self.walk, rng or seeded(0), 1)
        self.head = self.rule.head
        self.slots = {int(column): slot for slot, column in enumerate(self.head.vertices)}

    def step(self, column, sign, eta):
        """Move as `kernels.lazy.advance` does once a vertex is drawn."""
        problem, walk, head = self.problem, self.walk, self.head
        entries = int(problem.indptr[column + 1] - problem.indptr[column])
        added = eta * problem.radius * np.sqrt(entries) * PAD
        before = walk.scalars[SCALE]
        release(problem, walk, column, sign, eta, 0)
        head.weights[:] *= before * (1.0 - eta) / walk.scalars[SCALE]  # 1, or a power of two
        if column in self.slots:
            change = -sign * eta * problem.radius
            head_kernels.follow(problem, walk, head, self.slots[column], eta, change, added)
        else:
            slip = head_kernels.slip_of(walk.scalars, eta, added)
            head_kernels.follow_outside(head.real, eta, added, slip)

    def change(self, column, by):
        """Change one weight by a given amount; the others shrink by next to nothing."""
        self.step(column, -1 if by > 0 else 1, abs(by) / self.problem.radius)

    def score(self, slot, *, bends, reference=None):
        """Score a column of the head, in place of the closest reference if none is named."""
        problem, walk, head = self.problem, self.walk, self.head
        if reference is not None:
            head.nearest[slot] = reference
        column = int(head.vertices[slot])
        found = self.rule._scores(np.array([column]))[0]
        if bends and head_kernels.bends_kept(head):
            entries = int(problem.indptr[column + 1] - problem.indptr[column])
            place = problem, walk.margins, walk.scalars[SCALE], head.bends.rows
            count = head_kernels.bends_kept(head)
            grains, sums = score_and_bends(*place, column, 0, entries, count)
            assert grains * grain_size(problem) == found
            head_kernels.store_bends(walk, head, slot, sums)
        head_kernels.refer(problem, walk, head, slot, found)

    def outside(self, *, anew=True):
        """How far the scores of the head are outside their intervals; above 0 is a fault."""
        if anew:
            self.head.block_horizon[:] = -1.0
            head_kernels.measure(self.problem, self.walk, self.head)
        found = self.rule._scores(self.head.vertices)
        low, high = intervals(self.walk, self.rule.heavy, self.head)
        first = len(self.rule.heavy.vertices)
        return np.maximum(low[first:] - found, found - high[first:])


@st.composite
def walkers(draw):
    rng = seeded(draw(st.integers(0, 2**32 - 1)))
    rows, columns = draw(st.integers(20, 200)), draw(st.sampled_from([5, 30, 90]))
    X = rng.random((rows, columns)) < rng.uniform(draw(st.sampled_from([0.02, 0.3])), 1.0, columns)
    X[:, 0] = True  # so that there is a head
    X[:, 1] = ~X[:, 2]
    X[:, 3] = X[:, 4]
    labels = rng.random(rows) < draw(st.sampled_from([0.5, 0.05, 1.0]))
    with pytest.MonkeyPatch.context() as patch:
        # With room for few released columns, further ones count as outside the head.
        patch.setattr(lazy_tiers, "HEAD_ACTIVE", draw(st.sampled_from([3, 40, 256])))
        walker = Walker(
            X,
            labels,
            radius=draw(st.sampled_from([1.0, 30.0, 1e3, 1e6])),
            nats=draw(st.sampled_from([30.0, 1e4])),
            x_bound=draw(st.sampled_from([1.0, 3.0])),
        )
    return rng, walker


def steps_of(kind, radius, rng, t):
    """Step sizes: of the usual rule, tiny, nearly 1, or such that a weight moves by less than 1."""
    of_margins = min(rng.uniform(0.01, 1.0) / radius, 0.5)
    return {"usual": 2.0 / (t + 3.0), "tiny": 1e-10, "large": 0.99, "margins": of_margins}[kind]


@settings(max_examples=30, deadline=None)
@given(walkers(), st.sampled_from(["usual", "tiny", "large", "margins"]), st.booleans())
def test_bounds_hold_whatever_is_released(drawn, kind, often):
    rng, walker = drawn
    columns = len(walker.problem.indptr) - 1
    few = rng.integers(0, columns, 3 if often else columns)
    column, sign = 0, 1
    for t in range(ROUNDS):
        if rng.random() < 0.4:
            sign = -sign  # back to where it came from
        else:
            column, sign = int(rng.choice(few)), int(rng.choice([-1, 1]))
        walker.step(column, sign, steps_of(kind, walker.problem.radius, rng, t))
        assert walker.outside(anew=t % 2 == 0).max() <= 0.0, t
        for slot in rng.integers(0, len(walker.head.vertices), 3).tolist():
            reference = rng.choice([None, 0, 1])
            walker.score(slot, bends=rng.random() < 0.6, reference=reference)


@pytest.mark.parametrize("released", [MARKED - 23, MARKED + 7])
def test_bends_allow_for_weights_of_columns_that_have_none(released):
    """A column beyond the first ``MARKED`` swings, and the bends are from its far end.

    The bounds now come from a reference at the near end, where that column had no weight.
    """
    rng = seeded(0)
    X = rng.random((400, released + 2)) < 0.5
    X[:, :3] = rng.random((400, 3)) < 0.97
    walker = Walker(X, rng.random(400) < 0.5, radius=1e4, nats=2000.0)
    for column in [*range(1, released + 1), 0]:
        walker.change(column, 1e-3 * (-1) ** column)
    swings, watched = walker.slots[0], walker.slots[2]
    assert walker.head.row[swings] == released
    walker.change(1, 1.0)
    walker.score(watched, bends=False, reference=1)
    walker.change(0, 0.6)
    walker.score(watched, bends=True, reference=0)
    walker.change(0, -0.6)
    for _ in range(3):
        walker.change(2, 0.05)
        assert walker.outside().max() <= 0.0


def drawn_vertices(monkeypatch, *, threads, long_column, by_cohorts):
    """The vertices of a walk whose long columns have more entries than ``long_column``."""
    monkeypatch.setattr(lazy_tiers, "MANY_ROWS", 0)  # all columns are in the head
    monkeypatch.setattr(lazy, "LONG_COLUMN", long_column)
    monkeypatch.setattr(cohorts, "LONG", 0.0 if by_cohorts else 2.0)
    rng = seeded(3)
    X = rng.random((400, 30)) < np.geomspace(0.05, 0.98, 30)
    labels = rng.random(400) < 0.2 + 0.6 * X[:, 25]
    problem = make_problem(X, labels, LOSSES["logistic"], radius=20.0, theta=1.0)
    rule = LazyDraw(problem, make_walk(problem, 300), rng, threads)
    rule.envelope.whole[tiers.LONG_COLUMN] = long_column
    rule.advance(300)
    assert rule.head.bends.count.any()
    assert bool(rule.alike.marks) == (by_cohorts and long_column < 400)
    return rule.walk.vertices * rule.walk.signs, rule.head.bends.sums


def test_threads_and_cohorts_do_not_change_what_is_released(monkeypatch):
    ways = [(1, 400, False), (1, 8, False), (2, 8, False), (2, 8, True)]
    expected, *others = [
        drawn_vertices(monkeypatch, threads=threads, long_column=long_column, by_cohorts=by_cohorts)
        for threads, long_column, by_cohorts in ways
    ]
    for found in others:
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])
