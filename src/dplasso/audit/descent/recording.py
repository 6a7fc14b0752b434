"""Record the noise while it is added, or replace releases by forged ones; compare exact sums."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.mechanisms.grid_gaussian import AddsNoise, GridGaussian


class Recorded(NamedTuple):
    """One release: the noise standard deviation, the exact sums, and the released sums."""

    sigma: float
    sums: Ints
    released: Ints

    @property
    def noise(self) -> Ints:
        """The added noise; like the sums, it wraps modulo 2^64."""
        return self.released - self.sums


class Recording:
    """The real mechanism for a descent, which also records everything that passes through it.

    Tables of the noise depend on its standard deviation alone, and are made once. ``halfway`` is
    called after `HALFWAY` releases.
    """

    HALFWAY = 5

    def __init__(self, halfway: Callable[[], None] | None = None) -> None:
        self.found: list[Recorded] = []
        self._made: dict[float, GridGaussian] = {}
        self._halfway = halfway

    def __call__(self, sigma: float) -> AddsNoise:
        return _Noted(self, sigma)

    def release(self, sigma: float, values: Ints, generator: Any, threads: int | None) -> None:
        """Turn exact sums into a release, in place."""
        if self._halfway is not None and len(self.found) == self.HALFWAY:
            self._halfway()
        if sigma not in self._made:
            self._made[sigma] = GridGaussian(sigma)
        self._made[sigma].add_to(values, generator, threads)


class Forgery(Recording):
    """Uses given releases instead of noise; after the last one, sums are left unchanged.

    Of a release that is longer than the sums, because columns were dropped, the first numbers are
    used.
    """

    def __init__(self, releases: Sequence[Ints]) -> None:
        super().__init__()
        self._releases = releases

    def release(self, sigma: float, values: Ints, generator: Any, threads: int | None) -> None:
        if len(self.found) < len(self._releases):
            values[:] = self._releases[len(self.found)][: values.size]


class _Noted:
    def __init__(self, recording: Recording, sigma: float) -> None:
        self._recording, self._sigma = recording, sigma

    def add_to(self, values: Ints, generator: Any, threads: int | None = None) -> None:
        sums = values.copy()
        self._recording.release(self._sigma, values, generator, threads)
        self._recording.found.append(Recorded(self._sigma, sums, values.copy()))


def shares_of_charges(
    one: list[Recorded], other: list[Recorded], charged: list[float], releases: tuple[str, ...]
) -> dict[str, float]:
    """The distances of the sums, per release; the last name covers all further releases."""
    names = [f"widest change of {name}, over the charge" for name in releases]
    if not len(one) == len(other) == len(charged):
        return dict.fromkeys(names, math.inf)
    found = dict.fromkeys(names, 0.0)
    for place, three in enumerate(zip(one, other, charged, strict=True)):
        name = names[min(place, len(names) - 1)]
        found[name] = float(np.maximum(found[name], share_of_charge(*three)))  # keeps NaN
    return found


def share_of_charge(one: Recorded, other: Recorded, multiplier: float) -> float:
    """The length of the difference of two sums, divided by the sensitivity that was charged."""
    if one.sigma <= 0.0 or one.sigma != other.sigma or one.sums.shape != other.sums.shape:
        return math.inf
    return math.sqrt(square_length(one.sums - other.sums)) * multiplier / one.sigma


def square_length(change: Ints) -> int:
    """The squared length, exact in integers of any size."""
    return sum(number * number for number in change.tolist())
