"""Looking on while noise is added, and handing in releases of one's own."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dplasso.base.arrays import Ints
from dplasso.mechanisms.grid_gaussian import AddsNoise, GridGaussian


class Recorded(NamedTuple):
    """One release: the noise's standard deviation, the exact sums, and what became of them."""

    sigma: float
    sums: Ints
    released: Ints

    @property
    def noise(self) -> Ints:
        """What was added; sums wrap around at 64 bits, and so does this."""
        return self.released - self.sums


class Recording:
    """The mechanism itself, for a descent to use, and notes of all that passes through it.

    Tables of the noise, which depend on its standard deviation alone, are made once.
    """

    def __init__(self) -> None:
        self.found: list[Recorded] = []
        self._made: dict[float, GridGaussian] = {}

    def __call__(self, sigma: float) -> AddsNoise:
        return _Noted(self, sigma)

    def release(self, sigma: float, values: Ints, generator: Any, threads: int | None) -> None:
        """Turn exact sums into a release."""
        if sigma not in self._made:
            self._made[sigma] = GridGaussian(sigma)
        self._made[sigma].add_to(values, generator, threads)


class Forgery(Recording):
    """Releases that were fixed beforehand, in place of noise; past the last, sums are left."""

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
