"""What the rest of the product may ask of a solver."""

from abc import ABC, abstractmethod
from typing import ClassVar

from dplasso.base.arrays import Ints
from dplasso.fitting.plan import Plan
from dplasso.fitting.request import Auto, Request, XBound
from dplasso.fitting.row_reader import RowReader
from dplasso.fitting.sparsifier import Sparsifier


class Fitter(ABC):
    """One solver: how it plans a fit, and what holds of every model that it fits.

    Attributes
    ----------
    name : str
        As ``solver`` and ``solver_`` of an estimator have it.
    named_by_users : bool
        Whether ``solver`` may name it; else only "auto" comes to it.
    replays_rounds : bool
        Whether what it releases is one vertex per round, from which all rounds can be rebuilt.
    stated_bounds : tuple of str
        Bounds that every statement of such a fit has, positive numbers.
    """

    name: ClassVar[str]
    named_by_users: ClassVar[bool] = True
    replays_rounds: ClassVar[bool] = False
    stated_bounds: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def plan(self, request: Request, reason: str, row_map: str) -> Plan:
        """What a fit will do and cost.

        ``reason`` says why this solver was taken, and ``row_map`` is no longer "auto".
        """

    @abstractmethod
    def reader(self, row_map: str, n_features: int, x_bound: XBound, released: Ints) -> RowReader:
        """How a model of this solver reads new rows."""

    @abstractmethod
    def check_options(
        self,
        *,
        radius: float | Auto,
        max_iter: int | Auto,
        fit_intercept: bool,
        keep: int | Sparsifier | None,
    ) -> None:
        """Reject options that this solver would not heed."""

    @abstractmethod
    def auto_row_map(self, n_features: int) -> str:
        """The map of rows behind "auto"."""

    @abstractmethod
    def column_bytes(self, outputs: int) -> int:
        """Memory that a fit needs for a column without entries, at most."""

    @abstractmethod
    def course(self, n_released: int, steps: int) -> str:
        """A sentence on how a model was fitted, for reports that have no rounds to show."""

    @abstractmethod
    def check_released(self, released: Ints, n_features: int) -> None:
        """Reject released coordinates, read from a file, that this solver cannot have released."""
