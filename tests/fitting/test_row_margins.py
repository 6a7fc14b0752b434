"""Margins are those of rows mapped step by step, and a function of the row alone."""

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numba.core import serialize

import reference_margins
from dplasso.base import threads
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.data.structure import sound
from dplasso.data.used_columns import MANY
from dplasso.fitting import row_margins
from dplasso.fitting.row_margins import RowMargins, few_columns
from dplasso.fitting.row_reader import RowReader
from dplasso.kernels import prediction
from exported import made_model
from storages import FORMS

COLUMNS = 70  # more than dense rows are cut into
RANGES = [(0.0, 3.0), (1.0, 2.0), 2.0, (-3.0, -1.0), (0.0, 1.0), (2.0, 2.0), *[2.0] * 64]
FEW = SparseBounds(COLUMNS, {1: 3.0}, {2: (1.0, 2.0)})
READERS = {
    "plain": RowReader("as_is", COLUMNS, 2.0),
    "cut to ranges": RowReader("as_is", COLUMNS, RANGES, cuts=True),
    "cut to a released bound": RowReader("as_is", COLUMNS, 0.5, cuts=True, room=3.0),
    "unit": RowReader("as_is", COLUMNS, np.linspace(0.5, 4.0, COLUMNS), unit_rows=True),
    "presence": RowReader("presence", COLUMNS, 2.0, unit_rows=True),
    "blend": RowReader("blend", COLUMNS, 2.0, unit_rows=True),
    "centred": RowReader("sqrt", COLUMNS, RANGES, unit_rows=True, cuts=True, centres=True),
    "few centred": RowReader("presence", COLUMNS, FEW, unit_rows=True, cuts=True, centres=True),
    "chosen": RowReader("as_is", COLUMNS, 2.0, unit_rows=True, chosen=np.array([3, 1])),
}
every_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


def rows(seed=0, count=70):
    """More rows than dense ones are cut into; some of them are empty."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(0.0, 2.0, (count, COLUMNS)), 2) * (rng.random((count, COLUMNS)) < 0.3)
    X[3] = 0.0
    return X


def model(reader, outputs=1):
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(outputs, COLUMNS)) * (rng.random(COLUMNS) < 0.2)
    weights[:, [1, 2, 3]] = 1.5
    if reader.chosen is not None:
        weights[:, np.setdiff1d(np.arange(COLUMNS), reader.chosen)] = 0.0
    return made_model(reader, weights, rng.normal(size=outputs))


@every_reader
@pytest.mark.parametrize("outputs", [1, 3])
def test_margins_are_those_of_mapped_rows_in_every_form_of_storage(reader, outputs):
    fitted, X = model(reader, outputs).fitted_, rows()
    expected = reference_margins.margins(fitted, X)
    one = fitted.margins(X)
    np.testing.assert_allclose(one, expected, rtol=1e-12, atol=1e-12)
    for form, stored in FORMS.items():
        if form == "dia":  # scipy warns of so many diagonals
            continue
        assert np.array_equal(fitted.margins(sound(stored(X))), one), form


@every_reader
def test_the_margins_of_a_row_do_not_depend_on_other_rows(reader):
    fitted, X = model(reader).fitted_, rows()
    together, sparse = fitted.margins(X), sp.csr_array(X)
    others = np.vstack([np.full((5, COLUMNS), 1e300), X[:40]])
    assert np.array_equal(fitted.margins(others)[5:], together[:40])
    assert np.array_equal(fitted.margins(sp.csr_array(others))[5:], together[:40])
    for k in (0, 3, 31, 69):
        assert np.array_equal(fitted.margins(X[k : k + 1]), together[k : k + 1])
        assert np.array_equal(fitted.margins(sparse[[k]]), together[k : k + 1])


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8, np.uint64, ">f8"])
def test_neither_precision_nor_byte_order_changes_margins(kind):
    fitted, X = model(READERS["presence"]).fitted_, np.rint(np.abs(rows()))
    assert np.array_equal(fitted.margins(X.astype(kind)), fitted.margins(X))
    if kind != np.float16:
        sparse = sound(sp.csr_array(X.astype(np.dtype(kind).newbyteorder("="))))
        assert np.array_equal(fitted.margins(sparse), fitted.margins(X))


def test_indices_of_64_bits_are_read():
    fitted, X = model(READERS["presence"]).fitted_, sp.csr_array(rows())
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert np.array_equal(fitted.margins(wide), fitted.margins(X))


@pytest.mark.parametrize("name", ["plain", "presence", "cut to a released bound", "few centred"])
def test_columns_that_are_searched_for_give_the_same_margins(name):
    reader = READERS[name]
    fitted, X = model(reader, 3).fitted_, sp.csr_array(rows())
    used = np.union1d(fitted.weights.indices, FEW.listed)
    few = RowMargins.of(reader, fitted.weights, fitted.intercepts, used)
    assert len(few.table) == len(used) + 1 < COLUMNS
    assert np.array_equal(few(X), fitted.margins(X))


def test_columns_are_searched_for_only_if_that_saves_memory():
    columns = 1 << 21
    places = np.array([5, 9, columns - 1])
    few = sp.csr_array((np.ones(3), places, [0, 3]), shape=(1, columns))
    assert few_columns(RowReader("as_is", columns, 1.0), few).tolist() == places.tolist()
    listed = few_columns(RowReader("as_is", columns, SparseBounds(columns, {7: 2.0})), few)
    assert listed.tolist() == [5, 7, 9, columns - 1]
    by_column = RowReader("as_is", columns, np.ones(columns), cuts=True)
    assert few_columns(by_column, few) is None
    half = sp.csr_array(np.ones((1, 8)))
    assert few_columns(RowReader("as_is", 8, 1.0), half) is None


def test_many_outputs_of_few_weights_take_memory_for_the_weights():
    columns, outputs = MANY, 50
    weights = sp.csr_array((np.ones(2), [4, 8], [0] * outputs + [2]), shape=(outputs, columns))
    fitted = dataclasses.replace(
        model(READERS["plain"]).fitted_,
        weights=weights,
        intercepts=np.zeros(outputs),
        reader=RowReader("as_is", columns, 1.0),
    )
    X = sp.csr_array((np.ones(3), [2, 4, 8], [0, 3]), shape=(1, columns))
    assert fitted.margins(X).tolist() == [[0.0] * (outputs - 1) + [2.0]]
    assert "_with_all_columns" not in vars(fitted)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_threads_do_not_change_margins(form, monkeypatch):
    fitted, X = model(READERS["centred"]).fitted_, form(rows(count=200))
    alone = fitted.margins(X)
    monkeypatch.setattr(row_margins, "_FEW_ENTRIES", 0)
    monkeypatch.setattr(threads, "available", lambda: 3)
    assert np.array_equal(fitted.margins(X), alone)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_too_long_for_a_number_have_no_margin_of_their_own(form):
    reader = RowReader("as_is", COLUMNS, 1e308, unit_rows=True)
    fitted = model(reader).fitted_
    X = np.zeros((1, COLUMNS))
    X[0, [1, 2]] = 1e308
    fitted.weights.data[:] = 10.0
    assert np.array_equal(fitted.margins(form(X))[0], fitted.intercepts)


def test_pickles_and_changed_copies_do_not_hold_what_predictions_have_computed():
    found = model(READERS["presence"])
    before, X = pickle.dumps(found), rows()
    margins = found.decision_function(X)
    assert len(pickle.dumps(found)) == len(before)
    assert np.array_equal(pickle.loads(before).decision_function(X), margins)
    other = dataclasses.replace(found.fitted_, weights=2.0 * found.fitted_.weights)
    assert not np.array_equal(other.margins(X)[:, 0], margins)


@pytest.mark.parametrize("kind", [prediction.AS_IS, prediction.BLEND])
def test_compiled_loops_are_found_again_on_disk(kind):
    """Code on disk is found by the pickles of what a loop closes over."""

    def closed_over():
        loop = prediction.sparse_margins.__wrapped__(kind, prediction.NONE)
        return [serialize.dumps(cell.cell_contents) for cell in loop.py_func.__closure__]

    assert closed_over() == closed_over()
