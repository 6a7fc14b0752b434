"""Means about which rows are centred: what a person moves, noise, charges, and who has them."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dplasso.base.wording import ParameterError
from dplasso.federated import Refused
from dplasso.federated.moments import MomentParty, moment_plan, simulate_moments
from dplasso.federated.moments.centring import Centring
from dplasso.federated.moments.rows import RowMap, Units
from dplasso.federated.moments.terms import MomentTerms, agree_moments
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import gaussian, zcdp
from moment_jobs import Recording, agreed, keys_of, tables_of

ENTRY = st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e300, -0.1]) | st.floats(-2.0, 2.0)
ROW = st.lists(ENTRY, min_size=2, max_size=2) | st.none()
SECRET = bytes(range(32))


def table(rows):
    return np.array([row for row in rows if row is not None]).reshape(-1, 2)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(ROW, ROW), max_size=3), st.tuples(ROW, ROW), st.tuples(ROW, ROW))
def test_a_person_moves_the_sums_by_no_more_than_is_charged(others, person, another):
    terms = agreed((2, 2), centring=0.1)

    def sums(people):
        return [
            Centring(moment_plan(terms), name).sums(Units(1.0, 2).of(table(rows)))
            for name, rows in zip(terms.names, zip(*people, strict=True), strict=True)
        ]

    base = [*others, (None, None)]  # at no party
    for kind, first, second in (
        ("add_remove", person, (None, None)),
        ("replace_one", person, another),
    ):
        plan = moment_plan(replace(terms, neighboring=kind))
        moved = np.concatenate(sums([*base, first])) - np.concatenate(sums([*base, second]))
        square = sum(Fraction(int(one)) ** 2 for one in moved)
        assert square <= Fraction(plan.mean_sigma / plan.mean_multiplier) ** 2


def test_the_bound_on_sums_is_reached():
    terms = agreed((2, 2), centring=0.1)
    plan = moment_plan(terms)
    cells = Units(1.0, 2).of([[1.0, -1.0]])
    moved = np.concatenate([Centring(plan, name).sums(cells) for name in terms.names])
    square = float(sum(int(one) ** 2 for one in moved))
    assert 0.999 < square / (plan.mean_sigma / plan.mean_multiplier) ** 2 <= 1.0


def test_the_noise_of_means_is_what_is_charged():
    plan = moment_plan(agreed((400, 3), centring=0.2))
    drawn = Recording()
    cells = np.zeros((5, 400))
    Centring(plan, "p0", drawn).drawn(cells, random_bits(3).generator)
    assert stats.kstest((drawn.added[0] + 0.5) / plan.mean_sigma, "norm").pvalue > 1e-3


@pytest.mark.parametrize("account", ["exact", "rho"])
def test_means_and_matrix_add_up_to_the_promise(account):
    terms = agreed((2, 3), centring=0.03, account=account)
    plan, without = moment_plan(terms), moment_plan(replace(terms, centring=0.0))
    ((multiplier,),) = [[event.noise_multiplier for event in plan.mean_event]]
    rho = zcdp.rho(plan.model_event)
    assert zcdp.rho(without.event) == pytest.approx(rho, rel=1e-6)
    assert 0.5 / multiplier**2 == pytest.approx(0.03 * rho)
    assert plan.event == plan.model_event
    assert plan.epsilon_to(1) <= 1.0
    if account == "exact":
        assert gaussian.mu(plan.event) == pytest.approx(gaussian.mu_of(1.0, 1e-6))
    assert without.mean_event == [] and without.mean_sigma == 0.0


def test_rows_about_a_mean_keep_to_their_bound():
    """They may be twice as far from it as entries from 0."""
    terms = agreed((4, 3))
    rows = RowMap(terms, "p0", 1.0, np.full(4, 0.9)).whole(-np.ones((3, 4)))
    assert (np.sum(rows**2, axis=1) <= moment_plan(terms).row_limit("p0")).all() and rows.any()


def made(secret=SECRET, scale=1.0, **options):
    terms = agreed((2, 3), centring=0.03, n_rows=30, **options)
    tables, _, _ = tables_of(terms)
    return MomentParty(terms, "p0", scale * tables["p0"], keys_of(terms)["p0"], secret=secret)


def test_means_are_the_same_after_a_restart_and_others_in_another_attempt():
    first = made().centre
    assert np.array_equal(first, made().centre)
    changed = (made(secret=bytes(32)), made(attempt=1), made(scale=0.5))
    # Noise that is used again for other rows would show their difference.
    assert not any(np.isin(one.centre, first).any() for one in changed)


def test_people_beyond_noise_have_their_means_and_few_have_nearly_none():
    rng = np.random.default_rng(0)
    for people, least, most in ((20_000, 0.69, 0.71), (3, 0.0, 0.2)):
        terms = agree_moments({"a": 2, "b": 2}, "a", n_rows=20_000, epsilon=1.0, delta=1e-9)
        cells = np.full((people, 2), 0.7)
        centre = Centring(moment_plan(terms), "a").drawn(cells, random_bits(1).generator)
        assert (least <= np.abs(centre)).all() and (np.abs(centre) <= most).all()
    terms = agree_moments({"a": 2, "b": 2}, "a", n_rows=2_000, epsilon=math.inf, delta=1e-9)
    cells = rng.uniform(-0.5, 0.5, (500, 2))
    centre = Centring(moment_plan(terms), "a").drawn(cells, random_bits(1).generator)
    assert centre == pytest.approx(cells.mean(axis=0), abs=1e-4)


def test_a_model_of_rows_far_from_the_middle_is_right_and_needs_the_means():
    rng = np.random.default_rng(1)
    X = rng.uniform(0.7, 1.0, (8_000, 4))
    y = X[:, 0] - X[:, 3]
    blocks = {"a": X[:, :2], "b": X[:, 2:]}
    usual = {"n_rows": 8_000, "epsilon": 1.0, "delta": 1e-9}
    right = {}
    for centring in (0.03, 0.0):
        terms = agree_moments({"a": 2, "b": 2}, "b", **usual, centring=centring)
        outcome = simulate_moments(terms, blocks, y, random_state=0)
        errors = outcome.model.numbers(outcome.model.scores(blocks)) - y
        right[centring] = 1.0 - np.mean(errors**2) / np.var(y)
        assert set(outcome.model.centres) == ({"a", "b"} if centring else set())
    assert right[0.03] > 0.75 and right[0.03] > right[0.0] + 0.25, right
    terms = agree_moments({"a": 2, "b": 2}, "b", **usual)
    model = replace(simulate_moments(terms, blocks, y).model, centres={})
    with pytest.raises(ParameterError, match="means that the party has"):
        model.scores(blocks)


@pytest.mark.parametrize("centring", [-0.1, 0.51, 1.0, "x"])
def test_a_share_that_leaves_too_little_is_refused(centring):
    with pytest.raises(ValueError, match="centring"):
        agreed(centring=centring)
    text = agreed(centring=0.1).to_json().replace("0.1,", "0.9,", 1)
    with pytest.raises(Refused, match="centring"):
        MomentTerms.from_json(text)
