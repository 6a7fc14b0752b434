"""Scores of parts of the public rows, such as men and women, or age groups."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError

MOST = 20  # groups of a column; smaller ones are put together
FEW = 100  # rows below which a group's scores are mostly chance
QUARTERS = 4  # of a column of numbers
MISSING, OTHERS = "(missing)", "(all others)"


@dataclass(frozen=True)
class Subgroup:
    """Scores of one group of rows; None where a score is not defined.

    Classes: ``score`` is the accuracy, ``trivial`` that of the group's most common class, ``auc``
    the area under the ROC. ``answered`` is the share of rows that are answered with the second of
    two classes, ``actual`` the share that is of it, ``recall`` the share of those that are found,
    ``false_alarms`` the share of the others that are answered with it. Numbers: ``score`` is R²,
    ``size`` the mean size of errors, ``error`` the mean of actual minus predicted numbers.
    """

    name: str
    rows: int
    score: float | None
    trivial: float | None = None
    auc: float | None = None
    answered: float | None = None
    actual: float | None = None
    recall: float | None = None
    false_alarms: float | None = None
    size: float | None = None
    error: float | None = None

    @property
    def few(self) -> bool:
        """Whether the group is so small that its scores are mostly chance."""
        return self.rows < FEW


@dataclass(frozen=True)
class Subgroups:
    """The groups of one column, by falling number of rows, or by rising numbers."""

    column: str
    groups: tuple[Subgroup, ...]
    of_numbers: bool = False  # whether the model predicts numbers


def by_group(
    column: str,
    texts: Sequence[str],
    truth: NDArray[Any],
    predicted: NDArray[Any],
    scores: Floats | None = None,
    classes: int = 0,
) -> Subgroups:
    """Score groups of rows that have the same text in a column.

    Classes are given as positions, with their number and, if there are any, with probabilities.
    Without a number of classes, the model predicts numbers.
    """
    if len(texts) != len(truth):
        raise ParameterError(
            "{by} must have one text per row for column {column!r}; give those of the same rows",
            column=column,
        )
    found = []
    for name, inside in _parts(texts):
        part = None if scores is None else scores[inside]
        given = name, truth[inside], predicted[inside]
        found.append(_of_classes(*given, part, classes) if classes else _of_numbers(*given))
    return Subgroups(column, tuple(found), of_numbers=not classes)


def _parts(texts: Sequence[str]) -> list[tuple[str, NDArray[Any]]]:
    """Return the name of each group, and which rows are in it."""
    cells = np.array([text if text else MISSING for text in texts], dtype=object)
    counts = Counter(cells.tolist())
    if len(counts) > MOST and (numbers := _numbers(cells)) is not None:
        return _quarters(cells, numbers)
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    names = ranked if len(ranked) <= MOST else ranked[: MOST - 1]
    parts = [(name, np.flatnonzero(cells == name)) for name in names]
    rest = np.flatnonzero(~np.isin(cells, names))
    return [*parts, (OTHERS, rest)] if len(rest) else parts


def _numbers(cells: NDArray[Any]) -> Floats | None:
    """Return the cells as numbers, NaN where missing; None if some are no numbers."""
    try:
        found = np.array([math.nan if cell == MISSING else float(cell) for cell in cells])
    except ValueError:
        return None
    present = cells != MISSING
    return found if np.all(np.isfinite(found[present.astype(bool)])) else None


def _quarters(cells: NDArray[Any], numbers: Floats) -> list[tuple[str, NDArray[Any]]]:
    """Cut numbers at the quartiles of these rows, which are public."""
    present = np.isfinite(numbers)
    edges = np.unique(np.quantile(numbers[present], np.linspace(0.0, 1.0, QUARTERS + 1)))
    places = np.searchsorted(edges[1:-1], numbers, side="left")
    parts = []
    for place in range(len(edges) - 1):
        inside = np.flatnonzero(present & (places == place))
        low, high = numbers[inside].min(), numbers[inside].max()
        parts.append((f"{low:g} to {high:g}", inside))
    gaps = np.flatnonzero(~present)
    return [*parts, (MISSING, gaps)] if len(gaps) else parts


def _of_numbers(name: str, truth: NDArray[Any], predicted: NDArray[Any]) -> Subgroup:
    errors = truth - predicted
    square, whole = float(errors @ errors), float(np.sum((truth - truth.mean()) ** 2))
    return Subgroup(
        name,
        len(truth),
        score=1.0 - square / whole if whole > 0.0 else None,
        trivial=0.0,
        size=float(np.abs(errors).mean()),
        error=float(errors.mean()),
    )


def _of_classes(
    name: str, truth: NDArray[Any], answers: NDArray[Any], scores: Floats | None, classes: int
) -> Subgroup:
    area = None if scores is None else _area(truth, scores)
    found = Subgroup(
        name,
        len(truth),
        score=float(np.mean(truth == answers)),
        trivial=float(np.bincount(truth).max() / len(truth)),
        auc=area,
    )
    if classes != 2:
        return found
    second, said = truth == 1, answers == 1
    rates = {
        "answered": float(said.mean()),
        "actual": float(second.mean()),
        "recall": float(said[second].mean()) if second.any() else None,
        "false_alarms": float(said[~second].mean()) if not second.all() else None,
    }
    return Subgroup(name, found.rows, found.score, found.trivial, area, **rates)


def _area(truth: NDArray[Any], scores: Floats) -> float | None:
    """Return the area under the ROC, the mean over classes that occur against the rest."""
    from sklearn.metrics import roc_auc_score  # imported only to score rows

    outputs = scores.shape[1]
    hits = [(truth == k, scores[:, k]) for k in range(1 if outputs == 2 else 0, outputs)]
    areas = [roc_auc_score(hit, score) for hit, score in hits if hit.any() and not hit.all()]
    return float(np.mean(areas)) if areas else None
