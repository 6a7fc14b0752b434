"""The result of a job at a party: its own coefficients."""

import json
import math
import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.federated.columns import table_of
from dplasso.storage.atomic import replace_file

_Path = str | os.PathLike[str]
_MOST_FEATURES = 1 << 62  # column numbers are 64-bit integers


@dataclass(frozen=True)
class PartyModel:
    """Coefficients of one party's features. Margins of all parties add up to the prediction.

    Attributes
    ----------
    party, job : str
        The party and the job.
    x_bound : float
        Entries are clipped to it, as in training.
    n_features : int
        Number of the party's features.
    features : list of int
        The features with a coefficient.
    coefficients : list of float
        Their coefficients.
    intercept : float
        The intercept at the label holder, 0 at other parties.

    Formal guarantees
    -----------------
    A function of the job's releases: post-processing, at no further cost. Margins of new rows are
    not protected: whoever sees them learns something about those rows.

    Examples
    --------

    >>> model = PartyModel("shop", "job", 1.0, 3, [2], [0.5], 0.0)
    >>> model.margins([[0.0, 1.0, 0.4], [1.0, 0.0, -3.0]])
    array([ 0.2, -0.5])
    """

    party: str
    job: str
    x_bound: float
    n_features: int
    features: list[int]
    coefficients: list[float]
    intercept: float

    def __post_init__(self) -> None:
        if not isinstance(self.party, str) or not isinstance(self.job, str):
            raise ParameterError("{party} and {job} must be texts")
        if not isinstance(self.features, list) or not isinstance(self.coefficients, list):
            raise ParameterError("{features} and {coefficients} must be lists")
        known = range(checks.count("n_features", self.n_features, 1, _MOST_FEATURES))
        checks.bound("x_bound", self.x_bound)
        whole = all(type(feature) is int and feature in known for feature in self.features)
        if not whole or len(set(self.features)) < len(self.features):
            raise ParameterError("{features} must be different integers below {n_features}")
        numbers = [*self.coefficients, self.intercept]
        if len(numbers) != len(self.features) + 1 or not all(map(_finite, numbers)):
            raise ParameterError("{coefficients} must be finite, one per feature, with {intercept}")

    def margins(self, X: Any) -> Floats:
        """Return the party's part of the prediction per row. Entries are clipped as in training."""
        matrix = table_of(X)
        if matrix.shape[1] != self.n_features:
            raise ValueError(
                f"X has {matrix.shape[1]} features, but {self.party} trained with {self.n_features}"
            )
        shared = matrix[:, self.features].toarray()
        if not np.isfinite(shared).all():
            raise ValueError("X must not hold NaN or infinity; replace them first")
        clipped = np.clip(shared, -self.x_bound, self.x_bound)
        margins: Floats = clipped @ np.array(self.coefficients) + self.intercept
        return margins

    def save(self, path: _Path) -> None:
        """Write the model as JSON, completely or not at all."""
        replace_file(path, json.dumps(asdict(self), indent=1).encode())

    @classmethod
    def load(cls, path: _Path) -> "PartyModel":
        """Read a model that `save` wrote."""
        try:
            with open(path, "rb") as file:
                return cls(**json.load(file))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{os.fsdecode(path)} is no model of a party: {error}") from error


def _finite(number: object) -> bool:
    try:
        return type(number) in (int, float) and math.isfinite(number)  # type: ignore[arg-type]
    except OverflowError:  # JSON has integers of any length
        return False
