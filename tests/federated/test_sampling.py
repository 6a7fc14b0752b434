"""Schedules: alike at both sides, true to their stated chances, and never about data."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated import Coordinator, Terms
from dplasso.federated.messages import PartyRequest
from dplasso.federated.plan import plan_of
from dplasso.federated.sampling import Sampling, distinct, public_bits
from federations import FEATURES, agreed, made, parties_of, recorded
from reference import chi_square

SAMPLINGS = [
    {"sampling": "party"},
    {"sampling": "party", "tau": 2},
    {"sampling": "serial"},
    {"sampling": "nice", "tau": 3},
    {"sampling": "distributed"},
    {"sampling": "distributed", "tau": 2},
    {"sampling": "arbitrary", "probabilities": (0.3, 0.8)},
    {"sampling": "arbitrary", "probabilities": (0.9, 0.5), "tau": 3},
]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_least_probability_of_a_feature_is_as_stated(sampling):
    rounds = 4000
    chosen = Sampling(agreed(seed=3, **sampling))
    found = {name: np.zeros(count) for name, count in FEATURES.items()}
    for t in range(rounds):
        for name, features in chosen.asked(t).items():
            found[name][features] += 1
    rates = np.concatenate(list(found.values())) / rounds
    error = 4.5 * np.sqrt(chosen.least_probability / rounds)
    assert rates.min() == pytest.approx(chosen.least_probability, abs=error)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_candidates_rise_and_are_of_their_party(sampling):
    chosen = Sampling(agreed(**sampling))
    for t in range(50):
        asked = chosen.asked(t)
        assert chosen.who(t) == list(asked)
        for name, features in asked.items():
            assert len(features) and features[0] >= 0 and features[-1] < FEATURES[name]
            assert np.all(np.diff(features) > 0)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_parties_are_asked_as_often_as_the_account_says(sampling):
    terms = agreed(rounds=15, **sampling)
    coordinator = Coordinator(terms)
    messages = list(itertools.chain(*recorded(coordinator, parties_of(terms, made()))))
    counted = dict.fromkeys(FEATURES, 0)
    for message in messages:
        counted[message.party] += (
            1 <= PartyRequest.from_bytes(message.request).round <= terms.rounds
        )
    assert counted == plan_of(terms).asks == Sampling(terms).asks()


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_both_sides_draw_alike_from_what_they_read(sampling):
    terms = agreed(seed=2**64 - 1, **sampling)
    mine, theirs = Sampling(terms), Sampling(Terms.from_json(terms.to_json()))
    for t in range(30):
        one, other = mine.asked(t), theirs.asked(t)
        assert list(one) == list(other)
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_draws_are_those_of_every_version():
    """Parties of other versions must choose the same: these are numbers to keep."""
    assert distinct(public_bits(5, 1, 0), 1000, 6).tolist() == [364, 367, 442, 732, 759, 983]
    sampling = Sampling(agreed({"a": 9, "b": 9}, "a", sampling="nice", tau=4, seed=11))
    assert [{k: v.tolist() for k, v in sampling.asked(t).items()} for t in (0, 1)] == [
        {"a": [2], "b": [2, 3, 6]},
        {"a": [1, 3], "b": [3, 8]},
    ]


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 300), st.integers(0, 2**64 - 1), st.data())
def test_distinct_numbers_differ_and_rise(below, seed, data):
    size = data.draw(st.integers(0, below))
    found = distinct(public_bits(seed, 0, 0), below, size)
    assert len(found) == size and np.all(np.diff(found) > 0)
    assert size == 0 or (found[0] >= 0 and found[-1] < below)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_all_sets_are_as_likely(size):
    sets = list(itertools.combinations(range(5), size))
    counts = np.zeros(len(sets))
    for number in range(3000):
        counts[sets.index(tuple(distinct(public_bits(7, 0, number), 5, size).tolist()))] += 1
    assert chi_square(counts, np.full(len(sets), 1 / len(sets))) > 1e-4


def test_the_universal_step():
    sampling = Sampling(agreed(sampling="serial"))
    assert [sampling.universal_step(t) for t in (0, 9, 90)] == [1.0, 2 / 3, 2 / 12]
