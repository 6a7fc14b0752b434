"""Noise drawn some hundred steps ahead, for streams whose rows come one by one."""

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.streams.process import Arrays, Noise, NoiseProcess, Stretch

# Steps that are held at first, most steps, and most numbers.
_FEW, MOST_STEPS, _MOST_NUMBERS = 16, 512, 1 << 16
_NOTHING = Stretch(np.empty((0, 0), np.int64), np.empty(0, np.int64))
_NOTHING_HELD: tuple[int, Stretch, list[int], Arrays | None] = (1, _NOTHING, [], None)


class DrawnAhead(NoiseProcess):
    """The noise of another process, drawn for more steps at a time than are asked for.

    The number of steps held doubles from call to call: a stream draws little more than twice what
    it uses. A stream has at most ``steps`` steps, if that is known. Returned arrays are views
    of what is held: they must not be changed.

    Formal guarantees
    -----------------
    Noise remains a function of the key and the step, so it does not matter when it is drawn. What
    is held is found by the number of its step, never by what was asked for last: an interrupted
    call cannot shift it to another step. `state` is that of the process before the held steps were
    drawn. A stream that continues from it draws the same noise for the same steps again.
    """

    def __init__(self, process: NoiseProcess, dimension: int, steps: int | None) -> None:
        self._process, self._steps = process, steps
        self._most = min(MOST_STEPS, _MOST_NUMBERS // dimension)
        # The first step held, the noises, how often each was rounded down, and the state of the
        # process before it drew them.
        self.held: tuple[int, Stretch, list[int], Arrays | None] = _NOTHING_HELD

    def at(self, step: int) -> Noise:
        first, held, *_ = self.held
        if self._most > 1 and first <= step <= first + len(held.floors):
            values, floors = self.ahead(step, 1)
            return Noise(values[0], int(floors[0]))
        return self._process.at(step)

    def ahead(self, first: int, count: int) -> Stretch:
        start, held, *_ = self.held
        end = start + len(held.floors)
        if start <= first and first + count <= end:
            return _part(held, first - start, count)
        left = end - first if start <= first < end else 0
        kept, first, count = _part(held, first - start, left), first + left, count - left
        if count >= self._most:
            drawn = self._process.ahead(first, count)
            self.held = _NOTHING_HELD
            return _joined(kept, drawn)
        more = max(count, min(max(_FEW, 2 * len(held.floors)), self._most))
        if self._steps is not None:
            more = max(count, min(more, self._steps - first + 1))
        before = self._process.state()
        drawn = self._process.ahead(first, more)
        # One assignment: an interrupt leaves either what was held or what is held now.
        self.held = (first, drawn, drawn.floors.tolist(), before)
        return _joined(kept, _part(drawn, 0, count))

    def state(self) -> Arrays:
        """The state of the process before the held steps; it is as secret as the key."""
        before = self.held[3]
        return self._process.state() if before is None else before

    def resume(self, state: Arrays) -> None:
        self._process.resume(state)
        self.held = _NOTHING_HELD

    def noise_matrix(self, steps: int) -> Floats:
        return self._process.noise_matrix(steps)


def _part(stretch: Stretch, start: int, count: int) -> Stretch:
    return Stretch(stretch.values[start : start + count], stretch.floors[start : start + count])


def _joined(first: Stretch, second: Stretch) -> Stretch:
    if not len(first.floors):
        return second
    return Stretch(*(np.concatenate(parts) for parts in zip(first, second, strict=True)))
