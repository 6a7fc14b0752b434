"""Rows that come one by one are learned from as those of a matrix, to the last bit."""

import copy
import enum
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor

NAMES = [f"x{k}" for k in range(12)]
pytestmark = pytest.mark.filterwarnings("ignore:.*seed.*")


def rows_by_name(count, seed=0):
    """Rows with gaps, zeros, texts, whole numbers, names of no meaning and any order of names."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        row = dict(zip(NAMES, rng.normal(size=12).tolist(), strict=True))
        for name in rng.choice(NAMES, 4, replace=False).tolist():
            row[name] = rng.choice([0.0, -0.0, math.nan, None, 3, True])
        if rng.random() < 0.3:
            row["town"] = str(rng.choice(["Ulm", "Graz"]))
        row["unknown"] = float(rng.normal())
        names = rng.permutation(list(row)).tolist()
        yield {name: row[name] for name in names}


def classifier(**options):
    return PrivateOnlineClassifier(**{"window": 20, "random_state": 3, **options})


def regressor(**options):
    return PrivateOnlineRegressor(**{"window": 20, "random_state": 3, "y_bound": 1.0, **options})


KINDS = {
    "hashed": lambda: classifier(n_features=64),
    "few buckets": lambda: classifier(n_features=3),
    "declared": lambda: classifier(feature_names=[*NAMES, "town=Ulm"]),
    "three classes": lambda: classifier(n_features=64, classes=[0, 1, 2]),
    "no scaling": lambda: classifier(n_features=64, row_map="as_is", fit_intercept=False),
    "a box": lambda: classifier(n_features=64, domain="box", radius=0.5),
    "an l1 ball": lambda: classifier(n_features=64, domain="l1", radius=0.5),
    "a small ball": lambda: classifier(n_features=64, radius=0.1),
    "an oracle": lambda: classifier(n_features=64, learner="oracle"),
    "batches": lambda: classifier(n_features=64, batch=3),
    "calls": lambda: classifier(n_features=64, batch="call"),
    "a known length": lambda: classifier(n_features=64, window=None, n_rows=100),
    "no end": lambda: classifier(n_features=64, window=None),
    "a tree": lambda: classifier(n_features=64, construction="tree"),
    "no privacy": lambda: classifier(n_features=64, epsilon=math.inf),
    "numbers": lambda: regressor(n_features=64),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_by_name_are_learned_as_those_of_a_matrix_to_the_last_bit(kind):
    one, plain = KINDS[kind](), KINDS[kind]()
    rng = np.random.default_rng(1)
    for row in rows_by_name(100):
        label = bool(rng.random() < 0.5) if kind != "numbers" else float(rng.normal())
        plain.begin()
        made = plain.stream_.form.of_dicts([row])
        margins = plain.stream_.learn(made, plain.encode(np.array([label])))
        assert one.predict_one(row) == plain.decide(margins).tolist()[0]
        one.learn_one(row, label)
        assert np.array_equal(one.stream_.weights, plain.stream_.weights)
    assert one.rows_seen_ == 100 and one.stream_.total.position == plain.stream_.total.position


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, sp.csr_matrix], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("made", [classifier, regressor])
def test_single_rows_of_a_matrix_are_learned_as_the_whole(made, form):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 9)) * (rng.random((90, 9)) < 0.6)
    y = (X[:, 0] > 0).astype(np.float64 if made is regressor else np.int64)
    classes = {"classes": [0, 1]} if made is classifier else {}
    whole = made(**classes).fit(X, y)
    one = made(**classes)
    for k in range(len(y)):
        one.partial_fit(form(X[k : k + 1]), y[k : k + 1])
    assert np.array_equal(one.stream_.weights, whole.stream_.weights)


def test_single_rows_that_cannot_be_learned_get_the_errors_of_all_rows():
    model = classifier(classes=[0, 1]).partial_fit(np.ones((2, 3)), [0, 1])
    before = model.stream_.weights.copy()
    broken = sp.csr_array(np.ones((1, 3)))
    broken.indices = np.array([0, 1, 7], broken.indices.dtype)
    for X, y, why in (
        (np.array([[1.0, math.nan, 0.0]]), [1], "X holds NaN"),
        (np.ones((1, 4)), [1], "4 features"),
        (np.ones((1, 3)), [2], "outside the declared classes"),
        (np.ones((1, 3)), [1, 1], "differ in their number"),
        (broken, [1], "X"),
    ):
        with pytest.raises(ValueError, match=why):
            model.partial_fit(X, y)
    assert model.rows_seen_ == 2 and np.array_equal(model.stream_.weights, before)


def test_a_refused_row_uses_up_no_noise():
    one, other = classifier(n_features=8), classifier(n_features=8)
    for k in range(30):
        if k % 7 == 3:
            with pytest.raises(ValueError, match="NaN or infinity"):
                one.learn_one({"a": math.inf}, True)
            with pytest.raises(ValueError, match="outside the declared classes"):
                one.learn_one({"a": 1.0}, 5)
        for model in (one, other):
            model.learn_one({"a": 1.0, "b": float(k)}, k % 2 == 0)
    assert np.array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("made", [classifier, regressor])
def test_a_row_that_cannot_be_predicted_is_refused(made):
    model = made(n_features=8)
    model.learn_one({"a": 1.0}, 1.0 if made is regressor else True)
    for number in (math.inf, -math.inf):
        with pytest.raises(ValueError, match="NaN or infinity"):
            model.predict_one({"a": number})
    assert model.predict_one({"a": math.nan}) == model.predict_one({})


def test_weights_that_were_released_stay_as_they_are():
    """Another thread may predict with them while the next row is learned from."""
    model = classifier(n_features=8)
    model.learn_one({"a": 1.0}, True)
    released = model.stream_.only_weights
    kept = released.copy()
    model.learn_one({"a": -1.0}, True)
    assert np.array_equal(released, kept) and not np.array_equal(model.stream_.only_weights, kept)


def test_names_that_are_equal_and_read_differently_keep_their_own_columns():
    class Name(str, enum.Enum):  # noqa: UP042 (its text is not its value)
        A = "a"

    form = _form(classifier(n_features=1 << 16))
    for name in ("a", Name.A, 1, True, 1.0, "1"):
        for _ in range(2):  # the second time from memory
            places, _values = form.entries({name: 1.0})
            assert places.tolist() == [form._place(name)]


def test_a_row_that_changes_between_prediction_and_learning_is_read_again():
    one, other = classifier(n_features=8), classifier(n_features=8)
    row, number = {"a": 1.0}, np.zeros(())
    one.predict_one(row)
    row["a"] = -2.0
    one.learn_one(row, True)
    other.learn_one({"a": -2.0}, True)
    assert np.array_equal(one.coef_, other.coef_)
    row = {"a": number}
    one.predict_one(row)
    number[()] = 5.0  # the same object with another value
    one.learn_one(row, False)
    other.learn_one({"a": 5.0}, False)
    assert np.array_equal(one.coef_, other.coef_)


def test_copies_of_a_model_do_not_hold_names_or_rows_it_met():
    model = classifier(n_features=64)
    model.learn_one({"a name of a patient": 0.123456789}, True)
    for found in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert found.predict_one({"b": 1.0}) == model.predict_one({"b": 1.0})
        assert not found.stream_.form._met._names.get("a name of a patient")
    assert b"patient" not in pickle.dumps(model)


def test_a_text_under_a_declared_name_is_refused_and_not_dropped():
    model = classifier(feature_names=["age", "town=Ulm"])
    model.learn_one({"age": 3.0, "town": "Ulm"}, True)
    model.learn_one({"age": 3.0, "town": "Graz", "job": "none"}, True)  # names of no column
    for call in (lambda row: model.learn_one(row, True), model.predict_one):
        with pytest.raises(ValueError, match="feature_names must be numbers, got a text") as told:
            call({"age": "thirty-four"})
        assert "thirty" not in str(told.value)
    assert model.rows_seen_ == 2


def test_names_that_are_remembered_are_bounded(monkeypatch):
    monkeypatch.setattr("dplasso.estimators.online_rows._MOST_MET", 10)
    model, plain = classifier(n_features=64), classifier(n_features=64)
    for k in range(100):
        row = {f"n{k}": 1.0, f"m{k}": 2.0}
        model.learn_one(row, True)
        plain.begin()
        plain.stream_.learn(plain.stream_.form.of_dicts([row]), np.ones(1))
    met = model.stream_.form._met
    assert len(met._names) <= 10 and sum(map(len, met.rows)) <= 10
    assert np.array_equal(model.coef_, plain.coef_)


def _form(model):
    model.begin()
    return model.stream_.form
