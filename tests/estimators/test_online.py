"""Online estimators: one stream however it is cut, charged once, and what it says of itself."""

import copy
import json
import math
import pickle
import stat

import numpy as np
import pytest
import scipy.sparse as sp

import dplasso
from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor, storage
from dplasso.domains import L1Ball
from dplasso.privacy import leaks
from dplasso.privacy.events import PureDP
from dplasso.streams import running_sum

pytestmark = pytest.mark.filterwarnings("ignore:random_state makes:dplasso.PrivacyLeakWarning")

KNOWN = {"window": 50, "classes": [0, 1], "random_state": 3}


def problem(rows=400, columns=8, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = (X[:, :classes].argmax(axis=1) if classes > 2 else X[:, 0] > 0).astype(int)
    return X, y


def classifier(**options):
    return PrivateOnlineClassifier(1.0, **{**KNOWN, **options})


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("learner", ["projection", "oracle"])
def test_a_stream_is_the_same_however_it_is_cut(batch, learner):
    X, y = problem()
    whole = classifier(batch=batch, learner=learner)
    pieces = classifier(batch=batch, learner=learner)
    at_once = whole.predict_then_learn(X, y)
    cuts = [0, 1, 20, 33, 400]
    each = [
        pieces.predict_then_learn(sp.csr_array(X[a:b]), y[a:b])
        for a, b in zip(cuts[:-1], cuts[1:], strict=True)
    ]
    assert np.array_equal(at_once, np.concatenate(each))
    assert np.array_equal(whole.coef_, pieces.coef_)
    assert np.array_equal(whole.coef_, classifier(batch=batch, learner=learner).fit(X, y).coef_)
    assert whole.rows_seen_ == pieces.rows_seen_ == 400


def released_so_far(model):
    """How many sums have left: the position of the one that pays for all."""
    return model.stream_.total.position


@pytest.mark.parametrize(("batch", "releases"), [(1, 40), (10, 4), ("call", 3)])
def test_a_release_a_row_or_every_so_many_or_a_call(batch, releases):
    X, y = problem(40)
    model = classifier(batch=batch)
    for part in (slice(0, 5), slice(5, 30), slice(30, 40)):
        model.partial_fit(X[part], y[part])
    assert released_so_far(model) == releases
    assert model.rows_seen_ == 40


def test_a_call_is_predicted_by_the_weights_before_it_and_learned_at_once():
    X, y = problem()
    model, plain = classifier(batch="call"), classifier(batch="call")
    model.partial_fit(X[:100], y[:100])
    before = model.predict(X[100:])
    assert np.array_equal(model.predict_then_learn(X[100:], y[100:]), before)
    order = np.random.default_rng(0).permutation(100)  # of rows that make one release
    plain.partial_fit(X[:100][order], y[:100][order]).partial_fit(X[100:], y[100:])
    assert np.array_equal(plain.coef_, model.coef_)


def test_calls_of_any_size_have_the_noise_of_a_release_a_row():
    """A window of W rows may be W calls: so many releases a row is protected in."""
    X, y = problem()
    calls, rows = (classifier(batch=batch).partial_fit(X[:9], y[:9]) for batch in ("call", 1))
    for name in ("mu", "window_rows", "epsilon"):
        assert calls.privacy_[name] == rows.privacy_[name]
    assert calls.stream_.total.settings == rows.stream_.total.settings
    assert "one every call" in str(calls.privacy_) and "one every row" in str(rows.privacy_)
    public = "rows_per_call = of every call (given)"  # weights show it
    assert public in str(calls.privacy_) and "rows_per_call" not in rows.privacy_["public"]


@pytest.mark.parametrize("construction", ["band", "regenerated_band", "tree", "window_tree"])
def test_the_construction_of_the_noise_is_chosen(construction):
    X, y = problem(30)
    model = classifier(construction=construction).fit(X, y)
    assert model.privacy_["mechanism"] == f"{construction} with gaussian noise on a grid"
    assert model.privacy_["mu"] == classifier().fit(X, y).privacy_["mu"]


def test_gamma_noise_is_without_a_delta(tmp_path):
    X, y = problem(30)
    budget = dplasso.Budget(20.0, 1e-6, store=tmp_path / "ledger.sqlite")
    model = classifier(noise="gamma", random_state=None, accountant=budget).fit(X, y)
    told = model.privacy_
    assert (told["epsilon"], told["delta"]) == (1.0, 0.0) and "mu" not in told
    assert told["mechanism"] == "tree with gamma noise on a grid"
    assert "1-DP, without a delta" in str(told)
    assert budget.entries()[0].event == PureDP(1.0)
    model.save(tmp_path / "m")
    assert dplasso.load(tmp_path / "m").privacy_ == told


def test_the_published_noise_is_far_more_than_asked_for():
    X, y = problem(30)
    paper, tight = (
        classifier(calibration=known, construction="window_tree").fit(X, y).privacy_
        for known in ("paper", "tight")
    )
    assert paper["calibration"] == "paper" and paper["mu"] < tight["mu"] / 10.0
    assert paper["epsilon"] == tight["epsilon"] == 1.0
    assert classifier(calibration="paper").fit(X, y).privacy_["mechanism"].startswith("window_tree")


def test_predictions_are_made_before_a_row_is_learned_from():
    X, y = problem()
    first, other = classifier(), classifier()
    told = first.predict_then_learn(X, y)
    changed = y.copy()
    changed[200:] = 1 - changed[200:]
    assert np.array_equal(told[:201], other.predict_then_learn(X, changed)[:201])


def test_fit_starts_over_and_partial_fit_goes_on():
    X, y = problem()
    model = classifier().fit(X, y)
    once = model.coef_
    assert not np.array_equal(model.partial_fit(X, y).coef_, once)
    assert np.array_equal(model.fit(X, y).coef_, once)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "smoothed_hinge"},
        {"domain": "l1"},
        {"domain": "box"},
        {"domain": L1Ball(9, 20.0)},
        {"row_map": "as_is", "clip": 2.0},
        {"window": None, "n_rows": 20_000},
        {"window": None},
        {"batch": 10, "learner": "oracle"},
    ],
)
def test_it_learns(options):
    X, y = problem(20_000)
    told = classifier(**options).predict_then_learn(X, y)
    assert np.mean(told[-5000:] == y[-5000:]) > 0.85


def test_several_classes_are_learned_in_one_sum():
    X, y = problem(40_000, classes=3)
    model = classifier(classes=["a", "b", "c"])
    labels = np.array(["a", "b", "c"])[y]
    told = model.predict_then_learn(X, labels)
    assert np.mean(told[-5000:] == labels[-5000:]) > 0.75
    assert model.coef_.shape == (3, 8) and model.intercept_.shape == (3,)
    assert np.allclose(model.predict_proba(X[:5]).sum(axis=1), 1.0)
    assert model.stream_.total.settings.dimension == 27
    assert model.stream_.total.settings.sensitivity == 0.5


def test_a_regressor_learns_and_clips_labels():
    X, _ = problem(20_000)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = 3.0 * X[:, 1]
    model = PrivateOnlineRegressor(1.0, window=50, y_bound=3.0, random_state=1).partial_fit(X, y)
    assert model.score(X, y) > 0.8
    one, other = (
        PrivateOnlineRegressor(1.0, window=50, y_bound=2.0, random_state=1) for _ in range(2)
    )
    assert np.array_equal(one.fit(X, y).coef_, other.fit(X, np.clip(y, -2.0, 2.0)).coef_)


def test_what_is_stated_is_what_the_sum_promises():
    X, y = problem()
    model = classifier(window=100, random_state=None).fit(X, y)
    told = model.privacy_
    plain = running_sum(9, sensitivity=1.0, window=100, epsilon=1.0, delta=1e-6)
    assert told["mu"] == plain.privacy["mu"] and told["epsilon"] == 1.0
    assert (told["window_rows"], told["rows_seen"], told["rows_expired"]) == (100, 400, 300)
    assert told["whole_stream"] == "inf" and "NOT PROTECTED" in str(told)
    assert told["bounds"]["clip"] == {"value": 0.5, "source": "public rule"}
    assert told["public"]["classes"] == {"value": [0, 1], "source": "declared"}
    json.dumps(told, allow_nan=False)
    whole = classifier(window=None).fit(X, y).privacy_
    assert whole["window_rows"] == "all" and whole["whole_stream"]["epsilon"] == pytest.approx(1.0)
    assert "NOT PROTECTED" not in str(whole) and "for tests only" in str(whole)
    assert "NOT PRIVATE" in str(
        PrivateOnlineClassifier(math.inf, classes=[0, 1]).fit(X, y).privacy_
    )


def test_a_ledger_is_charged_once_and_before_the_first_draw(tmp_path):
    X, y = problem()
    budget = dplasso.Budget(1.2, 1e-6, store=tmp_path / "ledger.sqlite")
    model = classifier(accountant=budget)
    model.partial_fit(X[:10], y[:10])
    model.partial_fit(X[10:], y[10:])
    model.predict(X)
    assert len(budget.entries()) == 1
    assert model.privacy_["ledger"]["entry"] == 1
    with pytest.raises(dplasso.BudgetError):
        model.fit(X, y)  # a stream of its own, which is too much
    assert len(budget.entries()) == 1 and not hasattr(model, "_run")


def test_what_is_not_declared_is_reported():
    X, y = problem()
    with pytest.warns(dplasso.PrivacyLeakWarning, match="classes were read"):
        PrivateOnlineClassifier().fit(X, y)
    leaks.set_strict(True)
    try:
        for model in (PrivateOnlineClassifier(), classifier(), PrivateOnlineRegressor()):
            with pytest.raises(dplasso.PrivacyLeakError):
                model.fit(X, y)
        PrivateOnlineClassifier(classes=[0, 1]).fit(X, y)
        PrivateOnlineRegressor(y_bound=1.0).fit(X, y)
    finally:
        leaks.set_strict(None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"window": 0}, "window must be"),
        ({"batch": 0}, "batch must be"),
        ({"loss": "squared"}, "loss must be one of 'logistic'"),
        ({"domain": "l3"}, "domain must be one of l2"),
        ({"domain": L1Ball(3, 1.0)}, "domain must have 9 dimensions"),
        ({"radius": -1.0}, "radius must be"),
        ({"learner": "guess"}, "learner must be one of"),
        ({"row_map": "some"}, "row_map must be one of"),
        ({"construction": "wall"}, "construction must be one of"),
        ({"noise": "loud"}, "noise must be one of gaussian, gamma"),
        ({"calibration": "loose"}, "calibration must be one of tight, paper"),
        ({"construction": "band", "noise": "gamma"}, "construction must be a tree"),
        ({"neighboring": "far"}, "neighboring must be one of"),
        ({"batch": "day"}, "batch must be an integer of at least 1, or 'call'"),
        ({"clip": 0.0}, "clip must be"),
        ({"n_features": 3}, "X must have the 3 columns"),
        ({"accountant": 5}, "accountant must have a charge method"),
        ({"feature_names": [*"abcdefg", "a"]}, "feature_names must all differ"),
    ],
)
def test_refused(options, message):
    X, y = problem()
    model = classifier().set_params(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_refused_on_the_way():
    X, y = problem()
    model = classifier(window=None, n_rows=300)
    with pytest.raises(ValueError, match="n_rows must not be exceeded"):
        model.fit(X, y)
    model = classifier().fit(X, y)
    with pytest.raises(ValueError, match="labels outside the declared classes"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match="n_features or feature_names must be declared"):
        classifier().learn_one({"a": 1.0}, 1)
    assert model.rows_seen_ == 400
    with pytest.raises(AttributeError):
        classifier(loss="smoothed_hinge").fit(X, y).predict_proba(X)


def test_rows_by_name_are_those_of_a_matrix():
    X, y = problem()
    names = [f"column {k}" for k in range(8)]
    one, other = classifier(feature_names=names), classifier(feature_names=names)
    for row, label in zip(X, y, strict=True):
        named = dict(zip(names, row.tolist(), strict=True))
        assert one.predict_one({**named, "else": 7.0}) in (0, 1)
        one.learn_one({**named, "else": 7.0}, label)
    import pandas as pd

    other.partial_fit(pd.DataFrame(X, columns=names), y)
    assert np.array_equal(one.coef_, other.coef_)
    chances = one.predict_proba_one(dict(zip(names, X[0].tolist(), strict=True)))
    assert list(chances) == [0, 1] and sum(chances.values()) == pytest.approx(1.0)


def test_names_and_texts_are_hashed_to_declared_columns():
    model = PrivateOnlineClassifier(1000.0, window=50, n_features=64)
    for k in range(3000):
        model.learn_one({"town": "Ulm" if k % 2 else "Graz", "age": 0.5}, bool(k % 2))
    assert model.predict_one({"town": "Ulm"}) is True
    assert model.predict_one({"town": "Graz"}) is False
    assert model.coef_.shape == (1, 64)
    with pytest.raises(ValueError, match="features must be numbers or texts, got list"):
        model.learn_one({"town": ["Ulm"]}, True)
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.learn_one({"age": math.inf}, True)
    chances = model.predict_proba_one({"town": "Ulm"})
    assert chances == model.predict_proba_one({"town": "Ulm", "age": math.nan, "name": None})


def test_a_snapshot_predicts_and_does_not_learn(tmp_path):
    X, y = problem()
    model = classifier(feature_names=None, random_state=None).fit(X, y)
    model.save(tmp_path / "model.dpl")
    loaded = dplasso.load(tmp_path / "model.dpl")
    for found in (loaded, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(found.predict_proba(X), model.predict_proba(X))
        assert found.privacy_ == model.privacy_ and str(found.privacy_) == str(model.privacy_)
        assert found.rows_seen_ == 400
        with pytest.raises(ValueError, match="copy or was loaded"):
            found.partial_fit(X, y)
    secret = model.stream_.total.state().header["key"]
    assert secret.encode() not in (tmp_path / "model.dpl").read_bytes()
    assert secret.encode() not in pickle.dumps(model)


@pytest.mark.parametrize("window", [50, None])
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_a_state_goes_on_bit_by_bit_and_is_for_its_owner(tmp_path, window, kind):
    X, y = problem()

    def made():
        if kind == "classifier":
            return classifier(window=window, random_state=None)
        return PrivateOnlineRegressor(window=window, y_bound=1.0)

    model = made().partial_fit(X[:150], y[:150])
    model.save_state(tmp_path / "state")
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o600
    with pytest.raises(ValueError, match="holds no"):
        dplasso.load(tmp_path / "state")
    with pytest.raises(ValueError, match="epsilon is not what it was"):
        made().set_params(epsilon=2.0).load_state(tmp_path / "state")
    # Beside a journal a state may be read again: with the same rows it repeats its releases.
    (twin := made()).resume(tmp_path / "state")
    resumed = made().load_state(tmp_path / "state")
    assert np.array_equal(
        twin.predict_then_learn(X[150:], y[150:]), resumed.predict_then_learn(X[150:], y[150:])
    )
    assert np.array_equal(twin.coef_, resumed.coef_)


def test_a_state_of_code_that_had_fewer_parameters_goes_on(tmp_path):
    X, y = problem()
    model = classifier().partial_fit(X, y)
    model.save_state(tmp_path / "state")
    header, arrays = storage.read(tmp_path / "state")
    for name in ("noise", "calibration"):
        del header["parameters"][name]
    storage.write(tmp_path / "state", header, arrays)
    with pytest.raises(ValueError, match="noise is not what it was"):
        classifier(noise="gamma").load_state(tmp_path / "state")
    resumed = classifier().load_state(tmp_path / "state")
    assert np.array_equal(resumed.coef_, model.coef_)


def test_a_river_pipeline():
    river = pytest.importorskip("river")
    from river import base, compose, evaluate, metrics, preprocessing

    base.Classifier.register(PrivateOnlineClassifier)
    X, y = problem(4000)
    rows = [
        ({f"x{k}": value for k, value in enumerate(row)}, bool(label))
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    model = PrivateOnlineClassifier(5.0, window=100, n_features=64)
    pipeline = compose.Pipeline(preprocessing.StandardScaler(), model)
    found = evaluate.progressive_val_score(rows, pipeline, metrics.Accuracy())
    assert found.get() > 0.7 and model.rows_seen_ == 4000, river.__version__
    # A scaler that has seen no row yet makes NaN of the first.
    named = PrivateOnlineClassifier(5.0, window=100, feature_names=list(rows[0][0]))
    scaled = preprocessing.MinMaxScaler() | named
    assert evaluate.progressive_val_score(rows, scaled, metrics.ROCAUC()).get() > 0.6


def test_a_statement_tells_the_parameters_that_the_stream_began_with(tmp_path):
    """Others, set while it runs, concern the next stream: no release has their noise."""
    X, y = problem(60)
    model = classifier(random_state=None).partial_fit(X[:30], y[:30])
    stated = model.privacy_
    model.set_params(epsilon=0.01, batch=64, neighboring="replace_one", row_map="as_is", clip=0.1)
    assert model.privacy_ == stated
    model.save(tmp_path / "snapshot")
    loaded = dplasso.load(tmp_path / "snapshot")
    assert loaded.privacy_ == stated and loaded.epsilon == 1.0
    model.save_state(tmp_path / "state")
    resumed = classifier(random_state=None).load_state(tmp_path / "state")
    assert resumed.partial_fit(X[30:], y[30:]).privacy_["epsilon"] == 1.0
    assert model.fit(X, y).privacy_["epsilon"] == 0.01


def test_labels_are_clipped_to_the_bound_that_the_stream_began_with():
    """Another bound, set since then, concerns the next stream, as all parameters do."""
    X, _ = problem(6)
    y = np.full(6, 9.0)
    changed = PrivateOnlineRegressor(1e6, window=9, y_bound=1.0, random_state=0)
    kept = PrivateOnlineRegressor(1e6, window=9, y_bound=1.0, random_state=0)
    for model in (kept, changed):
        model.partial_fit(X[:2], y[:2])
    changed.set_params(y_bound=10.0)
    for model in (kept, changed):
        model.partial_fit(X[2:5], y[2:5]).partial_fit(X[5:], y[5:])
    assert np.array_equal(changed.coef_, kept.coef_)
    assert changed.privacy_["bounds"] == kept.privacy_["bounds"]
    assert changed.fit(X, y).privacy_["bounds"]["y_bound"]["value"] == 10.0
