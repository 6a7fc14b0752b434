"""The interface of a solver."""

from abc import ABC, abstractmethod
from typing import ClassVar

from dplasso.base.arrays import Ints
from dplasso.fitting.plan import Plan
from dplasso.fitting.request import Request, Sourced, XBound
from dplasso.fitting.row_reader import RowReader


class Fitter(ABC):
    """One solver: how it plans a fit, and the properties of every model that it fits."""

    name: ClassVar[str]  # in the ``solver`` and ``solver_`` of an estimator
    named_by_users: ClassVar[bool] = True  # otherwise only "auto" can choose it
    in_ball: ClassVar[bool] = False  # supports radius, rounds, no intercept and a `Sparsifier`
    releases_intercept: ClassVar[bool] = False  # as one of the coordinates that it releases
    scales_rows: ClassVar[bool] = False  # to length 1, before weights are applied
    reads_ranges: ClassVar[bool] = False  # by itself, if entries are not mapped
    replays_rounds: ClassVar[bool] = False  # all can be rebuilt from one released vertex each
    stated_bounds: ClassVar[tuple[str, ...]] = ()  # positive numbers that every statement contains
    round_bytes: ClassVar[int] = 0  # upper limit on the memory of a fit per round

    @abstractmethod
    def plan(self, request: Request, reason: str, row_map: str) -> Plan:
        """Plan what a fit will do and cost.

        ``reason`` says why this solver was chosen. ``row_map`` is never "auto" here.
        """

    def reader(
        self,
        row_map: str,
        n_features: int,
        x_bound: XBound,
        released: Ints,
        room: float | None = None,
        centres: bool = False,
    ) -> RowReader:
        """Return how a model of this solver reads new rows.

        With ``room``, entries are cut to that many times a released bound, unless the solver
        itself cuts them to their bounds. ``centres`` says whether columns with a range were
        centred and scaled by it.
        """
        own = centres or self.reads_ranges
        return RowReader(
            row_map,
            n_features,
            x_bound,
            unit_rows=self.scales_rows,
            chosen=self.chosen_columns(released),
            cuts=own or room is not None,
            room=1.0 if own or room is None else room,
            centres=centres,
        )

    def chosen_columns(self, released: Ints) -> Ints | None:
        """Return the only columns that a model reads, or None for all columns."""
        return None

    def auto_row_map(self, request: Request) -> str:
        """Return the map that "auto" stands for, where bounds on entries are known."""
        return "as_is"

    @abstractmethod
    def auto_nonzeros(self, request: Request) -> Sourced[int | None]:
        """Return how many coefficients ``n_nonzero="auto"`` keeps, all if None, and the reason."""

    def on_card(self, selection: str) -> bool:
        """Whether a fit with a selection rule can run on a graphics card."""
        return False

    def column_bytes(self, outputs: int) -> int:
        """Upper limit on the memory that a fit needs for a column without entries."""
        return 96 * outputs

    def course(self, n_released: int, steps: int) -> str:
        """Return a sentence on how a model was fitted; empty if there is no more than steps."""
        return ""
