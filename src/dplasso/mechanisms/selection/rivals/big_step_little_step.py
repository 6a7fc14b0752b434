"""The paper's private selection: pushed scores, drawn by big and little steps."""

import math

import numpy as np

from dplasso.base import threads as pool
from dplasso.kernels.rivals import big_step_little_step as kernels
from dplasso.mechanisms.selection.base import Rule
from dplasso.mechanisms.selection.rivals.pushed import hold


class BigStepLittleStep(Rule):
    """Draws (j, s) with probability proportional to exp(theta * s * alpha_j), alpha as stored.

    These are Algorithms 2 and 4 of the paper, with a private sign: j has priority
    ``log(2 cosh(theta alpha_j))`` and s is +1 with probability ``sigmoid(2 theta alpha_j)``. (The
    paper releases the sign of alpha_j, which is not private.) The stored scores are not those of
    the iterate: see `dplasso.kernels.rivals.pushes`. The rule keeps a second copy of the matrix,
    by rows.

    Formal guarantees
    -----------------
    Those of `Rule`. *Why*: the released vertices determine the round that a row's gradient is from,
    so its term in a stored score depends only on the row and on the releases, and is at most
    ``B Q`` in absolute value; given the same past, a row therefore changes every stored score by at
    most ``B Q``, and the log-weights move inside a range of ``2 theta B Q``. Terms are whole
    numbers and so are tickets: both add and subtract exactly, and tickets beyond a vertex's weight
    make the trial void.
    """

    def _prepare(self) -> None:
        self.held = hold(self.problem, self.walk, self.threads)
        self.groups = _groups(len(self.held.scores))
        runs = pool.even_runs(len(self.groups.sums), self.threads)
        pool.run(
            kernels.count_groups, [(self.problem, self.held, self.groups, *run) for run in runs]
        )

    def advance(self, until: int) -> None:
        while self.done < until:
            self.done = kernels.advance(
                self.problem, self.walk, self.held, self.groups, self.generator, self.done, until
            )


def _groups(vertices: int) -> kernels.Groups:
    # The size is a power of two, so that a shift finds the group of a vertex.
    shift = round(math.log2(vertices) / 2)
    groups = -(-vertices >> shift)
    return kernels.Groups(
        tickets=np.empty(vertices, np.int32),
        sums=np.empty(groups, np.int64),
        exponents=np.empty(groups, np.int64),
        ceilings=np.empty(groups),
        shift=shift,
    )
