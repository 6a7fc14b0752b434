"""What one person moves, in whole numbers and through the parties' own tables."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated.moments import moment_plan
from dplasso.federated.moments.entries import entry_count, opened_entries
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


def squared(terms, moved):
    """The squared length of what is opened, with its diagonal over sqrt(2)."""
    rows, columns = opened_entries(terms)
    squares = moved[rows, columns] ** 2
    return Fraction(int(2 * squares[rows != columns].sum() + squares[rows == columns].sum()), 2)


@pytest.mark.parametrize("classes", [0, 3])
@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, max_size=2), ROW, ROW, st.sampled_from([0.01, 0.7, 1.0, 3.3, 40.0]))
def test_a_person_moves_the_matrix_by_no_more_than_is_charged(
    classes, others, person, another, weight
):
    terms = agreed(WIDTHS, n_rows=4, n_classes=classes, label_weight=weight)
    added, replaced = (
        moment_plan(replace(terms, neighboring=kind)).moved_squared
        for kind in ("add_remove", "replace_one")
    )
    base = matrix(terms, others)
    with_one, with_another = (matrix(terms, [*others, row]) for row in (person, another))
    assert squared(terms, with_one - base) <= added
    assert squared(terms, with_one - with_another) <= replaced


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("widths", [(1,), (2, 3), (4, 4, 4)])
def test_noise_is_no_less_than_the_event_says(widths, neighboring):
    """In exact fractions: the noise that the server does not know, and colluders do not know."""
    for colluders in range(len(widths)):
        plan = moment_plan(agreed(widths, neighboring=neighboring, colluders=colluders))
        wanted = Fraction(plan.event.noise_multiplier) ** 2 * plan.moved_squared
        assert Fraction(plan.sigma) ** 2 >= wanted
        assert Fraction(plan.sigma_on_diagonal) ** 2 >= 2 * wanted
        share, server = Fraction(plan.share_sigma) ** 2, Fraction(plan.server_sigma) ** 2
        for unknown in (len(widths) * share, (len(widths) - colluders) * share + server):
            assert wanted <= unknown <= wanted * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("classes", [0, 3])
@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, max_size=2), ROW)
def test_a_person_moves_each_kind_of_block_by_no_more_than_its_part(classes, others, person):
    """And nobody's part of it is larger where parties know, and keep, the person's own rows."""
    terms = agreed(WIDTHS, n_rows=4, n_classes=classes)
    plan = moment_plan(terms)
    base, moved = matrix(terms, others), matrix(terms, [*others, person])
    own = np.equal.outer(*[np.repeat([0, 1], [*map(terms.width, terms.names)])] * 2)
    assert squared(terms, (moved - base) * ~own) <= plan.moved_between
    assert squared(terms, (moved - base) * own) <= plan.moved_squared - plan.moved_between
    for party in (0, 1):
        kept = tuple(part if k == party else None for k, part in enumerate(person[:2]))
        at_party = matrix(terms, [*others, (*kept, person[2])])
        assert squared(terms, moved - at_party) <= plan.moved_squared
        within = terms.columns(terms.names[party])
        assert not np.any((moved - at_party)[within, within])


@pytest.mark.parametrize("weight", [0.5, 1.0, 3.0])
def test_the_bound_is_reached_by_a_row_at_its_bounds(weight):
    bounds = {"p0": 1.0, "p1": 1.0}
    terms = agreed(WIDTHS, n_rows=1, row_bounds=bounds, label_weight=weight)
    moved = matrix(terms, [([1.0, 0.0], [0.0, -1.0, 0.0], 1)])
    assert squared(terms, moved) == moment_plan(terms).moved_squared


@settings(max_examples=200, deadline=None)
@given(*(st.lists(st.integers(-9, 9), min_size=4, max_size=4) for _ in range(2)))
def test_the_bound_on_replaced_rows_holds_for_whole_numbers(one, another):
    """Rows of two features and two labels, to which no 1 is added: every sign of inner products."""
    lengths = [[sum(c * c for c in part) for part in (row[:2], row[2:])] for row in (one, another)]
    features, labels = (max(length[k] for length in lengths) for k in (0, 1))
    moved = np.outer(one, one) - np.outer(another, another)
    twice = np.sum(moved**2) - np.sum(moved[2:, 2:] ** 2)
    most = (features + labels) ** 2 if labels <= features else 4 * features * labels
    assert twice <= 2 * most


def test_products_of_labels_are_never_opened():
    terms = agreed(WIDTHS, n_classes=3)
    rows, columns = opened_entries(terms)
    labels = range(terms.columns(terms.label_holder).stop)[-3:]
    assert not (np.isin(rows, labels) & np.isin(columns, labels)).any()
    every = {(i, j) for i in range(terms.n_columns) for j in range(i, terms.n_columns)}
    missing = every - set(zip(rows.tolist(), columns.tolist(), strict=True))
    assert missing == {(i, j) for i in labels for j in labels if i <= j}
    assert len(rows) == entry_count(terms)
