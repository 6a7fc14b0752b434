"""A scaler for rows by name that reads no data: bounds are declared, not learned."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.base import BaseEstimator

from dplasso.base import checks
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
    bins : int or None, default=None
        Spread a number over so many features instead, which stand at equal distances between its
        bounds: the two nearest get shares that sum to 1. A linear model then learns a curve over
        the number, and values that lie close together within wide bounds are told apart.

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
    >>> PublicScaler({"age": (0, 120)}, bins=4).transform_one({"age": 90.0})
    {'age@2': 0.75, 'age@3': 0.25}
    """

    _kind = "Transformer"
    _supervised = False

    def __init__(
        self,
        bounds: Mapping[Any, _Pair] | None = None,
        others: _Pair | None = None,
        bins: int | None = None,
    ) -> None:
        self.bounds, self.others, self.bins = bounds, others, bins
        register(self)

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Learn nothing: bounds are declared."""

    def transform_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the scaled row."""
        if self.bins is None:
            return {name: self._scaled(name, value) for name, value in x.items()}
        most = checks.count("bins", self.bins, least=2) - 1
        spread: dict[Any, Any] = {}
        for name, value in x.items():
            scaled = self._scaled(name, value)
            if scaled is None or isinstance(scaled, str):
                spread[name] = scaled
            elif not math.isnan(scaled):
                place = (scaled + 1.0) / 2.0 * most
                low = min(int(place), most - 1)
                spread[f"{name}@{low}"] = low + 1 - place
                spread[f"{name}@{low + 1}"] = place - low
        return spread

    @property
    def names(self) -> list[str]:
        """The names of all features that ``bounds`` makes, to declare as ``feature_names``."""
        known = [str(name) for name in self.bounds or {}]
        if self.bins is None:
            return known
        return [f"{name}@{k}" for name in known for k in range(self.bins)]

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
        yield {"others": (0.0, 100.0), "bins": 8}


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
