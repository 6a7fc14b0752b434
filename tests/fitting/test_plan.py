"""What a plan says before data are read is what the fit does."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, Sparsifier
from dplasso.fitting import registry
from dplasso.fitting.private_bound import CANDIDATES
from dplasso.privacy import zcdp

ROWS, WIDE = 1500, 1100
RNG = np.random.default_rng(0)
X = sp.csr_array(np.where(RNG.random((ROWS, WIDE)) < 0.02, RNG.normal(size=(ROWS, WIDE)), 0.0))
Y = (RNG.random(ROWS) < 0.5).astype(int)


class Recorder:
    """Takes notes of what is charged."""

    def __init__(self):
        self.events = []

    def charge(self, event, *, delta, neighboring, label):
        self.events.append((event, delta, neighboring))

    def __sklearn_clone__(self):
        return self


SOLVERS = {
    "frank_wolfe": {"solver": "frank_wolfe"},
    "frank_wolfe, given rounds": {"solver": "frank_wolfe", "max_iter": 9, "radius": 2.0},
    "frank_wolfe, count": {"solver": "frank_wolfe", "n_nonzero": Sparsifier()},
    "gradient": {"solver": "gradient", "row_map": "as_is"},
    "gradient, cut": {"solver": "gradient", "row_map": "sqrt", "n_nonzero": 7},
    "select": {"solver": "auto", "row_map": "as_is", "n_nonzero": 2},
}
OPTIONS = {
    "declared": {"x_bound": 1.5, "n_rows": 1600},
    "rows read": {"x_bound": 1.5},
    "bounds by column": {"x_bound": np.linspace(0.5, 2.0, WIDE).tolist(), "n_rows": 1600},
    "private bound": {"x_bound": "private", "n_rows": 1600},
    "replaced": {"x_bound": 1.5, "neighboring": "replace_one"},
    "replaced, private bound": {"x_bound": "private", "neighboring": "replace_one"},
}
each_solver = pytest.mark.parametrize("solver", SOLVERS)
each_option = pytest.mark.parametrize("option", OPTIONS)


def classifier(solver, option, **more):
    given = {"epsilon": 8.0, "classes": [0, 1], **SOLVERS[solver], **OPTIONS[option], **more}
    return PrivateLassoClassifier(**given)


@pytest.mark.parametrize("charged", [False, True])
@each_option
@each_solver
def test_a_plan_says_what_the_statement_says(solver, option, charged):
    recorder = Recorder() if charged else None
    model = classifier(solver, option, accountant=recorder)
    plan = model.plan(ROWS, WIDE)
    assert not charged or recorder.events == []
    stated = model.fit(X, Y).privacy_
    said = plan.to_dict()
    if plan.bounds is None:  # what follows from the bound is known once that is released
        assert stated["bounds"]["x_bound"]["value"] in CANDIDATES
        stated["bounds"]["x_bound"]["value"] = said["bounds"]["x_bound"]["value"]
        if "radius" in stated["bounds"]:
            stated["bounds"]["radius"]["value"] = said["bounds"]["radius"]["value"]
        for release in stated["releases"]:
            release.pop("theta", None)
    assert said == {name: stated[name] for name in said}
    assert (plan.solver, plan.row_map) == (model.solver_, model.row_map_)
    if charged:
        assert recorder.events == [(plan.event, plan.delta, plan.neighboring)]


@each_option
@each_solver
def test_a_plan_costs_no_more_than_was_asked_for(solver, option):
    plan = classifier(solver, option, accountant=Recorder()).plan(ROWS, WIDE)
    assert zcdp.rho(plan.event) == pytest.approx(plan.rho, rel=1e-9)
    assert plan.rho <= zcdp.rho_of(8.0, plan.delta)
    assert plan.epsilon == 8.0 and plan.steps.value >= 1


@each_solver
def test_a_plan_prints_what_a_person_wants_to_know(solver):
    plan = classifier(solver, "declared").plan(ROWS, WIDE)
    text = str(plan)
    assert f"solver {plan.solver}" in text and "epsilon 8, delta 1e-06" in text
    assert f"steps: {plan.steps.value} (" in text and "one would be charged rho = " in text
    for release in plan.releases:
        assert release.what in text
    assert "the accountant is charged rho = " in str(
        classifier(solver, "declared", accountant=Recorder()).plan(ROWS, WIDE)
    )


def test_plans_of_regressors_and_of_many_classes():
    regressor = PrivateLassoRegressor(y_bound=3.0, x_bound=1.0, n_rows=500)
    plan = regressor.plan(500, 20)
    assert plan.to_dict()["bounds"]["y_bound"]["value"] == 3.0
    many = PrivateLassoClassifier(classes=list("abc"), x_bound=1.0, n_rows=500, solver="gradient")
    assert many.plan(500, 20).request.loss.outputs == 3


def test_a_plan_without_privacy_says_so():
    plan = PrivateLassoClassifier(math.inf, classes=[0, 1], x_bound=1.0).plan(500, 20)
    assert plan.steps.value is None and plan.releases == () and "NOT PRIVATE" in str(plan)


def test_a_plan_needs_declared_classes_and_a_shape():
    with pytest.raises(ValueError, match="classes are not declared"):
        PrivateLassoClassifier().plan(100, 10)
    declared = PrivateLassoClassifier(classes=[0, 1])
    for wrong in ((0, 10), (10, 0), (None, 10), (10, 1.5)):
        with pytest.raises(ValueError, match="n_rows|n_features"):
            declared.plan(*wrong)
    with pytest.raises(ValueError, match="x_bound must have one bound per column"):
        PrivateLassoClassifier(classes=[0, 1], x_bound=[1.0, 2.0]).plan(100, 10)


@pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning")
def test_a_fitted_model_plans_for_the_classes_that_it_has():
    X, y = np.eye(4)[[0, 1, 2, 3] * 50], ["a", "b", "c", "a"] * 50
    model = PrivateLassoClassifier(1.0, x_bound=1.0, n_rows=200).fit(X, y)
    assert model.plan(200, 4).request.loss.outputs == 3


def test_a_plan_rejects_what_a_fit_rejects_and_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateLassoClassifier(classes=[0, 1], random_state=3).plan(100, 10)
    with pytest.raises(ValueError, match="x_bound='private' has no use"):
        PrivateLassoClassifier(classes=[0, 1], x_bound="private", row_map="presence").plan(100, 10)
    with pytest.raises(ValueError, match="radius, max_iter and fit_intercept=False"):
        PrivateLassoClassifier(classes=[0, 1], solver="gradient", radius=1.0).plan(100, 10)


def test_bounds_by_name_need_no_names_to_be_planned():
    model = PrivateLassoClassifier(classes=[0, 1], n_rows=99, x_bound={"b": 4.0, "a": 1.0})
    assert model.plan(99, 2).bounds.largest == 4.0


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient", "auto"])
def test_the_solver_is_decided_and_labels_are_encoded_once_per_fit(solver, monkeypatch):
    calls = {"chosen": 0, "encoded": 0}
    model = classifier("select" if solver == "auto" else solver, "declared")
    plan, loss = registry.plan, type(model.plan(ROWS, WIDE).request.loss)
    encode = loss.encode

    def chosen(request):
        calls["chosen"] += 1
        return plan(request)

    def encoded(self, y):
        calls["encoded"] += 1
        return encode(self, y)

    monkeypatch.setattr(registry, "plan", chosen)
    monkeypatch.setattr(loss, "encode", encoded)
    model.fit(X, Y)
    assert calls == {"chosen": 1, "encoded": 1}
