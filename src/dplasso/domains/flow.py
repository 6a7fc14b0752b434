"""The flow polytope: mixtures of paths."""

import math
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from dplasso.base import checks
from dplasso.base.arrays import Floats, Ints
from dplasso.domains.base import Domain
from dplasso.domains.mixture import MixtureWalk
from dplasso.domains.walk import Walk


class FlowPolytope(Domain):
    """Flows of 1 from ``source`` to ``target`` in a graph without cycles, one number an edge.

    Its vertices are the paths, the linear oracle a shortest path. There is no cheap projection.
    A vertex's entries are 0 or 1 and the constraints single entries: mass sqrt(dimensions of the
    polytope) a unit of length. ``diameter`` is a bound: sqrt(2 edges of the longest path), what
    two disjoint longest paths would have.

    >>> diamond = FlowPolytope([(0, 1), (0, 2), (1, 3), (2, 3)], source=0, target=3)
    >>> diamond.linear_oracle(np.array([1.0, 0.0, 1.0, 0.5]))
    array([0., 1., 0., 1.])
    """

    def __init__(self, edges: Sequence[tuple[int, int]], source: int, target: int) -> None:
        self.edges: Ints = np.asarray(edges, np.int64).reshape(-1, 2)
        self.source = checks.count("source", source, 0)
        self.target = checks.count("target", target, 0)
        self._nodes = 1 + max(self.source, self.target, int(self.edges.max(initial=0)))
        self.dimension = len(self.edges)
        self._place = _places(self.edges, self._nodes)
        self._graph, self._order = self._adjacency()
        self._check_reachable()
        longest = float(self.linear_oracle(np.full(self.dimension, -1.0)).sum())
        self.diameter = math.sqrt(2.0 * longest)
        self.mass_per_length = math.sqrt(max(self._free_dimensions(), 1))
        self.reach = self.mass_per_length * self.diameter

    def start(self) -> Floats:
        """A path of the fewest edges."""
        return self.linear_oracle(np.ones(self.dimension))

    def contains(self, x: Floats, tolerance: float = 1e-9) -> bool:
        net = np.zeros(self._nodes)
        np.add.at(net, self.edges[:, 0], x)
        np.subtract.at(net, self.edges[:, 1], x)
        net[self.source] -= 1.0
        net[self.target] += 1.0
        return bool(x.min() >= -tolerance) and bool(np.all(np.abs(net) <= tolerance))

    def linear_oracle(self, gradient: Floats) -> Floats:
        """The shortest path, by Dijkstra's rule on lengths above 0.

        An edge that goes k places ahead in the order of the nodes is made longer by k times a
        number: every path from source to target by the same, so that the shortest stays it.
        """
        tails, heads = self.edges.T
        longer = 2.0 * float(np.max(np.abs(gradient))) or 1.0
        lengths = gradient + longer * (self._place[heads] - self._place[tails])
        self._graph.data = lengths[self._order]
        _, before = csgraph.dijkstra(self._graph, indices=self.source, return_predecessors=True)
        vertex = np.zeros(self.dimension)
        node = self.target
        while node != self.source:
            vertex[self._edge_of[int(before[node]), node]] = 1.0
            node = int(before[node])
        return vertex

    def begin(self) -> Walk:
        vertices = sp.csr_array(self.start()[None, :])
        return MixtureWalk(vertices, np.ones(1), self.linear_oracle, self.mass_per_length)

    def _adjacency(self) -> tuple[sp.csr_array, Ints]:
        """The graph by rows, and which edge each of its entries is."""
        tails, heads = self.edges.T
        self._edge_of = {(int(u), int(v)): e for e, (u, v) in enumerate(self.edges)}
        if len(self._edge_of) != self.dimension:
            raise ValueError("edges must be distinct; put a node of its own on a parallel edge")
        order = np.lexsort((heads, tails))
        indptr = np.searchsorted(tails[order], np.arange(self._nodes + 1))
        shape = (self._nodes, self._nodes)
        graph = sp.csr_array((np.ones(self.dimension), heads[order], indptr), shape=shape)
        return graph, order

    def _check_reachable(self) -> None:
        if self.source == self.target:
            raise ValueError("source and target must differ; a flow needs an edge to go along")
        reached = csgraph.breadth_first_order(self._graph, self.source, return_predecessors=False)
        if self.target not in reached:
            raise ValueError("target must be reachable from source along the edges; add a path")

    def _free_dimensions(self) -> int:
        """Edges on paths less nodes on paths plus 1: what conservation leaves free."""
        ahead = csgraph.breadth_first_order(self._graph, self.source, return_predecessors=False)
        back = csgraph.breadth_first_order(
            self._graph.T.tocsr(), self.target, return_predecessors=False
        )
        useful = np.zeros(self._nodes, bool)
        useful[np.intersect1d(ahead, back)] = True
        edges = int(np.count_nonzero(useful[self.edges[:, 0]] & useful[self.edges[:, 1]]))
        return edges - int(np.count_nonzero(useful)) + 1


def _places(edges: Ints, nodes: int) -> Ints:
    """Place of every node in an order in which all edges lead ahead."""
    if len(edges) == 0 or edges.min() < 0:
        raise ValueError("edges must be pairs (tail, head) of nodes numbered from 0, at least one")
    sorter: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(nodes), ()))
    for tail, head in edges:
        sorter.add(int(head), int(tail))
    try:
        order = list(sorter.static_order())
    except CycleError:
        raise ValueError("edges must not form a cycle; turn or remove one of its edges") from None
    places = np.empty(nodes, np.int64)
    places[order] = np.arange(nodes)
    return places
