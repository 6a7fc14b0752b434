"""Noise of the nodes of binary trees: little memory, but a few times the error of a band."""

from collections.abc import Callable
from itertools import chain

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.mechanisms.grid_gaussian import AddsNoise
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.streams.covers import Cover, Node
from dplasso.streams.process import Noise, NoiseProcess


class TreeNoise(NoiseProcess):
    """The noise of a release is the sum of the noises of its cover, with one draw per node.

    Formal guarantees
    -----------------
    - Let a node's value be the exact sum of its rows, which are integers, plus its own noise. A
      release is the sum of the values of its cover and of the rows that are not covered, which are
      expired. The releases while a row is protected are therefore a function of the values of the
      nodes that contain the row, and of other rows. There are ``levels`` such nodes, so the cost is
      that of ``levels`` releases with noise ``noise`` (`GridGaussian`, `GridGamma`): sqrt(levels)
      times their mu, or levels times their epsilon. Rows may depend on earlier releases.
    - Exactness: values are integers, and noise is drawn exactly. Rounding costs nothing.
    - Memory: two vectors. The noise of a node that leaves the cover is drawn again, with the same
      result, and subtracted.

    ``deviation`` is the standard deviation of a coordinate of a node's noise, in units of the
    sensitivity, for `noise_matrix`.
    """

    def __init__(
        self, dimension: int, cover: Cover, noise: AddsNoise, deviation: float, key: NoiseKey
    ) -> None:
        self._cover, self._noise, self._deviation, self._key = cover, noise, deviation, key
        self._held: set[Node] | None = None  # nodes in the sum; None if unknown
        self._sum = np.zeros(dimension, np.int64)
        self._drawn = np.empty(dimension, np.int64)

    def at(self, step: int) -> Noise:
        wanted = set(self._cover(step))
        # An interrupt leaves the sum marked as unknown.
        held, self._held = self._held, None
        if held is None:
            held = set()
            self._sum[:] = 0
        for node in held - wanted:
            self._change(np.subtract, node)
        for node in wanted - held:
            self._change(np.add, node)
        self._held = wanted
        return Noise(self._sum, len(wanted))

    def _change(self, change: Callable[..., object], node: Node) -> None:
        self._drawn[:] = 0
        self._noise.add_to(self._drawn, self._key.generator(*node))
        change(self._sum, self._drawn, out=self._sum)

    def noise_matrix(self, steps: int) -> Floats:
        covers = [self._cover(step) for step in range(1, steps + 1)]
        nodes = {node: place for place, node in enumerate(dict.fromkeys(chain(*covers)))}
        matrix = np.zeros((steps, len(nodes)))
        for row, cover in zip(matrix, covers, strict=True):
            row[[nodes[node] for node in cover]] = self._deviation
        return matrix
