"""The steps of a fit that the classifier and the regressor share."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from inspect import Parameter, signature
from numbers import Integral
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Labels
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.bounds import by_position
from dplasso.data.described import DescribedRows
from dplasso.data.row_maps import ROW_MAPS
from dplasso.estimators import undeclared
from dplasso.estimators.charging import bits_of, charge, check_accountant
from dplasso.estimators.coefficients import FittedCoefficients
from dplasso.estimators.seeding import Seed, SeedsByName
from dplasso.estimators.validation import Rows, checked_rows, checked_vector
from dplasso.fitting import fitters, private_bound
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
_REJECTED = {
    "sample_weight": "a weight multiplies a row's influence, and with it what the row is promised",
    "class_weight": "a weight multiplies a row's influence, and with it what the row is promised",
}


class LabelFacts(NamedTuple):
    """Bounds on labels and public facts about them, in the form of the privacy statement."""

    bounds: dict[str, Fact]
    public: dict[str, Fact]


class PrivateLasso(SeedsByName, FittedCoefficients, ABC):
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
    rows: str
    n_nonzero: int | None
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

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Hide the catch-all argument, which rejects unknown options, from the signature."""
        super().__init_subclass__(**kwargs)
        shown = signature(cls)
        options = [p for p in shown.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        cls.__signature__ = shown.replace(parameters=options)

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
        with np.errstate(all="ignore"):  # else numpy may raise or warn depending on the rows
            task = self.prepare(X, y)
            plan = task.plan
            undeclared.report(self, plan)
            receipt = charge(self, plan.event, plan.delta, plan.neighboring)
            ready = task.bounded()
            self.restore(ready.run())
        self.privacy_ = self._statement(ready.plan, secure=task.drawing.bits.secure)
        if receipt is not None:
            self.privacy_["ledger"] = receipt._asdict()
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
        >>> plan.solver, plan.steps.value, round(plan.releases[0].theta, 4), round(plan.rho, 4)
        ('frank_wolfe', 48, 0.0319, 0.0244)
        """
        self.check_parameters()
        rows = checks.count("n_rows", n_rows, least=1, most=MOST_DECLARED_ROWS)
        columns = checks.count("n_features", n_features, least=1)
        names = self.feature_names
        if names is None and isinstance(self.x_bound, Mapping):
            names = list(self.x_bound)  # in any order: only the largest bound matters
        loss = self._declared_loss()
        return fitters.plan(self._request((rows, columns), loss, DescribedRows(None), names))

    def prepare(self, X: object, y: object) -> Task:
        """Check and plan a fit without charging or drawing anything.

        `fit`, audits and searches all start here.
        """
        self.check_parameters()
        described = X if isinstance(X, DescribedRows) else DescribedRows(X)
        rows, labels = self._checked(described.X, y)
        self._describe(described)
        loss = self._make_loss(labels)
        _check_lengths(rows, labels)
        names = vars(self).get("feature_names_in_")
        plan = fitters.plan(self._request(rows.shape, loss, described, names))
        self._warn_of_presence(plan, rows)
        drawing = Drawing(self._random_bits(), _threads(self.n_jobs), self.verbose > 0)
        return fitters.prepare(plan, rows, loss.encode(labels), drawing)

    def check_data(self, X: object, y: object) -> Labels:
        """Reject rows and labels that no fit could use, and return the labels as an array.

        It sets the attributes that describe columns and labels: ``n_features_in_``, ``classes_``.
        """
        rows, labels = self._checked(X, y)
        _check_lengths(rows, labels)
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
        self._check_bound()
        _threads(self.n_jobs)
        self._check_names_of_options()
        self._check_options()
        rule_for(self.selection, math.inf if math.isinf(self.epsilon) else 1.0)
        check_accountant(self)

    def _check_options(self) -> None:
        """Reject options that the solver would ignore."""
        keep = self._keep()
        if all(fitter.in_ball for fitter in fitters.candidates(self.solver, self.epsilon)):
            return
        if self.radius != "auto" or self.max_iter != "auto" or not self.fit_intercept:
            raise ValueError(
                "radius, max_iter and fit_intercept=False are for solver='frank_wolfe'; a descent "
                "has a length of its own and an intercept, leave them out"
            )
        if isinstance(keep, Sparsifier):
            raise ValueError("a Sparsifier is for solver='frank_wolfe'; pass n_nonzero instead")

    def _check_bound(self) -> None:
        if private_bound.is_asked(self.x_bound):
            checks.probability("bound_share", self.bound_share)
        elif isinstance(self.x_bound, str):
            raise ValueError(
                "x_bound must be a positive number, one per column, a mapping from feature names, "
                f"or 'private', got {self.x_bound!r}"
            )

    def _check_names_of_options(self) -> None:
        known = {"solver": fitters.SOLVERS, "rows": ("auto", *ROW_MAPS)}
        for name, names in known.items():
            if getattr(self, name) not in names:
                raise ValueError(
                    f"{name} must be one of {', '.join(names)}, got {getattr(self, name)!r}"
                )

    def _keep(self) -> int | Sparsifier | None:
        """Number of coefficients to keep; ``sparsify=k`` means the same as ``n_nonzero=k``."""
        keep = self._sparsify
        if self.n_nonzero is not None:
            if keep is not None:
                raise ValueError("n_nonzero and sparsify both say what to keep; give one")
            return checks.count("n_nonzero", self.n_nonzero, least=1)
        if keep is None or isinstance(keep, Sparsifier):
            return keep
        if isinstance(keep, Integral) and not isinstance(keep, bool) and keep >= 1:
            return int(keep)
        raise ValueError(
            "sparsify must be None, a whole number of coefficients to keep, or a Sparsifier, "
            f"got {keep!r}"
        )

    def _request(
        self,
        shape: tuple[int, int],
        loss: Loss,
        described: DescribedRows,
        names: Sequence[str] | Labels | None,
    ) -> Request:
        """Collect the public facts of a fit from checked parameters."""
        releases = private_bound.is_asked(self.x_bound)
        x_bound = None if releases else by_position(undeclared.bound_or_one(self, "x_bound"), names)
        bounds = None if x_bound is None else ColumnBounds.of(x_bound, shape[1])
        label_bounds, label_facts = self._label_facts(described.read)
        counted = READ if "n_features" in described.read else "the shape of X"
        return Request(
            solver=self.solver,
            row_map=self.rows,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            neighboring=self.neighboring,
            loss=loss,
            margin_unit=self._margin_unit(),
            n_rows=RowCount.of(self.n_rows, shape[0], self.neighboring),
            n_features=Sourced(int(shape[1]), counted),
            x_bound=x_bound,
            x_bound_source=source_of(self.x_bound),
            bounds=bounds,
            bound_share=self.bound_share if releases else 0.0,
            radius=self.radius,
            max_iter=self.max_iter,
            fit_intercept=self.fit_intercept,
            selection=self.selection,
            keep=self._keep(),
            charged=self.accountant is not None,
            label_bounds=label_bounds,
            label_facts=label_facts,
            feature_names=self._names_fact(described),
        )

    def _checked(self, X: object, y: object) -> tuple[Rows | ColumnMatrix, Labels]:
        """Return checked rows and labels as arrays, and remember the feature names."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        labels = self._checked_labels(checked_vector(y))
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
            raise ValueError(
                "feature_names must be the names of the columns of X, in order; pass those, or a "
                "frame that has them"
            )

    def _describe(self, described: DescribedRows) -> None:
        """Store the names and the table plan that the reader of the rows provides."""
        if hasattr(self, "table_plan_"):
            del self.table_plan_
        if described.names is not None:
            self.feature_names_in_ = described.names
        if described.table_plan is not None:
            self.table_plan_ = dict(described.table_plan)

    def _names_fact(self, described: DescribedRows) -> Fact | None:
        if described.names is not None:
            return fact("those of the columns", "declared")
        if described.X is None or "feature_names_in_" not in vars(self):
            return None
        read = f"{READ} and treated as public"
        return fact("those of X", read if self.feature_names is None else "declared")

    def _warn_of_presence(self, plan: Plan, X: Rows | ColumnMatrix) -> None:
        """Warn if a rule reads dense columns, which may be numbers, as present or absent."""
        if self.rows == "auto" and not plan.needs_x_bound and isinstance(X, np.ndarray):
            warnings.warn(
                f"rows='auto' reads the entries of {X.shape[1]:,} columns as present or absent, "
                "which leaves nothing of numbers that are hardly ever 0; pass rows='as_is' for "
                "such numbers, or rows='presence' to silence this",
                stacklevel=4,
            )

    def _random_bits(self) -> RandomBits:
        return bits_of(self)

    def _statement(self, plan: Plan, *, secure: bool) -> PrivacyStatement:
        from dplasso import __version__

        return PrivacyStatement(
            model=type(self).__name__,
            **plan.to_dict(self.n_iter_),
            secure_rng=secure,
            version=__version__,
            date=datetime.now(UTC).date().isoformat(),  # only a day: the time depends on the rows
        )

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


def reject(options: Mapping[str, object], where: str) -> None:
    """Raise an error that says why an option does not exist; none is ignored."""
    for name in options:
        reason = _REJECTED.get(name)
        if reason is None:
            raise TypeError(f"{where} got an unexpected option {name!r}")
        raise TypeError(f"{where} does not take {name}: {reason}; leave it out")


def _check_lengths(X: Rows | ColumnMatrix, y: Labels) -> None:
    # The number of rows may itself be private, so the message does not state it.
    if len(y) != X.shape[0]:
        raise ValueError("X and y differ in their number of rows; give one label per row")


def source_of(bound: object) -> str:
    """Source of a bound, in the words of the privacy statement."""
    if isinstance(bound, str):
        return "private quantile"
    return "not declared, 1 by default" if bound is None else "declared"


def _threads(n_jobs: int | None) -> int | None:
    """Number of threads as in joblib, but None means all cores: results do not depend on it."""
    if n_jobs is None or n_jobs == -1:
        return None
    return checks.count("n_jobs", n_jobs, least=1)
