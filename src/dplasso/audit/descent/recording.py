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
        if sigma not in self._made:
            self._made[sigma] = GridGaussian(sigma)
        return _Noted(self._made[sigma], self.found)


class _Noted:
    def __init__(self, mechanism: GridGaussian, found: list[Recorded]) -> None:
        self._mechanism, self._found = mechanism, found

    def add_to(self, values: Ints, generator: Any, threads: int | None = None) -> None:
        sums = values.copy()
        self._mechanism.add_to(values, generator, threads)
        self._found.append(Recorded(self._mechanism.sigma, sums, values.copy()))


class Forgery:
    """Releases that were fixed beforehand, in place of noise; notes of the sums they stand for."""

    def __init__(self, releases: Sequence[Ints]) -> None:
        self.found: list[Recorded] = []
        self._releases = releases

    def __call__(self, sigma: float) -> AddsNoise:
        return _Forged(self, sigma)

    def take(self, sigma: float, values: Ints) -> None:
        """Note the sums and put the next release in their place; past the last, leave them."""
        sums = values.copy()
        if len(self.found) < len(self._releases):
            values[:] = self._releases[len(self.found)]
        self.found.append(Recorded(sigma, sums, values.copy()))


class _Forged:
    def __init__(self, forgery: Forgery, sigma: float) -> None:
        self._forgery, self._sigma = forgery, sigma

    def add_to(self, values: Ints, generator: Any, threads: int | None = None) -> None:
        self._forgery.take(self._sigma, values)
