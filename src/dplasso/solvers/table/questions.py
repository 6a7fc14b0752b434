"""The questions that a fit asks about the rows of a table. Each is answered by noisy whole sums."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from dplasso.base.arrays import Floats, Ints
from dplasso.solvers.table.plan import TablePlan

Taken = tuple[int, ...]  # numbers of the wide columns that belong to the table, the last ones
_UP = 1.0 + 1e-15  # covers the rounding of a product


@dataclass(frozen=True, eq=False)
class Question(ABC):
    """A question whose answer is a sum over the rows of whole vectors of bounded length.

    Formal guarantees
    -----------------
    A question is a function of public numbers and of earlier answers, after noise was added to
    them. `noise` says which noise makes its answer cost what the plan charges for it.
    """

    @abstractmethod
    def noise(self, plan: TablePlan) -> list[tuple[int, float]]:
        """Numbers of places of the answer, in order, and the noise standard deviation of each."""


class Answers(Protocol):
    """Whoever answers questions about rows, wherever these are; `PrivateTable` has them in memory.

    Formal guarantees
    -----------------
    Those of `PrivateTable`, to the last bit: every implementation returns the same integers.
    """

    def answer(self, question: Question) -> Ints:
        """Exact sums, without noise."""


class PresenceSums(Question):
    """Sums over rows of the wide columns that are present, as vectors of one common length."""

    def noise(self, plan: TablePlan) -> list[tuple[int, float]]:
        return [(plan.n_wide, plan.presence_sigma)]


@dataclass(frozen=True, eq=False)
class CellSums(Question):
    """Sums of the mean cell and of the mean squared cell of every row.

    The sum of the rows' weights comes with them if the plan asks for it.
    """

    taken: Taken = ()

    def noise(self, plan: TablePlan) -> list[tuple[int, float]]:
        return [(3 if plan.counts_weights else 2, plan.cell_sigma)]


@dataclass(frozen=True, eq=False)
class MeanSums(Question):
    """Column sums of cells less ``centre``, every row cut to ``length``."""

    centre: int
    length: int
    taken: Taken = ()

    def noise(self, plan: TablePlan) -> list[tuple[int, float]]:
        return [(plan.n_columns + len(self.taken), plan.mean_sigma(self.length) * _UP)]


@dataclass(frozen=True, eq=False)
class SpreadSums(Question):
    """Column sums of squared distances from ``centres``, every row cut to ``length``."""

    centres: Ints
    length: int
    taken: Taken = ()

    def noise(self, plan: TablePlan) -> list[tuple[int, float]]:
        return [(len(self.centres), plan.spread_sigma(self.length) * _UP)]


class LabelSums(Question):
    """Sums of numbers and of their squares, or counts: of the second class, or of all classes."""

    def noise(self, plan: TablePlan) -> list[tuple[int, float]]:
        return [(2 if plan.pace.of_numbers else plan.outputs, plan.label_sigma)]


@dataclass(frozen=True, eq=False)
class Standard:
    """How cells become standardised rows: (cell - centre) times factor."""

    centres: Ints
    factors: Floats
    taken: Taken = ()


@dataclass(frozen=True, eq=False)
class Products(Question):
    """Sums of products of two columns: first those of a column with itself, then the others.

    A product of two different columns stands for two places of a symmetric matrix. With noise of
    1 / sqrt(2) of that of a square it costs as if both were released with the noise of a square.
    """

    standard: Standard

    def noise(self, plan: TablePlan) -> list[tuple[int, float]]:
        size, sigma = len(self.standard.centres) + 1, plan.product_sigma * _UP
        others = size * (size - 1) // 2
        return [(size, sigma), (others, sigma * math.sqrt(0.5) * _UP)]


@dataclass(frozen=True, eq=False)
class Position:
    """The current model of a descent: weights of standardised rows, intercepts, and the clip."""

    standard: Standard
    weights: Floats  # outputs x columns
    intercepts: Floats
    cut: float  # residuals are clipped to this 2-norm


@dataclass(frozen=True, eq=False)
class GradientSums(Question):
    """Sums of row gradients, outputs x (columns, then the intercept), in one vector."""

    at: Position

    def noise(self, plan: TablePlan) -> list[tuple[int, float]]:
        return [(plan.outputs * (self.at.weights.shape[1] + 1), plan.step_sigma)]


@dataclass(frozen=True, eq=False)
class ResidualSize(Question):
    """Sum of squared residuals, in units of the squared clip."""

    at: Position

    def noise(self, plan: TablePlan) -> list[tuple[int, float]]:
        return [(1, plan.scale_sigma)]
