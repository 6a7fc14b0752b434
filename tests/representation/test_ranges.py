"""Columns with ranges are centred by them alone: not by other rows, storage or the solver."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dplasso
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.base import memory
from dplasso.data import ColumnBounds, ColumnMatrix, centring, row_maps
from dplasso.data.bounds import sizes_of
from dplasso.data.centring import centred_columns
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.fitting.corrected import Solved
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.row_reader import RowReader
from storages import FORMS, stored

ROWS = 24
RANGES = ((0.0, 120.0), (70.0, 90.0), 3.0, (-2.0, 0.0), (0.0, 1.0), (5.0, 5.0))
MAPS = ("as_is", "presence", "sqrt", "blend")
SOLVERS = {
    "frank_wolfe": {"epsilon": 20.0, "max_iter": 6},
    "gradient": {"epsilon": 5.0},
}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def model(solver, row_map="as_is", bounds=RANGES, **options):
    return PrivateLassoClassifier(
        classes=[0, 1],
        n_rows=ROWS,
        random_state=3,
        solver=solver,
        row_map=row_map,
        x_bound=list(bounds),
        **SOLVERS[solver],
        **options,
    )


def numbers(seed):
    """Whole numbers in, around and beyond the ranges; many are 0."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.integers(low - 2, high + 3, ROWS)
            for low, high in [(0, 120), (70, 90), *[(-3, 4)] * 4]
        ]
    )
    X[rng.random(X.shape) < 0.3] = 0
    return X.astype(np.float64), rng.integers(0, 2, ROWS)


def held(task):
    if hasattr(task, "rows"):
        rows = task.rows
        found = sp.csc_array((rows.values, rows.indices, rows.indptr), shape=rows.shape)
        return np.column_stack([found.toarray(), rows.units])
    return task.matrix.sparse().toarray()


@settings(max_examples=20, deadline=None)
@given(
    solver=st.sampled_from(sorted(SOLVERS)),
    row_map=st.sampled_from(MAPS),
    form=st.sampled_from(sorted(FORMS)),
    kind=st.sampled_from([np.float64, np.float32, np.int16, np.int64]),
    seed=st.integers(0, 2**20),
)
def test_no_form_of_storage_changes_a_bit_of_the_rows_or_of_the_releases(
    solver, row_map, form, kind, seed
):
    X, y = numbers(seed)
    other = FORMS[form](X.astype(kind))
    assert np.array_equal(
        held(model(solver, row_map).prepare(X, y)), held(model(solver, row_map).prepare(other, y))
    )
    one, another = model(solver, row_map).fit(X, y), model(solver, row_map).fit(other, y)
    assert np.array_equal(one.coef_, another.coef_)
    assert np.array_equal(one.intercept_, another.intercept_)


@settings(max_examples=40, deadline=None)
@given(
    entries=st.lists(
        st.floats(-1e300, 1e300) | st.sampled_from([0.0, 60.0, 120.0, -0.0]),
        min_size=1,
        max_size=20,
    ),
    ends=st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)),
)
def test_entries_are_between_minus_1_and_1_and_proportional_in_between(entries, ends):
    low, high = ends[0], ends[0] + ends[1]
    X = np.array(entries)[:, None]
    found = centred_columns(X, ColumnBounds.of([(low, high)], 1))
    assert np.all(np.abs(found) <= 1.0)
    assert np.array_equal(found.astype(np.float32), found)
    if (low, high) != (0.0, 1.0):
        middle, half = (low + high) / 2, (high - low) / 2
        close = 2.0**-22 + 4e-16 * (abs(low) + abs(high)) / half
        assert found == pytest.approx(np.clip((X - middle) / half, -1, 1), abs=close)


def test_the_middle_of_a_range_is_0_and_an_indicator_stays_as_it_is():
    bounds = ColumnBounds.of(list(RANGES), len(RANGES))
    rows = np.array([[60.0, 80.0, 1.0, -1.0, 1.0, 5.0], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    assert centred_columns(rows, bounds).tolist() == [[0, 0, 0, 1, 0], [-1, -1, 1, 0, 0]]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("row_map", MAPS)
@pytest.mark.parametrize("row", [0.0, 1e300, -1e300, 5e-324, 0.1, 2.0**31 + 1])
def test_no_row_moves_another(solver, row_map, row):
    X, y = numbers(1)
    other = np.vstack([X, np.full(X.shape[1], row)])
    found = held(model(solver, row_map).prepare(sp.csr_array(other), np.append(y, 1)))
    alone = held(model(solver, row_map).prepare(X, y))
    assert np.array_equal(found[:-1, : alone.shape[1]], alone)


@pytest.mark.parametrize("row_map", MAPS)
def test_entries_that_a_fit_holds_are_within_1(row_map):
    X, y = numbers(2)
    X[0], X[1] = 1e308, -1e308
    matrix = model("frank_wolfe", row_map).prepare(X, y).matrix
    assert matrix.x_bound == 1.0
    assert np.abs(matrix.sparse().toarray()).max() <= 1.0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("row_map", MAPS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array])
def test_models_predict_the_margins_that_their_solver_saw(solver, row_map, form):
    X, y = numbers(3)
    estimator = model(solver, row_map)
    task = estimator.prepare(X, y)
    rng = np.random.default_rng(0)
    weights = sp.csr_array(rng.normal(size=(1, X.shape[1])))
    solved = Solved(weights, np.array([0.3]), np.empty((0, 2), np.int64), 1)
    seen = task.margins(solved, 1)[0]
    plain = dataclasses.replace(task.plan, correction=None)
    fitted = dataclasses.replace(task, plan=plain).corrected(solved)
    predicted = estimator.restore(fitted).decision_function(form(X))
    assert predicted == pytest.approx(seen, abs=1e-4)


def test_coefficients_of_frank_wolfe_are_in_units_of_the_table():
    X, y = numbers(4)
    found = model("frank_wolfe").fit(X, y)
    inside = np.clip(X, *np.array([r if np.ndim(r) else (-r, r) for r in RANGES]).T)
    assert found.decision_function(X) == pytest.approx(
        inside @ found.coef_[0] + found.intercept_[0], abs=1e-9
    )
    assert found.to_sklearn().decision_function(inside) == pytest.approx(
        found.decision_function(X), abs=1e-9
    )
    assert found.coef_[0, 5] == 0.0  # a range of one point says nothing


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("row_map", MAPS)
def test_saved_models_keep_how_they_centre(solver, row_map, tmp_path):
    X, y = numbers(5)
    found = model(solver, row_map).fit(X, y)
    found.save(tmp_path / "model")
    again = dplasso.load(tmp_path / "model")
    assert np.array_equal(again.decision_function(X), found.decision_function(X))
    assert again.fitted_.reader.centres


@pytest.mark.parametrize("solver", SOLVERS)
def test_models_of_earlier_versions_do_not_centre(solver, tmp_path):
    """Their files have no entry that says so."""
    X, y = numbers(6)
    found = model(solver, "presence").fit(X, y)
    reader = dataclasses.replace(found.fitted_.reader, centres=False, cuts=False)
    found.restore(dataclasses.replace(found.fitted_, reader=reader))
    found.save(tmp_path / "model")
    again = dplasso.load(tmp_path / "model")
    assert not again.fitted_.reader.centres
    present = (X != 0).astype(float)
    if solver == "gradient":
        present /= np.maximum(np.linalg.norm(present, axis=1, keepdims=True), 1e-9)
    expected = present @ found.coef_[0] + found.intercept_[0]
    assert again.decision_function(X) == pytest.approx(expected)


def test_numbers_are_not_read_as_present_beside_many_columns():
    rng = np.random.default_rng(0)
    numbers = rng.uniform(20.0, 90.0, 4000)
    words = sp.random_array((4000, 1100), density=0.01, rng=rng)
    X = sp.csr_array(sp.hstack([sp.csr_array(numbers[:, None]), words]))
    y = numbers > 55.0
    facts = {"classes": [False, True], "n_rows": 4000, "x_bound": [(0, 120), *[1.0] * 1100]}
    for row_map, expected in (("auto", "sqrt"), ("presence", "presence")):
        model = PrivateLassoClassifier(8.0, row_map=row_map, random_state=0, **facts).fit(X, y)
        assert (model.solver_, model.row_map_) == ("gradient", expected)
        assert model.score(X, y) > 0.9


def test_a_centred_column_counts_where_very_many_others_are_empty():
    """Predictions of sparse rows leave out empty columns, but 0 is not the middle of this range."""
    columns = 1 << 21
    reader_bounds = SparseBounds(columns, {7: 90.0}, {7: (70.0, 90.0)})
    X = sp.csr_array(([1.0], [9], [0, 1, 1]), shape=(2, columns))
    reader = RowReader("presence", columns, reader_bounds, unit_rows=True, centres=True)
    weights = sp.csr_array(([2.0, 4.0], [7, 9], [0, 2]), shape=(1, columns))
    found = PrivateLassoClassifier(classes=[0, 1]).restore(
        Fitted("gradient", weights, np.zeros(1), np.empty((0, 2), np.int64), 1, reader)
    )
    found.n_features_in_, found.classes_ = columns, np.array([0, 1])
    assert found.decision_function(X) == pytest.approx([2.0 / np.sqrt(2.0), -2.0])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("declared", [True, False])
def test_centred_columns_that_do_not_fit_are_rejected_before_a_charge(
    solver, declared, monkeypatch
):
    X, y = numbers(7)
    estimator = model(solver).set_params(n_rows=10**9 if declared else None)
    monkeypatch.setattr(memory, "LITTLE", 0)
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(memory.TooLargeError, match="columns"):
        estimator.prepare(X, y)


def test_regressors_of_centred_columns_learn_a_number():
    rng = np.random.default_rng(0)
    X = rng.uniform(70.0, 90.0, (20_000, 2))
    y = (X[:, 0] - 80.0) / 10.0
    found = PrivateLassoRegressor(
        4.0,
        y_bound=1.0,
        n_rows=20_000,
        x_bound=[(70, 90)] * 2,
        solver="frank_wolfe",
        random_state=0,
    ).fit(X, y)
    assert found.score(X, y) > 0.8


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("row_map", MAPS)
def test_a_column_store_gives_the_same_rows_and_releases(solver, row_map, tmp_path):
    X, y = numbers(9)
    sizes = sizes_of(np.array([r if np.ndim(r) else (-r, r) for r in RANGES]))
    other = stored(tmp_path, X, sizes)
    one, another = (model(solver, row_map).prepare(rows, y) for rows in (X, other))
    assert np.array_equal(held(one), held(another))
    one, another = (model(solver, row_map).fit(rows, y) for rows in (X, other))
    assert np.array_equal(one.coef_, another.coef_)


def test_a_matrix_by_columns_gives_the_same_rows():
    X, _ = numbers(8)
    bounds = ColumnBounds.of([(0.0, 4.0)] * X.shape[1], X.shape[1])
    one = row_maps.row_view(X, "as_is", bounds)[0]
    assert np.array_equal(one, centring.centred_columns(ColumnMatrix.of(X, 4.0), bounds))
