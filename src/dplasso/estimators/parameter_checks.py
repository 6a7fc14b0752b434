"""The parameters that classifier and regressor share, and the checks of them."""

import math
from collections.abc import Mapping, Sequence

from dplasso.base import checks
from dplasso.base.devices import DEVICES, on_card
from dplasso.base.wording import ParameterError, Setting
from dplasso.cluster import Cluster
from dplasso.cluster.cluster import check_backend
from dplasso.data.row_maps import ROW_MAPS, needs_bound
from dplasso.estimators.charging import check_accountant
from dplasso.estimators.declared import declared
from dplasso.estimators.people import ProtectedPeople
from dplasso.estimators.seeding import Seed
from dplasso.fitting import private_bound, registry
from dplasso.fitting.request import Auto
from dplasso.fitting.sparsifier import Sparsifier
from dplasso.kernels.cuda import card as cards
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.solvers import rule_for
from dplasso.solvers.frank_wolfe import MOST_ROUNDS

MOST_DECLARED_ROWS = 10**15  # more than any data have; the rules compute with this number


class CheckedParameters(ProtectedPeople):
    """Parameters of a fit, which are checked before any data are read."""

    epsilon: float
    delta: float
    radius: float | Auto
    max_iter: int | Auto
    x_bound: float | Sequence[float] | Mapping[str, float] | str | None
    bound_share: float
    fit_intercept: bool
    n_rows: int | None
    feature_names: Sequence[str] | None
    solver: str
    row_map: str
    n_nonzero: int | Sparsifier | Auto | None
    selection: str
    neighboring: Neighboring
    accountant: Accountant | None
    random_state: Seed
    n_jobs: int | None
    device: str
    verbose: int
    backend: str | Cluster

    def check_parameters(self) -> None:
        """Reject invalid parameters before the data are read."""
        checks.target("epsilon", self.epsilon)
        checks.probability("delta", self.delta)
        if self.radius != "auto":
            checks.bound("radius", self.radius)
        if self.max_iter != "auto":
            checks.count("max_iter", self.max_iter, least=1, most=MOST_ROUNDS)
        n_rows = declared(self, "n_rows")
        if n_rows is not None:
            checks.count("n_rows", n_rows, least=1, most=MOST_DECLARED_ROWS)
        self._check_people()
        if not isinstance(self.verbose, bool):
            checks.count("verbose", self.verbose, least=0)
        threads_of(self.n_jobs)
        check_backend(self.backend)
        checks.choice("solver", self.solver, registry.SOLVERS)
        self._check_device()
        checks.choice("row_map", self.row_map, ("auto", *ROW_MAPS))
        self._check_bound()
        if self.n_nonzero not in (None, "auto") and not isinstance(self.n_nonzero, Sparsifier):
            checks.count("n_nonzero", self.n_nonzero, least=1)
        self._check_options()
        rule_for(self.selection, math.inf if math.isinf(self.epsilon) else 1.0)
        check_accountant(self)

    def _check_options(self) -> None:
        """Reject options that the solver would ignore."""
        candidates = registry.candidates(self.solver, self.epsilon, self.in_ball)
        if all(fitter.in_ball for fitter in candidates):
            return
        solver = Setting("solver", "frank_wolfe")
        if self.radius != "auto" or self.max_iter != "auto" or not self.fit_intercept:
            raise ParameterError(
                "{radius}, {max_iter} and {without} are for {solver}; a descent has a length of "
                "its own and an intercept, leave them out",
                without=Setting("fit_intercept", False),
                solver=solver,
            )
        if isinstance(self.n_nonzero, Sparsifier):
            raise ParameterError(
                "a Sparsifier is for {solver}; pass a number as {n_nonzero} instead", solver=solver
            )

    def _check_device(self) -> None:
        """Reject a device that the solver cannot run on; "auto" may choose one that can."""
        checks.choice("device", self.device, DEVICES)
        if not on_card(self.device) or self.solver == registry.AUTO:
            return
        if not registry.fitter_of(self.solver).on_card(self.selection):
            raise ParameterError(
                "{device} is for {gradient}, {table} and {noisy_max}; leave it out, other fits run "
                "on the processor",
                device=Setting("device", self.device),
                gradient=Setting("solver", "gradient"),
                table=Setting("solver", "table"),
                noisy_max=Setting("selection", "noisy_max"),
            )

    def check_card(self) -> None:
        """Raise an error if a card was asked for that is not there, or cannot be used."""
        if on_card(self.device):
            cards.checked_card()

    @property
    def in_ball(self) -> bool:
        """Whether options are given that only Frank-Wolfe has; "auto" then chooses it."""
        given = self.radius != "auto" or self.max_iter != "auto" or not self.fit_intercept
        return given or self.selection != "lazy" or isinstance(self.n_nonzero, Sparsifier)

    @property
    def releases_bound(self) -> bool:
        """Whether a bound on entries is released before the fit; a function of parameters alone.

        It is if that is asked for, and also if no bound is declared where one matters most: the
        noise of Frank-Wolfe grows with the bound, and so does the unit of an automatic radius.
        """
        if self.x_bound is not None:
            return private_bound.is_asked(self.x_bound)
        candidates = registry.candidates(self.solver, self.epsilon, self.in_ball)
        in_ball = all(fitter.in_ball for fitter in candidates) and self.radius == "auto"
        return in_ball and not math.isinf(self.epsilon) and needs_bound(self.row_map)

    def _check_bound(self) -> None:
        if self.releases_bound:
            checks.probability("bound_share", self.bound_share)
        elif isinstance(self.x_bound, str):
            raise ParameterError(
                "{x_bound} must be a positive number, one per column, a mapping from feature "
                "names, or 'private', got {value!r}",
                value=self.x_bound,
            )


def threads_of(n_jobs: int | None) -> int | None:
    """Number of threads as in joblib, but None means all cores: results do not depend on it."""
    if n_jobs is None or n_jobs == -1:
        return None
    return checks.count("n_jobs", n_jobs, least=1)
