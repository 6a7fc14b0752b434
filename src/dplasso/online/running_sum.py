"""The private running sum, as a learner uses it."""

from typing import Protocol

from dplasso.base.arrays import Ints


class Stretch(Protocol):
    """Noise of some steps to come."""

    @property
    def values(self) -> Ints: ...

    @property
    def floors(self) -> Ints: ...


class RunningSum(Protocol):
    """A sum of whole numbers that compiled loops add to: `dplasso.streams.RunningSum`.

    All privacy of a learner is this object's: its window, its noise, its account.
    """

    @property
    def total(self) -> Ints: ...

    @property
    def bits(self) -> int: ...

    @property
    def unit(self) -> float: ...

    def stretch(self, steps: int) -> Stretch: ...
