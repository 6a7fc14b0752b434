"""The online models in river: its checks, pipelines, ensembles, and a scaler that is private."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor, PublicScaler

river = pytest.importorskip("river")
from river import base, checks, compose, datasets, evaluate, metrics, multiclass  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
KINDS = (PrivateOnlineClassifier, PrivateOnlineRegressor, PublicScaler)
SEGMENTS = sorted({label for _, label in datasets.ImageSegments()})


def models():
    for kind in KINDS:
        for params in kind._unit_test_params():
            yield kind(**params)


CHECKS = [(model, check) for model in models() for check in checks.yield_checks(model)]


@pytest.mark.parametrize(
    ("model", "check"), CHECKS, ids=[f"{type(m).__name__}-{c.__name__}" for m, c in CHECKS]
)
def test_the_checks_of_river_pass(model, check):
    check(model.clone())


def test_the_checks_of_river_pass_for_declared_classes():
    """river checks each model on sets of several labels: those with other labels are left out."""
    model = PrivateOnlineClassifier(n_features=64, classes=SEGMENTS, random_state=0)
    run = []
    for check in checks.yield_checks(model):
        rows = list(getattr(check, "keywords", {}).get("dataset", ()))
        if not rows:
            check(model.clone())
        elif rows[0][1] in SEGMENTS:
            check.func(model.clone(), dataset=rows)
            run.append(check.__name__)
    assert model._multiclass and "check_classifier_tracks_seen_labels" in run and len(run) > 10


def test_no_check_of_river_is_left_out():
    assert not any(model._unit_test_skips() for model in models())
    names = {check.__name__ for model, check in CHECKS if isinstance(model, KINDS[0])}
    assert {"check_learn_one", "check_predict_one_pure", "check_bounded_memory_growth"} <= names


def test_river_knows_the_models_by_their_kind():
    assert isinstance(PrivateOnlineClassifier(), base.Classifier)
    assert isinstance(PrivateOnlineRegressor(), base.Regressor)
    assert isinstance(PublicScaler(), base.Transformer)
    assert not isinstance(PrivateOnlineRegressor(), base.Classifier)


UNSCALED = """
import pickle, sys
from dplasso import PublicScaler
scaler = {made}
from river import compose, stats
class Last:
    _supervised = True
    def learn_one(self, x, y):
        print(x)
compose.Pipeline(scaler, ("last", Last())).learn_one({{"a": 2.5}}, 1)
"""


@pytest.mark.parametrize("way", ["made", "unpickled"])
def test_a_pipeline_scales_whether_or_not_river_was_loaded_before_the_scaler(way):
    """A pipeline would pass rows around a scaler that river does not recognise, in silence."""
    scaler = PublicScaler({"a": (0, 10)}, bins=None)
    made = {"made": repr(scaler), "unpickled": f"pickle.loads({pickle.dumps(scaler)!r})"}[way]
    command = [sys.executable, "-c", UNSCALED.format(made=made)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "{'a': -0.5}"


def test_a_pipeline_with_public_bounds_learns():
    rows = list(datasets.Phishing())
    model = PrivateOnlineClassifier(8.0, window=100, n_features=64)
    pipeline = PublicScaler(others=(0, 1)) | model
    assert isinstance(pipeline, compose.Pipeline)
    found = evaluate.progressive_val_score(rows, pipeline, metrics.Accuracy())
    assert found.get() > 0.7 and model.rows_seen_ == len(rows)
    assert evaluate.progressive_val_score(rows[:99], pipeline.clone(), metrics.ROCAUC()).get() > 0.4


def test_one_model_per_class_charges_every_row_once_per_class():
    class Charges(list):
        """An accountant of the simplest kind."""

        def charge(self, event, delta, **facts):
            self.append(event)

        def __deepcopy__(self, memo):
            return self

    charges = Charges()
    model = PrivateOnlineClassifier(4.0, window=50, n_features=64, accountant=charges)
    several = multiclass.OneVsRestClassifier(model)
    for row, label in datasets.ImageSegments().take(40):
        several.predict_one(row)
        several.learn_one(row, label)
    assert len(charges) == len(several.classifiers) > 1


def test_a_clone_has_learned_nothing_and_has_noise_of_its_own():
    model = PrivateOnlineClassifier(n_features=8, window=5)
    model.learn_one({"a": 1.0}, True)
    other = model.clone({"epsilon": 2.0})
    assert other.epsilon == 2.0 and other.rows_seen_ == 0
    other.learn_one({"a": 1.0}, True)
    assert other.stream_.total.place[0] != model.stream_.total.place[0]
    with pytest.raises(ValueError, match="not a mutable attribute"):
        model.mutate({"epsilon": 9.0})


def test_a_scaler_clips_to_its_bounds_and_keeps_gaps_and_texts():
    scaler = PublicScaler({"a": (0, 10), 3: (-1, 1)}, bins=None)
    scaled = scaler.transform_one({"a": 40, 3: -0.5, "t": "x", "n": None})
    assert scaled == {"a": 1.0, 3: -0.5, "t": "x", "n": None}
    assert math.isnan(scaler.transform_one({"a": math.nan})["a"])
    assert scaler.transform_one({"a": np.float32(5.0)}) == {"a": 0.0}
    wide = PublicScaler(others=(-1.7e308, 1.7e308)).transform_one({"a": math.inf})
    assert wide == {"a": 1.0}


@pytest.mark.parametrize("pair", [(1, 1), (2, 1), (0, math.inf), ("a", "b"), 3, (1, 2, 3)])
def test_a_scaler_refuses_bounds_that_are_none(pair):
    with pytest.raises(ValueError, match="pairs of two finite numbers"):
        PublicScaler(others=pair).transform_one({"a": 1.0})


def test_a_scaler_refuses_what_it_cannot_scale_without_quoting_it():
    scaler = PublicScaler({"a": (0, 1)})
    with pytest.raises(ValueError, match="a feature that bounds does not name"):
        scaler.transform_one({"b": 1.0})
    with pytest.raises(ValueError, match="numbers or texts") as told:
        scaler.transform_one({"a": [17.5]})
    assert "17.5" not in str(told.value) and told.value.__context__ is None


@pytest.mark.parametrize("bins", ["auto", None, 4])
def test_a_text_under_a_name_that_has_bounds_is_refused_and_not_dropped(bins):
    """Bins have other names than the number, so that a model would ignore the text in silence."""
    scaler = PublicScaler({"age": (0, 120)}, bins=bins)
    with pytest.raises(ValueError, match="must be numbers, got a text") as told:
        scaler.transform_one({"age": "thirty-four"})
    assert "thirty" not in str(told.value)
    assert scaler.transform_one({"town": "Ulm"}) == {"town": "Ulm"}


def test_a_scaler_spreads_numbers_over_bins_by_their_distance():
    scaler = PublicScaler({"a": (0, 3), "b": (-1, 1)}, bins=4)
    scaled = scaler.transform_one({"a": 1.25, "t": "x", "b": math.nan})
    assert scaled == {"a@1": 0.75, "a@2": 0.25, "t": "x"}
    for number in (-5.0, 0.0, 0.4, 3.0, 99.0):
        shares = scaler.transform_one({"a": number})
        mean = sum(int(name[2:]) * share for name, share in shares.items())
        assert math.isclose(sum(shares.values()), 1.0) and min(shares.values()) >= 0.0
        assert math.isclose(mean, min(max(number, 0.0), 3.0), abs_tol=1e-12)
        assert set(shares) <= set(scaler.names)
    assert scaler.names[:5] == ["a@0", "a@1", "a@2", "a@3", "b@0"]
    for wrong in (1, 1.5, "many", True):
        with pytest.raises(ValueError, match="bins"):
            PublicScaler(others=(0, 1), bins=wrong).transform_one({"a": 1.0})


def test_a_scaler_spreads_the_numbers_that_it_knows_by_name_unless_they_are_many():
    """What a user gets who sets nothing else."""
    scaler = PublicScaler({"a": (0, 7)}, others=(-1, 1))
    assert scaler.transform_one({"a": 3.25, "b": 0.5}) == {"a@3": 0.75, "a@4": 0.25, "b": 0.5}
    assert scaler.names == [f"a@{k}" for k in range(8)]
    with pytest.raises(ValueError, match="the same name after bins"):
        scaler.transform_one({"a": 3.25, "a@3": 1.0})
    names = [f"x{k}" for k in range(25)]
    for few, made in ((names[:24], {"x0@0": 1.0, "x0@1": 0.0}), (names, {"x0": -1.0})):
        scaler = PublicScaler(dict.fromkeys(few, (0, 1)))
        assert scaler.transform_one({"x0": 0}) == made
        assert len(scaler.names) == (192 if few != names else 25)
    assert PublicScaler(others=(0, 1)).transform_one({"a": 1}) == {"a": 1.0}
    assert PublicScaler({"a": (0, 1)}, bins=None).names == ["a"]


@pytest.mark.parametrize("row", [{"a": 0.4, "a@1": "x"}, {"a@1": "x", "a": 0.4}, {3: 0, "3": 0}])
def test_a_feature_is_refused_rather_than_replaced_by_a_bin_of_its_name(row):
    with pytest.raises(ValueError, match="the same name after bins"):
        PublicScaler(others=(0, 1), bins=4).transform_one(row)


def test_a_scaler_learns_nothing():
    scaler = PublicScaler(others=(0, 1))
    before = pickle.dumps(scaler)
    scaler.learn_one({"a": 5.0})
    assert pickle.dumps(scaler) == before == pickle.dumps(copy.deepcopy(scaler))
