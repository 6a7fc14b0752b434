"""A scaler for rows by name that reads no data: bounds are declared, not learned."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.base import BaseEstimator

from dplasso.base.silence import raise_alone
from dplasso.base.wording import ParameterError
from dplasso.estimators.online_river import RiverEstimator, register

_Pair = tuple[float, float]


class PublicScaler(RiverEstimator, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Scale features by name to [-1, 1] by public bounds: a private StandardScaler for river.

    A value is clipped to its bounds, and the middle of the bounds becomes 0. None and NaN remain
    missing, and texts remain texts.

    Parameters
    ----------
    bounds : mapping of names to pairs or None, default=None
        The lowest and the highest value of features, as facts known without the rows.
    others : pair of float or None, default=None
        Bounds of all features that ``bounds`` does not name. None rejects their rows.

    Formal guarantees
    -----------------
    A scaled row is a function of that row and of declared numbers. It costs nothing, and unlike
    scalers that learn from rows, it moves nothing outside the guarantee of the model behind it.

    Examples
    --------
    >>> from dplasso import PublicScaler
    >>> scaler = PublicScaler({"age": (0, 120)}, others=(-1, 1))
    >>> scaler.transform_one({"age": 90.0, "shift": 3.0, "town": "Ulm"})
    {'age': 0.5, 'shift': 1.0, 'town': 'Ulm'}
    """

    _kind = "Transformer"
    _supervised = False

    def __init__(
        self, bounds: Mapping[Any, _Pair] | None = None, others: _Pair | None = None
    ) -> None:
        self.bounds, self.others = bounds, others
        register(self)

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Learn nothing: bounds are declared."""

    def transform_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the scaled row."""
        return {name: self._scaled(name, value) for name, value in x.items()}

    def _scaled(self, name: Any, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        pair = (self.bounds or {}).get(name, self.others)
        if pair is None:
            raise ParameterError(
                "rows have a feature that {bounds} does not name; declare its bounds, or those of "
                "all {others}"
            )
        low, high = _ends(pair)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):  # the message would quote the value
            raise_alone(ValueError("features must be numbers or texts, got another; convert them"))
        if math.isnan(number):
            return number
        half = high / 2.0 - low / 2.0
        return (min(max(number, low), high) - (low / 2.0 + high / 2.0)) / half

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"others": (0.0, 100.0)}


def _ends(pair: Any) -> _Pair:
    """The two ends of bounds, checked."""
    try:
        low, high = map(float, pair)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (low < high and math.isfinite(low) and math.isfinite(high)):
        raise ParameterError(
            "{bounds} and {others} must be pairs of two finite numbers, the lower one first; "
            "declare what is known without the rows"
        )
    return low, high
