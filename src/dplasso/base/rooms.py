"""Memory for sums: new for each of them, or the same for all."""

from collections.abc import Callable

import numpy as np

from dplasso.base.arrays import Ints

Room = Callable[[tuple[int, ...]], Ints]  # memory for sums of a shape, whatever it holds


def new_room(shape: tuple[int, ...]) -> Ints:
    """Memory of its own for every sum."""
    return np.empty(shape, np.int64)


class KeptRoom:
    """The same memory for every sum: whoever gets one copies it, or is done before the next.

    Asking for new pages takes longer than adding up, and threads wait for each other there.
    """

    def __init__(self) -> None:
        self._held = np.empty((0, 0), np.int64)

    def __call__(self, shape: tuple[int, ...]) -> Ints:
        if self._held.shape != shape:
            self._held = np.empty(shape, np.int64)
        return self._held
