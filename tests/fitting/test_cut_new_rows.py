"""New rows are cut to a few times a bound that was released."""

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso import PrivateLassoClassifier, load
from dplasso.fitting.plan import NEW_ROWS, ROOM_OF_NEW_ROWS
from dplasso.fitting.private_bound import UnboundedTask
from dplasso.storage.archive import read, write

BOUND = 0.5
FARTHEST = ROOM_OF_NEW_ROWS * BOUND


@pytest.fixture
def model(monkeypatch):
    """A model whose released bound is far too small."""
    monkeypatch.setattr(UnboundedTask, "drawn", lambda self: BOUND)
    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 8.0, (400, 5))
    y = (X[:, 0] > 0.0).astype(int)
    settings = {"solver": "frank_wolfe", "x_bound": "private", "n_rows": 400}
    return PrivateLassoClassifier(20.0, classes=[0, 1], **settings).fit(X, y)


def new_rows():
    return np.random.default_rng(1).normal(0.0, 100.0, (50, 5))


def test_entries_far_beyond_a_released_bound_are_cut(model):
    rows = new_rows()
    inside = np.clip(rows, -FARTHEST, FARTHEST)
    assert np.array_equal(model.decision_function(rows), model.decision_function(inside))
    assert np.array_equal(
        model.decision_function(sp.csr_array(rows)), model.decision_function(sp.csr_array(inside))
    )
    most = np.abs(model.coef_).sum() * FARTHEST + abs(model.intercept_[0])
    assert np.abs(model.decision_function(rows)).max() <= most * (1.0 + 1e-12)


def test_a_saved_model_cuts_and_one_of_an_earlier_version_does_not(model, tmp_path):
    rows, path = new_rows(), tmp_path / "model"
    model.save(path)
    expected = model.decision_function(rows)
    assert np.array_equal(load(path).decision_function(rows), expected)
    header, arrays = read(path)
    assert header["privacy"].pop(NEW_ROWS) == ROOM_OF_NEW_ROWS
    write(path, header, arrays)
    plain = rows @ model.coef_[0] + model.intercept_[0]
    assert load(path).decision_function(rows) == pytest.approx(plain)


def test_a_declared_bound_is_taken_at_its_word():
    X = np.random.default_rng(2).uniform(-1.0, 1.0, (300, 4))
    settings = {"solver": "frank_wolfe", "x_bound": 1.0, "n_rows": 300}
    model = PrivateLassoClassifier(5.0, classes=[0, 1], **settings)
    model.fit(X, (X[:, 0] > 0.0).astype(int))
    rows = 10.0 * X
    assert NEW_ROWS not in model.privacy_
    expected = rows @ model.coef_[0] + model.intercept_[0]
    assert model.decision_function(rows) == pytest.approx(expected)
