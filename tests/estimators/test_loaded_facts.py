"""A file that lacks what a model or its guarantee rests on is refused."""

import json

import numpy as np
import pytest

from dplasso import PrivateLassoRegressor, PrivateOnlineClassifier, load
from dplasso.federated.model import PartyModel
from dplasso.storage import ModelFileError, read, write
from hostile_models import small_model

pytestmark = pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")
BUDGET = {"$": "tuple", "items": [1.0, 1e-6]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.dpl"


def changed(content, *place, to=None, gone=False):
    """The header with one value replaced or left out."""
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    if gone:
        del inner[place[-1]]
    else:
        inner[place[-1]] = to


def assert_refused(path, header, arrays):
    write(path, header, arrays)
    with pytest.raises(ModelFileError, match="holds no model to load"):
        load(path)


ODD_FACTS = [
    (("parameters", "accountant"), {"to": BUDGET}),
    (("parameters", "accountant"), {"to": "budget.sqlite"}),
    (("parameters", "accountant"), {"to": 0}),
    (("parameters", "random_state"), {"to": "seed"}),
    (("privacy",), {"to": {}}),
    (("privacy", "model"), {"to": "AnotherModel"}),
    (("privacy", "epsilon"), {"gone": True}),
    (("privacy", "epsilon"), {"to": None}),
    (("privacy", "epsilon"), {"to": -1.0}),
    (("privacy", "epsilon"), {"to": {"$": "nan"}}),
    (("privacy", "epsilon"), {"to": {"$": "inf"}}),
    (("privacy", "epsilon"), {"to": True}),
    (("privacy", "delta"), {"gone": True}),
    (("privacy", "delta"), {"to": 2.0}),
    (("privacy", "neighboring"), {"gone": True}),
    (("privacy", "neighboring"), {"to": "no_one"}),
    (("privacy", "releases"), {"gone": True}),
    (("privacy", "releases"), {"to": [1]}),
    (("privacy", "secure_rng"), {"gone": True}),
    (("privacy", "secure_rng"), {"to": "yes"}),
    (("privacy", "bounds"), {"gone": True}),
    (("privacy", "public"), {"gone": True}),
    (("privacy", "public", "n_features"), {"gone": True}),
    (("privacy", "public", "n_features", "value"), {"to": 7}),
    (("privacy", "public", "n_features", "source"), {"gone": True}),
]


@pytest.mark.parametrize(("place", "how"), ODD_FACTS, ids=repr)
def test_a_model_without_its_facts_is_refused(path, place, how):
    header, arrays = small_model(path, max_iter=8, radius=2.0)
    changed(header, *place, **how)
    assert_refused(path, header, arrays)


@pytest.mark.parametrize(
    ("place", "how"),
    [
        (("privacy", "bounds", "x_bound", "value"), {"to": {"$": "inf"}}),
        (("privacy", "bounds", "x_bound", "value"), {"to": 0.0}),
        (("privacy", "bounds", "x_bound"), {"gone": True}),
        (("privacy", "bounds", "radius"), {"gone": True}),
        (("privacy", "bounds", "radius", "value"), {"to": {"$": "nan"}}),
        (("parameters", "x_bound"), {"to": {"$": "nan"}}),
        (("parameters", "x_bound"), {"to": -1.0}),
        (("parameters", "x_bound"), {"to": [1.0, 1.0]}),
        (("parameters", "x_bound"), {"to": {"$": "range", "items": [1, 2**40, 1]}}),
        (("parameters", "classes"), {"to": {"$": "range", "items": [1, 2**62, 1]}}),
        (("classes",), {"to": {"$": "objects", "items": ["no", "no"]}}),
        (("parameters", "classes"), {"to": 5}),
        (("privacy", "releases", -1, "theta"), {"to": "gradient"}),
        (("n_features",), {"to": 2**62}),
    ],
    ids=repr,
)
def test_a_model_with_unsound_bounds_or_labels_is_refused(path, place, how):
    header, arrays = small_model(path, max_iter=8, radius=2.0)
    changed(header, *place, **how)
    assert_refused(path, header, arrays)


def snapshot(path):
    model = PrivateOnlineClassifier(1.0, classes=[0, 1], n_rows=50)
    model.partial_fit(np.linspace(-1, 1, 20).reshape(10, 2), [0, 1] * 5)
    model.save(path)
    return read(path)


@pytest.mark.parametrize(("place", "how"), ODD_FACTS, ids=repr)
def test_a_snapshot_without_its_facts_is_refused(path, place, how):
    header, arrays = snapshot(path)
    load(path)
    changed(header, *place, **how)
    assert_refused(path, header, arrays)


@pytest.mark.parametrize(
    ("place", "to"),
    [
        (("parameters", "classes"), 5),
        (("parameters", "row_map"), [1.0, 2.0]),
        (("parameters", "batch"), "all"),
        (("privacy", "window_rows"), "some"),
        (("privacy", "rows_seen"), [1]),
        (("privacy", "rows_expired"), {"of": 1}),
    ],
    ids=repr,
)
def test_a_snapshot_with_facts_of_another_kind_is_refused(path, place, to):
    header, arrays = snapshot(path)
    changed(header, *place, to=to)
    assert_refused(path, header, arrays)


@pytest.mark.parametrize("bound", ["3", [1.0], -2.0])
@pytest.mark.parametrize("solver", ["gradient", "table"])
def test_a_regressor_without_a_bound_on_labels_is_refused(path, solver, bound):
    public = {"n_rows": 40, "x_bound": 1.0, "y_bound": 2.0, "random_state": 0}
    model = PrivateLassoRegressor(3.0, solver=solver, **public)
    model.fit(np.linspace(-1, 1, 80).reshape(40, 2), np.linspace(-1, 1, 40)).save(path)
    header, arrays = read(path)
    changed(header, "parameters", "y_bound", to=bound)
    assert_refused(path, header, arrays)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_snapshot_with_weights_that_are_no_numbers_is_refused(path, bad):
    header, arrays = snapshot(path)
    arrays["weights"][0, 0] = bad
    assert_refused(path, header, arrays)


@pytest.mark.parametrize(
    "odd",
    [
        {"party": 3},
        {"job": None},
        {"features": "2"},
        {"features": {"2": 1}},
        {"coefficients": {"0.5": 1}},
        {"coefficients": [float("nan")]},
        {"x_bound": float("inf")},
        {"n_features": 10**400},
        {"n_features": True},
        {"more": 1},
    ],
    ids=repr,
)
def test_a_party_model_that_is_not_sound_is_refused(path, odd):
    sound = {
        "party": "shop",
        "job": "job",
        "x_bound": 1.0,
        "n_features": 3,
        "features": [2],
        "coefficients": [0.5],
        "intercept": 0.0,
    }
    path.write_text(json.dumps(sound))
    PartyModel.load(path)
    path.write_text(json.dumps({**sound, **odd}))
    with pytest.raises(ValueError, match="is no model of a party"):
        PartyModel.load(path)


def test_a_party_model_of_deep_lists_is_refused(path):
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="is no model of a party"):
        PartyModel.load(path)
