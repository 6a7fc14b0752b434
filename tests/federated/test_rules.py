"""What `agree` chooses, what a row's budget cuts, and what the coordinator makes of noise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated import agree, simulate
from dplasso.federated.columns import Columns
from dplasso.federated.plan import ENTRY, SUM_FACTOR

UNIT = (ENTRY * SUM_FACTOR) ** 2
entries = st.lists(st.floats(-1.0, 1.0), min_size=5, max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(entries, min_size=1, max_size=6), st.floats(1e-6, 3.0), st.integers(-ENTRY, ENTRY))
def test_a_row_gives_what_its_budget_covers_and_keeps_its_signs(rows, budget, centre):
    columns = Columns(np.array(rows), 1.0, budget)
    spent = np.zeros(len(rows))
    for feature in range(5):
        column = columns.column(feature)
        for given_, wanted, weight in (
            (columns.for_sum(column), column, 1),
            (columns.for_sketch(column, centre), column - centre, SUM_FACTOR),
        ):
            spent += (given_ * weight) ** 2.0
            assert np.all(np.abs(given_) <= np.abs(wanted)) and np.all(given_ * wanted >= 0)
            # What is cut takes all that is left, but for less than one unit more.
            cut = given_ != wanted
            assert np.all(
                spent[cut] + (2 * np.abs(given_[cut]) + 1) * weight**2 > budget * UNIT - 1
            )
    assert np.all(spent <= budget * UNIT) and np.all(columns.left >= 0)


def test_what_a_row_gives_does_not_depend_on_others():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (20, 6))
    together, apart = Columns(X, 1.0, 0.7), [Columns(row[None, :], 1.0, 0.7) for row in X]
    for feature in range(6):
        column = together.column(feature)
        alone = [each.for_sketch(each.column(feature), 9000)[0] for each in apart]
        assert together.for_sketch(column, 9000).tolist() == alone


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0, 64.0])
@pytest.mark.parametrize("parties", [2, 5, 20])
def test_the_uplink_grows_no_faster_than_rows_to_the_three_quarters(epsilon, parties):
    """At a fixed budget, T m numbers; 2/3 but for what is rounded and what is the least."""
    names = {f"p{k}": 50 for k in range(parties)}
    rows = np.geomspace(1e3, 1e6, 7).astype(int)
    chosen = [agree(names, "p0", n_rows=int(n), epsilon=epsilon, delta=1e-9) for n in rows]
    sent = [terms.rounds * terms.sketch_size for terms in chosen]
    assert np.polyfit(np.log(rows), np.log(sent), 1)[0] <= 0.72
    assert all(terms.sketch_size <= terms.universe for terms in chosen)


def test_more_privacy_is_never_longer_sketches():
    sizes = [
        agree({"a": 9, "b": 9}, "a", n_rows=50_000, epsilon=e, delta=1e-9).sketch_size
        for e in (0.1, 1.0, 3.0, 10.0, 100.0, math.inf)
    ]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


def test_without_privacy_nothing_is_cut():
    terms = agree({"a": 4}, "a", n_rows=10, epsilon=math.inf, delta=1e-9)
    columns = Columns(np.ones((3, 4)), 1.0, terms.parties[0].row_budget)
    for feature in range(4):
        column = columns.column(feature)
        assert np.array_equal(columns.for_sum(column), column)
        assert np.array_equal(columns.for_sketch(column, -ENTRY), column + ENTRY)


def test_where_noise_is_all_there_is_the_larger_class_is_predicted():
    """Little budget: weights that nothing bears out are small beside the mean of the labels."""
    rng = np.random.default_rng(0)
    blocks = {name: rng.choice([0.0, 1.0], (3000, 8)) for name in ("a", "b")}
    y = np.where(rng.random(3000) < 0.8, 1.0, -1.0)
    larger = []
    for seed in range(10):
        terms = agree({"a": 8, "b": 8}, "a", n_rows=3000, epsilon=0.5, delta=1e-7, seed=seed)
        margins = simulate(terms, blocks, y, random_state=seed).margins(blocks)
        larger.append(np.mean(margins > 0.0))
    assert np.mean(larger) > 0.95
