"""Gradient descent by noisy sums: sum over the rows, add noise, take a step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dplasso.base import checks
from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.base.devices import on_card
from dplasso.base.rooms import KeptRoom
from dplasso.data.unit_rows import Scaling, UnitRows
from dplasso.kernels.cuda import card as cards
from dplasso.losses import Loss, check_taken
from dplasso.losses.encoded import EncodedLabels, encoded, row_weights
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.solvers.gradient.backend import Backend, ThreadBackend
from dplasso.solvers.gradient.card import CardBackend
from dplasso.solvers.gradient.card_rows import CardRows
from dplasso.solvers.gradient.conditioning import Mass
from dplasso.solvers.gradient.descent import Descent
from dplasso.solvers.gradient.iterate import ThreadIterate
from dplasso.solvers.gradient.plan import LOSSES, GradientPlan
from dplasso.solvers.gradient.rows import PrivateRows


@dataclass(frozen=True)
class GradientSolution:
    """The result of a descent: weights for unit rows, and the releases that determine them."""

    weights: Floats | sp.csr_array  # outputs x columns; sparse if the plan has ``n_nonzero``
    intercepts: Floats
    mass: Ints  # released sums of unit rows, in grid units
    releases: list[Ints] | None  # sums of every step, in order; None unless requested
    own_margin: float  # what a row has added to its own margin (`Descent.own_margin`)


def gradient_descent(
    X: Any,
    y: ArrayLike | EncodedLabels,
    *,
    loss: Loss,
    plan: GradientPlan,
    scaling: Scaling = "presence",
    generator: int | np.random.Generator | RandomBits | None = None,
    n_threads: int | None = None,
    keep_releases: bool = False,
    progress: Callable[[int], None] | None = None,
    noise_of: NoiseOf = GridGaussian,
    device: str = "cpu",
) -> GradientSolution:
    """Minimise ``loss`` on rows of length 1, releasing noisy gradient sums.

    ``X`` is a matrix, or rows that are scaled already; ``scaling`` says how rows are scaled to
    length 1 (`UnitRows`), also those to predict. ``plan`` is of `plan_descent`, with the same loss.
    ``generator`` and ``n_threads`` are as in `frank_wolfe`. ``keep_releases`` also returns the
    release of every step, each as large as the weights; ``progress`` is called with the number of
    steps done. ``noise_of`` makes the mechanism for a standard deviation: the guarantees are those
    of `GridGaussian`, and an audit passes one that also records the noise. ``device="cuda"`` runs
    on a graphics card, with the same result for the same generator.

    Formal guarantees
    -----------------
    The result is a function of public numbers and of ``1 + plan.steps`` releases, each the exact
    sum over the rows of integer vectors of bounded length (`PrivateRows`) plus `GridGaussian`
    noise; each sum depends on the releases before it. Together they are mu-GDP and
    (epsilon, delta)-DP as stated by ``plan``, under its neighbouring relation. The numbers of
    columns, declared rows and nonzeros, the bounds and the classes are public; error messages name
    no value of X or y. The running time of a descent is not protected.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, dplasso
    >>> from dplasso.solvers.gradient import gradient_descent, plan_descent
    >>> X = sp.random_array((500, 2000), density=0.01, rng=np.random.default_rng(0))
    >>> y = np.arange(500) % 2
    >>> loss = dplasso.LogisticLoss()
    >>> plan = plan_descent(
    ...     loss, epsilon=1.0, delta=1e-6, n_rows=500, n_columns=2000, n_nonzero=10
    ... )
    >>> solution = gradient_descent(X, y, loss=loss, plan=plan)
    >>> solution.weights.shape, solution.weights.nnz
    ((1, 2000), 10)
    """
    check_taken(loss, LOSSES, "gradient descent")
    bits = random_bits(generator, name="generator")
    threads = pool.available() if n_threads is None else checks.count("n_threads", n_threads, 1)
    rows = X if isinstance(X, UnitRows) else UnitRows.of(X, scaling)
    labels = encoded(loss, y, rows.shape[0])
    _check(rows, loss, plan)
    backend: Backend
    if on_card(device):
        card = cards.checked_card()
        backend = CardBackend(card, CardRows(card, rows, labels, loss, plan, row_weights(y)), plan)
    else:
        private = PrivateRows(rows, labels, loss, plan, threads, row_weights(y), KeptRoom())
        backend = ThreadBackend(private, plan, threads)
    return descend(
        backend,
        plan,
        bits,
        keep_releases=keep_releases,
        progress=progress,
        noise_of=noise_of,
        threads=threads,
    )


def descend(
    backend: Backend,
    plan: GradientPlan,
    bits: RandomBits,
    *,
    keep_releases: bool = False,
    progress: Callable[[int], None] | None = None,
    noise_of: NoiseOf = GridGaussian,
    threads: int | None = None,
) -> GradientSolution:
    """The loop of `gradient_descent`, on the rows of any backend."""
    with bits.exclusive() as stream:
        mass = backend.release_mass(noise_of(plan.mass_sigma), stream)
        walk = Descent(plan, Mass.of(mass, plan), backend.start(), threads)
        noise = noise_of(plan.step_sigma)
        releases: list[Ints] = []
        while walk.done < plan.steps:
            place = (walk.conditioning, walk.iterate, walk.intercepts)
            released = backend.release_sums(*place, noise, stream)
            walk.receive(released)
            if keep_releases:
                releases.append(backend.copied(released))
            if progress is not None:
                progress(walk.done)
    return _solution(walk, mass, releases if keep_releases else None)


def replay(plan: GradientPlan, mass: Ints, releases: Sequence[Ints]) -> GradientSolution:
    """The solution again, from the releases alone."""
    iterate = ThreadIterate(plan.outputs, plan.n_columns, pool.available())
    walk = Descent(plan, Mass.of(mass, plan), iterate)
    for released in releases:
        walk.receive(released)
    return _solution(walk, mass, list(releases))


def _check(rows: UnitRows, loss: Loss, plan: GradientPlan) -> None:
    if rows.shape[1] != plan.n_columns:
        raise ValueError(
            f"X has {rows.shape[1]} columns and the plan {plan.n_columns}; plan for those of X"
        )
    if loss.outputs != plan.outputs:
        raise ValueError(f"loss has {loss.outputs} outputs and the plan {plan.outputs}; plan anew")


def _solution(walk: Descent, mass: Ints, releases: list[Ints] | None) -> GradientSolution:
    weights = walk.averaged()
    intercepts = walk.intercepts_beside(weights)
    sparse = walk.plan.n_nonzero is not None
    held = sp.csr_array(weights) if sparse else weights
    return GradientSolution(held, intercepts, mass, releases, walk.own_margin(weights))
