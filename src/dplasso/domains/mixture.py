"""A point kept as a mixture of vertices: the local linear oracle of Garber and Hazan."""

from collections.abc import Callable
from typing import Self

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Floats
from dplasso.domains.walk import State, Walk

# A weight below this is rounding; its vertex is forgotten.
LEAST_WEIGHT = 1e-15


class MixtureWalk(Walk):
    """x = sum of weights times vertices; mass moves from the worst vertices to the best.

    Garber and Hazan, "A linearly convergent variant of the conditional gradient algorithm under
    strong convexity", 2016: any y of the polytope is x with mass moved off its vertices, no more of
    it than ``mass_per_length * ||x - y||`` (docs/online_learners.md says what that constant is). So
    the best of all ways to move the mass ``m = min(mass_per_length * radius, 1)`` is as good as any
    y within ``radius``: off the vertices of the largest ``<gradient, .>`` onto the linear oracle's.
    It is no farther than ``m * diameter`` from x.

    Vertices are the rows of a sparse matrix, a path or a permutation having few entries.
    """

    def __init__(
        self,
        vertices: sp.csr_array,
        weights: Floats,
        linear_oracle: Callable[[Floats], Floats],
        mass_per_length: float,
    ) -> None:
        super().__init__(linear_oracle)
        self._mass_per_length = mass_per_length
        self._stand(vertices, weights)

    def aim(self, radius: float) -> Floats:
        self._mass = min(self._mass_per_length * radius, 1.0)
        order = np.argsort(-(self._vertices @ self._gradient), kind="stable")
        ordered = self._weights[order]
        before = np.concatenate(([0.0], np.cumsum(ordered)[:-1]))
        self._taken = np.empty_like(ordered)
        self._taken[order] = np.clip(self._mass - before, 0.0, ordered)
        self._mass = float(self._taken.sum())  # no more is put on the best than was taken
        target: Floats = self.x - self._taken @ self._vertices + self._mass * self._vertex
        return target

    def move(self, share: float) -> None:
        weights = self._weights - share * self._taken
        best = sp.csr_array(self._vertex[None, :])
        known = self._known.get(_key(best, 0))
        if known is None:
            vertices = sp.vstack([self._vertices, best], format="csr")
            weights = np.append(weights, share * self._mass)
        else:
            vertices = self._vertices
            weights[known] += share * self._mass
        kept = weights > LEAST_WEIGHT
        if not kept.all():
            vertices, weights = vertices[kept], weights[kept]
        self._stand(vertices, weights / weights.sum())

    def state(self) -> State:
        v = self._vertices
        return {
            "indptr": v.indptr.copy(),
            "indices": v.indices.copy(),
            "values": v.data.copy(),
            "mixture": self._weights.copy(),
        }

    def resume(self, state: State) -> Self:
        parts = (state["values"], state["indices"], state["indptr"])
        shape = (len(state["mixture"]), len(self.x))
        vertices = sp.csr_array(parts, shape=shape, copy=True)
        vertices.check_format(full_check=True)  # indices are trusted from here on
        self._stand(vertices, np.array(state["mixture"], np.float64))
        return self

    def _stand(self, vertices: sp.csr_array, weights: Floats) -> None:
        """Take these vertices and weights; x is always their sum, so that nothing drifts."""
        self._vertices, self._weights = vertices, weights
        self._known = {_key(vertices, row): row for row in range(len(weights))}
        self.x = weights @ vertices


def _key(vertices: sp.csr_array, row: int) -> bytes:
    entries = slice(vertices.indptr[row], vertices.indptr[row + 1])
    return bytes(vertices.indices[entries].astype(np.int64).tobytes()) + bytes(
        vertices.data[entries].tobytes()
    )
