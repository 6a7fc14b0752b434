"""Streams of unknown length: epochs, each twice as long as the one before, with their own noise."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.streams.process import Arrays, Noise, NoiseProcess, Stretch

_MOST_EPOCHS = 48  # more steps than any stream has


class DoublingNoise(NoiseProcess):
    """Epoch e has ``first_steps`` 2^e steps; a step's noise is its epoch's, and the last of each
    epoch before.

    ``epoch_noise(e)`` makes the noise of epoch e, a process for a whole stream of so many steps.

    Formal guarantees
    -----------------
    A row is in one epoch. All releases from then on are a function of that epoch's releases and of
    other rows, so the row pays for one epoch only, however long the stream is: the cost is the
    largest cost of any epoch. Rounding is that of the epochs.
    """

    def __init__(
        self, dimension: int, epoch_noise: Callable[[int], NoiseProcess], first_steps: int = 1
    ) -> None:
        self._epoch_noise, self._first_steps = epoch_noise, first_steps
        self._nothing = Noise(np.zeros(dimension, np.int64), 0)
        self._now = self._first()

    def _first(self) -> "_Epoch":
        return _Epoch(0, self._epoch_noise(0), self._nothing)

    def at(self, step: int) -> Noise:
        epoch, inside = self._place(step)
        _, noise, before = self._entered(epoch)
        now = noise.at(inside)
        return Noise(before.values + now.values, before.floors + now.floors)

    def ahead(self, first: int, count: int) -> Stretch:
        parts = []
        while count > 0:
            epoch, inside = self._place(first)
            _, noise, before = self._entered(epoch)
            within = min(count, (self._first_steps << epoch) - inside + 1)
            now = noise.ahead(inside, within)
            parts.append(Stretch(now.values + before.values, now.floors + before.floors))
            first, count = first + within, count - within
        values, floors = zip(*parts, strict=True)
        return Stretch(np.concatenate(values), np.concatenate(floors))

    def _entered(self, epoch: int) -> "_Epoch":
        """The epoch of that number, after closing the epochs before it."""
        if epoch < self._now.number:
            self._now = self._first()
        while self._now.number < epoch:
            number, noise, before = self._now
            last = noise.at(self._first_steps << number)
            # One assignment: an interrupt cannot make an epoch count twice.
            self._now = _Epoch(
                number + 1,
                self._epoch_noise(number + 1),
                Noise(before.values + last.values, before.floors + last.floors),
            )
        return self._now

    def state(self) -> Arrays:
        number, noise, before = self._now
        known: dict[str, Ints] = {"epoch": np.array([number, before.floors])}
        return {**known, "before": before.values, **noise.state()}

    def resume(self, state: Arrays) -> None:
        number, floors = state["epoch"].tolist()
        shape = self._nothing.values.shape
        if not 0 <= number < _MOST_EPOCHS or state["before"].shape != shape:
            raise ValueError("state must be of an epoch of this stream; it is not")
        noise = self._epoch_noise(number)
        noise.resume(state)
        self._now = _Epoch(number, noise, Noise(state["before"], floors))

    def noise_matrix(self, steps: int) -> Floats:
        parts = []
        for epoch in range(self._place(steps)[0] + 1):
            start = steps_before(epoch, self._first_steps)
            length = min(self._first_steps << epoch, steps - start)
            inside = self._epoch_noise(epoch).noise_matrix(length)
            later = np.broadcast_to(inside[-1], (steps - start - length, inside.shape[1]))
            before = np.zeros((start, inside.shape[1]))
            parts.append(np.vstack([before, inside, later]))
        return np.hstack(parts)

    def _place(self, step: int) -> tuple[int, int]:
        """The epoch of a step, and the number of the step within it."""
        epoch = ((step - 1) // self._first_steps + 1).bit_length() - 1
        return epoch, step - steps_before(epoch, self._first_steps)


class _Epoch(NamedTuple):
    number: int
    noise: NoiseProcess
    before: Noise  # sum of the last noises of all finished epochs


def steps_before(epoch: int, first_steps: int) -> int:
    """The steps of all epochs before one."""
    return first_steps * ((1 << epoch) - 1)
