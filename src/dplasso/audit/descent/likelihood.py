"""Likelihood ratios of the releases of a descent on two tables, by the reference."""

from collections.abc import Sequence

import numpy as np

from dplasso.audit.descent.facts import Course, DescentFacts
from dplasso.audit.descent.reference import Rows, Walk
from dplasso.base.arrays import Floats


def log_ratio(
    released: Floats, there: Floats, not_there: Floats, sigma: float
) -> tuple[Floats, Floats]:
    """The log-likelihood ratio of releases under two normal laws, and the laws' squared distance.

    Releases are rounded down, and read as the middle of their cell.
    """
    places = tuple(range(1, released.ndim))
    apart = (there - not_there) / sigma
    middle = (released + 0.5 - 0.5 * (there + not_there)) / sigma
    square = np.broadcast_to(apart**2, released.shape).sum(axis=places)
    return np.sum(middle * apart, axis=places), square


def of_descents(
    released: Sequence[Floats],
    rows: Sequence[Rows],
    sigmas: tuple[float, float],
    course: Course,
    facts: DescentFacts,
) -> tuple[Floats, Floats, Floats]:
    """Log-likelihood ratios of the mass and of all steps, and the squared distance of the laws.

    ``released`` are the mass and the sums of steps, runs x numbers each; ``sigmas`` are the noise
    standard deviations of the mass and of a step. Given the releases before, a release is one of
    two known sums plus normal noise: its projection on their difference is the log-likelihood
    ratio, and these add up.
    """
    mass, square = log_ratio(released[0], rows[0].mass(course), rows[1].mass(course), sigmas[0])
    walk, steps = Walk(released[0], sigmas[0], course, facts), np.zeros(len(mass))
    for release in released[1:]:
        sums = release.reshape(len(mass), facts.outputs, -1)
        more, length = log_ratio(sums, walk.sums(rows[0]), walk.sums(rows[1]), sigmas[1])
        steps, square = steps + more, square + length
        walk.receive(sums)
    return mass, steps, square
