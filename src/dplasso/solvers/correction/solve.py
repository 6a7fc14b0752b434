"""Correct probabilities: count rows and add noise, then sum over them and add noise."""

from collections.abc import Sequence

from dplasso.base import threads as pool
from dplasso.base.arrays import Ints
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.solvers.correction.plan import STEPS, CorrectionPlan
from dplasso.solvers.correction.rows import MarginSums
from dplasso.solvers.correction.two_classes import TwoClasses
from dplasso.solvers.correction.walk import Correction, Course, ManyClasses, Usual


def course_of(plan: CorrectionPlan, usual: Usual, counts: Ints) -> Course:
    """What released counts say, for two classes or for more."""
    kind = TwoClasses if plan.outputs == 1 else ManyClasses
    return kind(plan, usual, counts)


def correct(
    rows: MarginSums,
    plan: CorrectionPlan,
    usual: Usual,
    bits: RandomBits,
    n_threads: int | None = None,
    noise_of: NoiseOf = GridGaussian,
    releases: list[Ints] | None = None,
) -> Correction:
    """Return the scale and the intercepts by which margins become log-odds.

    ``rows`` has margins by a model that is already released, and ``usual`` must be a function of
    public numbers and earlier releases. Every release is appended to ``releases``; `replay` needs
    nothing else. ``noise_of`` makes the mechanism for a standard deviation; an audit passes one
    that records the noise.

    Formal guarantees
    -----------------
    The result is a function of public numbers, ``usual`` and the releases that ``plan`` lists,
    each an exact sum over rows of integer vectors of bounded length (`MarginRows`) plus
    `GridGaussian` noise; each sum depends on the releases before it. Together they are mu-GDP as
    ``plan`` states, under its neighbouring relation, in addition to the cost of the model.
    """
    threads = n_threads or pool.available()
    released: list[Ints] = [] if releases is None else releases
    with random_bits(bits).exclusive() as stream:
        counts = rows.counts(usual.margin)
        noise_of(plan.count_sigma).add_to(counts, stream, threads)
        released.append(counts)
        course, left = course_of(plan, usual, counts), STEPS
        if isinstance(course, ManyClasses) and plan.searches:
            slopes = rows.slopes(course.at.limit, course.spreads)
            noise_of(plan.slope_sigma).add_to(slopes, stream, threads)
            released.append(slopes)
            course.receive_slopes(slopes)
            left -= 1
        noise = noise_of(plan.step_sigma)
        for _ in range(left):
            sums = rows.sums(course.at)
            noise.add_to(sums, stream, threads)
            released.append(sums)
            course.receive(sums)
    return course.correction


def replay(plan: CorrectionPlan, usual: Usual, releases: Sequence[Ints]) -> Correction:
    """Return the correction again, from its releases alone."""
    course = course_of(plan, usual, releases[0])
    _, *sums = releases
    if isinstance(course, ManyClasses) and plan.searches:
        course.receive_slopes(sums.pop(0))
    for released in sums:
        course.receive(released)
    return course.correction
