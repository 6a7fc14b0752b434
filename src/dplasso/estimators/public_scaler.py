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

AUTO = "auto"
# The rule behind "auto", chosen by benchmarks/online_bins.py.
BINS, _MOST_NAMES = 8, 24


class PublicScaler(RiverEstimator, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Scale features by name by public bounds: a private StandardScaler for river.

    A number whose bounds are declared by name is spread over 8 features, so that a linear model
    learns a curve over it. Other numbers are scaled to [-1, 1]. Values are clipped to their bounds.
    None and NaN remain missing. Texts remain texts, and are refused under names that have bounds.

    Parameters
    ----------
    bounds : mapping of names to pairs or None, default=None
        The lowest and the highest value of features, as facts known without the rows.
    others : pair of float or None, default=None
        Bounds of all features that ``bounds`` does not name. None rejects their rows.
    bins : int, "auto" or None, default="auto"
        Number of features that a number is spread over. They stand at equal distances between its
        bounds, and the two nearest get shares that sum to 1, so that values that lie close together
        within wide bounds are told apart. "auto" is 8 for the features that ``bounds`` names, if
        they are at most 24, and None for all else. None scales numbers to [-1, 1].

    Attributes
    ----------
    names : list of str
        Names of all features that ``bounds`` makes. Declare them to the model, as
        ``feature_names=scaler.names``; hashed to few columns, features would collide.

    Formal guarantees
    -----------------
    A scaled row is a function of that row and of declared numbers. It costs nothing. Unlike
    scalers that learn from rows, it reveals nothing outside the guarantee of the model behind it.

    Examples
    --------
    >>> from dplasso import PublicScaler
    >>> scaler = PublicScaler({"age": (0, 120)}, others=(-1, 1))
    >>> scaler.transform_one({"age": 90.0, "shift": 3.0, "town": "Ulm"})
    {'age@5': 0.75, 'age@6': 0.25, 'shift': 1.0, 'town': 'Ulm'}
    >>> PublicScaler({"age": (0, 120)}, bins=None).transform_one({"age": 90.0})
    {'age': 0.5}
    """

    _kind = "Transformer"
    _supervised = False

    def __init__(
        self,
        bounds: Mapping[Any, _Pair] | None = None,
        others: _Pair | None = None,
        bins: int | str | None = AUTO,
    ) -> None:
        self.bounds, self.others, self.bins = bounds, others, bins
        register(self)

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Learn nothing, because bounds are declared.

        Parameters
        ----------
        x : mapping
            Values of features by name.
        """

    def transform_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the scaled row.

        Parameters
        ----------
        x : mapping
            Values of features by name.

        Returns
        -------
        dict
            Scaled values by name.
        """
        named, other = self._bins()
        spread: dict[Any, Any] = {}
        for name, value in x.items():
            scaled = self._scaled(name, value)
            bins = named if name in (self.bounds or ()) else other
            if bins is None or scaled is None or isinstance(scaled, str):
                made = {name: scaled}
            elif math.isnan(scaled):
                continue
            else:
                place = (scaled + 1.0) / 2.0 * (bins - 1)
                low = min(int(place), bins - 2)
                made = {f"{name}@{low}": low + 1 - place, f"{name}@{low + 1}": place - low}
            if not spread.keys().isdisjoint(made):
                raise_alone(
                    ValueError("two features of a row have the same name after bins; rename one")
                )
            spread |= made
        return spread

    @property
    def names(self) -> list[str]:
        """Names of all features that ``bounds`` makes, to declare as ``feature_names``."""
        known, (bins, _) = [str(name) for name in self.bounds or {}], self._bins()
        if bins is None:
            return known
        return [f"{name}@{k}" for name in known for k in range(bins)]

    def _bins(self) -> tuple[int | None, int | None]:
        """Number of bins of features that ``bounds`` names, and of others."""
        if self.bins is None:
            return None, None
        if self.bins == AUTO:
            return (BINS if len(self.bounds or {}) <= _MOST_NAMES else None), None
        if isinstance(self.bins, str):
            raise ParameterError("{bins} must be a whole number, 'auto' or None; give one of them")
        count = checks.count("bins", self.bins, least=2)
        return count, count

    def _scaled(self, name: Any, value: Any) -> Any:
        if value is None:
            return value
        if isinstance(value, str):
            if name in (self.bounds or ()):  # models would ignore it: bins have other names
                raise_alone(
                    ValueError(
                        "features under a name in bounds must be numbers, got a text; leave the "
                        "name out of bounds, or correct the row"
                    )
                )
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
        names = ("ordinal_date", "gallup", "ipsos", "morning_consult", "rasmussen", "you_gov")
        yield {"bounds": dict.fromkeys(names, (0.0, 100.0)), "others": (0.0, 100.0)}


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
