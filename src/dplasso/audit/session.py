"""The session of one check of one subject."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from dplasso.mechanisms.random_bits import RandomBits

_PILOT = 24  # runs that are timed and discarded before the number of runs is fixed
_PILOT_SECONDS = 1.0
_FEWEST = 100

Tell = Callable[[float], None]  # reports the share of the work that is done
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class Session(Generic[S]):
    """One check of one subject.

    ``rng`` makes the data, ``bits`` the noise of the fits; ``error`` is the false-alarm probability
    of each statistical test, ``seconds`` the time that all runs of the check may take in a thorough
    audit.
    """

    subject: S
    rng: np.random.Generator
    bits: RandomBits
    error: float
    seconds: float
    thorough: bool
    tell: Tell

    def runs(self, quick: int, pilot: Callable[[int], object]) -> int:
        """The number of runs to make, which is fixed here before any of them is made.

        In quick mode it is ``quick``, so that what a quick audit can find does not depend on the
        machine. In thorough mode it is as many as time allows; the timed runs are not used.
        """
        if not self.thorough:
            return quick
        pilot(1)  # the first run may compile code
        start = time.monotonic()
        timed = 0
        while timed < _PILOT and time.monotonic() - start < _PILOT_SECONDS:
            pilot(_PILOT // 4)
            timed += _PILOT // 4
        each = max((time.monotonic() - start) / timed, 1e-7)
        return max(_FEWEST, int(self.seconds / each))

    def part(self, k: int, parts: int) -> "Session[S]":
        """The session of one of several equal parts of the check, counted from 0."""
        return replace(
            self,
            seconds=self.seconds / parts,
            tell=lambda share: self.tell((k + share) / parts),
        )

    def repeated(self, quick: int, draw: Callable[[], T]) -> list[T]:
        """Make as many draws as `runs` says."""
        runs = self.runs(quick, lambda pilot: [draw() for _ in range(pilot)])
        return self.each(runs, lambda run: draw())

    def each(self, runs: int, draw: Callable[[int], T]) -> list[T]:
        """The draws of all runs, counted from 0, after each of which progress is reported."""
        found = []
        for run in range(runs):
            found.append(draw(run))
            self.tell((run + 1) / runs)
        return found
