"""Streams of unknown length: epochs of 1, 2, 4, ... steps, each with independent noise."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.streams.process import Arrays, Noise, NoiseProcess, Stretch

_MOST_EPOCHS = 48  # more steps than any stream has


class DoublingNoise(NoiseProcess):
    """Epoch e has 2^e steps; a step's noise is its epoch's plus the last noise of each before.

    ``epoch_noise(e)`` makes the noise of epoch e, a process for a whole stream of 2^e steps.

    Formal guarantees
    -----------------
    A row is in one epoch. All releases from then on are a function of that epoch's releases and of
    other rows, so the row pays for one epoch only, however long the stream is: the cost is the
    largest cost of any epoch. Rounding is that of the epochs.
    """

    def __init__(self, dimension: int, epoch_noise: Callable[[int], NoiseProcess]) -> None:
        self._epoch_noise = epoch_noise
        self._nothing = Noise(np.zeros(dimension, np.int64), 0)
        self._now = self._first()

    def _first(self) -> "_Epoch":
        return _Epoch(0, self._epoch_noise(0), self._nothing)

    def at(self, step: int) -> Noise:
        epoch, inside = _place(step)
        _, noise, before = self._entered(epoch)
        now = noise.at(inside)
        return Noise(before.values + now.values, before.floors + now.floors)

    def ahead(self, first: int, count: int) -> Stretch:
        parts = []
        while count > 0:
            epoch, inside = _place(first)
            _, noise, before = self._entered(epoch)
            within = min(count, (1 << epoch) - inside + 1)
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
            last = noise.at(1 << number)
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
        for epoch, start, length in _epochs(steps):
            inside = self._epoch_noise(epoch).noise_matrix(length)
            later = np.broadcast_to(inside[-1], (steps - start - length, inside.shape[1]))
            before = np.zeros((start, inside.shape[1]))
            parts.append(np.vstack([before, inside, later]))
        return np.hstack(parts)


class _Epoch(NamedTuple):
    number: int
    noise: NoiseProcess
    before: Noise  # sum of the last noises of all finished epochs


def _place(step: int) -> tuple[int, int]:
    """The epoch of a step, and the number of the step within it."""
    epoch = step.bit_length() - 1
    return epoch, step - (1 << epoch) + 1


def _epochs(steps: int) -> list[tuple[int, int, int]]:
    """Number, preceding steps and length of each epoch; the last one is truncated."""
    return [
        (epoch, (1 << epoch) - 1, min(1 << epoch, steps - (1 << epoch) + 1))
        for epoch in range(steps.bit_length())
    ]
