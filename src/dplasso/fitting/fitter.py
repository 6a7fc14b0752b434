"""The interface of a solver."""

from abc import ABC, abstractmethod
from typing import ClassVar

from dplasso.base.arrays import Ints
from dplasso.fitting.plan import Plan
from dplasso.fitting.request import Request, Sourced, XBound
from dplasso.fitting.row_reader import RowReader


class Fitter(ABC):
    """One solver: how it plans a fit, and the properties of every model that it fits.

    Attributes
    ----------
    name : str
        Name in the ``solver`` and ``solver_`` of an estimator.
    named_by_users : bool
        Whether users may name it as ``solver``; otherwise only "auto" can choose it.
    in_ball : bool
        Whether it supports a radius, rounds, ``fit_intercept=False`` and a `Sparsifier`.
    releases_intercept : bool
        Whether an intercept can be among the coordinates that it releases.
    scales_rows : bool
        Whether rows are scaled to length 1 before they are multiplied with the weights.
    reads_ranges : bool
        Whether it uses both ends of a column's range, and not only the larger absolute value.
    replays_rounds : bool
        Whether it releases one vertex per round, from which all rounds can be rebuilt.
    stated_bounds : tuple of str
        Bounds, all positive numbers, that every statement of such a fit contains.
    round_bytes : int
        Upper limit on the memory of a fit per round.
    """

    name: ClassVar[str]
    named_by_users: ClassVar[bool] = True
    in_ball: ClassVar[bool] = False
    releases_intercept: ClassVar[bool] = False
    scales_rows: ClassVar[bool] = False
    reads_ranges: ClassVar[bool] = False
    replays_rounds: ClassVar[bool] = False
    stated_bounds: ClassVar[tuple[str, ...]] = ()
    round_bytes: ClassVar[int] = 0

    @abstractmethod
    def plan(self, request: Request, reason: str, row_map: str) -> Plan:
        """Plan what a fit will do and cost.

        ``reason`` says why this solver was chosen. ``row_map`` is never "auto" here.
        """

    def reader(self, row_map: str, n_features: int, x_bound: XBound, released: Ints) -> RowReader:
        """Return how a model of this solver reads new rows."""
        chosen = self.chosen_columns(released)
        return RowReader(row_map, n_features, x_bound, self.scales_rows, chosen, self.reads_ranges)

    def chosen_columns(self, released: Ints) -> Ints | None:
        """Return the only columns that a model reads, or None for all columns."""
        return None

    @abstractmethod
    def auto_row_map(self, n_features: int) -> str:
        """Return the map of rows that "auto" stands for."""

    @abstractmethod
    def auto_nonzeros(self, request: Request) -> Sourced[int | None]:
        """Return how many coefficients ``n_nonzero="auto"`` keeps, all if None, and the reason."""

    @abstractmethod
    def column_bytes(self, outputs: int) -> int:
        """Upper limit on the memory that a fit needs for a column without entries."""

    @abstractmethod
    def course(self, n_released: int, steps: int) -> str:
        """Return a sentence on how a model was fitted, for reports that show no rounds."""
