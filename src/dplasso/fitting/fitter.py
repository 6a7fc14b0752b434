"""What the rest of the product may ask of a solver."""

from abc import ABC, abstractmethod
from typing import ClassVar

from dplasso.base.arrays import Ints
from dplasso.fitting.plan import Plan
from dplasso.fitting.request import Request, XBound
from dplasso.fitting.row_reader import RowReader


class Fitter(ABC):
    """One solver: how it plans a fit, and what holds of every model that it fits.

    Attributes
    ----------
    name : str
        As ``solver`` and ``solver_`` of an estimator have it.
    named_by_users : bool
        Whether ``solver`` may name it; else only "auto" comes to it.
    in_ball : bool
        Whether radius, rounds, an intercept left out and a `Sparsifier` are options of it.
    releases_intercept : bool
        Whether an intercept can be among the coordinates that it releases.
    scales_rows : bool
        Whether rows are scaled to length 1 before they are weighed.
    replays_rounds : bool
        Whether what it releases is one vertex per round, from which all rounds can be rebuilt.
    stated_bounds : tuple of str
        Bounds that every statement of such a fit has, positive numbers.
    round_bytes : int
        Memory that a fit needs for a round, at most.
    """

    name: ClassVar[str]
    named_by_users: ClassVar[bool] = True
    in_ball: ClassVar[bool] = False
    releases_intercept: ClassVar[bool] = False
    scales_rows: ClassVar[bool] = False
    replays_rounds: ClassVar[bool] = False
    stated_bounds: ClassVar[tuple[str, ...]] = ()
    round_bytes: ClassVar[int] = 0

    @abstractmethod
    def plan(self, request: Request, reason: str, row_map: str) -> Plan:
        """What a fit will do and cost.

        ``reason`` says why this solver was taken, and ``row_map`` is no longer "auto".
        """

    def reader(self, row_map: str, n_features: int, x_bound: XBound, released: Ints) -> RowReader:
        """How a model of this solver reads new rows."""
        chosen = self.chosen_columns(released)
        return RowReader(row_map, n_features, x_bound, self.scales_rows, chosen)

    def chosen_columns(self, released: Ints) -> Ints | None:
        """The only columns that a model reads; None for all of them."""
        return None

    @abstractmethod
    def auto_row_map(self, n_features: int) -> str:
        """The map of rows behind "auto"."""

    @abstractmethod
    def column_bytes(self, outputs: int) -> int:
        """Memory that a fit needs for a column without entries, at most."""

    @abstractmethod
    def course(self, n_released: int, steps: int) -> str:
        """A sentence on how a model was fitted, for reports that have no rounds to show."""
