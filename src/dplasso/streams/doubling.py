"""A stream whose length nobody knows: epochs of 1, 2, 4, ... steps, each with noise of its own."""

from collections.abc import Callable

import numpy as np

from dplasso.streams.process import Floats, Noise, NoiseProcess


class DoublingNoise:
    """Epoch e has 2^e steps; the noise of a step is that of its epoch, and the last of all before.

    ``epoch_noise(e)`` makes the noise of epoch e, a process for a whole stream of 2^e steps.

    Formal guarantees
    -----------------
    A row is in one epoch. What is released from then on is a function of that epoch's releases and
    of other rows, so the row pays for one epoch and for nothing else, however long the stream goes
    on: the cost is the largest of any epoch. Rounding is that of the epochs.
    """

    def __init__(self, dimension: int, epoch_noise: Callable[[int], NoiseProcess]) -> None:
        self._epoch_noise = epoch_noise
        self._before = np.zeros(dimension, np.int64)  # last noises of the epochs that are over
        self._restart()

    def _restart(self) -> None:
        self._epoch, self._noise = 0, self._epoch_noise(0)
        self._before[:], self._floors_before = 0, 0

    def at(self, step: int) -> Noise:
        epoch, inside = _place(step)
        if epoch < self._epoch:
            self._restart()
        while self._epoch < epoch:
            last = self._noise.at(1 << self._epoch)
            self._before += last.values
            self._floors_before += last.floors
            self._epoch += 1
            self._noise = self._epoch_noise(self._epoch)
        now = self._noise.at(inside)
        return Noise(self._before + now.values, self._floors_before + now.floors)

    def noise_matrix(self, steps: int) -> Floats:
        parts = []
        for epoch, start, length in _epochs(steps):
            inside = self._epoch_noise(epoch).noise_matrix(length)
            later = np.broadcast_to(inside[-1], (steps - start - length, inside.shape[1]))
            before = np.zeros((start, inside.shape[1]))
            parts.append(np.vstack([before, inside, later]))
        return np.hstack(parts)

    def strategy_matrix(self, steps: int) -> Floats:
        parts = []
        for epoch, start, length in _epochs(steps):
            inside = self._epoch_noise(epoch).strategy_matrix(length)
            parts.append(np.pad(inside, ((0, 0), (start, steps - start - length))))
        return np.vstack(parts)


def _place(step: int) -> tuple[int, int]:
    """The epoch of a step, and the step's number in it."""
    epoch = step.bit_length() - 1
    return epoch, step - (1 << epoch) + 1


def _epochs(steps: int) -> list[tuple[int, int, int]]:
    """Number, steps before and length of each epoch, the last one cut short."""
    return [
        (epoch, (1 << epoch) - 1, min(1 << epoch, steps - (1 << epoch) + 1))
        for epoch in range(steps.bit_length())
    ]
