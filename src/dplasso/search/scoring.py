"""The score of a trial on validation rows: a sum of bounded gains, released with noise."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base.arrays import Ints
from dplasso.base.wording import ParameterError
from dplasso.data.identifiers import people_of
from dplasso.estimators.undeclared import bound_or_one
from dplasso.losses.labels import LabelRange, positions
from dplasso.mechanisms.grid_gaussian import GridGaussian

# Gains are whole multiples of 1 / UNIT.
UNIT = 2**20
# The grid allows no less noise than this, and less would be of no use.
LEAST_MULTIPLIER = 2.0**-8
POWERS = {"squared_error": 2, "absolute_error": 1}


class Scorer(NamedTuple):
    """The gain of each row, and the noise of their sum.

    The gain of a row is between 0 and ``most``. For a classifier, it is the weight of the row's
    class if the prediction is right. For a regressor, it is
    1 - (min(error, reach) / reach)^power, where the reach is half of the range of labels.

    Formal guarantees
    -----------------
    - Neighbouring: one row added or removed, or one row replaced. In both cases the sum of gains,
      whole numbers from 0 to UNIT, has sensitivity UNIT. If people are protected, the gains of a
      person add up to a number from 0 to ``rows`` times UNIT (`counted`), which is the sensitivity
      in both cases.
    - Cost: `release` adds `GridGaussian` noise of standard deviation ``multiplier`` times that. Its
      cost is `dplasso.privacy.events.Gaussian` with that multiplier, (1 / (2 multiplier^2))-zCDP.
    - Assumptions: the model does not depend on the row that differs; the prediction for a row
      depends on no other row, to the last bit; weights of classes and bounds are public.
    """

    noise: GridGaussian
    most: float
    classes: NDArray[Any] | None  # None for a regressor
    weights: Ints  # of the classes, the largest being UNIT
    labels: LabelRange  # of a regressor
    power: int
    rows: int = 1  # most rows that a person counts as

    @property
    def multiplier(self) -> float:
        """Noise standard deviation over the sensitivity."""
        return self.noise.sigma / (UNIT * self.rows)

    def gains(self, model: Any, X: Any, y: NDArray[Any]) -> Ints:
        """Gain of each row, in whole numbers from 0 to UNIT."""
        if len(y) == 0:
            return np.zeros(0, np.int64)
        predicted = model.predict(X)
        if self.classes is not None:
            return class_gains(predicted, y, self.classes, self.weights)
        return number_gains(predicted, y, self.labels, self.power)

    def release(
        self,
        model: Any,
        X: Any,
        y: NDArray[Any],
        generator: np.random.Generator,
        people: object = None,
    ) -> float:
        """Release the sum of gains with noise; a larger sum is better.

        ``people`` are identifiers, one per row, if people are protected.
        """
        numbered = None if people is None else people_of(people)
        total = np.array([counted(self.gains(model, X, y), numbered, self.rows)], np.int64)
        self.noise.add_to(total, generator)
        return (float(total[0]) + 0.5) / UNIT * self.most


def class_gains(
    predicted: NDArray[Any], y: NDArray[Any], classes: NDArray[Any], weights: Ints
) -> Ints:
    """The weight of a row's class if the prediction is right, or else 0."""
    known = classes.tolist()
    own, guessed = (positions(labels, known) for labels in (y, predicted))
    return np.where(guessed == own, weights[own.astype(np.intp)], 0)


def number_gains(
    predicted: NDArray[Any], y: NDArray[Any], labels: LabelRange, power: int = 1
) -> Ints:
    """From UNIT, if the prediction is right, down to 0, if the error is the reach or more."""
    (low, high), reach = labels, labels.reach
    # A prediction so far from the range has the largest error that counts, the reach.
    error = np.clip(predicted, low - reach, high + reach) - np.clip(y, low, high)
    share = np.minimum(np.nan_to_num(np.abs(error) / reach, nan=1.0), 1.0)
    gain = 1.0 - share**power
    found: Ints = np.floor(gain * UNIT).astype(np.int64)
    return found


def counted(gains: Ints, people: Ints | None, rows: int) -> int:
    """The sum of whole numbers from 0 to UNIT; of a person's, no more than ``rows`` times UNIT.

    ``people`` are the numbers of the people whose rows they are, if people are protected. If a
    person has more than ``rows`` rows, the sum of theirs is multiplied by ``rows`` over their
    number, and rounded down once.
    """
    if people is None:
        return int(gains.sum())
    known = people >= 0  # rows of nobody count nothing
    sums = np.zeros(int(people.max(initial=-1)) + 1, np.int64)
    np.add.at(sums, people[known], gains[known])
    counts = np.maximum(np.bincount(people[known], minlength=len(sums)), rows)
    wholes, rests = np.divmod(sums, counts)
    return int((wholes * rows + rests * rows // counts).sum())


def scorer_for(
    model: Any,
    scoring: str,
    weights: Mapping[Any, float] | None,
    multiplier: float,
    rows: int = 1,
) -> Scorer:
    """Return the scorer of ``model``, whose classes or bound on labels are declared.

    ``rows`` is the number of rows that a person counts as, at most.
    """
    noise = GridGaussian(max(multiplier, LEAST_MULTIPLIER) * UNIT * rows)
    if hasattr(model, "classes"):
        checks.choice("scoring", scoring, ("auto", "accuracy"))
        classes = np.unique(np.asarray(model.classes))
        given = _class_weights(classes, weights)
        whole = np.floor(given / given.max() * UNIT).astype(np.int64)
        return Scorer(noise, float(given.max()), classes, whole, LabelRange.of(1.0), 1, rows)
    checks.choice("scoring", scoring, ("auto", *POWERS))
    if weights is not None:
        raise ParameterError("{score_weights} are weights of classes, and a regressor has none")
    labels, power = LabelRange.of(bound_or_one(model, "y_bound")), POWERS.get(scoring, 2)
    return Scorer(noise, 1.0, None, np.zeros(0, np.int64), labels, power, rows)


def _class_weights(
    classes: NDArray[Any], weights: Mapping[Any, float] | None
) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(len(classes))
    named = classes.tolist()
    if not isinstance(weights, Mapping) or set(weights) != set(named):
        raise ParameterError(
            "{score_weights} must map every class, and nothing else, to a weight; give one per "
            "class"
        )
    return np.array([checks.bound("score_weights", weights[label]) for label in named])
