"""A model takes memory for what is in its file, not for the columns that the file claims."""

import tracemalloc

import numpy as np
import onnx.checker  # noqa: F401  # else its own memory would be counted
import onnx.helper  # noqa: F401
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from dplasso import PrivateLassoClassifier, load
from dplasso.data import used_columns
from dplasso.estimators import coefficients
from dplasso.report import render
from dplasso.storage import ModelFileError, read, write
from hostile_models import BILLION, wide_model

LITTLE = 24 << 20  # bytes
SOLVERS = [
    {"max_iter": 8, "radius": 2.0},
    {"solver": "gradient", "row_map": "as_is"},
    {"solver": "gradient", "row_map": "sqrt"},
    {"solver": "gradient", "row_map": "blend"},
    {"solver": "gradient", "row_map": "presence"},
    {"solver": "auto", "n_nonzero": 2},
]


@pytest.fixture
def little_memory():
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < LITTLE, f"{peak / (1 << 20):,.0f} MiB"


def rows(columns=BILLION):
    places = [0, 3, 5, 7, columns - 1]
    return sp.csr_array(([50.0, 1.0, 1.0, -1.0, 1.0], places, [0, 2, 3, 5]), shape=(3, columns))


@pytest.mark.parametrize("options", SOLVERS, ids=lambda given: " ".join(map(str, given.values())))
def test_a_billion_claimed_columns_are_loaded_and_predicted_with(tmp_path, little_memory, options):
    model = load(wide_model(tmp_path / "model.dpl", **options))
    assert model.n_features_in_ == len(model.feature_names_in_) == BILLION
    assert model.feature_names_in_[-1] == f"town#{BILLION - 3}"
    with pytest.warns(UserWarning, match="feature names"):
        assert len(model.predict(rows())) == 3


@pytest.mark.parametrize("bounds", [{}, {"age": 1.0}, {"$": "range", "items": [1, 2**40, 1]}])
def test_bounds_that_do_not_fit_a_billion_columns_are_refused_at_once(
    tmp_path, little_memory, bounds
):
    path = wide_model(tmp_path / "model.dpl", max_iter=8, radius=2.0)
    header, arrays = read(path)
    header["parameters"]["x_bound"] = bounds
    write(path, header, arrays)
    with pytest.raises(ModelFileError, match="x_bound|range"):
        load(path)


def test_such_a_model_is_shown_saved_and_cloned(tmp_path, little_memory):
    path = wide_model(tmp_path / "model.dpl", max_iter=8, radius=2.0)
    model = load(path)
    assert "Coefficients" in render(model)
    model.save(tmp_path / "again.dpl")
    assert (tmp_path / "again.dpl").read_bytes()[-4096:] == path.read_bytes()[-4096:]
    assert repr(clone(model))


def test_what_would_be_written_out_is_refused_with_what_it_would_need(tmp_path, little_memory):
    model = load(wide_model(tmp_path / "model.dpl", row_map="as_is", max_iter=8, radius=2.0))
    with pytest.raises(ValueError, match="would need about 8[0-9] GiB of memory.*sparsify"):
        model.to_sklearn()


@pytest.mark.parametrize("options", SOLVERS, ids=lambda given: " ".join(map(str, given.values())))
def test_a_billion_claimed_columns_are_exported_by_those_used_or_refused(
    tmp_path, little_memory, options
):
    model = load(wide_model(tmp_path / "model.dpl", **options))
    calls = {
        "onnx": lambda: model.to_onnx(tmp_path / "model.onnx"),
        "csv": lambda: model.to_csv(tmp_path / "model.csv"),
        "sklearn": model.to_sklearn,
    }
    done = set()
    for name, call in calls.items():
        try:
            call()
            done.add(name)
        except ValueError as error:
            assert "would need about" in str(error)
    if "solver" not in options or "n_nonzero" in options:  # others scale rows to length 1
        assert done >= {"onnx", "csv"}
    else:
        assert "onnx" not in done and not (tmp_path / "model.onnx").exists()


def test_a_small_model_is_handed_over_with_names_that_need_no_package_of_ours(tmp_path):
    path = wide_model(tmp_path / "model.dpl", 20, row_map="as_is", max_iter=8, radius=2.0)
    plain = load(path).to_sklearn()
    assert type(plain.feature_names_in_) is np.ndarray
    assert plain.feature_names_in_[:3].tolist() == ["age", "age is missing", "town#0"]


@pytest.mark.parametrize("options", SOLVERS, ids=lambda given: " ".join(map(str, given.values())))
def test_margins_are_the_same_to_the_last_bit_whether_unused_columns_are_dropped(
    options, monkeypatch
):
    rng = np.random.default_rng(1)
    X = sp.random_array((200, 30), density=0.1, rng=rng, format="csr") * 5.0
    y = rng.integers(0, 2, 200)
    bounds = np.linspace(0.5, 4.0, 30)
    model = PrivateLassoClassifier(3.0, classes=[0, 1], n_rows=200, x_bound=bounds, **options)
    model.fit(X, y)
    plain = model.decision_function(X)
    monkeypatch.setattr(used_columns, "MANY", -X.nnz)
    assert coefficients.has_unused(X)
    np.testing.assert_array_equal(model.decision_function(X), plain)
    np.testing.assert_array_equal(model.decision_function(X.tocsc()), plain)


@pytest.mark.filterwarnings("ignore:Unknown section")  # of docstrings, by scikit-learn's page
def test_coefficients_that_do_not_fit_are_refused_and_the_rest_is_shown(tmp_path, monkeypatch):
    """A notebook asks for every attribute of what it shows, and so does a shell that completes."""
    model = load(wide_model(tmp_path / "model.dpl", max_iter=8, radius=2.0))
    monkeypatch.setattr(coefficients.memory, "available", lambda: 1 << 20)
    with pytest.raises(ValueError, match=r"coef_ as a dense array would need .* sparsify\(\)"):
        _ = model.coef_
    assert not hasattr(model, "coef_") and hasattr(model, "intercept_")
    assert "PrivateLassoClassifier" in model._repr_html_()
    assert model.sparsify().coef_.shape == (1, BILLION)
