"""Whatever matrix comes in, the engine holds one form of it, within the public bound."""

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dplasso.data import ColumnMatrix, columns
from dplasso.data.clip_limit import clip_limit

SECRET = 7391.25  # a value that no message may repeat

FORMATS = {
    "dense": np.asarray,
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "coo_matrix": sp.coo_matrix,
    "lil_array": sp.lil_array,
    "bsr_array": sp.bsr_array,
}


def dense(matrix):
    values = np.ones(matrix.entries) if matrix.values is None else matrix.values.astype(float)
    return sp.csc_array((values, matrix.indices, matrix.indptr), shape=matrix.shape).toarray()


def assert_sound(matrix):
    """Everything that the compiled loops rely on without looking."""
    rows, columns = matrix.shape
    assert matrix.indptr.shape == (columns + 1,) and matrix.indptr[0] == 0
    assert np.all(np.diff(matrix.indptr) >= 0)
    assert len(matrix.indices) >= matrix.indptr[-1] == matrix.entries
    assert matrix.indices.dtype == np.int32
    for j in range(columns):
        column = matrix.indices[matrix.indptr[j] : matrix.indptr[j + 1]].astype(int)
        assert np.all(np.diff(column) > 0)
        assert np.all((column >= 0) & (column < rows))
    if matrix.values is not None:
        assert matrix.values.dtype in (np.float32, np.float64)
        assert len(matrix.values) >= matrix.entries
        # In double precision: that is how the loops read them.
        assert np.all(np.abs(matrix.values.astype(np.float64)) <= matrix.x_bound)
    assert_norms(matrix)


def assert_norms(matrix):
    """They bound scores: never below the true ones, and hardly above."""
    if matrix.values is None:
        assert matrix.norm1 is None
        return
    assert matrix.norm1.shape == (matrix.shape[1],) and matrix.norm1.dtype == np.float32
    norms = matrix.norm1.astype(np.float64) * matrix.x_bound
    for j, found in enumerate(norms):
        column = matrix.values[matrix.indptr[j] : matrix.indptr[j + 1]]
        exact = math.fsum(abs(float(x)) for x in column)
        assert exact <= found <= exact * (1 + 1e-6) + 1e-29 * matrix.x_bound


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("x_bound", [1.0, 2.5, 100.0])
def test_every_format_holds_the_same_clipped_matrix(form, x_bound):
    X = np.array([[0.0, -3.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0], [0.25, 7.0, 0.0, -1.0]])
    matrix = ColumnMatrix.of(FORMATS[form](X), x_bound)
    assert_sound(matrix)
    assert matrix.shape == (3, 4) and matrix.x_bound == x_bound
    assert np.array_equal(dense(matrix), np.clip(X, -x_bound, x_bound))
    assert matrix.values.dtype == np.float32


@pytest.mark.parametrize("form", ["dense", "csr_array", "csc_array", "coo_array"])
@pytest.mark.parametrize(
    "kind",
    [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64]
    + [np.float32, np.float64, np.longdouble],
)
def test_every_kind_of_number(form, kind):
    X = np.array([[0, 3, 100], [1, 0, 5]], kind)
    matrix = ColumnMatrix.of(FORMATS[form](X), x_bound=20.0)
    assert_sound(matrix)
    assert matrix.values.dtype == np.float32
    assert np.array_equal(dense(matrix), [[0, 3, 20], [1, 0, 5]])


@pytest.mark.parametrize("form", ["dense", "csr_array", "csc_array", "coo_array"])
@pytest.mark.parametrize("X", [np.array([[0.1, 0], [2, 1]]), np.array([[2**24 + 1, 0], [2, 1]])])
def test_double_precision_is_held_where_single_would_round(form, X):
    matrix = ColumnMatrix.of(FORMATS[form](X), x_bound=2.0**30)
    assert matrix.values.dtype == np.float64
    assert np.array_equal(dense(matrix), X)


def test_half_precision():
    X = np.array([[0.5, 0.0], [-3.0, 1.0]], np.float16)
    matrix = ColumnMatrix.of(X, x_bound=2.0)
    assert_sound(matrix)
    assert np.array_equal(dense(matrix), [[0.5, 0.0], [-2.0, 1.0]])


@pytest.mark.parametrize("kind", [np.int16, np.int64])
def test_negative_integers_are_clipped_at_both_ends(kind):
    X = sp.csc_array(np.array([[-300, 2], [300, -2]], kind))
    assert np.array_equal(dense(ColumnMatrix.of(X, 2.5)), [[-2.5, 2.0], [2.5, -2.0]])


@pytest.mark.parametrize("x_bound", [0.1, 1e-3, 1 / 3, 0.7, np.float64(0.1)])
@pytest.mark.parametrize("kind", [np.float32, np.int8, np.float64])
def test_clipping_never_rounds_above_the_bound(kind, x_bound):
    """The float32 nearest to 0.1 is above it: a row could then weigh more than was paid for."""
    X = np.array([[3, 0], [-3, 1]], kind)
    for given_as in (X, sp.csc_array(X)):
        matrix = ColumnMatrix.of(given_as, x_bound)
        assert_sound(matrix)
        wanted = np.clip(X.astype(float), -x_bound, x_bound)
        assert np.allclose(dense(matrix), wanted, rtol=1e-6, atol=0)


def test_long_indices():
    X = sp.csc_array(np.array([[0.5, 0.0], [-3.0, 1.0]]))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    matrix = ColumnMatrix.of(X, x_bound=2.0)
    assert_sound(matrix)
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert np.array_equal(dense(matrix), [[0.5, 0.0], [-2.0, 1.0]])


@st.composite
def entries(draw):
    """Coordinates in any order, repeated, with zeros; quarters, so that sums are exact."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    one = st.tuples(
        st.integers(0, rows - 1),
        st.integers(0, columns - 1),
        st.integers(-12, 12).map(lambda n: n / 4) | st.just(1.0),
    )
    return rows, columns, draw(st.lists(one, max_size=25))


def raw(form, rows, columns, found):
    """A sparse matrix of exactly these entries: neither sorted, nor merged, nor without zeros."""
    i = np.array([e[0] for e in found], np.int32)
    j = np.array([e[1] for e in found], np.int32)
    v = np.array([e[2] for e in found], float)
    if form == "coo":
        return sp.coo_array((v, (i, j)), shape=(rows, columns))
    major, minor, size = (j, i, columns) if form == "csc" else (i, j, rows)
    order = np.argsort(major, kind="stable")
    indptr = np.searchsorted(major[order], np.arange(size + 1)).astype(np.int32)
    make = sp.csc_array if form == "csc" else sp.csr_array
    return make((v[order], minor[order], indptr), shape=(rows, columns))


def arrays_of(X):
    return (X.data, *X.coords) if X.format == "coo" else (X.data, X.indices, X.indptr)


@settings(max_examples=150, deadline=None)
@given(entries(), st.sampled_from(["coo", "csr", "csc"]), st.sampled_from([0.3, 1.0, 2.0, 50.0]))
@example((1, 1, [(0, 0, 3.0), (0, 0, -2.5)]), "csc", 1.0)
def test_repeated_entries_are_summed_then_clipped_and_nothing_is_written_to(made, form, x_bound):
    rows, columns, found = made
    X = raw(form, rows, columns, found)
    plain = np.zeros((rows, columns))
    for i, j, v in found:
        plain[i, j] += v
    before = [np.copy(array) for array in arrays_of(X)]
    matrix = ColumnMatrix.of(X, x_bound)
    assert_sound(matrix)
    limit = clip_limit(x_bound)
    assert np.array_equal(dense(matrix), np.clip(plain, -limit, limit))
    for array, old in zip(arrays_of(X), before, strict=True):
        assert np.array_equal(array, old)


@pytest.mark.parametrize("form", ["dense", "csr_array", "csc_array", "coo_array"])
@pytest.mark.parametrize("kind", [bool, np.int8, np.int64, np.float32, np.float64])
def test_zeros_and_ones_are_held_without_values(form, kind):
    X = np.array([[1, 0, 1], [0, 0, 1]], kind)
    matrix = ColumnMatrix.of(FORMATS[form](X), x_bound=1.0)
    assert_sound(matrix)
    assert matrix.values is None
    assert np.array_equal(dense(matrix), X.astype(float))


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_repeated_small_integers_do_not_overflow(form):
    X = raw(form, 2, 2, [(0, 0, 100.0), (0, 0, 100.0), (1, 1, -100.0), (1, 1, -100.0)])
    X.data = X.data.astype(np.int8)
    assert np.array_equal(dense(ColumnMatrix.of(X, 300.0)), [[200.0, 0.0], [0.0, -200.0]])


@pytest.mark.parametrize("unit", [1e-60, 1e-42, 1e-30, 1e30, 1e50])
def test_norms_in_other_units(unit):
    """Single precision ends at 1e-45 and 3e38; a norm rounded to 0 would bound nothing."""
    X = np.array([[0.3, 0.0, 1.0], [-0.2, 0.0, 0.7]]) * unit
    try:
        matrix = ColumnMatrix.of(X, x_bound=unit)
    except ValueError as error:
        assert str(error).startswith("x_bound")
    else:
        assert_sound(matrix)
        assert np.all(np.isfinite(matrix.norm1))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("kind", [bool, np.int8, np.int64, np.float64])
def test_ones_above_the_bound_keep_their_values(kind, make):
    matrix = ColumnMatrix.of(make(np.eye(3, dtype=kind)), x_bound=0.5)
    assert_sound(matrix)
    assert np.array_equal(matrix.values, [0.5, 0.5, 0.5])


@pytest.mark.parametrize("other", [-1.0, 0.999])
def test_one_other_value_is_enough_to_keep_values(other):
    X = sp.csc_array(np.ones((2, 2)))
    X.data[2] = other
    matrix = ColumnMatrix.of(X, x_bound=1.0)
    assert np.array_equal(matrix.values, [1.0, 1.0, other, 1.0])


def test_stored_zeros_are_left_out():
    X = sp.csc_array(np.ones((2, 2)))
    X.data[2] = 0.0
    matrix = ColumnMatrix.of(X, x_bound=1.0)
    assert_sound(matrix)
    assert matrix.values is None and matrix.entries == 3
    assert X.data.tolist() == [1.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_sound_matrix_is_not_copied(kind):
    X = sp.csc_array(np.array([[0.3, 0.0], [-0.25, 1.0]], kind))
    matrix = ColumnMatrix.of(X)
    for ours, theirs in [
        (matrix.values, X.data),
        (matrix.indices, X.indices),
        (matrix.indptr, X.indptr),
    ]:
        assert np.shares_memory(ours, theirs)
    ones = ColumnMatrix.of(sp.csc_matrix((np.ones(3), X.indices, X.indptr)))
    assert ones.values is None and np.shares_memory(ones.indices, X.indices)


def test_only_values_are_copied_to_be_clipped():
    X = sp.csc_array(np.array([[0.3, 0.0], [-SECRET, 1.0]]))
    matrix = ColumnMatrix.of(X)
    assert X.data.tolist() == [0.3, -SECRET, 1.0]
    assert not np.shares_memory(matrix.values, X.data)
    assert np.shares_memory(matrix.indices, X.indices)


def test_read_only_arrays_will_do():
    """What joblib hands to its workers."""
    X = sp.csc_array(np.array([[0.5, 0.0], [-3.0, 1.0]]))
    for array in (X.data, X.indices, X.indptr):
        array.setflags(write=False)
    assert np.array_equal(dense(ColumnMatrix.of(X)), [[0.5, 0.0], [-1.0, 1.0]])


@settings(max_examples=60, deadline=None)
@given(entries(), st.integers(1, 3), st.sampled_from([1.0, 5.0]))
@example((2, 2, [(0, 0, 1.0), (1, 1, 1.0)]), 1, 1.0)
def test_product(made, outputs, x_bound):
    rows, columns, found = made
    matrix = ColumnMatrix.of(raw("coo", rows, columns, found), x_bound)
    weights = np.random.default_rng(rows).normal(size=(columns, outputs))
    product = matrix.product(weights)
    assert product.dtype == np.float64
    assert np.allclose(product, dense(matrix) @ weights, rtol=1e-13, atol=1e-13)


def test_a_column_matrix_stays_as_it_is():
    matrix = ColumnMatrix.of(np.array([[3.0, -3.0]]), x_bound=2.0)
    assert ColumnMatrix.of(matrix, 2.0) is matrix
    larger = ColumnMatrix.of(matrix, 5.0)
    assert_sound(larger)
    assert larger.x_bound == 5.0 and larger.values is matrix.values
    beyond = ColumnMatrix.of(matrix, 1e40)  # single precision ends before this
    assert beyond.values.dtype == np.float64 and beyond.with_constant().values[-1] == 1e40
    with pytest.raises(ValueError, match="^X .*x_bound"):
        ColumnMatrix.of(matrix, 1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_gaps_and_infinities_are_refused_dense(kind, bad):
    X = np.array([[SECRET, 0.0], [bad, 1.0]], kind)
    with pytest.raises(ValueError, match="^X holds NaN or infinity; .*remove") as caught:
        ColumnMatrix.of(X)
    assert "739" not in str(caught.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("place", [0, 3])
def test_gaps_and_infinities_are_refused_sparse(form, bad, place):
    found = [(0, 0, SECRET), (1, 0, 1.0), (1, 1, -1.0), (0, 1, 1.0)]
    found[place] = (*found[place][:2], bad)
    for duplicate in ([], [(1, 0, 1.0)]):  # also where entries are merged
        with pytest.raises(ValueError, match="^X holds NaN or infinity; .*remove") as caught:
            ColumnMatrix.of(raw(form, 2, 2, found + duplicate))
        assert "739" not in str(caught.value)


def test_infinities_that_cancel_are_refused():
    with pytest.raises(ValueError, match="^X holds NaN or infinity"):
        ColumnMatrix.of(raw("coo", 1, 1, [(0, 0, np.inf), (0, 0, -np.inf)]))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("make", [np.zeros, sp.csr_array, sp.csc_array, sp.coo_array])
def test_an_empty_matrix_is_refused(make, shape):
    with pytest.raises(ValueError, match="^X is empty; .*at least one row and one column"):
        ColumnMatrix.of(make(shape))


@pytest.mark.parametrize(
    "X",
    [np.zeros(3), np.zeros((2, 2, 2)), np.float64(1.0), sp.coo_array(np.ones(3))]
    + [sp.coo_array(np.ones((2, 2, 2)))],
    ids=["vector", "cube", "number", "sparse vector", "sparse cube"],
)
def test_two_dimensions_are_needed(X):
    with pytest.raises(ValueError, match="^X must have two dimensions, got .; reshape"):
        ColumnMatrix.of(X)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[SECRET]], object),
        np.array([[str(SECRET)]]),
        np.array([[SECRET * 1j]]),
        np.array([["2001-01-01"]], "M8[D]"),
        sp.csr_array([[SECRET * 1j]]),
        sp.csc_array([[SECRET * 1j]]),
    ],
    ids=["object", "text", "complex", "dates", "sparse complex", "csc complex"],
)
def test_real_numbers_are_needed(X):
    with pytest.raises(ValueError, match="^X must hold real numbers, got .*; encode") as caught:
        ColumnMatrix.of(X)
    assert "739" not in str(caught.value) and "2001" not in str(caught.value)


def broken(**changes):
    """A column-compressed matrix whose arrays were tampered with after it was built."""
    X = sp.csc_array(np.full((4, 3), SECRET))
    for name, (place, value) in changes.items():
        getattr(X, name)[place] = value
    return X


@pytest.mark.parametrize(
    "X",
    [
        broken(indices=(0, 4)),
        broken(indices=(11, 2**31 - 1)),
        broken(indices=(5, -1)),
        broken(indptr=(1, 9)),
        broken(indptr=(1, -1)),
        broken(indptr=(0, 1)),
        broken(indptr=(3, 13)),
        broken(indptr=(3, -1)),
    ],
    ids=["row", "far row", "negative row", "falling", "negative", "start", "end", "negative end"],
)
def test_a_corrupt_matrix_is_refused(X):
    with pytest.raises(ValueError, match="^X has .*; rebuild") as caught:
        ColumnMatrix.of(X, x_bound=SECRET)
    assert "739" not in str(caught.value)


@pytest.mark.parametrize("name", ["indptr", "indices", "data"])
def test_arrays_of_the_wrong_length_are_refused(name):
    X = broken()
    setattr(X, name, getattr(X, name)[:-1])
    with pytest.raises(ValueError, match="^X has .*; rebuild"):
        ColumnMatrix.of(X)


CORRUPT = """
import numpy as np, scipy.sparse as sp
from dplasso.data import ColumnMatrix

def csr(name, place, value):
    X = sp.csr_array(np.ones((400, 300)))
    getattr(X, name)[place] = value
    return X

def coo(axis, value):
    X = sp.coo_array(np.ones((400, 300)))
    X.coords[axis][0] = value
    return X

for X in [
    csr("indices", 0, 300), csr("indices", 7, 2**31 - 1), csr("indices", 0, -5),
    csr("indptr", 1, 700), csr("indptr", 1, -1), csr("indptr", -1, 10**9),
    coo(0, 400), coo(0, -1), coo(1, 300), coo(1, -5), coo(1, 10**9),
]:
    try:
        ColumnMatrix.of(X)
    except ValueError as error:
        assert str(error).startswith("X has ") and "; rebuild" in str(error), error
    else:
        raise AssertionError("accepted")
"""


def test_corrupt_matrices_of_other_formats_do_no_harm():
    """Converting them would write outside its arrays: in a process of its own."""
    done = subprocess.run([sys.executable, "-c", CORRUPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize(
    "x_bound",
    [
        0,
        0.0,
        -1.0,
        np.nan,
        np.inf,
        -np.inf,
        True,
        "1",
        None,
        1j,
        pytest.param(10**400, id="huge"),
        [1.0],
    ],
)
@pytest.mark.parametrize("X", [np.eye(2), ColumnMatrix.of(np.eye(2))], ids=["X", "held"])
def test_x_bound_must_be_positive_and_finite(X, x_bound):
    with pytest.raises(ValueError, match="^x_bound must be a finite number above 0, got"):
        ColumnMatrix.of(X, x_bound)


@pytest.mark.parametrize("x_bound", [2, np.int64(2), np.float32(2.0), np.float64(2.0)])
def test_x_bound_may_be_any_real_number(x_bound):
    matrix = ColumnMatrix.of(np.array([[3.0, 0.5]]), x_bound)
    assert type(matrix.x_bound) is float
    assert matrix.values.tolist() == [2.0, 0.5]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("x_bound", [0.4, 1.0, 3.0])
def test_large_matrices_are_turned_as_small_ones_are(monkeypatch, kind, ones, x_bound):
    """On all cores, and with the intercept's column at hand: the same to the bit."""
    X = sp.random_array((300, 40), density=0.2, rng=np.random.default_rng(0), format="csr")
    X = X.astype(kind)
    X.data[:] = 1.0 if ones else X.data * 2 - 1
    wanted = ColumnMatrix.of(X, x_bound)
    monkeypatch.setattr(columns, "_LARGE", 0)
    before = X.data.copy()
    found = ColumnMatrix.of(X, x_bound)
    assert np.array_equal(X.data, before)
    for ours, theirs in ((found, wanted), (found.with_constant(), wanted.with_constant())):
        assert ours.shape == theirs.shape and ours.constant == theirs.constant
        assert np.array_equal(ours.indptr, theirs.indptr)
        assert np.array_equal(ours.indices[: ours.entries], theirs.indices[: theirs.entries])
        for mine, other in ((ours.values, theirs.values), (ours.norm1, theirs.norm1)):
            assert (mine is None) == (other is None)
            assert mine is None or np.array_equal(mine, other)


@settings(deadline=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-2, 2)))
def test_any_rows_are_turned_as_scipy_does(X):
    found, room = columns.turned(sp.csr_array(X))
    wanted = sp.csc_array(X)
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name))
    assert len(room.indices) == wanted.nnz + len(X)
