"""Fits on a card: the same models, and clear errors where there is no card.

The card is its twin, which runs the same kernels on the processor.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import dplasso
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, PrivateSearch
from dplasso.base.extras import MissingExtraError
from dplasso.base.wording import ParameterError
from dplasso.estimators.base import DeviceWarning
from dplasso.kernels.cuda import card
from dplasso.kernels.cuda.card import Card, NoCardError
from twin import Twin

pytestmark = pytest.mark.filterwarnings("ignore:random_state makes the fit repeatable")
ROWS, COLUMNS = 400, 1200
RNG = np.random.default_rng(0)
X = sp.random_array((ROWS, COLUMNS), density=0.02, rng=RNG, format="csr")
Y = RNG.integers(0, 2, ROWS)
PUBLIC = {"n_rows": ROWS, "x_bound": 1.0, "row_map": "presence", "random_state": 1}


def classifier(**given: object) -> PrivateLassoClassifier:
    return PrivateLassoClassifier(**({"classes": [0, 1], "epsilon": 2.0} | PUBLIC | given))


@pytest.fixture
def twin(monkeypatch: pytest.MonkeyPatch) -> Twin:
    device = Twin()
    monkeypatch.setattr(card, "checked_card", lambda: device)
    return device


@pytest.fixture
def no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy is installed, and there is no driver."""

    class NoDriverError(RuntimeError):
        pass

    def count() -> int:
        raise NoDriverError

    runtime = SimpleNamespace(CUDARuntimeError=NoDriverError, getDeviceCount=count)
    # Older SciPy asks every imported CuPy whether a number is one of its arrays.
    arrays = {"ndarray": type("ndarray", (), {}), "generic": type("generic", (), {})}
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime), **arrays)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(card, "checked_card", Card)


def same(one: object, other: object) -> bool:
    pairs = [(one.coef_, other.coef_), (one.intercept_, other.intercept_)]
    return all((sp.csr_array(a) != sp.csr_array(b)).nnz == 0 for a, b in pairs)


@pytest.mark.parametrize("given", [{}, {"n_nonzero": None}, {"loss": "hinge"}])
def test_a_classifier_is_the_same_on_a_card(twin: Twin, given: dict) -> None:
    on_card = classifier(device="cuda", **given).fit(X, Y)
    assert twin.launched.count("move") == on_card.n_iter_
    on_processor = classifier(**given).fit(X, Y)
    assert same(on_card, on_processor)
    assert "device" not in str(on_card.privacy_)
    assert on_card.privacy_["public"] == on_processor.privacy_["public"]


def test_a_regressor_is_the_same_on_a_card(twin: Twin) -> None:
    given = {"y_bound": 3.0, "epsilon": 2.0} | PUBLIC
    y = RNG.normal(size=ROWS)
    on_card = PrivateLassoRegressor(**given, device="cuda").fit(X, y)
    assert "weighted_sums_1" in twin.launched
    assert same(on_card, PrivateLassoRegressor(**given).fit(X, y))


def test_standard_frank_wolfe_is_the_same_on_a_card(twin: Twin) -> None:
    given = {"solver": "frank_wolfe", "selection": "noisy_max", "max_iter": 40}
    on_card = classifier(device="cuda", **given).fit(X, Y)
    assert twin.launched.count("scores_1") == 40
    on_processor = classifier(**given).fit(X, Y)
    assert np.array_equal(on_card.vertices_, on_processor.vertices_)
    assert same(on_card, on_processor)


def test_people_count_the_same_on_a_card(twin: Twin) -> None:
    people = np.arange(ROWS) // 2
    models = [
        classifier(n_people=ROWS // 2, device=device).fit(X, Y, groups=people)
        for device in ("cuda", "cpu")
    ]
    assert "coefficients" in twin.launched and same(*models)


def test_a_search_runs_its_trials_on_the_card(twin: Twin) -> None:
    model = classifier(device="cuda", random_state=None)
    search = PrivateSearch(model, {"n_nonzero": [100, 200]}, epsilon=2.0, random_state=3)
    search.fit(X, Y)
    assert search.best_estimator_.device == "cuda"
    assert twin.launched.count("unit_sums_1") >= 1


def test_a_device_is_saved_and_loaded_where_there_is_none(twin: Twin, tmp_path) -> None:
    model = classifier(device="cuda").fit(X, Y)
    model.save(tmp_path / "model.dpl")
    again = dplasso.load(tmp_path / "model.dpl")
    assert again.device == "cuda"
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("solver", ["auto", "table"])
def test_a_table_is_the_same_on_a_card(twin: Twin, solver: str) -> None:
    narrow = X[:, :20].toarray()
    given = {"row_map": "as_is", "x_bound": 1.0, "solver": solver}
    on_card = classifier(device="cuda", **given).fit(narrow, Y)
    assert on_card.solver_ == "table" and twin.launched.count("table_sums") == on_card.n_iter_
    assert same(on_card, classifier(**given).fit(narrow, Y))


def test_auto_chooses_the_same_solver_and_says_where_it_runs(twin: Twin) -> None:
    with pytest.warns(DeviceWarning, match="'?select'?, which runs on the processor"):
        on_card = classifier(device="cuda", n_nonzero=2).fit(X, Y)
    assert on_card.solver_ == "select" and not twin.launched
    assert same(on_card, classifier(n_nonzero=2).fit(X, Y))


def test_a_solver_that_has_no_kernels_is_rejected(twin: Twin) -> None:
    with pytest.raises(ParameterError, match="device='cuda' is for solver='gradient', solver='ta"):
        classifier(device="cuda", solver="frank_wolfe").fit(X, Y)


@pytest.mark.parametrize("device", ["gpu", "cuda:1", None, 0])
def test_other_devices_are_rejected(device: object) -> None:
    with pytest.raises(ParameterError, match="device must be one of cpu, cuda"):
        classifier(device=device).fit(X, Y)


def test_without_cupy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    card.checked_card.cache_clear()
    with pytest.raises(MissingExtraError, match=r"cupy.*dplasso\[gpu\]"):
        classifier(device="cuda").fit(X, Y)


def test_without_a_card_nothing_is_charged(no_card: None, tmp_path) -> None:
    budget = dplasso.Budget(10.0, 1e-5, tmp_path / "budget.sqlite")
    with pytest.raises(NoCardError, match="needs an NVIDIA card.*device='cpu'"):
        classifier(device="cuda", accountant=budget).fit(X, Y)
    assert not budget.entries()


def test_a_plan_needs_no_card(no_card: None) -> None:
    plans = [classifier(device=device).plan(ROWS, COLUMNS) for device in ("cuda", "cpu")]
    assert str(plans[0]) == str(plans[1])
