"""The result of a job of moments at a party: its own coefficients, and at one of them the rest."""

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.federated.moments.model import Odds
from dplasso.federated.moments.rows import Units, whole_rows
from dplasso.storage.atomic import replace_file


@dataclass(frozen=True)
class MomentPartyModel:
    """Coefficients of one party's features. Margins of all parties add up to scores.

    Attributes
    ----------
    party, job : str
        The party and the job.
    ranges : list of pairs
        Public low and high ends of the features, in units of the party's columns.
    entry, row_limit : int
        An entry at its bound as a whole number, and the most that the squares of a row of such
        numbers add up to: longer rows are shortened, as in training.
    centre : list of float or None
        What rows are centred about, in units of bounded entries.
    coefficients : list of lists
        For each feature a number for each column of labels, in units of bounded entries.
    intercepts : list of float
        At the label holder, one for each column of labels; 0 at other parties.
    n_classes : int
        Number of classes; 0 for numbers.
    classes : list of str or None
        The classes in order, at the label holder.
    slopes, offsets : list of float or None
        At the label holder: log-odds of classes are slope * score + offset, column by column.

    Formal guarantees
    -----------------
    A function of the job's release: no further cost. Margins of new rows are not protected: whoever
    sees them learns something about those rows.
    """

    party: str
    job: str
    ranges: list[list[float]]
    entry: int
    row_limit: int
    coefficients: list[list[float]]
    intercepts: list[float]
    n_classes: int = 0
    classes: list[str] | None = None
    slopes: list[float] | None = None
    offsets: list[float] | None = None
    centre: list[float] | None = None
    protocol: str = "moments"

    def __post_init__(self) -> None:
        weights = np.asarray(self.coefficients, np.float64)
        if weights.shape != (len(self.ranges), len(self.intercepts)):
            raise ParameterError("{coefficients} must be one per feature and column of labels")
        if len(self._centre) != len(self.ranges):
            raise ParameterError("{centre} must be one number per feature")
        numbers = [weights, self.intercepts, self.slopes or 0.0, self.offsets or 0.0, self._centre]
        if not all(np.isfinite(np.asarray(part, np.float64)).all() for part in numbers):
            raise ParameterError("{coefficients} must be finite")

    def margins(self, X: Any) -> Floats:
        """Return the party's part of the scores: rows x columns of labels."""
        cells = Units([tuple(ends) for ends in self.ranges], len(self.ranges)).of(X) - self._centre
        rows = whole_rows(cells, self.entry, self.row_limit) / self.entry
        found: Floats = rows @ np.asarray(self.coefficients) + np.asarray(self.intercepts)
        return found

    @property
    def heads(self) -> list[str]:
        """A head for each column of coefficients: its class, or the number of it."""
        if len(self.intercepts) == 1:
            return ["coefficient"]
        names = self.classes or [str(k) for k in range(self.n_classes)]
        return [f"coefficient for {name}" for name in names]

    @property
    def in_own_units(self) -> tuple[Floats, Floats]:
        """Coefficients in units of the party's columns, and the party's part of the intercepts."""
        units = Units([tuple(ends) for ends in self.ranges], len(self.ranges))
        middle, size = units.centre
        weights = np.asarray(self.coefficients) / size[:, None]
        return weights, np.asarray(self.intercepts) - (middle + self._centre * size) @ weights

    @property
    def _centre(self) -> Floats:
        given = [0.0] * len(self.ranges) if self.centre is None else self.centre
        return np.asarray(given, np.float64)

    @property
    def odds(self) -> Odds:
        """How classes and their probabilities follow from scores, at the label holder."""
        if self.slopes is None or self.offsets is None:
            raise ParameterError(
                "{model} has no classes; give the label holder's model of a job with classes"
            )
        return Odds(np.asarray(self.slopes), np.asarray(self.offsets))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON, completely or not at all."""
        replace_file(path, json.dumps(asdict(self), indent=1).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "MomentPartyModel":
        """Read a model that `save` wrote."""
        try:
            with open(path, "rb") as file:
                return cls(**json.load(file))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{os.fsdecode(path)} is no model of a party: {error}") from error
