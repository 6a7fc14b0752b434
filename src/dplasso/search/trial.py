"""One trial of a search: a setting at random, a fit on training rows, a score on the others."""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from dplasso.estimators.base import PrivateLasso
from dplasso.mechanisms.exact_noise import uniform_below
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy import zcdp
from dplasso.privacy.events import Event
from dplasso.search.scoring import Scorer


@dataclass(frozen=True)
class TrialBudget:
    """An accountant that lets a fit spend the rho of a trial, and no more."""

    rho: float

    def charge(self, event: Event, *, delta: float, neighboring: str, label: str) -> None:
        if zcdp.rho(event) > self.rho:
            raise ValueError("a trial would cost more than was planned for it; nothing was drawn")


class Outcome(NamedTuple):
    """The result of one trial: the best one of all is released, the others are forgotten."""

    score: float
    setting: dict[str, Any]
    model: PrivateLasso


@dataclass(frozen=True)
class Trials:
    """Rows, split once, and what is made of them any number of times.

    Formal guarantees
    -----------------
    Every row is a training row or a validation row, by a coin of its own that reads no data. Fix
    the coins. If the row in which two neighbours differ is a training row, the fit keeps
    ``rho``-zCDP, and the score, which reads the model and other rows, is post-processing. If it is
    a validation row the fit has the same law for both, and the score keeps ``rho``-zCDP given the
    model. A trial, model and score, thus costs the *larger* of what its two releases cost, not
    their sum. Trials share the coins and nothing else: given those they are independent, a search
    among them costs what `dplasso.privacy.trials` says, and so it does for coins at random, since
    the Renyi divergence of two mixtures with the same weights is at most the largest between their
    parts (it is jointly quasi-convex).
    """

    model: PrivateLasso  # with what all settings share
    settings: list[dict[str, Any]]
    scorer: Scorer
    training: tuple[Any, NDArray[Any]]
    validation: tuple[Any, NDArray[Any]]
    bits: RandomBits

    def one(self) -> Outcome:
        """Draw a setting, fit, score."""
        generator = self.bits.generator
        setting = self.settings[uniform_below(len(self.settings), generator)]
        model = clone(self.model).set_params(**setting)
        if not self.bits.secure:
            model.set_params(random_state=generator)
        with warnings.catch_warnings():
            # One warning a trial would tell how many there are.
            warnings.simplefilter("ignore")
            model.fit(*self.training)
            score = self.scorer.release(model, *self.validation, generator)
        return Outcome(score, setting, model)

    def best_of(self, count: int) -> Outcome:
        """The best of so many; trials are alike, so that a tie is broken at random by the first."""
        return max((self.one() for _ in range(count)), key=lambda outcome: outcome.score)


def split(
    X: Any, y: NDArray[Any], validation: float, bits: RandomBits
) -> tuple[tuple[Any, NDArray[Any]], tuple[Any, NDArray[Any]]]:
    """Training rows and validation rows: a coin a row, whatever the row says."""
    held = bits.generator.random(len(y)) < validation
    if held.all():
        raise ValueError("X has too few rows to split: none was left to train on; give more")
    train, test = (np.flatnonzero(part) for part in (~held, held))
    return (_safe_indexing(X, train), y[train]), (_safe_indexing(X, test), y[test])
