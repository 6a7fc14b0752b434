"""The plan of a fit: what it will do, release and cost, fixed before any row is read."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import scipy.sparse as sp

from dplasso.base.arrays import Floats, Ints
from dplasso.data import ColumnBounds
from dplasso.data.row_maps import needs_bound
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.release import Release
from dplasso.fitting.request import Fact, Request, Sourced
from dplasso.privacy import zcdp
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.events import Event
from dplasso.privacy.statement import READ, fact, fact_text, jsonable, release_text

if TYPE_CHECKING:
    from dplasso.fitting.fitter import Fitter
    from dplasso.fitting.task import BoundedTask, Drawing

UNRELEASED = "known once it is released"


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
    epsilon : float
        Epsilon of the guarantee.
    delta : float
        Delta of the guarantee.
    neighboring : str
        Neighbouring relation of the guarantee.
    n_rows : Sourced
        Number of rows that rules used, if any did.
    steps : Sourced
        Rounds or steps; None if a fit without privacy runs until it has converged.
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

    @property
    @abstractmethod
    def event(self) -> Event: ...

    @property
    @abstractmethod
    def steps(self) -> Sourced[int | None]: ...

    @property
    @abstractmethod
    def rho(self) -> float: ...

    @property
    def mu(self) -> float | None:
        return None

    @property
    @abstractmethod
    def bound_epsilon(self) -> float:
        """Bounded range of the release of a bound on entries; 0 if no bound is released."""

    @abstractmethod
    def solver_releases(self) -> tuple[Release, ...]:
        """Releases of the solver."""

    @abstractmethod
    def solver_bounds(self) -> dict[str, Fact]:
        """Bounds of the solver, in the form of the privacy statement."""

    @abstractmethod
    def solver_facts(self) -> dict[str, Fact]:
        """Further public facts that the solver used."""

    @abstractmethod
    def at(self, bound: float) -> Self:
        """Return the plan of the same fit at the same cost, with the released bound on entries."""

    @abstractmethod
    def prepare(self, X: Any, labels: Floats, drawing: "Drawing") -> "BoundedTask":
        """Prepare rows and encoded labels for the solver; ``bounds`` must be known."""

    def fitted(
        self, weights: sp.csr_array, intercepts: Floats, released: Ints, steps: int
    ) -> Fitted:
        """Return the fitted model that results from the releases."""
        assert self.bounds is not None
        x_bound = self.request.x_bound
        reader = self.fitter.reader(
            self.row_map,
            self.request.n_features.value,
            self.bounds.largest if x_bound is None else x_bound,
            released,
        )
        return Fitted(self.solver, weights, intercepts, released, steps, reader)

    @property
    def solver(self) -> str:
        return self.fitter.name

    @property
    def maps_rows(self) -> bool:
        """Whether rows are mapped or scaled before they are multiplied with the weights."""
        return self.fitter.scales_rows or self.row_map != "as_is"

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
    def private(self) -> bool:
        """Whether the fit has a privacy guarantee."""
        return self.request.private

    @property
    def n_rows(self) -> Sourced[int | None]:
        return Sourced(self.request.n_rows.value, self.request.n_rows.source)

    @property
    def reads_row_count(self) -> bool:
        """Whether rules use a number of rows that is not public."""
        return self.private and READ in self.n_rows.source

    @property
    def needs_x_bound(self) -> bool:
        """Whether the result depends on a bound on entries."""
        return needs_bound(self.row_map)

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
        return (*first, *self.solver_releases())

    def to_dict(self, steps: int | None = None) -> dict[str, Any]:
        """Return the plan in the form of the privacy statement.

        ``steps`` is the number of steps that were made, if the plan does not fix it.
        """
        cost = {"rho": jsonable(self.rho)}
        return {
            "epsilon": jsonable(self.epsilon),
            "delta": self.delta,
            "neighboring": self.neighboring,
            "rounds": self.steps.value if steps is None else steps,
            "bounds": self._bounds(),
            "public": self._public(),
            **(cost if self.mu is None else cost | {"mu": jsonable(self.mu)}),
            "mechanism": self.mechanism,
            "releases": [release.fact() for release in self.releases],
            "solver": self.solver,
            "rows": self.row_map,
        }

    def _bounds(self) -> dict[str, Fact]:
        value: float | str = UNRELEASED
        if self.bounds is not None:
            largest = self.bounds.largest
            value = largest
            if self.bounds.stretch is not None:
                value = f"one per column, at most {largest:g}"
        return {
            "x_bound": fact(value, self.request.x_bound_source),
            **self.solver_bounds(),
            **self.request.label_bounds,
        }

    def _public(self) -> dict[str, Fact]:
        request = self.request
        found = {"n_features": request.n_features.fact()}
        if request.feature_names is not None:
            found["feature_names"] = request.feature_names
        found |= {"n_rows": self.n_rows.fact(), **self.solver_facts()}
        if self.reason:
            found["solver"] = fact(self.solver, self.reason)
        if self.maps_rows:
            source = "public rule" if request.row_map == "auto" else "given"
            found["rows"] = fact(self.row_map, source)
        return {**found, **request.label_facts}

    def __str__(self) -> str:
        lines = [
            f"{self.mechanism}: solver {self.solver}, rows {self.row_map}",
            f"epsilon {self.epsilon:g}, delta {self.delta:g}, neighbours by {self.neighboring}",
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
