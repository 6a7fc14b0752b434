"""Exact private selection in one block of columns, for columns that several processes hold."""

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.kernels import block_trials as kernels
from dplasso.kernels import envelope as tiers
from dplasso.kernels.arithmetic import LN2
from dplasso.kernels.problem import Problem, Walk
from dplasso.kernels.scores import scores_from
from dplasso.mechanisms.selection import lazy_tiers


class ColumnBlock:
    """The envelope of one block: what its columns can weigh, in tickets.

    A round draws trials until one is not void. A trial draws a block by its tickets
    (`draw_trial`), and the block decides which column owns the ticket, and whether it is released.

    ``share`` is the part of all columns that are in the block, and ``gradients`` are those of all
    rows at margins of 0.

    Formal guarantees
    -----------------
    Those of `Rule`, for all blocks together. *Why*: as for `LazyDraw`, a row changes every score by
    at most ``B Q``, and the tickets of a column are worth no less than its weight in every round
    (`score_bounds`). A trial releases (j, s) with a probability proportional to its weight: tickets
    are drawn by their exact worth, and coins have their exact probability. A void trial is followed
    by a new draw among *all* blocks, so the first one that is not void has the law of the
    exponential mechanism over all signed columns. Nothing depends on who holds which block: tickets
    are a function of the block's columns and of the vertices released so far, and trials leave no
    trace.
    """

    def __init__(
        self, problem: Problem, walk: Walk, rounds: int, share: float, gradients: Floats
    ) -> None:
        self.problem, self.walk = problem, walk
        columns = lazy_tiers.heavy_columns(problem, rounds, 1)
        heavy = columns.for_every_class(problem.classes)
        claims = lazy_tiers.claims_of(problem, heavy.limit)
        known = lazy_tiers.worth_scoring(claims)
        origin = np.empty(int(np.count_nonzero(known)))
        scores_from(problem, gradients, heavy.vertices[known], origin)
        none = np.empty(0, np.int64)
        self.heavy = lazy_tiers.make_heavy(problem, heavy, claims * share, known, origin)
        self.envelope = lazy_tiers.make_envelope(problem, columns.vertices, columns.vertices, none)
        self._sure = np.zeros(len(self.heavy.block_tickets), np.int64)
        kernels.count_all(problem, walk, self.envelope, self.heavy, self._sure)

    @property
    def tickets(self) -> int:
        """All tickets of the block."""
        whole = self.envelope.whole
        return int(whole[tiers.LIGHT_TICKETS] + whole[tiers.HEAVY_TICKETS])

    @property
    def exponent(self) -> int:
        """Tickets of all blocks are worth the same number times two to the power of this."""
        return -self._shift()

    @property
    def horizon(self) -> float:
        """Length of the path up to which the tickets are enough."""
        return float(self.envelope.real[tiers.NEXT_HORIZON])

    def keep_up(self) -> None:
        """Count tickets again after a step that crosses the horizon."""
        kernels.keep_up(self.problem, self.walk, self.envelope, self.heavy, self._sure)

    def decide(self, ticket: int, generator: np.random.Generator) -> tuple[int, int]:
        """The vertex that owns a ticket, and its sign, which is 0 if the trial is void."""
        vertex, sign = kernels.decide(
            self.problem, self.walk, self.envelope, self.heavy, generator, ticket
        )
        return int(vertex), int(sign)

    def _shift(self) -> int:
        """`choose_unit` makes a ticket worth the most that a light column can, over 2^shift."""
        nats = tiers.LIGHT_NATS + 1e-9 - float(self.envelope.real[tiers.LOG_UNIT])
        return round(nats / LN2)
