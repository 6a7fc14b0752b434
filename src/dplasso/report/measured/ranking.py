"""How well probabilities rank rows: precision, recall and gain over the threshold."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats

Points = tuple[tuple[float, float], ...]

_GRID = np.linspace(0.0, 1.0, 101)  # where curves are averaged over classes and drawn


class Threshold(NamedTuple):
    """What happens if rows count whose probability is at least ``threshold``.

    ``chosen`` is their share of all rows. ``precision`` is the share of them that is right, None if
    no row is chosen. ``recall`` is the share of the class that is among them.
    """

    threshold: float
    chosen: float
    precision: float | None
    recall: float


@dataclass(frozen=True)
class Ranking:
    """Rows by falling probability, of the second of two classes.

    With more classes, curves are means over classes that occur, each against the rest, and
    ``thresholds`` are about the probability of the answer: precision is the share of such answers
    that are right, recall the share of all rows that are answered and right.

    ``precision_recall`` has points (recall, precision), ``gain`` has points (share of rows with the
    highest probabilities, share of the class that is among them). ``share`` is the share of the
    class among all rows: the precision of guessing.
    """

    thresholds: tuple[Threshold, ...]
    precision_recall: Points
    average_precision: float
    gain: Points
    share: float
    of_answers: bool = False


def ranking(places: NDArray[np.intp], scores: Floats) -> Ranking | None:
    """Rank rows by the probabilities of their classes; None if they are all of one class."""
    outputs = scores.shape[1]
    hits = {k: places == k for k in range(1 if outputs == 2 else 0, outputs)}
    curves = [_Falling(scores[:, k], hit) for k, hit in hits.items() if hit.any() and not hit.all()]
    if not curves:
        return None
    if outputs == 2:
        sure, right = scores[:, 1], hits[1]
    else:
        sure, right = scores.max(axis=1), scores.argmax(axis=1) == places
    whole = len(places) if outputs > 2 else int(right.sum())
    precision = np.mean([curve.precision_at_recall() for curve in curves], axis=0)
    gain = np.mean([curve.gain() for curve in curves], axis=0)
    return Ranking(
        thresholds=_thresholds(sure, right, whole),
        precision_recall=_points(precision),
        average_precision=float(np.mean([curve.average_precision for curve in curves])),
        gain=_points(gain),
        share=float(np.mean([curve.share for curve in curves])),
        of_answers=outputs > 2,
    )


class _Falling:
    """Rows by falling score, counted where the score changes: ties have no order."""

    def __init__(self, scores: Floats, hits: NDArray[np.bool_]) -> None:
        order = np.argsort(-scores, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
        self.chosen = ends + 1
        self.found = np.cumsum(hits[order])[ends]
        self.rows, self.whole = len(scores), int(hits.sum())

    @property
    def share(self) -> float:
        return self.whole / self.rows

    @property
    def average_precision(self) -> float:
        recall = self.found / self.whole
        return float(np.diff(recall, prepend=0.0) @ (self.found / self.chosen))

    def precision_at_recall(self) -> Floats:
        """Return the precision of the fewest rows that reach each recall."""
        at = np.searchsorted(self.found / self.whole, _GRID - 1e-12)
        found: Floats = self.found[at] / self.chosen[at]
        return found

    def gain(self) -> Floats:
        shares, found = (np.append(0, part) for part in (self.chosen, self.found))
        return np.interp(_GRID, shares / self.rows, found / self.whole)


def _thresholds(sure: Floats, right: NDArray[Any], whole: int) -> tuple[Threshold, ...]:
    rising = np.argsort(sure, kind="stable")
    below = np.searchsorted(sure[rising], _GRID)
    chosen = len(sure) - below
    found = right.sum() - np.append(0, np.cumsum(right[rising]))[below]
    return tuple(
        Threshold(threshold, count / len(sure), hit / count if count else None, hit / whole)
        for threshold, count, hit in zip(
            _GRID.tolist(), chosen.tolist(), found.tolist(), strict=True
        )
    )


def _points(values: Floats) -> Points:
    return tuple(zip(_GRID.tolist(), values.tolist(), strict=True))
