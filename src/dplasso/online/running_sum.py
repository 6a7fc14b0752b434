"""The interface of a private running sum, as a learner uses it."""

from typing import Protocol

from dplasso.base.arrays import Ints


class Stretch(Protocol):
    """The noise of the next steps."""

    @property
    def values(self) -> Ints: ...

    @property
    def floors(self) -> Ints: ...


class RunningSum(Protocol):
    """An integer sum that compiled loops add to: `dplasso.streams.RunningSum`.

    It alone provides the privacy of a learner: the window, the noise and the accounting.
    """

    @property
    def total(self) -> Ints: ...

    @property
    def bits(self) -> int: ...

    @property
    def unit(self) -> float: ...

    def stretch(self, steps: int) -> Stretch: ...
