"""Leaders: from the released sum of gradients to the next weights."""

import math
from typing import Any, Literal, Protocol, get_args

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.domains import Domain, ProjectableDomain
from dplasso.kernels import local_moves
from dplasso.online.constants import TheoryConstants
from dplasso.online.objective import LeaderObjective

Constants = Literal["practical", "theory"]


class Leader(Protocol):
    """Turns releases into weights; it never sees a row."""

    @property
    def dimension(self) -> int: ...

    @property
    def weights(self) -> Floats: ...

    def follow(self, total: Floats, rows: int) -> None:
        """Move the weights, now that the ``rows`` so far have the released sum ``total``."""
        ...

    def state(self) -> dict[str, Any]:
        """Arrays and numbers from which `resume` continues, to the last bit."""
        ...

    def resume(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        ...


class ProjectedLeader:
    """Follow the approximate leader, by projection: WDP-COCOP.

    The objective's minimiser over all vectors, ``-G / (mu n)``, projected. The paper's eq. 10 and
    Algorithm 1, line 3, lack the 1/n: docs/online_learners.md.

    Parameters
    ----------
    domain : where the weights live; one with a projection.
    regularisation : mu of the L2 term of every row's loss.
    start_rows : how many rows the start weighs like; some steady the first weights, when the noise
        of the sum is not yet small beside mu n: `steadying_rows` says how many.

    Formal guarantees
    -----------------
    Weights are a function of releases and public numbers: no cost beyond the running sum's.

    >>> from dplasso.domains import L2Ball
    >>> leader = ProjectedLeader(L2Ball(2, radius=1.0), regularisation=0.5)
    >>> leader.follow(np.array([-0.25, 0.0]), rows=1)
    >>> leader.weights
    array([ 0.5, -0. ])
    """

    def __init__(
        self, domain: ProjectableDomain, regularisation: float, start_rows: float = 0.0
    ) -> None:
        if not isinstance(domain, ProjectableDomain):
            raise TypeError(
                f"domain must have a projection, got {type(domain).__name__}; use OracleLeader"
            )
        self.domain, self.dimension = domain, domain.dimension
        self.weights = domain.start()
        self.objective = LeaderObjective(regularisation, self.weights, start_rows)

    def follow(self, total: Floats, rows: int) -> None:
        self.weights = self.domain.project(self.objective.minimiser(total, rows))

    def state(self) -> dict[str, Any]:
        return {"x": self.weights.copy()}

    def resume(self, state: dict[str, Any]) -> None:
        self.weights = _of_shape(state["x"], self.weights)


class OracleLeader:
    """Follow the approximate leader by local linear steps: WDP-COCOL.

    One step a release: p from the local linear oracle at the weights x, for the objective's
    gradient there, ``G + mu n x + C_0 mu (x - x_1)``; then ``x <- (1 - a) x + a p``. The paper's
    line 7 hands the oracle a point in the place of that gradient.

    With ``constants="practical"`` the radius is the least of two bounds on the distance to the
    minimiser (`certified_radius`), a is the best on the way to p, which for a quadratic is a
    division, and C_0 is ``start_rows``. With "theory" all three are the paper's, which hold still
    for some C_0 = (25 rho^2)^2 rows: millions in 100 dimensions.

    Parameters
    ----------
    domain : where the weights live.
    regularisation : mu of the L2 term of every row's loss.
    constants : "practical" or "theory".
    start_rows : how many rows the start weighs like; "theory" has its own.
    steps : local steps a release. They cost time, not privacy.
    lipschitz : for "theory", a bound on a row's gradient with its L2 term: clip + mu max ||x||.
    noise_factor : for "theory", the paper's C_W, how much longer releases may be for their noise.

    Formal guarantees
    -----------------
    Weights are a function of releases and public numbers: no cost beyond the running sum's.
    """

    def __init__(
        self,
        domain: Domain,
        regularisation: float,
        *,
        constants: Constants = "practical",
        start_rows: float = 0.0,
        steps: int = 1,
        lipschitz: float | None = None,
        noise_factor: float = 0.0,
    ) -> None:
        if constants not in get_args(Constants):
            raise ValueError(f"constants must be 'practical' or 'theory', got {constants!r}")
        self.dimension = domain.dimension
        self._walk, self._steps = domain.begin(), checks.count("steps", steps, 1)
        self._theory: TheoryConstants | None = None
        if constants == "theory":
            if lipschitz is None or start_rows != 0.0:
                raise ValueError("constants='theory' needs lipschitz, and has its own start_rows")
            self._theory = TheoryConstants.of(domain, regularisation, lipschitz, noise_factor)
            start_rows = self._theory.start_rows
        self._objective = LeaderObjective(regularisation, self._walk.x, start_rows)

    @property
    def weights(self) -> Floats:
        return self._walk.x

    def follow(self, total: Floats, rows: int) -> None:
        for _ in range(self._steps):
            gradient = self._objective.gradient(total, rows, self._walk.x)
            if self._theory is None:
                self._step(gradient, self._objective.curvature(rows))
            else:
                self._walk.look(gradient)
                self._walk.aim(self._theory.radius(rows))
                self._walk.move(self._theory.share)

    def state(self) -> dict[str, Any]:
        return self._walk.state()

    def resume(self, state: dict[str, Any]) -> None:
        self._walk.resume(state)

    def _step(self, gradient: Floats, curvature: float) -> None:
        gap = self._walk.look(gradient)
        slope = math.sqrt(local_moves.square_length(gradient))
        target = self._walk.aim(certified_radius(slope, gap, curvature))
        gain, square = local_moves.gain_and_square(gradient, self._walk.x, target)
        bend = curvature * square  # 0 where the target is nearer than numbers can tell
        if gain > 0.0:
            self._walk.move(1.0 if gain >= bend else gain / bend)


def certified_radius(slope: float, gap: float, curvature: float) -> float:
    """A distance within which the objective's minimiser over the domain lies.

    The minimiser over all vectors is slope / curvature away, and projecting brings no point
    farther from one of the domain. And the value can sink by ``gap`` at most, which strong
    convexity turns into a distance.
    """
    return min(slope / curvature, math.sqrt(2.0 * gap / curvature))


def _of_shape(weights: Any, known: Floats) -> Floats:
    """Weights of a state, which compiled loops go along as far as those that are known."""
    found = np.array(weights, np.float64)
    if found.shape != known.shape or not np.all(np.isfinite(found)):
        raise ValueError("state must have one finite weight per column; it has not")
    return found
