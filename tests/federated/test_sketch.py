"""Sketches against the explicit matrix: columns of length 1, its transpose, inner products kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard

from dplasso.federated.alignment import Places, places_of
from dplasso.federated.sketch import Sketcher
from federations import SECRET, agreed


def sketcher_of(people, seed=0, **options):
    terms = agreed(seed=seed, **options)
    rows = places_of(people, SECRET, terms.universe)
    return Sketcher(terms, rows), rows, terms


def explicit(sketcher, rows, terms):
    """sqrt(size) times J, as it is written on paper."""
    signs = hadamard(terms.universe).astype(np.int64)[sketcher._chosen]
    return signs[:, rows.places] * rows.signs


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 30), st.integers(1, 64))
def test_a_sketch_is_the_matrix_times_the_column(seed, people, size):
    sketcher, rows, terms = sketcher_of(range(people), seed, n_rows=30, sketch_size=size)
    J = explicit(sketcher, rows, terms)
    rng = np.random.default_rng(seed)
    values, vector = rng.integers(-(2**17), 2**17, people), rng.normal(size=size)
    assert np.array_equal(sketcher.of(values), J @ values)
    assert np.allclose(sketcher.back(vector), J.T @ vector / np.sqrt(size), atol=1e-12)
    assert len(set(sketcher._chosen.tolist())) == size


@pytest.mark.parametrize("size", [1, 7, 128])
def test_columns_have_length_1_exactly(size):
    sketcher, *_ = sketcher_of(range(40), sketch_size=size)
    for person in range(40):
        assert np.sum(sketcher.of((np.arange(40) == person).astype(np.int64)) ** 2) == size


def test_inner_products_are_kept_on_average():
    rng = np.random.default_rng(1)
    a, b = rng.integers(-9, 10, (2, 40))
    a[:20] = b[:20]
    found = []
    for seed in range(600):
        sketcher, *_ = sketcher_of([f"{seed} {k}" for k in range(40)], seed)
        found.append(sketcher.of(a) @ sketcher.of(b) / 16)
    spread = np.linalg.norm(a) * np.linalg.norm(b) / 4.0
    assert np.mean(found) == pytest.approx(a @ b, abs=5.0 * spread / np.sqrt(600))
    assert np.std(found) < 2.0 * spread


def test_as_many_numbers_as_places_keep_all_products():
    terms = agreed(sketch_size=128)
    rng = np.random.default_rng(2)
    rows = Places(rng.permutation(128)[:40], rng.choice([-1, 1], 40))
    sketcher = Sketcher(terms, rows)
    values = rng.integers(-(2**17), 2**17, 40)
    assert np.allclose(sketcher.back(sketcher.of(values) / np.sqrt(128)), values)


def test_rows_a_party_lacks_are_as_rows_of_zeros():
    """Also where another party has them in another order."""
    people = [f"person {k}" for k in range(40)]
    values = np.random.default_rng(0).integers(-9, 10, 40)
    values[::3] = 0
    whole, *_ = sketcher_of(people)
    kept = [k for k in np.random.default_rng(1).permutation(40) if k % 3]
    part, *_ = sketcher_of([people[k] for k in kept])
    assert np.array_equal(whole.of(values), part.of(values[kept]))
    vector = np.random.default_rng(2).normal(size=16)
    assert np.array_equal(whole.back(vector)[kept], part.back(vector))


def test_a_party_without_rows_has_a_sketch_of_zeros():
    sketcher, *_ = sketcher_of([])
    assert not sketcher.of(np.empty(0, np.int64)).any() and len(sketcher.back(np.ones(16))) == 0
