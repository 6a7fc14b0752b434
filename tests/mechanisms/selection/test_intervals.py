"""Every interval holds the score as it is computed, and tickets its weight: to the last bit."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.kernels import envelope as tiers
from dplasso.kernels import head as head_kernels
from dplasso.kernels.intervals import catch_up, intervals
from dplasso.mechanisms.selection import lazy_tiers
from dplasso.mechanisms.selection.lazy import LazyDraw
from reference import LOSSES, make_problem, make_walk, seeded, solver

ROUNDS = 40


@st.composite
def problems(draw):
    """Columns of every density, with entries from the bound down to less than a grain of it."""
    rng = seeded(draw(st.integers(0, 2**32 - 1)))
    loss = LOSSES[draw(st.sampled_from(sorted(LOSSES)))]
    rows, columns = draw(st.integers(2, 120)), draw(st.integers(1, 30))
    x_bound = draw(st.sampled_from([1e-30, 0.3, 1.0, 7.0, 1e30]))
    kind = draw(st.sampled_from(["ones", "real", "small", "single"]))
    density = np.geomspace(min(1.0, 1.5 / rows), 1.0, columns)
    X = (rng.random((rows, columns)) < density).astype(float)
    if kind == "small":
        X *= 2.0 ** -rng.integers(0, 45, columns)
    if kind != "ones":
        X *= rng.uniform(-1.0, 1.0, (rows, columns)) * x_bound
    if kind == "single":
        X = X.astype(np.float32)
    y = rng.integers(0, max(loss.outputs, 2), rows)
    radius = draw(st.sampled_from([0.1, 5.0, 1e5])) / x_bound
    steep = loss.gradient_bound(radius, x_bound)
    # So that the largest score can be worth so many nats.
    largest = max(float(np.abs(X).sum(axis=0).max()), 1e-9 * x_bound) * steep
    theta = draw(st.sampled_from([1.0, 60.0, 1000.0])) / largest
    theta = min(theta, solver.LARGEST_ROW / (x_bound * steep))
    return make_problem(X, y, loss, radius=radius, theta=theta, x_bound=x_bound), rng


def started(problem, rng, rounds=ROUNDS):
    """A rule whose long columns are short ones: cohorts and threads come into play."""
    rule = LazyDraw(problem, make_walk(problem, rounds), rng, 2)
    rule.envelope.whole[tiers.LONG_COLUMN] = 8
    return rule


def outside(rule):
    """How far computed scores are outside their intervals; above 0 is a fault."""
    catch_up(rule.problem, rule.walk, rule.envelope, rule.heavy, rule.head)
    listed = np.concatenate((rule.heavy.vertices, rule.head.vertices))
    low, high = intervals(rule.walk, rule.heavy, rule.head)
    found = rule._scores(listed)
    return max(np.maximum(low - found, found - high).max(initial=-np.inf), _light(rule, listed))


def _light(rule, listed):
    vertices = (len(rule.problem.indptr) - 1) * rule.problem.classes
    light = np.setdiff1d(np.arange(vertices), listed)
    nats = np.abs(rule._scores(light)) * rule.problem.theta
    return (nats - tiers.KAPPA).max(initial=-np.inf)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_every_interval_holds_its_score(drawn):
    rule = started(*drawn)
    for t in range(ROUNDS):
        assert outside(rule) <= 0.0, t
        rule.advance(t + 1)


def bent(turn=None):
    """A rule of 0/1 columns after so many rounds that steps are short."""
    rng = seeded(3)
    X = rng.random((400, 30)) < np.geomspace(0.05, 0.98, 30)
    labels = rng.random(400) < 0.2 + 0.6 * X[:, 25]
    problem = make_problem(X, labels, LOSSES["logistic"], radius=20.0, theta=1.0)
    if turn is not None:
        problem = problem._replace(curvature_turn=turn)
    return started(problem, rng, rounds=400)


def test_bends_make_bounds_narrow_and_hold():
    rule = bent()
    rule.advance(100)
    narrower = 0
    for t in range(100, 400):
        rule.advance(t + 1)
        assert outside(rule) <= 0.0, t
        head, radius = rule.head, rule.head.radius.copy()
        saved, head.bends.count[:] = head.bends.count.copy(), 0
        head.block_horizon[:] = -1.0
        head_kernels.measure(rule.problem, rule.walk, head)
        narrower += int(np.count_nonzero(radius < 0.5 * head.radius))
        head.bends.count[:], head.block_horizon[:] = saved, -1.0
        head_kernels.measure(rule.problem, rule.walk, head)
    assert narrower > 1000


def test_slopes_that_change_more_than_stated_are_noticed():
    """The test of intervals would see bounds that take bends for constant."""
    rule = bent(turn=1e-3)
    worst = -np.inf
    for t in range(400):
        rule.advance(t + 1)
        worst = max(worst, outside(rule))
    assert worst > 0.0


def test_rounding_of_weights_is_allowed_for_once_a_round_has_passed():
    """Weights may come back to those of a reference; they were rounded all the same."""
    rng = seeded(0)
    X = (rng.random((200, 12)) < 0.6) * rng.uniform(-1.0, 1.0, (200, 12))
    problem = make_problem(X, rng.integers(0, 2, 200), LOSSES["logistic"], radius=5.0, theta=0.5)
    rule = started(problem, rng)
    rule.advance(10)
    head, scale = rule.head, rule.walk.scalars[head_kernels.SCALE]
    assert len(head.vertices) and head.whole[head_kernels.ACTIVE]
    measured = head.real[head_kernels.REST_PATH]
    head.reference_weights[:] = head.weights * scale
    for path, allowed in ((measured, False), (np.nextafter(measured, 0.0), True)):
        head.reference_rest[:] = path
        for pad in (0.0, None):  # the second as if rounding were as large as everything else
            before = head.radius.copy()
            head.weights_pad[:] = before if pad is None else pad
            head.block_horizon[:] = -1.0
            head_kernels.measure(problem, rule.walk, head)
        assert np.all((head.radius > 1.5 * before) == allowed)


def test_the_path_outside_the_head_grows_in_every_round():
    """So that no round can pass for none, however small its step."""
    rng = seeded(1)
    X = (rng.random((200, 12)) < 0.6) * rng.uniform(-1.0, 1.0, (200, 12))
    problem = make_problem(X, rng.integers(0, 2, 200), LOSSES["logistic"], radius=5.0, theta=0.5)
    rule = started(problem, rng, rounds=300)
    paths = []
    for t in range(300):
        rule.advance(t + 1)
        paths.append(rule.head.real[head_kernels.REST_PATH])
    assert np.all(np.diff(paths) > 0.0)


@settings(max_examples=8, deadline=None)
@given(problems())
def test_tickets_cover_the_weights_of_scores(drawn):
    rule = started(*drawn)
    theta = mpmath.mpf(rule.problem.theta)
    tiers_of = (
        (rule.heavy, rule.envelope.real, tiers.LOG_UNIT),
        (rule.head, rule.head.real, head_kernels.HEAD_UNIT),
    )
    for t in (0, 1, 7, ROUNDS):
        rule.advance(t)
        catch_up(rule.problem, rule.walk, rule.envelope, rule.heavy, rule.head)
        for tier, real, unit in tiers_of:
            found = rule._scores(tier.vertices)
            for score, tickets in zip(found.tolist(), tier.tickets.tolist(), strict=True):
                nats = theta * mpmath.mpf(score)
                # A ticket's worth is a double: that of its exponent, to a unit in the last place.
                room = 1e-15 * (1.0 + abs(float(nats)) + abs(real[unit]))
                weight = mpmath.exp(nats - real[unit]) + mpmath.exp(-nats - real[unit])
                assert tickets >= weight * (1.0 - room)


def entries_at_half_a_grain(rows=4000):
    """A full column, and one whose terms are just above half a grain: they round to a whole one.

    A step along the first makes every gradient a little smaller, and all the terms round to none.
    """
    loss, radius = LOSSES["logistic"], 1e-3
    steep = loss.gradient_bound(radius, 1.0)
    X = np.ones((rows, 2))
    X[:, 1] = (0.5 + 1e-5) * steep / 0.5 * 2.0**-36
    return make_problem(X, np.zeros(rows), loss, theta=1e7, radius=radius)


@pytest.mark.parametrize("old", [False, True])
def test_entries_as_small_as_a_grain(old):
    """A grain an entry is more than any small part of the norm: 1e-10 of it was not enough."""
    rule = started(entries_at_half_a_grain(), seeded(0), 5)
    assert 1 in rule.heavy.vertices
    if old:
        rule.heavy.pad[:] = 1e-10 * rule.heavy.limit
    worst = -np.inf
    for t in range(5):
        worst = max(worst, outside(rule))
        rule.advance(t + 1)
    assert (worst > 0.0) == old


def test_a_column_whose_rounded_score_exceeds_its_norm_is_not_light():
    """By its norm, its score is worth less than KAPPA for ever; rounded to grains it is not."""
    rows, entry = 5000, 0.51 * 2.0**-36  # a gradient near 1 rounds each to a whole grain
    loss, radius = LOSSES["logistic"], 1e3
    theta = tiers.KAPPA / (0.6 * rows * 2.0**-36)
    X = np.full((rows, 1), entry)
    problem = make_problem(X, np.zeros(rows), loss, radius=radius, theta=theta)
    assert theta * problem.gradient_bound * rows * entry < 0.9 * tiers.KAPPA
    walk = make_walk(problem, 1)
    walk.margins[:] = 500.0
    rule = LazyDraw(problem, walk, seeded(0), 1)
    assert theta * rule._scores(np.array([0]))[0] > 1.5 * tiers.KAPPA
    assert lazy_tiers.heavy_columns(problem, 10, 1).vertices.tolist() == [0]
