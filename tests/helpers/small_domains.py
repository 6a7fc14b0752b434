"""Small convex sets with brute-force results: all vertices, nearest points."""

import itertools

import numpy as np

from dplasso.domains import Box, L1Ball, L2Ball, Simplex


def cases():
    """Name to domain and all of its vertices (none for the L2 ball)."""
    box = Box(3, [-1.0, 0.0, 0.5], [1.0, 0.25, 2.0])
    return {
        "l2": (L2Ball(3, 1.5), None),
        "l1": (L1Ball(3, 2.0), 2.0 * np.concatenate([np.eye(3), -np.eye(3)])),
        "simplex": (Simplex(4, 0.5), 0.5 * np.eye(4)),
        "box": (box, np.array(list(itertools.product(*zip(box.lower, box.upper, strict=True))))),
    }


def contains(domain, x, tolerance=1e-9):
    """Whether ``x`` satisfies every constraint of the set up to a tolerance."""
    match domain:
        case Box():
            low, high = domain.lower - tolerance, domain.upper + tolerance
            return bool(np.all((x >= low) & (x <= high)))
        case Simplex():
            return x.min() >= -tolerance and abs(x.sum() - domain.total) <= tolerance
    order = 1 if isinstance(domain, L1Ball) else 2
    return np.linalg.norm(x, order) <= domain.radius + tolerance


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
