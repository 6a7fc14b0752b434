"""A trial of a search draws a setting, fits it to training rows and scores it on the others."""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from dplasso.base.arrays import Ints
from dplasso.data.identifiers import NOBODY
from dplasso.estimators.base import PrivateLasso
from dplasso.mechanisms.exact_noise import uniform_below
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy import zcdp
from dplasso.privacy.events import Event
from dplasso.privacy.unit import ROW
from dplasso.search.scoring import Scorer


@dataclass(frozen=True)
class TrialBudget:
    """An accountant that lets a fit spend the rho of a trial, and no more."""

    rho: float

    def charge(
        self, event: Event, *, delta: float, neighboring: str, label: str, unit: str = ROW
    ) -> None:
        if zcdp.rho(event) > self.rho:
            raise ValueError("a trial would cost more than was planned for it; nothing was drawn")


class Part(NamedTuple):
    """Rows and labels of one part, and who they belong to if people are protected."""

    X: Any
    y: NDArray[Any]
    people: NDArray[Any] | None  # identifiers, as `fit` takes them


class Trial(NamedTuple):
    """The result of one trial. The best one is released, and the others are discarded."""

    score: float
    setting: dict[str, Any]
    model: PrivateLasso


@dataclass(frozen=True)
class Trials:
    """Any number of trials on rows that are split once.

    Formal guarantees
    -----------------
    Every row is a training row or a validation row, by its own coin, which reads no data; all rows
    of a person share one coin, if people are protected: read "person" for "row" below. Fix the
    coins. If two neighbours differ in a training row, the fit is ``rho``-zCDP, and the score, which
    reads the model and other rows, is post-processing. If they differ in a validation row, the fit
    has the same distribution for both, and the score is ``rho``-zCDP given the model. A trial,
    model and score together, thus costs the *larger* of its two releases, not their sum. Trials
    share only the coins. Given the coins they are independent, and a search among them has the cost
    derived in `dplasso.privacy.trials`. The same cost holds for random coins, since the Renyi
    divergence of two mixtures with the same weights is at most the largest divergence between their
    components (it is jointly quasi-convex).
    """

    model: PrivateLasso  # has the parameters that all settings share
    settings: list[dict[str, Any]]
    scorer: Scorer
    training: Part
    validation: Part
    bits: RandomBits

    def one(self) -> Trial:
        """Draw a setting, fit it and score it."""
        generator = self.bits.generator
        setting = self.settings[uniform_below(len(self.settings), generator)]
        model = clone(self.model).set_params(**setting)
        if not self.bits.secure:
            model.set_params(random_state=generator)
        with warnings.catch_warnings():
            # One warning per trial would reveal the number of trials.
            warnings.simplefilter("ignore")
            model.fit(self.training.X, self.training.y, groups=self.training.people)
            held = self.validation
            score = self.scorer.release(model, held.X, held.y, generator, held.people)
        return Trial(score, setting, model)

    def best_of(self, count: int) -> Trial:
        """Return the best of ``count`` trials; a tie goes to the first, as all are alike."""
        return max((self.one() for _ in range(count)), key=lambda trial: trial.score)


def split(
    X: Any, y: NDArray[Any], validation: float, bits: RandomBits, people: Ints | None = None
) -> tuple[Part, Part]:
    """Split into training and validation rows by coins that are independent of the data.

    There is one coin per row, or one per person if ``people`` are given. Rows of nobody share one,
    too: they count nothing in either part. If every person is held for validation, trials are
    fitted to a row of nobody: an error would say how few people there are. Rows that are protected
    by themselves are so many that all are held with a negligible probability, ``validation`` to
    the power of their number; only then is there an error.
    """
    coins = bits.generator.random(len(y))
    if people is not None:
        coins = coins[_first_rows(people)]
    held = coins < validation
    if held.all() and people is None:
        raise ValueError("X has too few rows to split: none was left to train on; give more")
    train, test = (
        Part(_safe_indexing(X, rows), y[rows], None if people is None else _named(people[rows]))
        for rows in (np.flatnonzero(part) for part in (~held, held))
    )
    if held.all():
        train = Part(_safe_indexing(X, np.array([0])), y[:1], np.array([None], dtype=object))
    return train, test


def _first_rows(people: Ints) -> Ints:
    """For every row, the first row of the same person."""
    _, first, places = np.unique(people, return_index=True, return_inverse=True)
    found: Ints = first[places]
    return found


def _named(people: Ints) -> NDArray[Any]:
    """Numbers of people as identifiers; None for nobody."""
    found: NDArray[Any] = people.astype(object)
    found[people == NOBODY] = None
    return found
