"""The audit of a loss that it has no formula for: it finds nothing, unless something is wrong."""

import math

import pytest

from dplasso.audit import run
from dplasso.audit.examples import example_estimators, subject_of
from dplasso.losses.smoothed_hinge import SmoothedHingeLoss


def hinge(solver):
    return example_estimators(solver)[0].set_params(loss="hinge")


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient", "select"])
def test_nothing_is_found(solver):
    checks = {
        "frank_wolfe": ["accounting", "range", "envelope", "law"],
        "gradient": ["accounting", "sensitivity", "release"],
        "select": ["accounting", "sensitivity", "law"],
    }
    report = run([hinge(solver)], seed=1, checks=checks[solver], progress=False)
    assert report.passed, str(report)


def test_the_textbook_bound_is_found_from_the_plain_gradient():
    facts = subject_of(hinge("frank_wolfe")).facts
    assert facts.loss == "hinge" and facts.gradient_bound == 1.0
    assert subject_of(hinge("frank_wolfe")).name.startswith("classifier, hinge loss")


def test_a_bound_on_gradients_that_is_too_small_is_found(monkeypatch):
    monkeypatch.setattr(SmoothedHingeLoss, "gradient_bound", lambda self, r, b: 0.5)
    report = run([hinge("frank_wolfe")], seed=1, checks=["accounting", "range"], progress=False)
    assert not report.passed


def test_a_compiled_residual_that_is_not_the_loss_is_found(monkeypatch):
    right = SmoothedHingeLoss.compiled

    def compiled(self, bound=math.inf):
        return right(self, bound)._replace(shape=0.25)

    monkeypatch.setattr(SmoothedHingeLoss, "compiled", compiled)
    report = run([hinge("frank_wolfe")], seed=1, checks=["law", "envelope"], progress=False)
    assert not report.passed
