"""Noise of the nodes of binary trees: little memory, but a few times the error of a band."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.streams.covers import Cover, Node
from dplasso.streams.process import Noise, StepByStep


class NodeNoise(Protocol):
    """The noise of one node: `GridGaussian` or `GridGamma`."""

    def add_to(
        self, values: Ints, generator: np.random.Generator, threads: int | None = None
    ) -> None: ...


class TreeNoise(StepByStep):
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
        self, dimension: int, cover: Cover, noise: NodeNoise, deviation: float, key: NoiseKey
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
        nodes = self._nodes(steps)
        matrix = np.zeros((steps, len(nodes)))
        for step in range(1, steps + 1):
            matrix[step - 1, [nodes[node] for node in self._cover(step)]] = self._deviation
        return matrix

    def strategy_matrix(self, steps: int) -> Floats:
        nodes = self._nodes(steps)
        matrix = np.zeros((len(nodes), steps))
        for (level, index), place in nodes.items():
            matrix[place, index << level : (index + 1) << level] = 1.0 / self._deviation
        return matrix

    def _nodes(self, steps: int) -> dict[Node, int]:
        """All nodes in the covers of the first ``steps`` steps, numbered."""
        nodes: dict[Node, int] = {}
        for step in range(1, steps + 1):
            for node in self._cover(step):
                nodes.setdefault(node, len(nodes))
        return nodes
