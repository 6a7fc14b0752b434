"""The correction of probabilities: what a row can change, and what releases say."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax

from dplasso.audit.correction import Reference
from dplasso.audit.reference import LOGISTIC, SOFTMAX, Claim
from dplasso.kernels.calibration import UNIT
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.losses.smoothed_hinge import SmoothedHingeLoss
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import gaussian
from dplasso.solvers.correction import (
    MarginRows,
    Usual,
    correct,
    plan_correction,
    replay,
    without_own,
)
from dplasso.solvers.correction.bins import LENGTHS, MARGINS
from dplasso.solvers.correction.law import mean_of
from dplasso.solvers.correction.plan import GRAINS, SHARE, SPREADS, sensitivity_of
from dplasso.solvers.correction.spread import likely_margins
from dplasso.solvers.correction.walk import Place

USUAL = Usual(margin=4.0, scale=0.65, off=0.2)
LOSSES = {1: LogisticLoss(), 3: SoftmaxLoss(range(3)), 20: SoftmaxLoss(range(20))}
outputs = pytest.mark.parametrize("outputs", LOSSES)
hostile = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.floats(-50.0, 50.0))


def square(vector):
    return sum(number * number for number in vector.tolist())


def plan_of(outputs, mu=1.0, n_rows=5000, **more):
    return plan_correction(LOSSES[outputs], mu=mu, n_rows=n_rows, **more)


def made(outputs, rows, scale, seed):
    """Margins and labels of a model whose true log-odds are ``scale`` times its margins."""
    rng = np.random.default_rng(seed)
    if outputs == 1:
        margins = rng.normal(0.5, 4.0, (1, rows))
        return margins, (rng.random(rows) < expit(scale * margins[0])).astype(float)
    margins = rng.normal(0.0, 4.0, (outputs, rows))
    odds = np.cumsum(softmax(scale * margins, axis=0), axis=0)
    return margins, (rng.random(rows) > odds).sum(axis=0).clip(0, outputs - 1).astype(float)


@outputs
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_no_row_adds_more_than_is_charged(outputs, data):
    """Exactly, in whole numbers, for any margins, and wherever the correction stands."""
    margins = np.array(data.draw(st.lists(hostile, min_size=outputs, max_size=outputs)))[:, None]
    label = float(data.draw(st.integers(0, max(outputs, 2) - 1)))
    row = MarginRows(margins, np.array([label]), 1)
    most = GRAINS**2 if outputs == 1 else 2 * GRAINS**2
    assert square(row.counts(data.draw(st.floats(1e-6, 1e6)))) <= most
    shifts = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=outputs, max_size=outputs)))
    spread, limit = data.draw(st.floats(1e-3, 1e3)), data.draw(st.floats(1e-3, 1e3))
    sums = row.sums(Place(data.draw(st.floats(-30, 30)), limit, spread, shifts))
    assert math.sqrt(square(sums)) <= sensitivity_of(outputs)
    if outputs > 1:
        spreads = np.geomspace(1e-3, 1e3, SPREADS)
        assert square(row.slopes(limit, spreads)) <= 2 * SPREADS * UNIT**2


@outputs
def test_sums_do_not_depend_on_order_threads_or_other_rows(outputs):
    margins, labels = made(outputs, 257, 0.6, 0)
    at = Place(0.3, 12.0, 7.0, np.linspace(-1.0, 1.0, outputs))
    order = np.random.default_rng(1).permutation(257)
    whole = [MarginRows(margins, labels, threads) for threads in (1, 3)]
    whole.append(MarginRows(np.ascontiguousarray(margins[:, order]), labels[order], 2))
    alone = [MarginRows(margins[:, [k]], labels[[k]], 1) for k in range(257)]
    asks = [lambda rows: rows.counts(4.0), lambda rows: rows.sums(at)]
    if outputs > 1:
        asks.append(lambda rows: rows.slopes(9.0, np.array([0.5, 2.0, 8.0])))
    for ask in asks:
        expected = np.sum([ask(row) for row in alone], axis=0)
        assert all(np.array_equal(ask(rows), expected) for rows in whole)


@outputs
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_the_cost_is_the_share_and_the_noise_covers_the_sensitivity(outputs, neighboring):
    plan = plan_of(outputs, mu=math.sqrt(1.0 - SHARE), neighboring=neighboring)
    assert gaussian.mu(plan.event) <= plan.mu <= math.sqrt(SHARE)
    assert gaussian.mu(plan.event) == pytest.approx(math.sqrt(SHARE), rel=1e-9)
    changed = 1 if neighboring == "add_remove" else 2
    counted = math.sqrt(changed * (1 if outputs == 1 else 2))
    assert plan.count_sigma >= plan.count_multiplier * GRAINS * counted
    assert plan.step_sigma >= plan.step_multiplier * changed * sensitivity_of(outputs)
    assert plan.slope_sigma >= plan.step_multiplier * changed * math.sqrt(2 * SPREADS) * UNIT


def test_there_is_none_without_probabilities_or_privacy():
    for loss in (SquaredLoss(y_bound=1.0), SmoothedHingeLoss()):
        assert plan_correction(loss, mu=1.0, n_rows=100) is None
    for mu in (math.inf, 1e-12, 1e12):  # no privacy, or noise that whole numbers cannot hold
        assert plan_of(1, mu=mu) is None


@pytest.mark.parametrize(("outputs", "known"), [(1, False), (3, False), (20, False), (3, True)])
def test_releases_say_it_all(outputs, known):
    margins, labels = made(outputs, 3000, 0.5, 2)
    plan, releases = plan_of(outputs, known_scale=known), []
    rows = MarginRows(margins, labels, 1)
    found = correct(rows, plan, USUAL, random_bits(3), releases=releases)
    again = replay(plan, USUAL, releases)
    assert found.scale == again.scale and np.array_equal(found.shifts, again.shifts)
    sizes = [2 * len(MARGINS) if outputs == 1 else len(LENGTHS) + outputs]
    sizes += [2, 2] if outputs == 1 else [outputs + 2 if known else SPREADS, outputs + 2]
    assert [len(release) for release in releases] == sizes


@pytest.mark.parametrize(
    ("outputs", "scale"), [(1, 0.5), (1, 1.2), (3, 0.4), (20, 0.15), (20, 1.0)]
)
def test_the_right_scale_is_found_where_rows_are_many(outputs, scale):
    margins, labels = made(outputs, 40_000, scale, 4)
    plan = plan_of(outputs, mu=1.0, n_rows=40_000)
    found = correct(MarginRows(margins, labels, 1), plan, USUAL, random_bits(5))
    assert found.scale == pytest.approx(scale, rel=0.15)
    assert np.max(np.abs(found.shifts - found.shifts.mean())) < 0.25


def test_an_intercept_that_is_far_off_is_found_and_one_that_is_fixed_stays():
    margins, labels = made(1, 20_000, 0.6, 6)
    off = margins - 20.0
    plan = plan_of(1, n_rows=20_000)
    found = correct(MarginRows(off, labels, 1), plan, USUAL, random_bits(7))
    assert found.shifts[0] == pytest.approx(20.0 * found.scale, abs=0.5)
    fixed = plan_of(1, n_rows=20_000, moves_intercept=False)
    found = correct(MarginRows(margins, labels, 1), fixed, USUAL, random_bits(8))
    assert found.shifts[0] == 0.0 and found.scale == pytest.approx(0.6, rel=0.2)


@pytest.mark.parametrize("scale", [0.6, 1.1])
def test_a_usual_scale_of_many_classes_is_corrected_without_a_search(scale):
    margins, labels = made(20, 40_000, scale, 4)
    plan = plan_of(20, n_rows=40_000, known_scale=True)
    usual = Usual(margin=4.0 * math.sqrt(20), scale=0.8, off=0.15, shift_off=0.3)
    found = correct(MarginRows(margins, labels, 1), plan, usual, random_bits(5))
    assert found.scale == pytest.approx(scale, rel=0.1)
    nothing = plan_of(20, mu=1e-3, n_rows=40_000, known_scale=True)
    found = correct(MarginRows(margins, labels, 1), nothing, usual, random_bits(5))
    assert found.scale == pytest.approx(0.8, rel=0.05)  # noise hides everything: as usual


def test_a_bin_that_only_noise_has_filled_does_not_lead_astray():
    """A spread or an intercept by such a bin would be tens of times too large."""
    margins, labels = made(1, 4000, 0.65, 10)
    plan, rows = plan_of(1, mu=0.025, n_rows=4000), MarginRows(margins / 2.0, labels, 1)
    usual = USUAL._replace(scale=1.3)
    found = [correct(rows, plan, usual, random_bits(seed)) for seed in range(40)]
    assert all(0.5 < one.scale < 3.0 and abs(one.shifts[0]) < 3.0 for one in found)


def test_labels_that_margins_tell_almost_surely_are_not_overdone():
    """Counts are then all of one label, up to noise, and noise may make them look more than so."""
    margins, labels = made(1, 50_000, 2.5, 11)
    plan, rows = plan_of(1, mu=0.2, n_rows=50_000), MarginRows(margins, labels, 1)
    scales = [correct(rows, plan, USUAL, random_bits(seed)).scale for seed in range(10)]
    assert min(scales) > 0.6 and max(scales) < 3.5


@pytest.mark.parametrize("middle", [-9.0, 0.0, 2.0])
def test_faint_counts_show_together_where_margins_lie(middle):
    rng, noise = np.random.default_rng(12), 350.0
    places = np.searchsorted(MARGINS.ends, rng.normal(middle, 1.0, 4000))
    exact = np.bincount(places, minlength=len(MARGINS)).astype(float)
    for _ in range(20):
        noisy = exact + rng.normal(0.0, noise, len(exact))
        found = likely_margins(noisy, noise, 4000, 1.0).totals
        assert abs(found @ MARGINS.middles / found.sum() - middle) < 2.0
    clear = likely_margins(1e6 * exact, noise, 4000, 1.0).totals
    assert np.array_equal(clear[exact > 0], 1e6 * exact[exact > 0])
    assert likely_margins(np.full(len(exact), -1e9), noise, 4000, 1.0).totals.sum() > 0.0


@outputs
def test_of_a_few_rows_hardly_anything_is_corrected(outputs):
    margins, labels = made(outputs, 50, 0.6, 9)
    plan = plan_of(outputs, mu=0.02, n_rows=50)
    for seed in range(5):
        found = correct(MarginRows(margins, labels, 1), plan, USUAL, random_bits(seed))
        assert 0.0 < found.scale < 3.0 and np.all(np.isfinite(found.shifts))
        assert np.max(np.abs(found.shifts)) < 4.0


@pytest.mark.parametrize(("outputs", "known"), [(1, False), (3, False), (20, False), (3, True)])
@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), mu=st.floats(0.1, 8.0), scale=st.floats(0.1, 8.0))
def test_conclusions_do_not_hang_on_rounding(outputs, known, seed, mu, scale):
    """The audit computes them in another order, also where nothing is as it usually is."""
    claim = Claim(
        loss=SOFTMAX if outputs > 1 else LOGISTIC,
        outputs=outputs,
        epsilon=1.0,
        delta=1e-6,
        neighboring="add_remove",
        y_bound=1.0,
    )
    margins, labels = made(outputs, 500, scale, seed)
    plan, releases = plan_of(outputs, mu=mu, n_rows=500, known_scale=known), []
    rows = MarginRows(margins + 9.0, labels, 1)
    found = correct(rows, plan, USUAL, random_bits(seed), releases=releases)
    sums = plan.slope_sigma if plan.searches else plan.step_sigma
    again = Reference(
        claim=claim,
        n_rows=500,
        **USUAL._asdict(),
        moves=True,
        searches=plan.searches,
        sigmas=(plan.count_sigma, sums, plan.step_sigma),
    )
    for place, release in enumerate(releases):
        again.receive(release, place)
    expected, shifts = again.result()
    largest = max(expected, np.max(np.abs(shifts)))
    assert found.scale == pytest.approx(expected, abs=1e-10 * largest)
    assert found.shifts == pytest.approx(shifts, abs=1e-10 * largest)


@pytest.mark.parametrize("outputs", [1, 2, 3, 7])
def test_what_a_row_added_is_a_function_of_that_row(outputs):
    rng = np.random.default_rng(outputs)
    margins = rng.normal(size=(outputs, 300)) * 10.0 ** rng.uniform(-3.0, 300.0, 300)
    labels = rng.integers(max(outputs, 2), size=300).astype(float)
    margins[:, 0], margins[:, 1] = np.inf, np.nan
    whole = without_own(margins, labels, 0.7)
    alone = [without_own(margins[:, [i]], labels[[i]], 0.7) for i in range(300)]
    assert np.array_equal(whole, np.hstack(alone), equal_nan=True)


@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_a_fitted_row_has_added_less_than_others(outputs):
    labels = np.zeros(4)
    toward = -1.0 if outputs == 1 else 1.0
    margins = np.zeros((outputs, 4))
    margins[0] = toward * np.array([-8.0, 0.0, 3.0, 12.0])
    taken = toward * (margins - without_own(margins, labels, 0.5))[0]
    share = 1.0 if outputs == 1 else math.sqrt(1.0 - 1.0 / outputs)
    assert taken == pytest.approx(0.5 * share * np.array([1.0, 1.0, 1.0, 0.25]))
    assert without_own(margins, labels, 0.0) is margins


def test_margins_that_say_nothing_are_told():
    rng = np.random.default_rng(3)
    labels, plan = rng.integers(2, size=20_000).astype(float), plan_of(1, mu=1.0, n_rows=20_000)
    told = [
        correct(MarginRows(margins[None, :], labels, 1), plan, USUAL, random_bits(4)).only_noise
        for margins in (rng.normal(size=20_000), 4.0 * labels - 2.0 + rng.normal(size=20_000))
    ]
    assert told == [True, False]


def test_a_scale_far_from_the_usual_one_is_found():
    """Two groups of margins, far apart, of which one label in twenty is wrong: log-odds of 3."""
    rng = np.random.default_rng(13)
    side = rng.random(4500) < 0.4
    margins = np.where(side, 25.0, -25.0) + rng.normal(0.0, 6.0, 4500)
    labels = (side ^ (rng.random(4500) < 0.05)).astype(float)
    plan, rows = plan_of(1, mu=0.2, n_rows=4500), MarginRows(margins[None, :], labels, 1)
    scales = [correct(rows, plan, USUAL, random_bits(seed)).scale for seed in range(10)]
    assert max(scales) < 0.25  # 0.12 fits best, and 0.65 is usual


def test_counts_that_are_mostly_noise_do_not_raise_the_expected_scale():
    """Counts may then stand for wide margins, of which little would be noise."""
    margins, labels = made(1, 1400, 0.25, 14)
    margins *= 0.4
    plan, rows = plan_of(1, mu=0.025, n_rows=1400), MarginRows(margins, labels, 1)
    usual = Usual(margin=4.0, scale=0.65, off=0.25, spread=1.5, noise=1.2, shift_off=0.3)
    scales = [correct(rows, plan, usual, random_bits(seed)).scale for seed in range(40)]
    assert np.mean(scales) < 0.35  # for margins of the usual spread 0.23 is expected


@pytest.mark.parametrize("narrow", [1.0, 1e-2, 1e-4])
def test_the_mean_of_a_law_is_found_however_narrow_it_is(narrow):
    """A bent ridge: normal along a parabola, whose mean is known."""

    def unlikely(first, second):
        along, across = first - 0.3, second + 0.5 * first**2
        return 0.5 * (along / narrow) ** 2 + 0.5 * (across / (0.3 * narrow)) ** 2

    found = mean_of(unlikely, np.zeros(2), np.diag([1.0, 0.5]))
    expected = [0.3, -0.5 * (0.3**2 + narrow**2)]
    assert np.abs(found - expected).max() < 0.05 * narrow
