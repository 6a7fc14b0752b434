"""A loaded model is the saved one, whatever it was given; a bad file is refused, never trusted."""

import copy
import hashlib
import io
import json
import math
import os
import pickle
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dplasso
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, Sparsifier
from dplasso.estimators.saving import load, save
from dplasso.storage import ModelFileError, read, write

RNG = np.random.Generator(np.random.PCG64(0))
X = RNG.uniform(-1.0, 1.0, (120, 5))
FRAME = pd.DataFrame(X, columns=["a", "b", "$", "ö", "with space"])
NEW = RNG.uniform(-2.0, 2.0, (50, 5))
THREE = np.digitize(X[:, 1], [-0.3, 0.3])
COMMON = {"epsilon": 5.0, "max_iter": 30, "n_rows": 120}


def classifier(labels=(0, 1), X=X, **options):
    """Fitted to labels of as many kinds as there are ``labels``."""
    kinds = np.asarray(labels)
    y = kinds[THREE % len(kinds)]
    return PrivateLassoClassifier(classes=labels, **{**COMMON, **options}).fit(X, y)


def regressor(X=X, **options):
    return PrivateLassoRegressor(**{**COMMON, **options}).fit(X, X @ [1.0, 0, 0, 0, 0.5])


MODELS = {
    "two integers": lambda: classifier([0, 1]),
    "two booleans": lambda: classifier([False, True]),
    "two floats": lambda: classifier([-1.0, 1.0]),
    "two texts": lambda: classifier(["no", "yes"]),
    "objects": lambda: classifier(np.array(["no", "ja", "ö"], dtype=object), x_bound=1.0),
    "tuple": lambda: classifier(("x", "y", "z")),
    "range": lambda: classifier(range(3)),
    "array": lambda: classifier(np.array([1, 2, 4], dtype=np.int16)),
    "numpy scalars": lambda: classifier(list(np.unique(THREE)), epsilon=np.float64(3.0)),
    "data frame": lambda: classifier(X=FRAME),
    "bounds by name": lambda: classifier(X=FRAME, x_bound=dict.fromkeys(FRAME, 0.5) | {"$": 1}),
    "bounds in a list": lambda: classifier(x_bound=[1, 1.0, 0.25, 1.0, 2.0]),
    "bounds in an array": lambda: regressor(x_bound=np.array([1.0, 1.0, 0.25, 1.0, 2.0])),
    "no privacy": lambda: classifier(epsilon=math.inf, radius=3.0, max_iter="auto"),
    "no intercept": lambda: classifier(["a", "b", "c"], fit_intercept=False),
    "few coefficients": lambda: classifier(n_nonzero=np.int64(2)),
    "private count": lambda: classifier(
        x_bound=1.0, n_nonzero=Sparsifier(budget_share=0.1, high=4)
    ),
    "regressor": lambda: regressor(y_bound=2, neighboring="replace_one"),
    "squared loss": lambda: regressor(X=FRAME, epsilon=math.inf, residual_bound=math.inf),
    "other settings": lambda: regressor(n_jobs=1, verbose=0, selection="noisy_max", delta=1e-9),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.dpl"


@pytest.fixture(scope="module")
def shared_path(tmp_path_factory):
    return tmp_path_factory.mktemp("shared") / "model.dpl"


def assert_same_array(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert repr(found.tolist()) == repr(wanted.tolist())


def assert_same_predictions(found, wanted):
    rows = NEW if not hasattr(wanted, "feature_names_in_") else FRAME * 2.0
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        if hasattr(wanted, method):
            assert_same_array(getattr(found, method)(rows), getattr(wanted, method)(rows))


def assert_same_model(found, wanted):
    assert type(found) is type(wanted) and repr(found) == repr(wanted)
    assert vars(found).keys() == vars(wanted).keys()
    assert repr(found.get_params()) == repr(wanted.get_params())
    for name in ("intercept_", "vertices_", "coef_", "classes_", "feature_names_in_"):
        if hasattr(wanted, name):
            assert_same_array(getattr(found, name), getattr(wanted, name))
    assert (found.n_iter_, found.n_features_in_) == (wanted.n_iter_, wanted.n_features_in_)
    assert type(found.privacy_) is type(wanted.privacy_)
    assert repr(found.privacy_) == repr(wanted.privacy_)
    assert str(found.privacy_) == str(wanted.privacy_)
    assert_same_predictions(found, wanted)


@pytest.mark.parametrize("kind", MODELS)
def test_a_loaded_model_is_the_saved_one(path, kind):
    model = MODELS[kind]()
    assert np.any(model.coef_)
    save(model, path)
    loaded = load(path)
    assert_same_model(loaded, model)
    assert_same_model(pickle.loads(pickle.dumps(loaded)), model)
    again = path.with_name("again.dpl")
    save(loaded, again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("kind", ["objects", "bounds by name", "private count", "squared loss"])
def test_a_loaded_model_can_be_cloned_and_fitted_again(path, kind):
    model = MODELS[kind]()
    save(model, path)
    loaded = load(path)
    fresh = clone(loaded)
    assert not hasattr(fresh, "intercept_") and repr(fresh) == repr(model)
    rows = FRAME if hasattr(model, "feature_names_in_") else X
    labels = model.predict(rows)
    assert fresh.fit(rows, labels).privacy_ == model.privacy_
    assert loaded.fit(rows, labels).predict(rows).shape == (120,)


def test_the_methods_of_users_do_the_same(path):
    model = classifier()
    model.save(str(path))
    assert_same_model(dplasso.load(str(path)), model)


def test_another_process_predicts_the_same(path):
    model = classifier(["a", "b", "c"])
    save(model, path)
    script = (
        "import sys, dplasso, numpy as np\n"
        "rows = np.load(sys.argv[2])\n"
        "print(dplasso.load(sys.argv[1]).predict_proba(rows).tobytes().hex())"
    )
    rows = path.with_suffix(".npy")
    np.save(rows, NEW)
    done = subprocess.run(
        [sys.executable, "-c", script, path, rows], capture_output=True, text=True, check=True
    )
    assert bytes.fromhex(done.stdout) == model.predict_proba(NEW).tobytes()


def numbers(member):
    """Entries of an array of 8-byte numbers, read as docs/reference/model_format.md has it."""
    start = 10 + int.from_bytes(member[8:10], "little")
    kind = "d" if b"'descr': '<f8'" in member[:start] else "q"
    return [number for (number,) in struct.iter_unpack(f"<{kind}", member[start:])]


def test_a_reader_without_this_package_predicts_the_same(path):
    model = classifier(np.array(["a", "b", "c"], dtype=object))
    save(model, path)
    line, archive = path.read_bytes().split(b"\n", 1)
    assert line == b"dplasso-model 1 sha256=" + hashlib.sha256(archive).hexdigest().encode()
    with zipfile.ZipFile(io.BytesIO(archive)) as members:
        header = json.loads(members.read("header.json"))
        classes, stated = header["classes"]["items"], header["privacy"]
        room = stated.get("room_of_new_rows")
        most = math.inf if room is None else room * stated["bounds"]["x_bound"]["value"]
        names = ("weights_data", "weights_indices", "weights_indptr", "intercept")
        data, columns, starts, intercept = (
            numbers(members.read(f"arrays/{name}.npy")) for name in names
        )
    for row, label, margins in zip(
        np.clip(NEW, -most, most), model.predict(NEW), model.decision_function(NEW), strict=True
    ):
        found = [
            intercept[k] + sum(data[i] * row[columns[i]] for i in range(starts[k], starts[k + 1]))
            for k in range(3)
        ]
        assert found == pytest.approx(margins, abs=1e-12)
        assert classes[found.index(max(found))] == label


def test_sparse_coefficients_stay_sparse(path):
    model = classifier().sparsify()
    save(model, path)
    loaded = load(path)
    assert type(loaded.coef_) is type(model.coef_)
    assert_same_array(loaded.coef_.toarray(), model.coef_.toarray())
    assert_same_predictions(loaded, model)


def test_a_cached_dense_copy_is_not_needed(path):
    model = classifier()
    before = model.coef_.copy()
    save(model, path)
    assert_same_array(load(path).coef_, before)


class Free:
    def charge(self, event, *, delta, neighboring, label):
        """Everything is free."""


def test_accountants_are_not_saved(path):
    save(classifier(accountant=Free()), path)
    assert load(path).accountant is None


@pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning")
@pytest.mark.parametrize(
    ("given", "restored"),
    [
        (7, 7),
        (np.random.RandomState(7), None),  # noqa: NPY002
        (np.random.Generator(np.random.PCG64(7)), None),
    ],
    ids=["number", "state", "generator"],
)
def test_only_seeds_that_are_numbers_are_saved(path, given, restored):
    model = classifier(random_state=given)
    save(model, path)
    loaded = load(path)
    assert loaded.random_state == restored
    assert loaded.privacy_["secure_rng"] is False
    assert_same_predictions(loaded, model)


def test_models_that_are_not_fitted_are_refused(path):
    for model in (PrivateLassoClassifier(), PrivateLassoRegressor()):
        with pytest.raises(NotFittedError):
            save(model, path)
    assert os.listdir(path.parent) == []


class Derived(PrivateLassoRegressor):
    pass


@pytest.mark.parametrize("model", [None, "model", PrivateLassoRegressor, Derived()])
def test_other_things_than_models_are_refused(path, model):
    with pytest.raises(ValueError, match="model must be one of PrivateLassoClassifier, Private"):
        save(model, path)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("x_bound", pd.Series([1.0] * 5)), ("radius", object()), ("x_bound", {(1,): 2.0})],
)
def test_parameters_that_would_not_come_back_are_refused(path, parameter, value):
    model = classifier()
    save(model, path)
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match=f"parameter {parameter} is .*set_params"):
        save(model.set_params(**{parameter: value}), path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "parameters",
    [{"max_iter": np.int64(3)}, {"y_bound": np.float32(1.1)}, {"y_bound": np.int8(3)}],
)
def test_numbers_of_numpy_are_stated_as_plain_ones(path, parameters):
    model = PrivateLassoRegressor(
        **{"x_bound": 1.0, "y_bound": 1.0, "max_iter": 2, "n_rows": 40, **parameters}
    ).fit(np.eye(40, 5), np.linspace(-1.0, 1.0, 40))
    save(model, path)
    assert load(path).privacy_ == model.privacy_
    assert json.loads(json.dumps(model.privacy_)) == model.privacy_


def test_statements_of_older_files_may_have_numbers_of_numpy(path, content):
    header, arrays = copy.deepcopy(content)
    older = {"$": "scalar", "type": "int64", "value": header["n_iter"]}
    header["privacy"]["public"]["max_iter"]["value"] = older
    write(path, header, arrays)
    assert load(path).privacy_["public"]["max_iter"]["value"] == header["n_iter"]


def test_a_model_in_two_minds_is_refused(path):
    """As after a fit to other columns that failed halfway."""
    model = classifier(epsilon=math.inf)
    model.n_features_in_ = 1
    with pytest.raises(ModelFileError, match="model.dpl was not written: .*last column"):
        save(model, path)
    assert os.listdir(path.parent) == []


# Files that were written by someone else.


@pytest.fixture(scope="module")
def content(shared_path):
    """Header and arrays of a sound file with everything in it, weights of our choice included."""
    save(classifier(["a", "b", "c"], X=FRAME, x_bound=np.ones(5)), shared_path)
    header, arrays = read(shared_path)
    arrays["weights_data"] = np.linspace(-1.0, 1.0, 6)
    arrays["weights_indices"] = np.array([0, 1, 4, 2, 1, 3])
    arrays["weights_indptr"] = np.array([0, 3, 4, 6])
    write(shared_path, header, arrays)
    assert load(shared_path).coef_[0].tolist() == [-1.0, -0.6, 0.0, 0.0, pytest.approx(-0.2)]
    return header, arrays


def assert_refused(path, header, arrays, because):
    write(path, header, arrays)
    with pytest.raises(ModelFileError, match=f"holds no model to load: .*{because}") as refusal:
        load(path)
    assert str(path) in str(refusal.value)


def test_parameters_of_older_versions_take_their_defaults(path, content):
    header, arrays = copy.deepcopy(content)
    del header["parameters"]["verbose"], header["parameters"]["delta"]
    write(path, header, arrays)
    assert load(path).verbose == 0 and load(path).delta == PrivateLassoClassifier().delta


@pytest.mark.parametrize(
    ("entry", "value", "because"),
    [
        ("class", "PrivateForest", "class 'PrivateForest' is unknown; upgrade dplasso"),
        ("class", "__import__", "is unknown"),
        ("class", "PrivateLassoRegressor", "parameter '(classes|class_weight|loss)' is unknown"),
        ("class", ["PrivateLassoRegressor"], "'class' is missing or of the wrong type"),
        ("novelty", 1, "header entry 'novelty' is unknown; upgrade dplasso"),
        ("parameters", {"novelty": 1}, "parameter 'novelty' is unknown; upgrade dplasso"),
        ("parameters", {"sample_weight": 1}, "parameter 'sample_weight' is unknown"),
        ("parameters", {"self": 1}, "parameter 'self' is unknown"),
        ("parameters", {"n_nonzero": {"novelty": 1}}, "novelty"),
        ("parameters", {"n_nonzero": {"budget_share": 7.0}}, "budget_share"),
        ("parameters", {"x_bound": {"$": "array", "name": "nowhere"}}, "nowhere"),
        ("parameters", {"x_bound": {"$": "pickle", "items": []}}, "unknown kind 'pickle'"),
        ("parameters", {"x_bound": {"$": ["inf"]}}, ""),
        ("n_features", 4, "one text per column"),
        ("n_features", 0, "n_features"),
        ("n_features", 2**200, "n_features"),
        ("n_features", 5.0, "n_features"),
        ("n_features", True, "n_features"),
        ("n_iter", -1, "n_iter"),
        ("n_iter", "1", "n_iter"),
        ("sparse_coef", 1, "sparse_coef"),
        ("feature_names", {"$": "objects", "items": ["a"] * 4}, "one text per column"),
        ("feature_names", {"$": "objects", "items": [1, 2, 3, 4, 5]}, "one text per column"),
        ("feature_names", {"$": "tuple", "items": ["a"] * 5}, "one text per column"),
        ("classes", None, "at least two labels"),
        ("classes", {"$": "objects", "items": ["a", "b"]}, "number of intercepts"),
        ("classes", {"$": "objects", "items": ["a"]}, "at least two labels"),
        ("classes", {"$": "tuple", "items": ["a", "b", "c"]}, "at least two labels"),
        ("classes", {"$": "array", "name": "vertices"}, "at least two labels"),
        ("privacy", [], "'privacy' is missing or of the wrong type"),
        ("privacy", {"$": "inf"}, ""),
    ],
)
def test_headers_of_others_are_refused(path, content, entry, value, because):
    header, arrays = copy.deepcopy(content)
    header[entry] = value
    assert_refused(path, header, arrays, because)


@pytest.mark.parametrize("entry", ["class", "parameters", "n_features", "privacy", "classes"])
def test_headers_with_an_entry_missing_are_refused(path, content, entry):
    header, arrays = copy.deepcopy(content)
    del header[entry]
    assert_refused(path, header, arrays, f"'{entry}' is missing")


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


HUGE = np.iinfo(np.int64).max


@pytest.mark.parametrize(
    ("name", "change", "because"),
    [
        ("weights_data", lambda a: a[:-1], "weights_indptr"),
        ("weights_data", lambda a: a.astype(np.float32), "weights_data"),
        ("weights_data", lambda a: a.reshape(-1, 1), "weights_data"),
        ("weights_data", lambda a: changed(a, 0, np.nan), "not finite"),
        ("weights_data", lambda a: changed(a, -1, -np.inf), "not finite"),
        ("weights_indices", lambda a: a[:-1], "weights_indptr"),
        ("weights_indices", lambda a: changed(a, -1, 5), "last column"),
        ("weights_indices", lambda a: changed(a, -1, HUGE), "last column"),
        ("weights_indices", lambda a: changed(a, 0, -1), "last column"),
        ("weights_indices", lambda a: a[::-1], "not in order"),
        ("weights_indices", lambda a: changed(a, 1, a[0]), "not in order"),
        ("weights_indices", lambda a: a.astype(np.int32), "weights_indices"),
        ("weights_indptr", lambda a: a[:-1], "weights_indptr"),
        ("weights_indptr", lambda a: a[:0], "weights_indptr"),
        ("weights_indptr", lambda a: changed(a, 0, 1), "weights_indptr"),
        ("weights_indptr", lambda a: changed(a, -1, a[-1] + 1), "weights_indptr"),
        ("weights_indptr", lambda a: changed(a, 1, HUGE), "weights_indptr"),
        ("weights_indptr", lambda a: changed(a, 1, -HUGE), "weights_indptr"),
        ("weights_indptr", lambda a: a.astype(np.uint64), "weights_indptr"),
        ("intercept", lambda a: a[:-1], "classes do not fit"),
        ("intercept", lambda a: a[:0], "classes do not fit"),
        ("intercept", lambda a: a[0], "intercept"),
        ("intercept", lambda a: changed(a, 0, np.inf), "not finite"),
        ("vertices", lambda a: a[:, :2], "vertices"),
        ("vertices", lambda a: a[:, 0], "vertices"),
        ("vertices", lambda a: changed(a, (0, 0), 6), "vertices"),
        ("vertices", lambda a: changed(a, (0, 0), -1), "vertices"),
        ("vertices", lambda a: changed(a, (0, 1), 0), "vertices"),
        ("vertices", lambda a: changed(a, (0, 1), 2), "vertices"),
        ("vertices", lambda a: changed(a, (0, 2), 3), "vertices"),
        ("vertices", lambda a: a.astype(float), "vertices"),
        ("classes", lambda a: np.array([1.0, np.nan, 2.0]), "classes are not finite"),
        ("classes", lambda a: a[:2], "classes do not fit"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(path, content, name, change, because):
    header, arrays = copy.deepcopy(content)
    arrays[name] = change(arrays[name])
    assert_refused(path, header, arrays, because)


def test_arrays_that_are_missing_are_refused(path, content):
    header, arrays = content
    for name in arrays.keys() - {"correction"}:  # files of earlier versions do not have that
        rest = {other: array for other, array in arrays.items() if other != name}
        assert_refused(path, header, rest, name)


@pytest.mark.parametrize(
    "wrong", [np.ones(3), np.ones(4, np.int64), np.zeros(4), np.full(4, np.inf), np.ones((1, 4))]
)
def test_a_correction_is_a_scale_and_one_shift_per_output(path, content, wrong):
    header, arrays = copy.deepcopy(content)
    assert len(arrays["correction"]) == 4
    assert_refused(path, header, {**arrays, "correction": wrong}, "correction")


def test_a_regressor_has_one_output(path, content):
    save(regressor(), path)
    header, arrays = read(path)
    arrays["intercept"] = np.zeros(2)
    assert_refused(path, header, arrays, "more than one output")


some_arrays = hnp.arrays(
    dtype=st.sampled_from(["i8", "f8", "?", "U2"]),
    shape=hnp.array_shapes(max_dims=2, min_side=0, max_side=6),
)


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_whatever_stands_in_a_file_it_is_refused_or_it_predicts(content, shared_path, data):
    header, arrays = copy.deepcopy(content)
    for name in data.draw(st.lists(st.sampled_from(sorted(arrays)), min_size=1, max_size=3)):
        if arrays[name].dtype == np.int64 and arrays[name].size and data.draw(st.booleans()):
            place = data.draw(st.integers(0, arrays[name].size - 1))
            arrays[name].flat[place] = data.draw(st.sampled_from([0, 1, 2, 3, 5, -1, HUGE]))
        else:
            arrays[name] = data.draw(some_arrays)
    write(shared_path, header, arrays)
    try:
        model = load(shared_path)
    except ModelFileError:
        return
    assert model.predict_proba(FRAME).shape == (120, 3)
    assert np.all(np.isfinite(model.coef_)) and model.coef_.shape == (3, 5)
