"""A release of a fit, as plans and privacy statements describe it."""

from dataclasses import dataclass, fields
from typing import Any

from dplasso.privacy.statement import jsonable


@dataclass(frozen=True)
class Release:
    """The name of a release, its mechanism, and the strength of its noise.

    Only the numbers that apply to the mechanism are set: the scale ``theta`` of an exponential
    mechanism and the range by which one row can change its log-probabilities, the ``epsilon`` of
    pure differential privacy, or the noise standard deviation over the sensitivity.
    """

    what: str
    mechanism: str
    selection: str | None = None
    theta: float | None = None
    bounded_range: float | None = None
    epsilon: float | None = None
    noise_multiplier: float | None = None

    def fact(self) -> dict[str, Any]:
        """Return the release in the form of a privacy statement."""
        found = {part.name: getattr(self, part.name) for part in fields(self)}
        return {
            name: value if isinstance(value, str) else jsonable(value)
            for name, value in found.items()
            if value is not None
        }


def gaussian_release(what: str, multiplier: float) -> Release:
    """Describe the release of a sum with Gaussian noise."""
    return Release(what, "Gaussian noise on a grid", noise_multiplier=multiplier)
