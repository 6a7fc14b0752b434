"""Record the noise while it is added, or replace releases by forged ones."""

from collections.abc import Sequence
from typing import Any, NamedTuple

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

    Tables of the noise depend on its standard deviation alone, and are made once.
    """

    def __init__(self) -> None:
        self.found: list[Recorded] = []
        self._made: dict[float, GridGaussian] = {}

    def __call__(self, sigma: float) -> AddsNoise:
        return _Noted(self, sigma)

    def release(self, sigma: float, values: Ints, generator: Any, threads: int | None) -> None:
        """Turn exact sums into a release, in place."""
        if sigma not in self._made:
            self._made[sigma] = GridGaussian(sigma)
        self._made[sigma].add_to(values, generator, threads)


class Forgery(Recording):
    """Uses given releases instead of noise; after the last one, sums are left unchanged."""

    def __init__(self, releases: Sequence[Ints]) -> None:
        super().__init__()
        self._releases = releases

    def release(self, sigma: float, values: Ints, generator: Any, threads: int | None) -> None:
        if len(self.found) < len(self._releases):
            values[:] = self._releases[len(self.found)]


class _Noted:
    def __init__(self, recording: Recording, sigma: float) -> None:
        self._recording, self._sigma = recording, sigma

    def add_to(self, values: Ints, generator: Any, threads: int | None = None) -> None:
        sums = values.copy()
        self._recording.release(self._sigma, values, generator, threads)
        self._recording.found.append(Recorded(self._sigma, sums, values.copy()))
