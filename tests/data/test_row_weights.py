"""The weights of a person's rows add up to at most the rows that the person counts as."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplasso.data.row_weights import row_weights

sizes = st.integers(1, 50) | st.sampled_from([97, 997, 1000, 10_007])


@given(st.lists(sizes, min_size=1, max_size=5), st.integers(1, 9))
def test_weights_leave_room_for_rounding_and_depend_on_one_person_alone(counts, k):
    people = np.repeat(np.arange(len(counts)), counts)
    weights = row_weights(people, k)
    for person, count in enumerate(counts):
        own = weights[people == person]
        exact = min(Fraction(1), Fraction(k, count))
        assert len(set(own.tolist())) == 1
        assert own[0] == row_weights(np.zeros(count, np.int64), k)[0]
        if exact == 1:
            assert own[0] == 1.0
        else:
            assert Fraction(own[0]) * (1 + Fraction(1, 2**41)) <= exact
            assert Fraction(own[0]) >= exact * (1 - Fraction(1, 2**39))


@given(st.lists(st.floats(1e-9, 1.0), min_size=2, max_size=2), st.integers(1, 30))
def test_weights_of_classes_multiply_those_of_people(of_class, count):
    people, classes = np.zeros(count, np.int64), np.arange(count) % 2
    weights = row_weights(people, 1, classes, np.array(of_class))
    for weight, own in zip(weights, classes, strict=True):
        exact = Fraction(of_class[own]) / count
        assert Fraction(weight) * (1 + Fraction(1, 2**41)) <= exact or weight == exact == 1


def test_rows_of_nobody_count_nothing():
    assert row_weights(np.array([-1, 0, -1])).tolist() == [0.0, 1.0, 0.0]
    assert row_weights(np.array([-1, -1])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("people", [None, np.arange(3)])
def test_nothing_is_weighted_unless_something_is_given(people):
    weights = row_weights(people)
    assert weights is None if people is None else weights.tolist() == [1.0, 1.0, 1.0]
