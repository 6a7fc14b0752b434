"""Plans whose releases all have Gaussian noise, except for a bound on entries."""

from abc import abstractmethod
from dataclasses import dataclass

from dplasso.fitting.plan import Plan
from dplasso.fitting.request import Sourced
from dplasso.solvers.gradient import GradientPlan
from dplasso.solvers.table import TablePlan


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GaussianPlan(Plan):
    """A plan that spends mu on Gaussian releases."""

    @property
    @abstractmethod
    def numbers(self) -> GradientPlan | TablePlan:
        """The numbers of the solver's own plan."""

    @property
    def steps(self) -> Sourced[int | None]:
        return Sourced(self.numbers.steps, "public rule")

    @property
    def solver_rho(self) -> float:
        return 0.5 * self.numbers.mu**2 + self.bound_epsilon**2 / 8.0

    @property
    def solver_mu(self) -> float | None:
        # If a bound on entries is released, not all releases are Gaussian.
        return None if self.bound_epsilon else self.numbers.mu
