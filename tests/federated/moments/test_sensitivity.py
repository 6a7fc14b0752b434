"""What one person moves, in whole numbers and through the parties' own tables."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated.moments import moment_plan
from moment_jobs import agreed, parties_of

WIDTHS = (2, 3)
HOSTILE = st.sampled_from([0.0, 1.0, -1.0, 1e300, -1e300, 5e-324, 0.5, 1 - 2**-53, 0.1, -3.0])
ENTRY = HOSTILE | st.floats(-2.0, 2.0)
ROW = st.tuples(
    st.lists(ENTRY, min_size=2, max_size=2) | st.none(),
    st.lists(ENTRY, min_size=3, max_size=3) | st.none(),
    st.integers(0, 2),
)


def matrix(terms, people):
    """M'M of parties that hold these people, as Python integers."""
    tables = {
        name: np.array([row[k] for row in people if row[k] is not None]).reshape(-1, WIDTHS[k])
        for k, name in enumerate(terms.names)
    }
    places = {
        name: [i for i, row in enumerate(people) if row[k] is not None]
        for k, name in enumerate(terms.names)
    }
    y = [row[2] for row in people if row[1] is not None]
    labels = np.array(y, np.float64) if terms.n_classes == 0 else np.array(y, np.int64)
    parties = parties_of(terms, tables, labels, places)
    whole = np.hstack([party._table.view(np.int64) for party in parties.values()]).astype(object)
    return whole.T @ whole


def twice_squared(moved):
    """Twice the squared length of the upper triangle with its diagonal over sqrt(2)."""
    return 2 * np.sum(np.triu(moved, 1) ** 2) + np.sum(np.diag(moved) ** 2)


@pytest.mark.parametrize("classes", [0, 3])
@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, max_size=2), ROW, ROW)
def test_a_person_moves_the_matrix_by_no_more_than_is_charged(classes, others, person, another):
    terms = agreed(WIDTHS, n_rows=4, n_classes=classes)
    plan = moment_plan(terms)
    base = matrix(terms, others)
    with_one, with_another = (matrix(terms, [*others, row]) for row in (person, another))
    most = plan.squared_length**2  # twice the square of S / sqrt(2)
    assert twice_squared(with_one - base) <= most
    assert twice_squared(with_one - with_another) <= 2 * most


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("widths", [(1,), (2, 3), (4, 4, 4)])
def test_noise_is_no_less_than_the_event_says(widths, neighboring):
    """In exact fractions: the noise of the parties that do not collude, over the sensitivity."""
    terms = agreed(widths, neighboring=neighboring)
    plan = moment_plan(terms)
    honest = len(widths) - terms.colluders
    moved = Fraction(plan.squared_length) ** 2 / 2 * (2 if neighboring == "replace_one" else 1)
    wanted = Fraction(plan.event.noise_multiplier) ** 2 * moved
    assert honest * Fraction(plan.share_sigma) ** 2 >= wanted
    assert honest * Fraction(plan.share_sigma_on_diagonal) ** 2 >= 2 * wanted
    assert honest * Fraction(plan.share_sigma) ** 2 <= wanted * (1 + Fraction(1, 10**9))


def test_the_bound_is_reached_by_a_row_at_its_bounds():
    terms = agreed(WIDTHS, n_rows=1, row_bounds={"p0": 1.0, "p1": 1.0})
    moved = matrix(terms, [([1.0, 0.0], [0.0, -1.0, 0.0], 1)])
    assert twice_squared(moved) == moment_plan(terms).squared_length ** 2
