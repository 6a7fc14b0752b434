"""Frank-Wolfe over the L1 ball: each round releases one signed vertex and moves towards it."""

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from dplasso.base import threads as pool
from dplasso.base.devices import on_card
from dplasso.base.wording import ParameterError, Setting
from dplasso.data import ColumnMatrix
from dplasso.kernels import problem as kernel
from dplasso.kernels.cuda import card as cards
from dplasso.kernels.scores import within_grain
from dplasso.kernels.weights import weights_of
from dplasso.losses import Loss, OneMarginLoss, SoftmaxLoss, check_taken, number_on_card
from dplasso.losses.encoded import EncodedLabels, encoded, row_weights
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.mechanisms.selection import GREEDY, ON_CARD, PRIVATE, Rule

# Rounds between two looks at the clock; a chunk grows until it takes about this many seconds.
FIRST_CHUNK = 512
CHUNK_SECONDS = 0.2
# Double precision holds squares of these, and the divisors of their sums, with a safe margin.
SMALLEST, LARGEST = 1e-90, 1e90
# Most nats by which one row may change a log-weight. Beyond that nothing is private, and with the
# largest number of rows the rounding of a score to grains could matter by more than a few nats.
LARGEST_ROW = 1e3
# The losses this solver takes.
LOSSES = (OneMarginLoss, SoftmaxLoss)
MOST_ROUNDS = 10**9


@dataclass(frozen=True)
class Counters:
    """Work done by a run. It depends on the data: for benchmarks on public data only."""

    proposals: int
    evaluations: int
    entries: int
    refreshes: int
    pushes: int


@dataclass(frozen=True)
class Solution:
    """The releases of a run: the vertices, and the weights computed from them.

    Attributes
    ----------
    weights : csr_array of shape (outputs, columns)
        The weights after the last round.
    columns, classes : array of int64, one entry per round
        The vertex of each round.
    signs : array of int8, one entry per round
        The sign of the vertex's score: the weight moves by ``-sign``.
    steps : array of float64, or None without line search
        The step size of each round.
    counters : Counters, or None unless requested
        How much work the rounds took. It depends on the data and is NOT private.
    """

    weights: sp.csr_array
    columns: NDArray[np.int64]
    classes: NDArray[np.int64]
    signs: NDArray[np.int8]
    steps: NDArray[np.float64] | None
    counters: Counters | None


def frank_wolfe(
    X: Any,
    y: ArrayLike | EncodedLabels,
    *,
    loss: Loss,
    radius: float,
    rounds: int,
    theta: float,
    selection: str = "lazy",
    step: float | Literal["decreasing", "search"] = "decreasing",
    x_bound: float = 1.0,
    generator: int | np.random.Generator | RandomBits | None = None,
    n_threads: int | None = None,
    count: bool = False,
    progress: Callable[[int], None] | None = None,
    device: str = "cpu",
) -> Solution:
    """Minimise ``loss`` over ``||w||_1 <= radius``, releasing one signed vertex per round.

    Parameters
    ----------
    X : sparse or dense matrix, or ColumnMatrix, rows x columns
        Entries are clipped to the public ``x_bound``.
    y : array-like or EncodedLabels, one label per row
        Labels as ``loss`` expects them. Encoded ones may have weights of rows.
    loss : Loss
        The loss to minimise, such as `dplasso.LogisticLoss`.
    radius : float
        Bound on the 1-norm of the weights.
    rounds : int
        Number of rounds.
    theta : float
        Scale of the law exp(theta * s * alpha_j), from `dplasso.calibrate`; ``math.inf`` takes the
        best vertex every round, without privacy.
    selection : str, default "lazy"
        "lazy", "noisy_max" or "big_step_little_step" for finite theta; "lazy", "argmax" or "heap"
        for infinite theta.
    step : "decreasing", "search" or float, default "decreasing"
        "decreasing" for 2 / (t + 2), a constant in (0, 1), or "search" for an exact line search
        (infinite theta only, because the searched step depends on the data).
    x_bound : float, default 1
        Public bound on the absolute value of entries.
    generator : int, Generator or RandomBits, optional
        By default, and with secure `RandomBits`, the run draws from a new ChaCha20 stream keyed by
        the operating system. A seed is for tests; a seeded generator that another thread is drawing
        from is rejected.
    n_threads : int, optional
        All available cores by default.
    count : bool, default False
        Also return counters. They depend on the data: never use this with private data.
    progress : callable, optional
        Called from time to time with the number of rounds done.
    device : {"cpu", "cuda"}, default "cpu"
        "cuda" runs "noisy_max" on a graphics card, with the same result for the same generator.

    Returns
    -------
    Solution

    Formal guarantees
    -----------------
    With finite theta the vertices are the composition of ``rounds`` selections, each
    ``2 theta B Q``-bounded-range for one row added or removed and ``4 theta B Q`` for one replaced
    (B = ``x_bound``, Q = ``loss.gradient_bound(radius, x_bound)``), under any of the private
    selection rules; weights are post-processing of the vertices. People whose rows' weights add up
    to at most k move a score by k B Q at most: for them the range is k times as large. Number of
    columns, rounds, radius, bounds and classes are public; error messages name no value of X or y.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, dplasso
    >>> X = sp.random_array((500, 1000), density=0.01, rng=np.random.default_rng(0))
    >>> y = np.arange(500) % 2
    >>> theta = dplasso.calibrate(epsilon=1.0, delta=1e-6, rounds=50)
    >>> solution = dplasso.frank_wolfe(
    ...     X, y, loss=dplasso.LogisticLoss(), radius=10.0, rounds=50, theta=theta
    ... )
    >>> solution.weights.shape, bool(abs(solution.weights).sum() <= 10.0)
    ((1, 1000), True)
    """
    radius, theta = _positive("radius", radius), _positive("theta", theta, infinite=True)
    rounds = _whole("rounds", rounds, MOST_ROUNDS)
    constant = _step(step, theta)
    rule: Callable[..., Rule] = rule_for(selection, theta)
    if on_card(device):
        rule = _rule_on_card(selection, loss)
    check_taken(loss, LOSSES, "frank_wolfe")
    bits = random_bits(generator, name="generator")
    matrix = ColumnMatrix.of(X, x_bound)
    labels = encoded(loss, y, matrix.shape[0])
    threads = pool.available() if n_threads is None else _whole("n_threads", n_threads)
    problem = problem_of(matrix, labels, loss, radius, theta, constant, row_weights(y))
    check_range(loss, radius, problem.x_bound, theta)
    walk = empty_walk(problem, rounds)
    with bits.exclusive() as stream:
        _advance(rule(problem, walk, stream, threads), rounds, progress)
    return _solution(problem, walk, matrix.shape[1], count)


def problem_of(
    matrix: ColumnMatrix,
    labels: NDArray[np.float64],
    loss: Loss,
    radius: float,
    theta: float,
    step: float,
    weights: NDArray[np.float64] | None = None,
) -> kernel.Problem:
    """The arguments of compiled loops; ``step`` is one of their codes, or a constant."""
    gradient_bound = loss.gradient_bound(radius, matrix.x_bound)
    # Rounding can move margins out of the ball; a private row is still clipped to its bound.
    residual = loss.compiled(math.inf if math.isinf(theta) else gradient_bound)
    return kernel.Problem(
        indptr=matrix.indptr,
        indices=matrix.indices,
        values=matrix.values,
        norm1=matrix.norm1,
        labels=labels,
        two_labels=loss.two_labels,
        loss=residual,
        classes=loss.outputs,
        gradient_bound=gradient_bound,
        start_bound=loss.gradient_bound(0.0, matrix.x_bound),
        curvature_low=loss.curvature[0] if weights is None else 0.0,
        curvature_high=loss.curvature[1],
        curvature_turn=loss.curvature_turn,
        lipschitz=loss.lipschitz,
        x_bound=matrix.x_bound,
        radius=radius,
        theta=theta,
        step=step,
        weights=np.empty(0) if weights is None else within_grain(weights),
    )


def check_range(loss: Loss, radius: float, x_bound: float, theta: float) -> None:
    """Reject values that double precision cannot hold; they are far from any practical use.

    All arguments are public, and the number of rows is not among them: whether a fit is rejected
    reveals nothing about the data. Estimators call this before they charge a budget.
    """
    gradient_bound = loss.gradient_bound(radius, x_bound)
    public = {
        "radius": radius,
        "x_bound": x_bound,
        "radius times x_bound": radius * x_bound,
        "the bound on row gradients (from radius, x_bound and y_bound)": gradient_bound,
    }
    for name, value in public.items():
        if not SMALLEST <= value <= LARGEST:
            raise ValueError(
                f"{name} must lie between {SMALLEST:g} and {LARGEST:g}, got {value:.3g}; rescale "
                "the features or labels by a public factor"
            )
    loss.check_precision()
    if math.isinf(theta):
        return
    row = theta * x_bound * gradient_bound
    if not 1e-100 <= row <= LARGEST_ROW:
        raise ValueError(
            f"theta lets a row change log-weights by {row:.3g}, beyond what a draw can resolve; "
            "take theta from calibrate(), or math.inf to select without privacy (epsilon=math.inf)"
        )


def empty_walk(problem: kernel.Problem, rounds: int) -> kernel.Walk:
    """A walk at weights of 0, with room for the vertices of some rounds."""
    return kernel.Walk(
        margins=np.zeros(len(problem.labels) * problem.classes),
        scalars=np.array([1.0, 0.0, 0.0]),
        vertices=np.empty(rounds, np.int64),
        signs=np.empty(rounds, np.int8),
        steps=np.empty(rounds if problem.step == kernel.SEARCHED else 0),
        counters=np.zeros(kernel.COUNTERS, np.int64),
    )


def _advance(rule: Rule, rounds: int, progress: Callable[[int], None] | None) -> None:
    """Run in chunks, so that a person can watch and interrupt."""
    chunk = FIRST_CHUNK
    while rule.done < rounds:
        start, before = time.monotonic(), rule.done
        rule.advance(min(rule.done + chunk, rounds))
        if progress is not None:
            progress(rule.done)
        seconds = max(time.monotonic() - start, 1e-6)
        chunk = max(1, min(8 * chunk, int((rule.done - before) * CHUNK_SECONDS / seconds)))


def solution_of(
    loss: Loss, radius: float, columns: int, vertices: NDArray[np.int64], signs: NDArray[Any]
) -> Solution:
    """The weights of vertices that were released before, by decreasing steps."""
    nothing = np.zeros(1, np.int32), np.empty(0, np.int32), None
    matrix = ColumnMatrix(*nothing, (0, 0), 1.0, trusted=True)
    problem = problem_of(matrix, np.empty(0), loss, radius, 1.0, kernel.DECREASING)
    walk = empty_walk(problem, 0)._replace(vertices=vertices, signs=signs)
    return _solution(problem, walk, columns, False)


def _solution(problem: kernel.Problem, walk: kernel.Walk, columns: int, count: bool) -> Solution:
    rounds, classes = len(walk.vertices), problem.classes
    bits = max(2 * min(rounds, columns * classes), 2).bit_length()
    vertices, sums = weights_of(problem, walk, bits)
    owner, column = vertices % classes, vertices // classes
    # Sorted by class, then by column, as in a row-compressed matrix.
    order = np.argsort(owner * columns + column)
    starts = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=classes))))
    weights = sp.csr_array((sums[order], column[order], starts), shape=(classes, columns))
    return Solution(
        weights=weights,
        columns=walk.vertices // classes,
        classes=walk.vertices % classes,
        signs=walk.signs,
        steps=walk.steps if len(walk.steps) else None,
        counters=Counters(*(int(n) for n in walk.counters)) if count else None,
    )


def rule_for(selection: str, theta: float) -> type[Rule]:
    """The selection rule of a name; the valid names depend on whether theta is finite."""
    rules, kind = (GREEDY, "infinite") if math.isinf(theta) else (PRIVATE, "finite")
    if not isinstance(selection, str) or selection not in rules:
        known = ", ".join(repr(name) for name in rules)
        raise ValueError(
            f"selection must be one of {known} where theta is {kind}, got {selection!r}"
        )
    return rules[selection]


def _rule_on_card(selection: str, loss: Loss) -> Callable[..., Rule]:
    """The selection rule of a name on a card, for finite theta."""
    if selection not in ON_CARD:
        raise ParameterError(
            "{cuda} is for {selections}; pass that, or {cpu}",
            cuda=Setting("device", "cuda"),
            selections=Setting("selection", ", ".join(ON_CARD)),
            cpu=Setting("device", "cpu"),
        )
    residual = number_on_card(loss)
    return partial(ON_CARD[selection], device=cards.checked_card(), residual=residual)


def _step(step: float | str, theta: float) -> float:
    if step == "decreasing":
        return kernel.DECREASING
    if step == "search":
        if math.isinf(theta):
            return kernel.SEARCHED
        raise ValueError(
            "step='search' reads the data and is not private; use 'decreasing' or a constant, "
            "or theta=math.inf"
        )
    if isinstance(step, Real) and 0 < float(step) < 1:
        return float(step)
    raise ValueError(
        f"step must be 'decreasing', 'search' or a number between 0 and 1, got {step!r}"
    )


def _positive(name: str, value: Any, infinite: bool = False) -> float:
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        with contextlib.suppress(OverflowError):
            if 0 < float(value) < math.inf or (infinite and float(value) == math.inf):
                return float(value)
    kind = "a positive number" if infinite else "a positive finite number"
    raise ValueError(f"{name} must be {kind}, got {value!r}")


def _whole(name: str, value: Any, most: float = math.inf) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    if int(value) > most:
        raise ValueError(f"{name} must be a whole number of at most {most:,}, got {value!r}")
    return int(value)
