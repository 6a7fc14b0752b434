"""The plan of a fit: what it will do, release and cost, fixed before any row is read."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from dplasso.base import memory
from dplasso.base.arrays import Floats, Ints
from dplasso.base.wording import ParameterError, Setting
from dplasso.data import ColumnBounds
from dplasso.data.row_maps import needs_bound
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.release import Release, gaussian_release
from dplasso.fitting.request import Fact, Request, Sourced
from dplasso.privacy import zcdp
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.events import Composed, Event
from dplasso.privacy.plan import SelectionPlan
from dplasso.privacy.statement import READ, fact, fact_text, jsonable, protects, release_text
from dplasso.privacy.unit import Unit
from dplasso.solvers.correction import Correction, CorrectionPlan
from dplasso.solvers.correction.plan import STEPS as CORRECTIONS
from dplasso.solvers.few import FewPlan
from dplasso.solvers.gradient import GradientPlan
from dplasso.solvers.table import TablePlan

if TYPE_CHECKING:
    from dplasso.fitting.fitter import Fitter
    from dplasso.fitting.shards import RowShards
    from dplasso.fitting.task import BoundedTask, Drawing

UNRELEASED = "known once it is released"
# New rows are cut to this many times a bound that was released, which may be far too small:
# entries far beyond it would give margins beyond all that the fit has seen. Cut to the bound
# itself, rows would lose what tells them apart (benchmarks/results/gradient_ideas.txt).
ROOM_OF_NEW_ROWS = 3.0
NEW_ROWS = "room_of_new_rows"  # entry of the privacy statement of a fit that releases a bound
# Memory of a centred entry: a cell, the number made of it, and an entry of two sparse matrices.
CENTRED_BYTES = 32


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Plan(ABC):
    """The numbers of one fit, all of them public. ``print`` shows them.

    A fit follows its plan: the privacy statement of the fit has the same releases, noise and cost.

    Attributes
    ----------
    request : Request
        Public facts of the fit.
    fitter : Fitter
        Solver that was chosen.
    solver : str
        Name of the solver.
    reason : str
        Why this solver was chosen; empty for the default.
    row_map : str
        Map of the entries.
    bounds : ColumnBounds or None
        Bounds on entries; None if a bound is released first.
    correction : CorrectionPlan or None
        How probabilities are corrected after the solver; None if they are not, or if the solver
        does it.
    epsilon : float
        Epsilon of the guarantee.
    delta : float
        Delta of the guarantee.
    neighboring : str
        Neighbouring relation of the guarantee.
    unit : Unit
        Whom the guarantee protects: rows, or people.
    n_rows : Sourced
        Number of rows that rules used, if any did.
    steps : Sourced
        Rounds or steps; None if a fit without privacy runs until it has converged.
    n_nonzero : Sourced
        Number of coefficients that are kept, or "all", and why.
    releases : tuple of Release
        Releases of the fit, with their noise.
    rho : float
        Cost in zero-concentrated differential privacy.
    mu : float or None
        Cost in Gaussian differential privacy; None unless all releases are Gaussian.
    event : Event
        The releases in the form that an accountant is charged for.

    Formal guarantees
    -----------------
    A plan is a function of public facts. The releases of its fit, composed as ``event`` says, are
    (``epsilon``, ``delta``)-differentially private under ``neighboring``. An infinite epsilon
    guarantees nothing.
    """

    mechanism: ClassVar[str]
    request: Request
    fitter: "Fitter"
    reason: str
    row_map: str
    bounds: ColumnBounds | None
    correction: CorrectionPlan | None = None

    @property
    @abstractmethod
    def numbers(self) -> FewPlan | GradientPlan | SelectionPlan | TablePlan:
        """The solver's own plan: its releases, after that of a bound on entries, and their cost."""

    @property
    def event(self) -> Event:
        first = self.numbers.event
        if self.correction is None:
            return first
        parts = first.events if isinstance(first, Composed) else (first,)
        return Composed((*parts, *self.correction.event.events))

    @property
    @abstractmethod
    def steps(self) -> Sourced[int | None]: ...

    @property
    @abstractmethod
    def solver_rho(self) -> float:
        """The zCDP cost of the solver and of a bound on entries."""

    @property
    def rho(self) -> float:
        return self.solver_rho + (0.5 * self.correction.mu**2 if self.correction else 0.0)

    @property
    def solver_mu(self) -> float | None:
        """Cost of the solver in Gaussian differential privacy; None if it is not Gaussian."""
        return None

    @property
    def mu(self) -> float | None:
        if self.solver_mu is None or self.correction is None:
            return self.solver_mu
        return math.hypot(self.solver_mu, self.correction.mu)

    @property
    def bound_epsilon(self) -> float:
        """Bounded range of the release of a bound on entries; 0 if no bound is released."""
        return self.numbers.bound_epsilon

    @abstractmethod
    def solver_releases(self) -> tuple[Release, ...]:
        """Releases of the solver."""

    @abstractmethod
    def solver_bounds(self) -> dict[str, Fact]:
        """Bounds of the solver, in the form of the privacy statement."""

    def solver_facts(self) -> dict[str, Fact]:
        """Further public facts that the solver used."""
        return {"steps": self.steps.fact(), "n_nonzero": self.n_nonzero.fact()}

    def at(self, bound: float) -> Self:
        """Return the plan of the same fit at the same cost, with the released bound on entries."""
        return replace(self, bounds=ColumnBounds(bound, None))

    @abstractmethod
    def prepare(
        self, X: Any, labels: Floats, drawing: "Drawing", weights: Floats | None = None
    ) -> "BoundedTask":
        """Prepare rows, encoded labels and row weights; ``bounds`` must be known."""

    def over(self, shards: "RowShards", drawing: "Drawing") -> "BoundedTask":
        """Prepare a fit to rows that other processes hold; ``bounds`` must be known."""
        raise ParameterError(
            "shards of rows cannot be fitted by {solver}; choose {gradient}, {table} or "
            "{frank_wolfe}, or read all rows into memory",
            solver=Setting("solver", self.solver),
            gradient=Setting("solver", "gradient"),
            table=Setting("solver", "table"),
            frank_wolfe=Setting("solver", "frank_wolfe"),
        )

    def check_memory(self, found_rows: int | None = None) -> None:
        """Reject a fit that needs too much memory, before anything is charged.

        Only public numbers count where the message says how much would be needed. People may have
        any number of rows, ``found_rows`` together, which no message tells.
        """
        self.check_columns()
        if self.centres:
            self._check_centred(found_rows)

    def check_columns(self) -> None:
        """Reject more columns or rounds than fit in memory, wherever the rows are."""
        columns, rounds = self.request.n_features.value, self.steps.value or 0
        of_columns = columns * self.fitter.column_bytes(self.request.loss.outputs)
        if of_columns > memory.LITTLE:
            memory.check(of_columns, f"a fit on {columns:,} columns", "give fewer")
        if (of_rounds := rounds * self.fitter.round_bytes) > memory.LITTLE:
            memory.check(of_rounds, f"a fit of {rounds:,} rounds", "lower max_iter")

    def _check_centred(self, found_rows: int | None) -> None:
        """Reject centred columns that do not fit: hardly any of their entries is 0."""
        assert self.bounds is not None
        columns = len(self.bounds.ranged)
        self.check_rows(CENTRED_BYTES * columns, found_rows, f"{columns:,} columns with ranges")

    def check_rows(
        self, row_bytes: int, found_rows: int | None, what: str, further: int = 0
    ) -> None:
        """Reject rows that do not fit in memory, with ``further`` bytes that are no rows'."""
        of_people = self.unit.is_person and found_rows is not None
        rows = found_rows if of_people and found_rows is not None else self.request.n_rows.value
        needed = row_bytes * rows + further
        # A number of rows that is not declared may be private.
        check = memory.check_private_size if of_people or self.reads_row_count else memory.check
        if needed > memory.LITTLE:
            check(needed, what, "give fewer")

    def fitted(
        self,
        weights: sp.csr_array,
        intercepts: Floats,
        released: Ints,
        steps: int,
        correction: Correction | None = None,
    ) -> Fitted:
        """Return the fitted model that results from the releases.

        ``weights`` and ``intercepts`` are corrected already, and predict labels without their
        public middle.
        """
        assert self.bounds is not None
        x_bound = self.request.x_bound
        reader = self.fitter.reader(
            self.row_map,
            self.request.n_features.value,
            self.bounds.largest if x_bound is None else x_bound,
            released,
            self.room_of_new_rows,
            self.centres,
        )
        intercepts = intercepts + self.request.loss.middle
        return Fitted(self.solver, weights, intercepts, released, steps, reader, correction)

    @property
    def solver(self) -> str:
        return self.fitter.name

    @property
    def maps_rows(self) -> bool:
        """Whether rows are mapped or scaled before they are multiplied with the weights."""
        return self.fitter.scales_rows or self.row_map != "as_is"

    @property
    def room_of_new_rows(self) -> float | None:
        """How many times a released bound entries of new rows are cut to; None if declared."""
        return ROOM_OF_NEW_ROWS if self.request.releases_bound else None

    @property
    def centres(self) -> bool:
        """Whether columns with a range are centred and scaled by it before the solver sees them."""
        ranged = self.bounds is not None and self.bounds.ranges is not None
        return ranged and not (self.fitter.reads_ranges and self.row_map == "as_is")

    @property
    def epsilon(self) -> float:
        return self.request.epsilon

    @property
    def delta(self) -> float:
        return self.request.delta

    @property
    def neighboring(self) -> Neighboring:
        return self.request.neighboring

    @property
    def unit(self) -> Unit:
        return self.request.unit

    @property
    def private(self) -> bool:
        """Whether the fit has a privacy guarantee."""
        return self.request.private

    @property
    def n_rows(self) -> Sourced[int | None]:
        return Sourced(self.request.n_rows.value, self.request.n_rows.source)

    @property
    def n_nonzero(self) -> Sourced[int | str]:
        """Number of coefficients that are kept, or "all"."""
        kept = self.request.n_nonzero
        return Sourced("all" if kept is None else kept, self.request.n_nonzero_source)

    @property
    def reads_row_count(self) -> bool:
        """Whether rules use a number of rows that is not public."""
        return self.private and READ in self.n_rows.source

    @property
    def needs_x_bound(self) -> bool:
        """Whether the result depends on bounds on entries, or on ranges."""
        return needs_bound(self.row_map) or self.centres

    @property
    def releases(self) -> tuple[Release, ...]:
        if not self.private:
            return ()
        bound = Release(
            "a bound on entries",
            "exponential mechanism over powers of sqrt(2)",
            bounded_range=self.bound_epsilon,
        )
        first = (bound,) if self.request.releases_bound else ()
        return (*first, *self.solver_releases(), *self._correction_releases())

    def _correction_releases(self) -> tuple[Release, ...]:
        if self.correction is None:
            return ()
        counts = "counts of rows by margin and class"
        steps = f"{CORRECTIONS} corrections of probabilities, each"
        return (
            gaussian_release(counts, self.correction.count_multiplier),
            gaussian_release(steps, self.correction.step_multiplier),
        )

    def to_dict(self, steps: int | None = None) -> dict[str, Any]:
        """Return the plan in the form of the privacy statement.

        ``steps`` is the number of steps that were made, if the plan does not fix it.
        """
        cost = {"rho": jsonable(self.rho)}
        return {
            "epsilon": jsonable(self.epsilon),
            "delta": self.delta,
            "neighboring": self.neighboring,
            "unit": self.unit.name,
            "rounds": self.steps.value if steps is None else steps,
            "bounds": self._bounds(),
            "public": self._public(),
            **(cost if self.mu is None else cost | {"mu": jsonable(self.mu)}),
            "mechanism": self.mechanism,
            "releases": [release.fact() for release in self.releases],
            "solver": self.solver,
            "row_map": self.row_map,
            **({} if self.room_of_new_rows is None else {NEW_ROWS: self.room_of_new_rows}),
        }

    def _bounds(self) -> dict[str, Fact]:
        return {
            "x_bound": fact(self._x_bound_text(), self.request.x_bound_source),
            **self.solver_bounds(),
            **self.request.label_bounds,
        }

    def _x_bound_text(self) -> float | str:
        """The bound on entries, or what all bounds and ranges of columns lie within."""
        if self.bounds is None:
            return UNRELEASED
        largest, ranges = self.bounds.largest, self.bounds.ranges
        if ranges is not None:
            own = ranges[self.bounds.ranged]
            said = f"a range per column, all between {own.min():g} and {own.max():g}"
            # The ends of the others are made of their bounds, and nobody declared them.
            others = np.delete(ranges, self.bounds.ranged, axis=0)
            return f"{said}, or a bound of at most {others.max():g}" if len(others) else said
        return largest if self.bounds.stretch is None else f"one per column, at most {largest:g}"

    def _public(self) -> dict[str, Fact]:
        request = self.request
        found = {"n_features": request.n_features.fact()}
        if request.feature_names is not None:
            found["feature_names"] = request.feature_names
        found |= {"n_rows": self.n_rows.fact(), **request.people_facts, **self.solver_facts()}
        if self.centres and self.bounds is not None:
            found["centred_columns"] = fact(len(self.bounds.ranged), "those with a range")
        if self.reason:
            found["solver"] = fact(self.solver, self.reason)
        if self.maps_rows:
            source = "public rule" if request.row_map == "auto" else "given"
            found["row_map"] = fact(self.row_map, source)
        return {**found, **request.label_facts}

    def __str__(self) -> str:
        lines = [
            f"{self.mechanism}: solver {self.solver}, row map {self.row_map}",
            f"epsilon {self.epsilon:g}, delta {self.delta:g}, neighbours by {self.neighboring}",
            f"protects: {protects(self.unit.name)}",
            f"steps: {_steps_text(self.steps)}",
        ]
        if not self.private:
            lines.append("NOT PRIVATE: nothing is promised, and no accountant can be charged")
        for release in self.releases:
            theta = "" if release.theta is None else f", theta {release.theta:.6g}"
            lines.append(f"release: {release_text(release.fact())}{theta}")
        if self.private:
            lines.append(f"cost: {self._cost_text()}")
        for name, known in {**self._bounds(), **self._public()}.items():
            lines.append(f"given: {fact_text(name, known)}")
        return "\n".join(lines)

    def _cost_text(self) -> str:
        cost = f"rho = {self.rho:.6g} in zero-concentrated differential privacy"
        if self.mu is not None:
            cost = f"mu = {self.mu:.6g} in Gaussian differential privacy"
        if self.request.charged:
            return f"{cost}; the accountant is charged rho = {zcdp.rho(self.event):.6g}"
        # With an accountant, which adds up rho, a fit would be planned to cost at most this.
        most = min(zcdp.rho(self.event), zcdp.rho_of(self.epsilon, self.delta))
        return f"{cost}; no accountant is charged, one would be charged rho = {most:.6g}"

    __repr__ = __str__


def _steps_text(steps: Sourced[int | None]) -> str:
    return steps.source if steps.value is None else f"{steps.value} ({steps.source})"
