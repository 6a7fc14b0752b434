"""How well the rows of a stream were predicted, each before it was learned from. NOT PRIVATE."""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

_RECENT = 1000  # rows of the rolling score
_POINTS = 200  # largest number of points of the score curve

Curve = list[list[float]]


class RunningScores:
    """Accuracy, or mean squared error, of all rows so far and of the last thousand.

    ``known`` has the scores that a state stored. Scores are computed from the rows without noise.
    """

    def __init__(self, known: dict[str, Any], *, regression: bool) -> None:
        self.right: float = known["right"]
        self.recent = deque[float](known.get("recent", ()), maxlen=_RECENT)
        self._curve: Curve = known.get("curve", [])
        self._regression = regression

    def add(self, predicted: NDArray[Any], labels: NDArray[Any]) -> None:
        """Count rows that were just predicted."""
        right = np.square(predicted - labels) if self._regression else predicted == labels
        scores = np.asarray(right, np.float64)
        self.right += float(scores.sum())
        self.recent.extend(scores[-_RECENT:].tolist())

    def kept(self, rows: int) -> dict[str, Any]:
        """Return the scores to store in a state after ``rows`` rows."""
        self._curve = self._curve_at(rows)
        return {"recent": list(self.recent), "curve": self._curve}

    def published(self, rows: int, input_bytes: int) -> dict[str, Any]:
        """Return the document from which the report of a stream is drawn."""
        curve = {"score": self._name, "recent_rows": _RECENT, "points": self._curve_at(rows)}
        return {**self.summary(rows, input_bytes), "curve": curve}

    def summary(self, rows: int, input_bytes: int) -> dict[str, float]:
        """Return the number of rows so far and how well they were predicted."""
        found: dict[str, float] = {"rows": rows, "input bytes": input_bytes}
        if rows:
            found[self._name] = self.right / rows
        if self.recent:
            last = sum(self.recent) / len(self.recent)
            found[f"{self._name} of the last {len(self.recent)}"] = last
        return found

    @property
    def _name(self) -> str:
        return "squared error" if self._regression else "accuracy"

    def _curve_at(self, rows: int) -> Curve:
        """Points (rows so far, score of all rows, score of recent rows), one per saved state."""
        known = self._curve
        if rows == 0 or (known and known[-1][0] == rows):
            return known
        recent = sum(self.recent) / len(self.recent)
        # To limit the number of points, every other one is dropped when there are too many.
        kept = known if len(known) < _POINTS else known[1::2]
        return [*kept, [rows, self.right / rows, recent]]
