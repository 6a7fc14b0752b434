"""Leaders: from the released sum of gradients to the next weights."""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.domains import Domain
from dplasso.kernels import local_moves
from dplasso.online.objective import LeaderObjective


class Leader(ABC):
    """Turns releases into weights; it never sees a row.

    ``regularisation`` is the mu of the L2 term of every row's loss. The starting point weighs like
    ``start_rows`` rows. That stabilises the first weights, while the noise of the sum is not yet
    small compared with mu n. It is the domain's, or the point of the domain nearest to ``start``, a
    public point.

    Formal guarantees
    -----------------
    Weights are post-processing of releases: they cost nothing beyond the running sum.
    """

    def __init__(
        self,
        domain: Domain,
        regularisation: float,
        start_rows: float = 0.0,
        start: Floats | None = None,
    ) -> None:
        self.domain, self.dimension = domain, domain.dimension
        self.weights = domain.start() if start is None else domain.project(start)
        self.objective = LeaderObjective(regularisation, self.weights, start_rows)

    averaging = 0.0

    @abstractmethod
    def follow(self, total: Floats, rows: float, share: float = 1.0) -> None:
        """Update the weights; ``total`` is the released sum of the first ``rows`` rows.

        The weights move by ``share`` of the way, if the leader averages.
        """

    def state(self) -> dict[str, Any]:
        """Arrays from which `resume` continues, to the last bit."""
        return {"x": self.weights.copy()}

    def resume(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        # Compiled loops read this many weights without checking.
        found = np.array(state["x"], np.float64)
        if found.shape != self.weights.shape or not np.all(np.isfinite(found)):
            raise ValueError("state must have one finite weight per column; it has not")
        self.weights = found


class ProjectedLeader(Leader):
    """Follow the approximate leader by projection: WDP-COCOP.

    The weights are the objective's minimiser over all vectors, ``-G / (mu n)``, projected. The
    paper's eq. 10 and Algorithm 1, line 3, lack the 1/n: docs/explanation/online_learners.md.

    With ``averaging``, the weights are an average of these points over the latest releases, each of
    which has a share of at least ``averaging`` per row (`stream_steps.fresh_share`). Noise of
    releases that lie apart averages out, and gradients are taken where predictions are made.

    >>> from dplasso.domains import L2Ball
    >>> leader = ProjectedLeader(L2Ball(2, radius=1.0), regularisation=0.5)
    >>> leader.follow(np.array([-0.25, 0.0]), rows=1)
    >>> leader.weights
    array([ 0.5, -0. ])
    """

    def __init__(
        self,
        domain: Domain,
        regularisation: float,
        start_rows: float = 0.0,
        averaging: float = 0.0,
        start: Floats | None = None,
    ) -> None:
        super().__init__(domain, regularisation, start_rows, start)
        if not 0.0 <= averaging < 1.0:
            raise ParameterError("{averaging} must lie between 0 and 1; 0 means none")
        self.averaging = averaging

    def follow(self, total: Floats, rows: float, share: float = 1.0) -> None:
        x = self.domain.project(self.objective.minimiser(total, rows))
        self.weights = x if share == 1.0 else self.weights + share * (x - self.weights)


class OracleLeader(Leader):
    """Follow the approximate leader by local linear steps: WDP-COCOL.

    Each release makes one step: p comes from the local linear oracle at the weights x, for the
    objective's gradient there, ``G + mu n x + C_0 mu (x - x_1)``; then ``x <- (1 - a) x + a p``.
    The paper's line 7 passes a point to the oracle instead of that gradient.

    The radius is the smaller of two bounds on the distance to the minimiser (`certified_radius`).
    The share a is the best one on the line to p, which for a quadratic is a division. C_0 is
    ``start_rows``. With the paper's own constants the weights stay at the start for (25 rho^2)^2
    rows, which is millions in 100 dimensions. docs/explanation/online_learners.md has the
    measurement.
    """

    def follow(self, total: Floats, rows: float, share: float = 1.0) -> None:
        x, curvature = self.weights, self.objective.curvature(rows)
        gradient = self.objective.gradient(total, rows, x)
        vertex = self.domain.linear_oracle(gradient)
        gap = max(0.0, float(local_moves.gain_and_square(gradient, x, vertex)[0]))
        slope = math.sqrt(local_moves.square_length(gradient))
        radius = certified_radius(slope, gap, curvature)
        target = self.domain.local_oracle(x, gradient, radius, vertex)
        gain, square = local_moves.gain_and_square(gradient, x, target)
        bend = curvature * square  # 0 if the squared distance underflows
        if gain > 0.0:
            share = 1.0 if gain >= bend else gain / bend
            self.weights = (1.0 - share) * x + share * target


def certified_radius(slope: float, gap: float, curvature: float) -> float:
    """A distance within which the objective's minimiser over the domain lies.

    The minimiser over all vectors is slope / curvature away, and projection does not increase the
    distance to a point of the domain. The value can decrease by at most ``gap``, which strong
    convexity turns into a second bound.
    """
    return min(slope / curvature, math.sqrt(2.0 * gap / curvature))
