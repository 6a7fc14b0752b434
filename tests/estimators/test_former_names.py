"""Former names of parameters and attributes work, with a warning that names the new one."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import dplasso
from dplasso import (
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
    PrivateOnlineRegressor,
    PrivateSearch,
    Sparsifier,
)
from dplasso.estimators.parameters import FORMER
from dplasso.storage import read, write

FITTED = (PrivateLassoClassifier, PrivateLassoRegressor)
ONLINE = (PrivateOnlineClassifier, PrivateOnlineRegressor)
RENAMED = [
    *((kind, "rows", "row_map", "sqrt") for kind in FITTED),
    *((kind, "rows", "row_map", "as_is") for kind in ONLINE),
    *((kind, "sparsify", "n_nonzero", 3) for kind in FITTED),
    *((kind, "sparsify", "n_nonzero", Sparsifier()) for kind in FITTED),
]
each_name = pytest.mark.parametrize(("kind", "former", "name", "value"), RENAMED)


def said(former, name):
    return pytest.warns(FutureWarning, match=f"^{former} is now called {name};")


def rows():
    X = np.tile([[1.0, 0.0], [0.0, 1.0]], (100, 1))
    return X, X[:, 0] > 0


def classifier(**options):
    known = {"classes": [False, True], "n_rows": 200, "x_bound": 1.0, "max_iter": 5, "radius": 2.0}
    return PrivateLassoClassifier(5.0, **known, **options)


@each_name
def test_a_constructor_takes_a_former_name(kind, former, name, value):
    with said(former, name):
        model = kind(**{former: value})
    assert model.get_params()[name] is value
    assert former not in model.get_params() and former not in repr(model)
    assert clone(model).get_params() == model.get_params()  # without a warning


@each_name
def test_set_params_takes_a_former_name(kind, former, name, value):
    model = kind()
    with said(former, name):
        assert model.set_params(**{former: value}) is model
    assert getattr(model, name) is value


@each_name
def test_a_former_and_a_new_name_together_are_rejected(kind, former, name, value):
    with said(former, name), pytest.raises(ValueError, match=f"give {name} alone"):
        kind(**{former: value, name: value})
    with said(former, name), pytest.raises(ValueError, match=f"give {name} alone"):
        kind().set_params(**{former: value, name: value})


@pytest.mark.parametrize("kind", [*FITTED, *ONLINE])
def test_a_former_attribute_is_the_new_one(kind):
    model = kind(row_map="as_is")
    with said("rows", "row_map"):
        assert model.rows == "as_is"
    with said("rows", "row_map"):
        model.rows = "sqrt"
    assert model.row_map == "sqrt"


def test_the_former_attribute_of_a_fitted_model_is_the_new_one():
    model = classifier().fit(*rows())
    with said("rows_", "row_map_"):
        assert model.rows_ == model.row_map_ == "as_is"


@pytest.mark.parametrize("kind", [*FITTED, *ONLINE])
def test_unknown_names_are_rejected(kind):
    with pytest.raises(TypeError, match="unexpected option 'novelty'"):
        kind(novelty=1)
    with pytest.raises(ValueError, match="Invalid parameter"):
        kind().set_params(novelty=1)


@pytest.mark.parametrize("kind", ONLINE)
def test_online_estimators_never_had_a_number_of_coefficients(kind):
    with pytest.raises(TypeError, match="unexpected option 'sparsify'"):
        kind(sparsify=3)


def test_a_subclass_may_have_parameters_of_its_own():
    class Own(PrivateLassoClassifier):
        def __init__(self, depth=1):
            super().__init__(2.0, row_map="sqrt")
            self.depth = depth

    model = clone(Own(depth=7))
    assert (model.depth, model.epsilon, model.row_map) == (7, 2.0, "sqrt")
    assert model.get_params() == {"depth": 7}


def test_a_pickle_of_earlier_code_loads():
    model = classifier().fit(*rows())
    state = model.__getstate__()
    state["rows"], state["_sparsify"], state["n_nonzero"] = state.pop("row_map"), 2, None
    earlier = PrivateLassoClassifier.__new__(PrivateLassoClassifier)
    earlier.__setstate__(state)
    assert (earlier.row_map, earlier.n_nonzero) == ("auto", 2)
    assert not FORMER.keys() & vars(earlier).keys()
    assert pickle.loads(pickle.dumps(earlier)).n_nonzero == 2


def in_former_words(header):
    """A header of a model file with the names of earlier versions."""
    parameters, privacy = header["parameters"], header["privacy"]
    parameters["rows"] = parameters.pop("row_map")
    if "n_nonzero" in parameters:
        parameters["sparsify"], parameters["n_nonzero"] = parameters["n_nonzero"], None
    for facts in (privacy, privacy["public"]):
        facts |= {"rows": facts.pop("row_map")} if "row_map" in facts else {}


def rewritten(path):
    header, arrays = read(path)
    in_former_words(header)
    write(path, header, arrays)
    return path


@pytest.mark.parametrize("n_nonzero", [None, 1, Sparsifier(low=0, high=2)])
def test_a_model_file_with_former_names_loads_silently(n_nonzero, tmp_path):
    model = classifier(row_map="sqrt", n_nonzero=n_nonzero).fit(*rows())
    model.save(tmp_path / "model.dpl")
    loaded = dplasso.load(rewritten(tmp_path / "model.dpl"))
    assert loaded.n_nonzero == n_nonzero
    assert loaded.row_map == loaded.row_map_ == loaded.privacy_["row_map"] == "sqrt"
    assert loaded.privacy_ == model.privacy_


def test_a_snapshot_with_former_names_loads_silently(tmp_path):
    model = PrivateOnlineClassifier(classes=[False, True], row_map="as_is").fit(*rows())
    model.save(tmp_path / "model.dpl")
    loaded = dplasso.load(rewritten(tmp_path / "model.dpl"))
    assert loaded.row_map == loaded.privacy_["public"]["row_map"]["value"] == "as_is"


def test_a_grid_with_a_former_name_warns_before_the_trials():
    """A warning in every trial would reveal the number of trials."""
    known = {"classes": [False, True], "n_rows": 200, "x_bound": 1.0}
    grid = {"rows": ["sqrt"], "max_iter": [2], "radius": [1.0]}
    search = PrivateSearch(PrivateLassoClassifier(**known), grid, epsilon=3.0, trials=9.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        search.fit(*rows())
    former = [one for one in told if issubclass(one.category, FutureWarning)]
    assert len(former) == 1 and "rows is now called row_map" in str(former[0].message)
    assert search.best_params_ == {"row_map": "sqrt", "max_iter": 2, "radius": 1.0}
