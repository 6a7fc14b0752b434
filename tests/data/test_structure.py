"""No matrix reaches a conversion or a kernel before its structure is checked, at any door."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hostile_matrices
import hostile_runs
from dplasso import ColumnMatrix, PrivateLassoClassifier
from dplasso.data.row_maps import clipped, mapped
from dplasso.data.structure import MOST, sound, sound_parts
from hostile_matrices import FORMATS, SECRET, healthy, read_slowly

SEEDS = st.integers(0, 2**32)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from(FORMATS), st.sampled_from(["array", "matrix"]))
def test_a_sound_matrix_of_any_format_stands_for_the_same_table(seed, form, kind):
    X = healthy(np.random.default_rng(seed), form, kind)
    found = sound(X)
    assert found.format in ("csr", "csc", "coo") and isinstance(found, sp.sparray)
    assert np.array_equal(found.toarray(), read_slowly(X))


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_sound_matrix_is_not_copied(form):
    X = healthy(np.random.default_rng(0), form)
    found = sound(X)
    assert np.shares_memory(found.data, X.data)
    if form != "coo":
        assert np.shares_memory(found.indices, X.indices)


def test_tampered_matrices_are_refused_or_read_right_at_every_door():
    """More of them in benchmarks/fuzz_matrices.py."""
    assert hostile_runs.findings("hostile_matrices", 0, 300)[0] == []


@pytest.mark.parametrize("form", ["lil", "dok"])
@pytest.mark.parametrize("kind", [np.float64, bool])
@pytest.mark.parametrize("entry", [None, "text", "1", 1j])
def test_entries_that_are_no_numbers_are_rejected(form, kind, entry):
    """numpy reads None as NaN, a text as True, and "1" as 1."""
    X = sp.csr_array(np.eye(3, dtype=kind)).asformat(form)
    if form == "lil":
        X.data[1] = [entry]
    else:
        X._dict[1, 1] = entry
    with pytest.raises(ValueError, match="^X has entries that are not real numbers"):
        sound(X)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
@example(2207)  # offsets that wrap to others
@example(6368)  # repeated whole numbers
@pytest.mark.filterwarnings("ignore")
def test_tampering_is_noticed_exactly_where_it_breaks_the_structure(seed):
    try:
        X = hostile_matrices.case(seed)
    except (TypeError, ValueError, OverflowError):
        return  # numpy or scipy would not make it
    wanted = read_slowly(X)
    try:
        found = sound(X)
    except ValueError as error:
        assert wanted is None or not wanted.size or max(wanted.shape) > MOST
        assert str(error).startswith("X ") and "7391" not in str(error)
    else:
        read = found.astype(np.float64)  # whole numbers that are repeated could overflow
        assert 0 in found.shape or np.allclose(read.toarray(), wanted, 1e-5, equal_nan=True)


def csr(**changes):
    X = sp.csr_array(np.full((4, 3), SECRET))
    for name, value in changes.items():
        setattr(X, name, value)
    return X


@pytest.mark.parametrize(
    ("X", "what"),
    [
        (csr(indices=np.full(12, 3, np.int32)), "column indices outside"),
        (csr(indices=np.full(12, -1, np.int32)), "column indices outside"),
        (csr(indices=np.full(12, 2**64 - 1, np.uint64)), "indices outside"),
        (csr(indices=np.full(12, 2**32, np.int64)), "column indices outside"),
        (csr(indices=np.zeros((6, 2), np.int32)), "not vectors of whole numbers"),
        (csr(indices=np.zeros(12)), "not vectors of whole numbers"),
        (csr(indices=np.zeros(11, np.int32)), "lead beyond its entries"),
        (csr(data=np.ones(11)), "lead beyond its entries"),
        (csr(data=np.ones((12, 1))), "entries that do not have the dimensions"),
        (csr(indptr=np.array([0, 3, 6, 9], np.int32)), "pointers that do not fit"),
        (csr(indptr=np.array([0, 3, 6, 9, 12, 12], np.int32)), "pointers that do not fit"),
        (csr(indptr=np.array([0, 9, 6, 9, 12], np.int32)), "pointers that do not fit"),
        (csr(indptr=np.array([1, 3, 6, 9, 12], np.int32)), "pointers that do not fit"),
        (csr(indptr=np.array([0, 3, 6, 9, 2**40])), "lead beyond its entries"),
        (csr(_shape=(4, 2)), "column indices outside"),
        (csr(_shape=(4, 2**31)), "a shape that is not between"),
        (csr(_shape=(4, -1)), "a shape that is not between"),
        (csr(_shape=(4.0, "3")), "parts that are not those of its format"),
    ],
)
def test_the_error_names_the_part_that_does_not_fit(X, what):
    with pytest.raises(ValueError, match=f"^X has .*{what}.*; rebuild the sparse matrix$"):
        sound(X)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.full(12, SECRET * 1j), "^X must hold real numbers, got complex128"),
        (np.full(12, str(SECRET)), "^X must hold real numbers, got <U7"),
        (np.full(12, None), "^X must hold real numbers, got object"),
        (np.ma.masked_array(np.ones(12), np.ones(12)), "^X has a masked array"),
    ],
)
def test_entries_must_be_real_numbers(data, words):
    with pytest.raises(ValueError, match=words):
        sound(csr(data=data))


@pytest.mark.parametrize("X", [sp.coo_array(np.ones(3)), sp.coo_array(np.ones((2, 2, 2)))])
def test_two_dimensions_are_needed(X):
    with pytest.raises(ValueError, match=r"^X must have two dimensions, got [13]; reshape"):
        sound(X)


def test_a_masked_array_is_refused_and_not_read_through():
    X = np.ma.masked_array(np.full((4, 3), SECRET), np.ones((4, 3)))
    model = PrivateLassoClassifier(classes=[0, 1])
    for call in (sound, ColumnMatrix.of, lambda X: model.fit(X, [0, 1, 0, 1])):
        with pytest.raises(ValueError, match="^X is a masked array; fill"):
            call(X)


@pytest.mark.parametrize("kind", [">f8", ">f4", ">i4", "f2", "?", "u1"])
def test_every_kind_and_order_of_bytes_is_read_alike(kind):
    X = np.array([[0, 1, 0], [1, 0, 1]])
    sparse = sp.csr_array(X)
    sparse.data = sparse.data.astype(kind)
    sparse.indices = sparse.indices.astype(">i8")
    assert np.array_equal(sound(sparse).toarray(), X)
    assert np.array_equal(ColumnMatrix.of(X.astype(kind)).rows().toarray(), X)


class Sly(sp.csr_array):
    """A matrix that shows sound indices to whoever looks first."""

    looks_left = 1000

    @property
    def indices(self):
        self.looks_left -= 1
        return self._indices + (0 if self.looks_left >= 0 else 1000)

    @indices.setter
    def indices(self, value):
        self._indices = value


def test_what_was_checked_is_what_is_used():
    X = Sly(np.eye(3))
    X.looks_left = 1
    found = sound(X)
    assert type(found) is sp.csr_array
    assert np.array_equal(found.toarray(), np.eye(3))


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_matrix_that_claims_to_be_in_order_is_not_believed(form):
    """Entries given in parts would each be clipped, and together exceed the bound."""
    X = sp.coo_array((np.ones(6), ([0] * 6, [1] * 6)), shape=(2, 3))
    if form != "coo":
        make = sp.csr_array if form == "csr" else sp.csc_array
        indptr = [0, 6, 6] if form == "csr" else [0, 0, 6, 6]
        indices = [1] * 6 if form == "csr" else [0] * 6
        X = make((np.ones(6), indices, indptr), shape=(2, 3))
    X.has_canonical_format = True
    assert clipped(X, 2.0).toarray().max() == 2.0
    assert mapped(X, "presence").toarray().max() == 1.0
    assert ColumnMatrix.of(X, 2.0).rows().toarray().max() == 2.0


def test_parts_are_checked_before_there_is_a_matrix():
    with pytest.raises(ValueError, match="^x.npz has row indices outside its shape"):
        sound_parts(
            "csc",
            (2, 1),
            "x.npz",
            data=np.ones(1),
            indices=np.array([2]),
            indptr=np.array([0, 1]),
        )
    with pytest.raises(ValueError, match="^X has a sparse format that is not known"):
        sound_parts("exe", (2, 1))
    with pytest.raises(ValueError, match="^X has parts that are not those of its format"):
        sound_parts("csr", (2, 1), data=np.ones(1))


def by_hand(**changes):
    X = ColumnMatrix.of(np.array([[0.5, 0.0, 1.0], [0.25, -1.0, 0.0]]))
    parts = {
        "indptr": X.indptr,
        "indices": X.indices,
        "values": X.values,
        "shape": X.shape,
        "x_bound": 1.0,
    }
    return ColumnMatrix(**{**parts, **changes})


def test_a_column_matrix_made_by_hand_is_what_its_arrays_say():
    found = by_hand()
    assert np.array_equal(found.rows().toarray(), [[0.5, 0.0, 1.0], [0.25, -1.0, 0.0]])
    assert np.all(found.norm1 >= [0.75, 1.0, 1.0])


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": np.array([0, 1, 1, 2], np.int32)},
        {"indices": np.array([0, -1, 1, 0], np.int32)},
        {"indices": np.array([1, 0, 1, 0], np.int32)},
        {"indices": np.array([0, 0, 1, 0], np.int32)},
        {"indices": np.array([0, 1, 1, 0])},
        {"indices": [0, 1, 1, 0]},
        {"indptr": np.array([0, 2, 3, 5], np.int32)},
        {"indptr": np.array([0, 3, 2, 4], np.int32)},
        {"indptr": np.array([0, 2, 4], np.int32)},
        {"values": np.array([0.5, np.nan, 1.0, 1.0])},
        {"values": np.array([0.5, SECRET, 1.0, 1.0])},
        {"values": np.array([0.5, 1.0, 1.0])},
        {"values": None, "x_bound": 0.5},
        {"x_bound": np.nan},
        {"shape": (1, 3)},
        {"shape": (2, 4)},
        {"stretch": np.array([1.0, np.inf, 1.0])},
        {"stretch": np.ones(2)},
        {"extended": ColumnMatrix.of(np.ones((2, 4)))},
    ],
)
def test_a_column_matrix_made_by_hand_is_checked(changes):
    with pytest.raises(ValueError) as caught:
        by_hand(**changes)
    assert "7391" not in str(caught.value)


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient"])
def test_a_model_predicts_from_a_column_matrix_as_from_its_rows(solver):
    rng = np.random.default_rng(0)
    X = sp.random_array((50, 6), density=0.5, rng=rng, format="csr")
    model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=50, x_bound=1.0, solver=solver)
    model.fit(X, np.arange(50) % 2)
    held = ColumnMatrix.of(X)
    assert np.array_equal(model.predict_proba(held), model.predict_proba(X))
