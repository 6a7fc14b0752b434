"""What a fit asks of rows that other processes hold, each process a shard."""

from collections.abc import Callable
from typing import Protocol

from dplasso.base.arrays import Ints
from dplasso.fitting.corrected import Solved
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy.accountant import Receipt
from dplasso.solvers.correction import MarginSums
from dplasso.solvers.gradient.backend import Rows
from dplasso.solvers.gradient.plan import GradientPlan
from dplasso.solvers.table.plan import TablePlan
from dplasso.solvers.table.questions import Answers


class ColumnRounds(Protocol):
    """The rounds of Frank-Wolfe over columns that other processes hold."""

    def share(self) -> None:
        """Divide the columns among the processes; nothing is drawn."""

    def run(
        self, rounds: int, bits: RandomBits, progress: Callable[[int], None] | None
    ) -> tuple[Ints, Ints]:
        """The vertices and signs of all rounds."""

    def close(self) -> None:
        """Let go of the columns."""


class RowShards(Protocol):
    """Exact sums over the rows of all shards, and what has been drawn from them so far.

    Formal guarantees
    -----------------
    Sums are those of `PrivateRows`, `PrivateTable` and `MarginRows` over all rows together, to the
    last bit: sums of integers, one vector per row, do not depend on how rows are cut into shards.
    """

    def descent(self, plan: GradientPlan) -> Rows:
        """Sums for a descent."""

    def table(self, plan: TablePlan) -> Answers:
        """Answers for the table solver."""

    def selections(self, columns: int, classes: int) -> ColumnRounds:
        """Rounds over all columns."""

    def margin_sums(self, solved: Solved) -> MarginSums:
        """Sums over the margins that a released model gives the rows."""

    def charged_once(self, charge: Callable[[str], Receipt | None]) -> Receipt | None:
        """Charge the fit, unless an earlier attempt at the same fit has done so.

        ``charge`` takes a text that tells this fit from others in the label of the charge.
        """

    def load(self) -> str:
        """How busy the processes are, for people who may see the data."""
