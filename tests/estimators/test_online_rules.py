"""The public rules of a stream: those it began with hold to its end, whatever later code does."""

import copy
import math
import pickle

import numpy as np
import pytest

from dplasso import PrivateOnlineClassifier, load, storage
from dplasso.estimators import online_rules as rules

pytestmark = pytest.mark.filterwarnings("ignore")


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    return X, (X[:, 0] > 0).astype(int)


def made(**options):
    return PrivateOnlineClassifier(
        **{"window": 50, "classes": [0, 1], "random_state": 3, **options}
    )


def begun_by_earlier_rules(monkeypatch, X, y):
    with monkeypatch.context() as earlier:
        earlier.setattr(rules, "VERSION", 1)
        return made().fit(X, y)


def test_rules_of_today_clip_at_a_half_and_shorten_the_intercept():
    X, y = problem()
    model = made().fit(X, y)
    assert (
        model.stream_.rules == rules.VERSION == 4
        and model.stream_.total.settings.sensitivity == 0.5
    )
    rest, share = model.stream_.form.shares()
    assert share == rules.INTERCEPT_SHARE and math.isclose(rest**2 + share**2, 1.0)
    values = model.stream_.form.of_matrix(X[:1])[2]
    assert math.isclose(float(values @ values), 1.0)
    assert made(clip=0.8).fit(X, y).stream_.total.settings.sensitivity == 0.8
    assert made(loss="hinge").fit(X, y).stream_.total.settings.sensitivity == 1.0


@pytest.mark.parametrize("version", [2, 3])
def test_rules_of_today_average_weights_unless_the_start_is_given(monkeypatch, version):
    X, y = problem()
    monkeypatch.setattr(rules, "VERSION", version)
    plans = [
        made(**options).fit(X, y).stream_.plan
        for options in ({}, {"start_rows": 100.0}, {"learner": "oracle"}, {"epsilon": math.inf})
    ]
    assert [plan.averaging > 0 for plan in plans] == [version == 3, False, False, False]
    assert made(half_life=100.0).fit(X, y).stream_.plan.averaging == 0.06 * (version == 3)


def test_averaged_weights_are_computed_from_released_sums_alone():
    """Every point that is averaged is a function of a released sum and public numbers."""
    X, y = problem()
    model = made(n_features=5)
    model.begin()
    total, plan, average = model.stream_.total, model.stream_.plan, np.zeros(6)
    for step in range(200):
        model.partial_fit(X[step : step + 1], y[step : step + 1])
        point = -total.release() / (plan.regularisation * (step + 1 + plan.start_rows))
        share = min(1.0, max(plan.averaging, 4.0 / (step + 4.0)))
        average = average + share * (plan.domain.project(point) - average)
        assert np.allclose(model.stream_.weights[0], average, rtol=1e-9)


def problem_of_classes():
    X, _ = problem()
    return X, np.argmax(X[:, :4], axis=1)


def test_classes_start_equally_likely():
    """At 0, a probability of 1/2 for each, most of a row's gradient would say less of all."""
    X, _ = problem()
    for options in ({}, {"row_map": "as_is"}, {"classes": [0, 1, 2]}, {"half_life": 9.0}):
        model = made(**{"classes": [0, 1, 2, 3], "n_features": 5, **options})
        model.begin()
        count = len(model.classes_)
        rows = np.ones((1, 5)) if options.get("row_map") else X
        margins = model.decision_function(np.zeros_like(rows))
        assert np.allclose(margins, -math.log(count - 1))
        assert np.allclose(model.predict_proba(np.zeros_like(rows)), 1.0 / count)


@pytest.mark.parametrize(
    "options",
    [
        {"start_rows": 50.0},
        {"learner": "oracle"},
        {"loss": "hinge"},
        {"fit_intercept": False},
        {"domain": "l1"},
        {"construction": "blocks"},
        {"epsilon": math.inf},
        {"classes": [0, 1]},
    ],
    ids=str,
)
def test_other_streams_start_where_their_set_does(options):
    model = made(**{"classes": [0, 1, 2], "n_features": 5, **options})
    model.begin()
    assert not np.any(model.stream_.weights)


def test_a_start_outside_of_the_set_is_moved_into_it():
    model = made(classes=[0, 1, 2, 3], n_features=5, radius=0.5)
    model.begin()
    assert math.isclose(float(np.linalg.norm(model.stream_.weights)), 0.5)


def test_weights_of_classes_are_computed_from_released_sums_alone():
    X, y = problem_of_classes()
    model = made(classes=[0, 1, 2, 3], n_features=5)
    model.begin()
    total, plan = model.stream_.total, model.stream_.plan
    average = start = model.stream_.weights.reshape(-1).copy()
    for step in range(120):
        model.partial_fit(X[step : step + 1], y[step : step + 1])
        pulled = plan.regularisation * plan.start_rows * start - total.release()
        point = pulled / (plan.regularisation * (step + 1 + plan.start_rows))
        share = min(1.0, max(plan.averaging, 4.0 / (step + 4.0)))
        average = average + share * (plan.domain.project(point) - average)
        assert np.allclose(model.stream_.weights.reshape(-1), average, rtol=1e-9)


@pytest.mark.parametrize("version", [2, 3])
def test_classes_of_earlier_rules_start_at_0_and_continue_so(monkeypatch, tmp_path, version):
    X, y = problem_of_classes()
    monkeypatch.setattr(rules, "VERSION", version)
    whole, part = (made(classes=[0, 1, 2, 3]).fit(X[:n], y[:n]) for n in (200, 90))
    part.save_state(tmp_path / "state")
    monkeypatch.undo()
    again = made(classes=[0, 1, 2, 3]).load_state(tmp_path / "state")
    assert np.array_equal(again.partial_fit(X[90:], y[90:]).coef_, whole.coef_)
    assert not np.array_equal(made(classes=[0, 1, 2, 3]).fit(X, y).coef_, whole.coef_)


def test_a_stream_of_earlier_rules_continues_by_them_bit_by_bit(monkeypatch, tmp_path):
    X, y = problem()
    whole = begun_by_earlier_rules(monkeypatch, X, y)
    part = begun_by_earlier_rules(monkeypatch, X[:90], y[:90])
    assert part.stream_.total.settings.sensitivity == 1.0
    part.save_state(tmp_path / "state")
    header, arrays = storage.read(tmp_path / "state")
    assert header["state"].pop("rules") == 1  # states of that time did not name them
    storage.write(tmp_path / "state", header, arrays, released=False)
    again = made().load_state(tmp_path / "state").partial_fit(X[90:], y[90:])
    assert np.array_equal(again.coef_, whole.coef_)
    assert not np.array_equal(made().fit(X, y).coef_, whole.coef_)


def test_a_snapshot_of_earlier_rules_predicts_by_them(monkeypatch, tmp_path):
    X, y = problem()
    model = begun_by_earlier_rules(monkeypatch, X, y)
    model.save(tmp_path / "model.dpl")
    header, arrays = storage.read(tmp_path / "model.dpl")
    assert header.pop("rules") == 1
    storage.write(tmp_path / "model.dpl", header, arrays)
    wanted = model.predict_proba(X)
    found = [load(tmp_path / "model.dpl"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for each in found:
        assert np.array_equal(each.predict_proba(X), wanted)
        assert np.array_equal(each.intercept_, model.intercept_)


@pytest.mark.parametrize("version", [0, 5, 10**20, "2", None, 1.0, True])
def test_rules_that_this_code_does_not_have_are_refused(tmp_path, version):
    X, y = problem()
    model = made().fit(X, y)
    model.save(tmp_path / "model.dpl")
    header, arrays = storage.read(tmp_path / "model.dpl")
    storage.write(tmp_path / "model.dpl", {**header, "rules": version}, arrays)
    with pytest.raises(ValueError, match="rules of a later version|model"):
        load(tmp_path / "model.dpl")
    model.save_state(tmp_path / "state")
    header, arrays = storage.read(tmp_path / "state")
    header["state"]["rules"] = version
    storage.write(tmp_path / "state", header, arrays, released=False)
    with pytest.raises(ValueError, match="rules of a later version"):
        made().load_state(tmp_path / "state")
