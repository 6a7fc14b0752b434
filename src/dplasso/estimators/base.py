"""The steps of a fit that the classifier and the regressor share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Labels
from dplasso.base.silence import without_sizes
from dplasso.base.wording import Message, ParameterError, Setting
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.bounds import by_position
from dplasso.data.described import DescribedRows
from dplasso.data.row_maps import ROW_MAPS, needs_bound
from dplasso.estimators import undeclared
from dplasso.estimators.charging import bits_of, charge, check_accountant
from dplasso.estimators.coefficients import FittedCoefficients
from dplasso.estimators.parameters import StoredParameters, reject
from dplasso.estimators.seeding import Seed, SeedsByName
from dplasso.estimators.statement import statement
from dplasso.estimators.validation import Rows, check_lengths, checked_rows, checked_target
from dplasso.fitting import private_bound, registry
from dplasso.fitting.plan import Plan
from dplasso.fitting.request import Auto, Fact, Request, RowCount, Sourced
from dplasso.fitting.sparsifier import Sparsifier
from dplasso.fitting.task import Drawing, Task
from dplasso.losses import Loss
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy import leaks
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import READ, PrivacyStatement, fact
from dplasso.solvers import rule_for
from dplasso.solvers.frank_wolfe import MOST_ROUNDS

MOST_DECLARED_ROWS = 10**15  # more than any data have; the rules compute with this number


class PresenceWarning(UserWarning):
    """A rule reads dense columns, which may be numbers, as present or absent."""


class LabelFacts(NamedTuple):
    """Bounds on labels and public facts about them, in the form of the privacy statement."""

    bounds: dict[str, Fact]
    public: dict[str, Fact]


class PrivateLasso(SeedsByName, StoredParameters, FittedCoefficients, ABC):
    """Base class of `PrivateLassoClassifier` and `PrivateLassoRegressor`."""

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
    verbose: int
    privacy_: PrivacyStatement
    n_features_in_: int
    feature_names_in_: Sequence[str] | Labels
    table_plan_: dict[str, object]
    x_bound_: Any  # bounds with which the rows were read, if no ``x_bound`` is declared

    @abstractmethod
    def _checked_labels(self, y: Labels) -> Labels:
        """Return the labels if they are of the right kind and none is missing."""

    @abstractmethod
    def _make_loss(self, y: Labels) -> Loss:
        """Return the loss of this fit; may set attributes that describe the labels."""

    @abstractmethod
    def _declared_loss(self) -> Loss:
        """Return the loss of a fit whose labels are not known yet."""

    @abstractmethod
    def _label_facts(self, read: frozenset[str]) -> LabelFacts:
        """Facts about labels for the statement; ``read`` names facts taken from the data."""

    def _margin_unit(self) -> float:
        """Margin of this loss that corresponds to a margin of 1 of logistic loss."""
        return 1.0

    def fit(self, X: object, y: object, **rejected: object) -> Self:
        """Fit to rows ``X`` and labels ``y``.

        Parameters
        ----------
        X : array, sparse matrix, data frame, ColumnMatrix or DescribedRows
            Rows x columns. A `dplasso.data.described.DescribedRows` also describes the columns.
        y : array
            One label per row.

        Returns
        -------
        self

        Formal guarantees
        -----------------
        The fitted model, including every attribute, is (``epsilon``, ``delta``)-differentially
        private, in the sense and given the public facts that ``privacy_`` states. The budget is
        charged to ``accountant`` before the first draw.
        """
        reject(rejected, "fit")
        return without_sizes("the fit", lambda: self._fit(X, y))

    def _fit(self, X: object, y: object) -> Self:
        with np.errstate(all="ignore"):  # else numpy may raise or warn depending on the rows
            task = self.prepare(X, y)
            plan = task.plan
            undeclared.report(self, plan)
            receipt = charge(self, plan.event, plan.delta, plan.neighboring)
            ready = task.bounded()
            self.restore(ready.run())
        self.privacy_ = statement(self, ready.plan, receipt, secure=task.drawing.bits.secure)
        if self.fitted_.only_noise:  # at the end: the model must not be lost if this raises
            leaks.warn_caller(_ONLY_NOISE, leaks.OnlyNoiseWarning)
        return self

    def plan(self, n_rows: int, n_features: int) -> Plan:
        """Plan a fit: what it will do, release and cost.

        The plan reads no data, draws nothing and charges no accountant. A fit follows the same
        plan.

        Parameters
        ----------
        n_rows : int
            Number of rows of the data. If the estimator declares ``n_rows``, rules use that one.
        n_features : int
            Number of columns of the data.

        Returns
        -------
        Plan
            It has ``epsilon``, ``delta``, ``solver``, ``row_map``, ``steps``, ``releases`` (and the
            noise of each), ``rho``, ``mu`` and ``event``; ``print`` shows all of them.

        Examples
        --------
        >>> from dplasso import PrivateLassoClassifier
        >>> model = PrivateLassoClassifier(epsilon=1.0, classes=[0, 1], n_rows=10_000, x_bound=1.0)
        >>> plan = model.plan(n_rows=10_000, n_features=50_000)
        >>> plan.solver, plan.steps.value, round(plan.rho, 4)
        ('gradient', 30, 0.028)
        >>> round(plan.releases[1].noise_multiplier, 2)
        24.36
        """
        self.check_parameters()
        rows = checks.count("n_rows", n_rows, least=1, most=MOST_DECLARED_ROWS)
        columns = checks.count("n_features", n_features, least=1)
        names = self.feature_names
        if names is None and isinstance(self.x_bound, Mapping):
            names = list(self.x_bound)  # in any order, which no plan depends on
        loss = self._declared_loss()
        return registry.plan(self._request((rows, columns), loss, DescribedRows(None), names))

    def prepare(self, X: object, y: object) -> Task:
        """Check and plan a fit without charging or drawing anything.

        `fit`, audits and searches all start here.
        """
        self.check_parameters()
        described = X if isinstance(X, DescribedRows) else DescribedRows(X)
        rows, labels = self._checked(described.X, y)
        self._describe(described)
        loss = self._make_loss(labels)
        check_lengths(rows, labels)
        names = vars(self).get("feature_names_in_")
        plan = registry.plan(self._request(rows.shape, loss, described, names))
        self._warn_of_presence(plan, described)
        drawing = Drawing(self._random_bits(), _threads(self.n_jobs), self.verbose > 0)
        return registry.prepare(plan, rows, loss.encode(labels), drawing)

    def check_data(self, X: object, y: object) -> Labels:
        """Reject rows and labels that no fit could use, and return the labels as an array.

        It sets the attributes that describe columns and labels: ``n_features_in_``, ``classes_``.
        """
        rows, labels = self._checked(X, y)
        check_lengths(rows, labels)
        self._make_loss(labels).encode(labels)
        return labels

    def check_parameters(self) -> None:
        """Reject invalid parameters before the data are read."""
        checks.target("epsilon", self.epsilon)
        checks.probability("delta", self.delta)
        if self.radius != "auto":
            checks.bound("radius", self.radius)
        if self.max_iter != "auto":
            checks.count("max_iter", self.max_iter, least=1, most=MOST_ROUNDS)
        if self.n_rows is not None:
            checks.count("n_rows", self.n_rows, least=1, most=MOST_DECLARED_ROWS)
        if not isinstance(self.verbose, bool):
            checks.count("verbose", self.verbose, least=0)
        _threads(self.n_jobs)
        checks.choice("solver", self.solver, registry.SOLVERS)
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

    def _request(
        self,
        shape: tuple[int, int],
        loss: Loss,
        described: DescribedRows,
        names: Sequence[str] | Labels | None,
    ) -> Request:
        """Collect the public facts of a fit from checked parameters."""
        declared = described.bounds if self.x_bound is None else self.x_bound
        releases = self.releases_bound and declared is self.x_bound
        x_bound = None if releases else by_position(1.0 if declared is None else declared, names)
        bounds = None if x_bound is None else ColumnBounds.of(x_bound, shape[1])
        label_bounds, label_facts = self._label_facts(described.read)
        kept = self.n_nonzero
        counted = READ if "n_features" in described.read else "the shape of X"
        return Request(
            solver=self.solver,
            row_map=self.row_map,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            neighboring=self.neighboring,
            loss=loss,
            margin_unit=self._margin_unit(),
            n_rows=RowCount.of(self.n_rows, shape[0], self.neighboring),
            n_features=Sourced(int(shape[1]), counted),
            x_bound=x_bound,
            x_bound_source=private_bound.SOURCE if releases else source_of(declared),
            bounds=bounds,
            bound_share=self.bound_share if releases else 0.0,
            radius=self.radius,
            max_iter=self.max_iter,
            fit_intercept=self.fit_intercept,
            selection=self.selection,
            n_nonzero=None if kept is None or isinstance(kept, Sparsifier | str) else int(kept),
            n_nonzero_source=kept if isinstance(kept, str) else "given",
            sparsifier=kept if isinstance(kept, Sparsifier) else None,
            in_ball=self.in_ball,
            charged=self.accountant is not None,
            label_bounds=label_bounds,
            label_facts=label_facts,
            feature_names=self._names_fact(described),
        )

    def _checked(self, X: object, y: object) -> tuple[Rows | ColumnMatrix, Labels]:
        """Return checked rows and labels as arrays, and remember the feature names."""
        labels = self._checked_labels(checked_target(self, y))
        if isinstance(X, ColumnMatrix):
            self.n_features_in_ = X.shape[1]
            return X, labels
        rows = checked_rows(self, X, reset=True)
        self._check_names()
        return rows, labels

    def _check_names(self) -> None:
        """Check that column names are declared; if they come from X, the statement says so."""
        found = vars(self).get("feature_names_in_")
        if self.feature_names is None:
            if found is not None and not math.isinf(self.epsilon):
                leaks.report(
                    "names of features are those of X, which are not declared; pass feature_names, "
                    "or X without names",
                    warn=False,
                )
        elif found is None or list(found) != list(self.feature_names):
            raise ParameterError(
                "{feature_names} must be the names of the columns of X, in order; pass those, or "
                "a frame that has them"
            )

    def _describe(self, described: DescribedRows) -> None:
        """Store the names and the table plan that the reader of the rows provides."""
        if hasattr(self, "table_plan_"):
            del self.table_plan_
        if described.names is not None:
            self.feature_names_in_ = described.names
        if described.table_plan is not None:
            self.table_plan_ = dict(described.table_plan)
        if hasattr(self, "x_bound_"):
            del self.x_bound_
        if self.x_bound is None and described.bounds is not None:
            self.x_bound_ = described.bounds

    def _names_fact(self, described: DescribedRows) -> Fact | None:
        if described.names is not None:
            return fact("those of the columns", "declared")
        if described.X is None or "feature_names_in_" not in vars(self):
            return None
        read = f"{READ} and treated as public"
        return fact("those of X", read if self.feature_names is None else "declared")

    def _warn_of_presence(self, plan: Plan, described: DescribedRows) -> None:
        """Warn if a rule reads columns that may be numbers as present or absent.

        It depends on what is declared, and not on how rows are stored: a loader may choose the
        storage by the data. Entries bounded by 1 are mostly presence already, and columns that
        were made from a table are what its plan says.
        """
        by_rule = self.row_map == "auto" and not plan.needs_x_bound
        within_one = self.x_bound is not None and plan.bounds is not None and plan.bounds.are_one
        if by_rule and described.table_plan is None and not within_one:
            columns = plan.request.n_features.value
            leaks.warn_caller(_presence(columns), PresenceWarning)

    def _random_bits(self) -> RandomBits:
        return bits_of(self)

    def stated_as(self, statement: PrivacyStatement) -> Self:
        """Return a copy of this fitted model with the statement of the procedure that chose it."""
        found = type(self).__new__(type(self))
        found.__dict__.update(self.__dict__, privacy_=statement)
        return found

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file atomically. `dplasso.load` reads it back.

        The format uses no pickle: see docs/model_format.md.
        """
        from dplasso.estimators.saving import save

        save(self, path)

    def predict_file(
        self,
        path: str | PathLike[str],
        output: str | PathLike[str],
        *,
        proba: bool = False,
        identifier: str | None = None,
        **options: Any,
    ) -> None:
        """Predict the rows of a file, read as the training rows were, and write a file.

        Parameters
        ----------
        path : str or path
            Rows in any format that `dplasso.read_rows` reads.
        output : str or path
            The file to write, one line per row. Only its owner may read it, since predictions are
            AS PRIVATE AS THE ROWS. It is written completely or not at all.
        proba : bool, default=False
            Whether to write the probabilities of all classes, separated by tabs, below a header.
        identifier : str or None, default=None
            Column of a table that is written before each prediction, below a header.
        **options
            ``zero_based``, ``longest_line`` and ``progress`` of `dplasso.read_rows`; and ``raw``,
            whether to leave text unchanged that a spreadsheet would read as a formula.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from pathlib import Path
        >>> from dplasso import PrivateLassoClassifier
        >>> X = np.tile([[1.0, 0.0], [0.0, 1.0]], (500, 1))
        >>> model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=1000, x_bound=1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rows = Path(folder) / "rows.svm"
        ...     _ = rows.write_text("0 1:1\\n0 2:1\\n")
        ...     model.fit(X, X[:, 0] > 0).predict_file(rows, Path(folder) / "predicted")
        ...     (Path(folder) / "predicted").read_text().split()
        ['1', '0']
        """
        from dplasso.estimators.prediction_file import predict_file

        predict_file(self, path, output, proba=proba, identifier=identifier, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


_ONLY_NOISE = Message(
    "at this {epsilon} the noise would hide what the columns say, so the model predicts the "
    "released mean or shares of the classes; declare tighter bounds, fit more rows or fewer "
    "columns, or raise {epsilon}"
)


def _presence(columns: int) -> Message:
    return Message(
        "{auto} reads the entries of {columns:,} columns as present or absent, which leaves "
        "nothing of numbers that are hardly ever 0; pass {as_is} for such numbers, or {presence} "
        "to silence this",
        columns=columns,
        **{name: Setting("row_map", name) for name in ("auto", "as_is", "presence")},
    )


def source_of(bound: object) -> str:
    """Source of a bound that is not released, in the words of the privacy statement."""
    return undeclared.NOT_DECLARED if bound is None else "declared"


def _threads(n_jobs: int | None) -> int | None:
    """Number of threads as in joblib, but None means all cores: results do not depend on it."""
    if n_jobs is None or n_jobs == -1:
        return None
    return checks.count("n_jobs", n_jobs, least=1)
