"""Dampings and centre in a card's memory."""

from functools import cached_property
from typing import Any

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.cuda.device import Buffer, Device
from dplasso.solvers.gradient.conditioning import Conditioning, whole_head


class CardConditioning(Conditioning):
    """A `Conditioning` on a card. Its vectors are copied from there when they are asked for.

    ``buffers`` are the dampings and the integer centre of all columns. ``left`` are the columns
    that are left, and ``places`` those of their sums, and of the constants, among all that are
    released; both are None if no column was dropped.
    """

    def __init__(
        self,
        device: Device,
        damping: Buffer,
        head: tuple[Ints, Floats],
        outputs: int,
        left: Buffer | None,
        head_buffers: tuple[Buffer, Buffer] | None = None,
    ) -> None:
        count, width = len(head[0]), len(damping)
        head_buffers = head_buffers or (device.put(head[0]), device.put(head[1]))
        damped = device.empty(count, np.float64)
        device.launch("gather", count, count, head_buffers[0], damping, damped)
        whole = whole_head(device.get(damped), head[1]) if count else np.empty(0, np.int64)
        centre, places = device.zeros(width, np.int64), None
        if count:
            device.launch("scatter_whole", count, count, head_buffers[0], device.put(whole), centre)
        if left is not None:
            size = outputs * (len(left) + 1)
            places = device.empty(size, np.int64)
            device.launch("list_places", size, outputs, len(left), width + 1, left, places)
        facts: dict[str, Any] = {
            "head": head[0],
            "head_centre": head[1],
            "head_buffers": head_buffers,
            "buffers": (damping, centre),
            "left": left,
            "places": places,
            "_device": device,
            "_square_centre": int(np.sum(whole**2)),
        }
        vars(self).update(facts)  # the dataclass is frozen

    head_buffers: tuple[Buffer, Buffer]
    buffers: tuple[Buffer, Buffer]
    left: Buffer | None
    places: Buffer | None
    _device: Device
    _square_centre: int

    @classmethod
    def on(cls, device: Device, given: Conditioning, outputs: int) -> "CardConditioning":
        """Put a conditioning on the card, unless it is there already."""
        if isinstance(given, CardConditioning):
            return given
        left = None if given.columns is None else device.put(given.columns)
        head = (given.head, given.head_centre)
        return cls(device, device.put(given.damping), head, outputs, left)

    def cut_to(self, left: Buffer, factor: float, most: float, outputs: int) -> "CardConditioning":
        """The same centre with dampings times a factor, at most ``most``, and 0 but in ``left``."""
        damping, count = self._device.zeros(len(self.buffers[0]), np.float64), len(left)
        facts = (count, left, self.buffers[0], factor, most, damping)
        self._device.launch("rescale", count, *facts)
        head = (self.head, self.head_centre)
        return CardConditioning(self._device, damping, head, outputs, left, self.head_buffers)

    @cached_property
    def damping(self) -> Floats:
        return self._device.get(self.buffers[0])

    @cached_property
    def whole_centre(self) -> Ints:
        return self._device.get(self.buffers[1])

    @cached_property
    def columns(self) -> Ints | None:
        return None if self.left is None else self._device.get(self.left)

    @property
    def square_centre(self) -> int:
        return self._square_centre
