"""Plans whose releases all have Gaussian noise, except for a bound on entries."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

from dplasso.fitting.plan import Plan
from dplasso.fitting.request import Fact, Sourced
from dplasso.privacy.events import Event


class GaussianNumbers(Protocol):
    """The numbers that the plan of a solver fixes."""

    @property
    def event(self) -> Event: ...

    @property
    def steps(self) -> int: ...

    @property
    def mu(self) -> float: ...

    @property
    def bound_epsilon(self) -> float: ...


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GaussianPlan(Plan):
    """A plan that spends mu on Gaussian releases."""

    @property
    @abstractmethod
    def numbers(self) -> GaussianNumbers:
        """The numbers of the solver's own plan."""

    @property
    def solver_event(self) -> Event:
        return self.numbers.event

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

    @property
    def bound_epsilon(self) -> float:
        return self.numbers.bound_epsilon

    def solver_facts(self) -> dict[str, Fact]:
        return {"steps": self.steps.fact(), "n_nonzero": self.n_nonzero.fact()}
