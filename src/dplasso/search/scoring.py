"""How good a trial is on validation rows: a sum of bounded gains, released with noise."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base.arrays import Ints
from dplasso.estimators.undeclared import bound_or_one
from dplasso.losses.labels import positions
from dplasso.mechanisms.grid_gaussian import GridGaussian

# Whole numbers that a gain of 1 is made of.
UNIT = 2**20
# Less noise than this is not to be had on the grid, nor of use.
LEAST_MULTIPLIER = 2.0**-8
POWERS = {"squared_error": 2, "absolute_error": 1}


class Scorer(NamedTuple):
    """What a row counts, and how much noise their sum gets.

    A row counts from 0 to ``most``: a classifier's the weight of its class if it is predicted
    right, a regressor's 1 - (min(error, y_bound) / y_bound)^power.

    Formal guarantees
    -----------------
    - Neighbouring: one row more or less, or one row replaced: either way the sum of gains, whole
      numbers from 0 to UNIT, moves by at most UNIT.
    - Cost: `release` adds `GridGaussian` noise of ``multiplier`` times UNIT: it keeps
      `dplasso.privacy.events.Gaussian` of that multiplier, and is (1 / (2 multiplier^2))-zCDP.
    - Assumptions: the model does not depend on the row that differs; the prediction for a row
      depends on no other row, to the last bit; weights of classes and bounds are public.
    """

    noise: GridGaussian
    most: float
    classes: NDArray[Any] | None  # None for a regressor
    weights: Ints  # of the classes, the largest being UNIT
    y_bound: float
    power: int

    @property
    def multiplier(self) -> float:
        """Standard deviation of the noise, in what a row can count."""
        return self.noise.sigma / UNIT

    def gains(self, model: Any, X: Any, y: NDArray[Any]) -> Ints:
        """What each row counts, in whole numbers from 0 to UNIT."""
        if len(y) == 0:
            return np.zeros(0, np.int64)
        predicted = model.predict(X)
        if self.classes is not None:
            classes = self.classes.tolist()
            own, guessed = (positions(labels, classes) for labels in (y, predicted))
            return np.where(guessed == own, self.weights[own.astype(np.intp)], 0)
        # A prediction beyond twice the bound is off by the bound at least: all that counts.
        bound = self.y_bound
        error = np.clip(predicted, -2.0 * bound, 2.0 * bound) - np.clip(y, -bound, bound)
        share = np.minimum(np.nan_to_num(np.abs(error) / bound, nan=1.0), 1.0)
        gain = 1.0 - share**self.power
        found: Ints = np.floor(gain * UNIT).astype(np.int64)
        return found

    def release(self, model: Any, X: Any, y: NDArray[Any], generator: np.random.Generator) -> float:
        """The sum of gains with noise: the larger, the better."""
        total = np.array([self.gains(model, X, y).sum()], np.int64)
        self.noise.add_to(total, generator)
        return (float(total[0]) + 0.5) / UNIT * self.most


def scorer_for(
    model: Any, scoring: str, weights: Mapping[Any, float] | None, multiplier: float
) -> Scorer:
    """How fits of ``model`` are scored; its classes, or its bound on labels, are declared."""
    noise = GridGaussian(max(multiplier, LEAST_MULTIPLIER) * UNIT)
    if hasattr(model, "classes"):
        _check("scoring", scoring, ("auto", "accuracy"))
        classes = np.unique(np.asarray(model.classes))
        given = _class_weights(classes, weights)
        whole = np.floor(given / given.max() * UNIT).astype(np.int64)
        return Scorer(noise, float(given.max()), classes, whole, 1.0, 1)
    _check("scoring", scoring, ("auto", *POWERS))
    if weights is not None:
        raise ValueError("score_weights are weights of classes, and a regressor has none")
    power = POWERS.get(scoring, 2)
    return Scorer(noise, 1.0, None, np.zeros(0, np.int64), bound_or_one(model, "y_bound"), power)


def _class_weights(
    classes: NDArray[Any], weights: Mapping[Any, float] | None
) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(len(classes))
    named = classes.tolist()
    if not isinstance(weights, Mapping) or set(weights) != set(named):
        raise ValueError(
            "score_weights must map every class, and nothing else, to a weight; give one a class"
        )
    return np.array([checks.bound("score_weights", weights[label]) for label in named])


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)} here, got {value!r}")
