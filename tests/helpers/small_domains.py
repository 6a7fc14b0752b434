"""Small convex sets, and what brute force knows of them: all vertices, nearest points."""

import itertools

import numpy as np
from scipy.optimize import nnls

from dplasso.domains import BirkhoffPolytope, Box, FlowPolytope, L1Ball, L2Ball, Simplex

LADDER = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (0, 4)]


def cases():
    """Name to domain and all of its vertices (none for the L2 ball)."""
    box = Box(3, [-1.0, 0.0, 0.5], [1.0, 0.25, 2.0])
    ladder = FlowPolytope(LADDER, 0, 4)
    return {
        "l2": (L2Ball(3, 1.5), None),
        "l1": (L1Ball(3, 2.0), 2.0 * np.concatenate([np.eye(3), -np.eye(3)])),
        "simplex": (Simplex(4, 0.5), 0.5 * np.eye(4)),
        "box": (box, np.array(list(itertools.product(*zip(box.lower, box.upper, strict=True))))),
        "flow": (ladder, paths(LADDER, 0, 4)),
        "birkhoff": (BirkhoffPolytope(3), permutations(3)),
    }


def paths(edges, source, target):
    """Every path from source to target as a 0/1 vector over the edges."""
    found = []

    def extend(node, used):
        if node == target:
            found.append(used)
        for place, (tail, head) in enumerate(edges):
            if tail == node:
                extend(head, [*used, place])

    extend(source, [])
    vectors = np.zeros((len(found), len(edges)))
    for row, used in enumerate(found):
        vectors[row, used] = 1.0
    return vectors


def permutations(size):
    eye = np.eye(size)
    return np.array([eye[list(order)].ravel() for order in itertools.permutations(range(size))])


def nearest(vertices, z):
    """A point of the hull near to the nearest to z; in the hull whatever the solver did."""
    heavy = 1e4
    system = np.vstack([vertices.T, np.full(len(vertices), heavy)])
    weights, _ = nnls(system, np.append(z, heavy))
    return (weights / weights.sum()) @ vertices


def best_near(project, x, gradient, radius):
    """Least <gradient, y> found over points y of the set within radius of x.

    The least one is the projection of x - s gradient for some s; each candidate is drawn towards
    x where it is too far, and thus allowed.
    """
    best = float(gradient @ x)
    for s in np.geomspace(1e-4, 1e4, 60) * max(radius, 1e-9):
        y = project(x - s * gradient)
        far = np.linalg.norm(y - x)
        y = x + (y - x) * (min(1.0, radius / far) if far > 0.0 else 0.0)
        best = min(best, float(gradient @ y))
    return best
