"""All figures about one model and one set of public rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from dplasso.report.measured.numbers import Residuals, residuals
from dplasso.report.measured.ranking import Ranking, ranking
from dplasso.report.measured.subgroups import Subgroups, by_group


@dataclass(frozen=True)
class Measured:
    """What the charts of a report show. It is NOT private: compute it on public data only.

    Classifiers with probabilities have a ``ranking``, regressors have ``residuals``. ``subgroups``
    has one entry per column that rows were grouped by.
    """

    ranking: Ranking | None = None
    residuals: Residuals | None = None
    subgroups: tuple[Subgroups, ...] = ()


def measure(
    model: Any, X: Any, y: Any, *, by: Mapping[str, Sequence[str]] | None = None
) -> Measured:
    """Measure a fitted model on public rows, whose labels `evaluate` has accepted. NOT private.

    ``by`` has, for each column to group by, the text of every row.
    """
    predicted = model.predict(X)
    if not is_classifier(model):
        actual = np.asarray(y, np.float64)
        groups = tuple(by_group(name, texts, actual, predicted) for name, texts in _items(by))
        return Measured(residuals=residuals(actual, predicted), subgroups=groups)
    truth = np.searchsorted(model.classes_, np.asarray(y))
    answers = np.searchsorted(model.classes_, predicted)
    scores = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    groups = tuple(
        by_group(name, texts, truth, answers, scores, len(model.classes_))
        for name, texts in _items(by)
    )
    if scores is None:
        return Measured(subgroups=groups)
    return Measured(ranking(truth, scores), subgroups=groups)


def _items(by: Mapping[str, Sequence[str]] | None) -> list[tuple[str, Sequence[str]]]:
    return [] if by is None else list(by.items())
