"""The walk of a fit, which classifier and regressor share."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime
from inspect import Parameter, signature
from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dplasso.base import checks, memory
from dplasso.base.memory import TooLargeError
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.merging import merged
from dplasso.data.row_maps import ROW_MAPS, clipped, only_columns, row_view, unit_length
from dplasso.data.used_columns import has_unused, places_in, used_columns, weights_at
from dplasso.estimators import few_fit, frank_wolfe_fit, gradient_fit, private_bound, undeclared
from dplasso.estimators.charging import bits_of, charge, check_accountant
from dplasso.estimators.defaults import auto_rows, auto_solver
from dplasso.estimators.seeding import SeedsByName
from dplasso.estimators.settings import rows_used
from dplasso.estimators.sparsifier import Sparsifier
from dplasso.estimators.validation import checked_rows, checked_vector
from dplasso.losses import Loss
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy import leaks
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import READ, PrivacyStatement, fact, jsonable
from dplasso.solvers import rule_for
from dplasso.solvers.frank_wolfe import MOST_ROUNDS

SOLVERS = ("frank_wolfe", "gradient", "auto")
MOST_DECLARED_ROWS = 10**15  # beyond any data; rules compute with it
# What knows how to fit by a solver; "select" is what "auto" may come to.
_ROUTES: dict[str, Any] = {
    "frank_wolfe": frank_wolfe_fit,
    "gradient": gradient_fit,
    "select": few_fit,
}
_REFUSED = {
    "sample_weight": "a weight multiplies a row's influence, and with it what the row is promised",
    "class_weight": "a weight multiplies a row's influence, and with it what the row is promised",
}


class PrivateLasso(SeedsByName, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn is untyped
    """What the private L1 estimators have in common. See the classifier and the regressor."""

    epsilon: float
    delta: float
    radius: float | str
    max_iter: int | str
    x_bound: Any
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
    random_state: Any
    n_jobs: int | None
    verbose: int
    intercept_: NDArray[np.float64]
    _weights: sp.csr_array  # outputs x columns

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show the options there are, not the catch-all by which others are refused."""
        super().__init_subclass__(**kwargs)
        shown = signature(cls)
        options = [p for p in shown.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        cls.__signature__ = shown.replace(parameters=options)

    @abstractmethod
    def _checked_labels(self, y: NDArray[Any]) -> NDArray[Any]:
        """Labels of the right kind, without gaps."""

    @abstractmethod
    def _make_loss(self, y: Any) -> Loss:
        """The loss of this fit; may set attributes that describe the labels."""

    def _margin_unit(self) -> float:
        """What a margin of 1 for logistic loss is for this estimator's."""
        return 1.0

    @abstractmethod
    def _more_bounds(self) -> dict[str, dict[str, Any]]:
        """Bounds of the statement that this estimator has besides the common ones."""

    @abstractmethod
    def _more_public(self) -> dict[str, dict[str, Any]]:
        """Public facts of the statement besides the common ones."""

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Fit to rows ``X`` and labels ``y``.

        Formal guarantees
        -----------------
        What is fitted, every attribute included, is (``epsilon``, ``delta``)-differentially private
        in the sense, and up to the public facts, that ``privacy_`` states. Budget is charged to
        ``accountant`` before the first draw.
        """
        refuse(refused, "fit")
        self._check_parameters()
        with np.errstate(all="ignore"):  # it may be set to raise, or warn, by what rows come to
            task = self._prepare(X, y)
            undeclared.report(self)
            plan = task.plan
            receipt = charge(self, plan.event, plan.delta, plan.neighboring)
            if isinstance(task, private_bound.Unbounded):
                task = private_bound.release(self, task)
            self._route.run(self, task)
        self._dense: NDArray[np.float64] | None = None
        self._kept_sparse = False
        self.privacy_ = self._statement(task)
        if receipt is not None:
            self.privacy_["ledger"] = receipt._asdict()
        return self

    def _prepare(self, X: Any, y: Any) -> Any:
        """Check everything, and fix what the fit will cost, before anything is charged."""
        X, y = self._checked(X, y)
        loss = self._make_loss(y)
        if len(y) != X.shape[0]:
            raise ValueError("X and y differ in their number of rows; give one label per row")
        self.solver_, _ = self._chosen_solver(X.shape, loss.outputs)
        self.rows_ = self._chosen_rows(X)
        if private_bound.is_asked(self):
            return private_bound.prepare(self, X, y, loss)
        x_bound = undeclared.bound_or_one(self, "x_bound")
        bounds = ColumnBounds.of(x_bound, X.shape[1], getattr(self, "feature_names_in_", None))
        return self._route.prepare(self, X, y, loss, bounds)

    @property
    def _route(self) -> Any:
        return _ROUTES[self.solver_]

    def _check_parameters(self) -> None:
        """Refuse what can be refused before the data are looked at."""
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
        private_bound.check(self)
        _threads(self.n_jobs)
        self._check_solver()
        rule_for(self.selection, math.inf if math.isinf(self.epsilon) else 1.0)
        keep = self._sparsify
        if isinstance(keep, bool) or not (
            keep is None
            or isinstance(keep, Sparsifier)
            or (isinstance(keep, Integral) and keep >= 1)
        ):
            raise ValueError(
                "sparsify must be None, a whole number of coefficients to keep, or a Sparsifier, "
                f"got {keep!r}"
            )
        check_accountant(self)

    def _check_solver(self) -> None:
        """Refuse unknown names, and what a solver would not heed."""
        for name, known in (("solver", SOLVERS), ("rows", ("auto", *ROW_MAPS))):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}"
                )
        if self.n_nonzero is not None:
            checks.count("n_nonzero", self.n_nonzero, least=1)
            if self._sparsify is not None:
                raise ValueError("n_nonzero and sparsify both say what to keep; give one")
        if not self._descends:
            return
        if self.radius != "auto" or self.max_iter != "auto" or not self.fit_intercept:
            raise ValueError(
                "radius, max_iter and fit_intercept=False are for solver='frank_wolfe'; a descent "
                "has a length of its own and an intercept, leave them out"
            )
        if isinstance(self._sparsify, Sparsifier):
            raise ValueError("a Sparsifier is for solver='frank_wolfe'; pass n_nonzero instead")

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Rows and labels as arrays, checked for shape and gaps; feature names are noted."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        y = self._checked_labels(checked_vector(y))
        if isinstance(X, ColumnMatrix):
            self.n_features_in_ = X.shape[1]
            return X, y
        X = checked_rows(self, X, reset=True)
        self._check_names()
        return X, y

    def _check_names(self) -> None:
        """Names of columns are those declared, or taken from X and said to be."""
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

    def _random_bits(self) -> RandomBits:
        return bits_of(self)

    @property
    def _n_nonzero(self) -> int | None:
        """A public number of coefficients to keep; ``sparsify=k`` is the same."""
        if self.n_nonzero is not None:
            return int(self.n_nonzero)
        return int(self._sparsify) if isinstance(self._sparsify, Integral) else None

    @property
    def _thread_count(self) -> int | None:
        return _threads(self.n_jobs)

    @property
    def _descends(self) -> bool:
        """Whether the fit is a descent, on all columns or on a few."""
        return self.solver == "gradient" or (self.solver == "auto" and not math.isinf(self.epsilon))

    def _chosen_solver(self, shape: tuple[int, int], outputs: int) -> tuple[str, str]:
        """Which solver, by public facts, and why."""
        if self.solver != "auto":
            return self.solver, "given"
        rows = rows_used(self, shape[0])[0]
        facts = (float(self.epsilon), float(self.delta), rows, shape[1], outputs)
        return auto_solver(*facts, self._n_nonzero)

    def _chosen_rows(self, X: Any) -> str:
        """Which map of rows; "auto" goes by the solver and the number of columns alone, and leaves
        entries that are to be bounded as they are."""
        if self.rows != "auto":
            return self.rows
        if private_bound.is_asked(self):
            return "as_is"
        found = auto_rows(self.solver_, X.shape[1])
        if found == "presence" and isinstance(X, np.ndarray):
            warnings.warn(
                f"rows='auto' reads the entries of {X.shape[1]:,} columns as present or absent, "
                "which leaves nothing of numbers that are hardly ever 0; pass rows='as_is' for "
                "such numbers, or rows='presence' to silence this",
                stacklevel=5,
            )
        return found

    def _statement(self, task: Any) -> PrivacyStatement:
        """What was promised: the facts of every fit, and those of the solver."""
        from dplasso import __version__

        bounds, plan = task.bounds, task.plan
        private_bound.state(self, plan, own := self._own_facts(task))
        x_bound: Any = bounds.largest
        if bounds.stretch is not None:
            x_bound = f"one per column, at most {bounds.largest:g}"
        return PrivacyStatement(
            model=type(self).__name__,
            epsilon=jsonable(plan.epsilon),
            delta=plan.delta,
            neighboring=plan.neighboring,
            rounds=self.n_iter_,
            bounds={
                "x_bound": fact(x_bound, source_of(self.x_bound)),
                **own.pop("bounds"),
                **self._more_bounds(),
            },
            public={
                "n_features": fact(self.n_features_in_, "the shape of X"),
                **self._stated_names(),
                **own.pop("public"),
                **self._more_public(),
            },
            **own,
            solver=self.solver_,
            rows=self.rows_,
            secure_rng=task.bits.secure,
            version=__version__,
            date=datetime.now(UTC).date().isoformat(),  # a day: no clock tells of the rows
        )

    def _own_facts(self, task: Any) -> dict[str, Any]:
        """What the statement of one solver has and that of the other does not."""
        own: dict[str, Any] = self._route.statement(self, task)
        if self.solver != "frank_wolfe":
            shape = (own["public"]["n_rows"]["value"] or 0, self.n_features_in_)
            own["public"]["solver"] = fact(*self._chosen_solver(shape, task.loss.outputs))
        if self.rows_ != "as_is" or self.solver_ != "frank_wolfe":
            source = "public rule" if self.rows == "auto" else "given"
            own["public"]["rows"] = fact(self.rows_, source)
        return own

    def _stated_names(self) -> dict[str, Any]:
        if "feature_names_in_" not in vars(self):
            return {}
        read = f"{READ} and treated as public"
        source = read if self.feature_names is None else "declared"
        return {"feature_names": fact("those of X", source)}

    @property
    def coef_(self) -> Any:
        """Coefficients: outputs x columns, dense, or sparse after `sparsify`."""
        check_is_fitted(self, "_weights")
        if self._kept_sparse:
            return self._weights
        if self._dense is None:
            _check_dense(self._weights)
            self._dense = self._weights.toarray()
        return self._dense

    @property
    def sparsify(self) -> Any:
        """Method: make ``coef_`` sparse, as in scikit-learn. The parameter of the same name, how
        many coefficients a fit keeps, is read with ``get_params()``."""
        return self._make_sparse

    @sparsify.setter
    def sparsify(self, value: int | Sparsifier | None) -> None:
        self._sparsify = value

    def _make_sparse(self) -> Self:
        check_is_fitted(self, "_weights")
        self._kept_sparse, self._dense = True, None
        return self

    def densify(self) -> Self:
        """Make ``coef_`` dense again, as in scikit-learn."""
        check_is_fitted(self, "_weights")
        self._kept_sparse = False
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        params: dict[str, Any] = super().get_params(deep)
        params["sparsify"] = self._sparsify
        return params

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file, atomically. `dplasso.load` reads it back.

        The format has no pickle in it: docs/model_format.md.
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
        """Predict the rows of a file, which are read as the training rows were, into a file.

        Parameters
        ----------
        path : str or path
            Rows of any format that `dplasso.read_rows` reads.
        output : str or path
            The file to write, one line per row. Only its owner may read it, since predictions are
            AS PRIVATE AS THE ROWS. It is there whole or not at all.
        proba : bool, default=False
            Whether to write the probabilities of all classes, below a header, separated by tabs.
        identifier : str, default=None
            A column of a table to write before each prediction, below a header.
        **options
            ``zero_based``, ``longest_line`` and ``progress``, as of `dplasso.read_rows`; and
            ``raw``, whether to leave texts as they are that a spreadsheet takes for formulas.

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

    def _margins(self, X: Any) -> NDArray[np.float64]:
        """Margins of new rows, rows x outputs."""
        check_is_fitted(self, "_weights")
        X, weights, columns = checked_rows(self, X, reset=False), self._weights, None
        if has_unused(X):  # memory is then for the entries, whatever the number of columns
            X, columns = used_columns(X)
            weights = weights_at(weights, columns)
        margins = self._as_fitted(X, columns) @ weights.T
        dense = margins.toarray() if sp.issparse(margins) else np.asarray(margins)
        return np.asarray(dense, dtype=np.float64) + self.intercept_

    def _as_fitted(self, X: Any, columns: NDArray[np.int64] | None = None) -> Any:
        """Rows as the solver saw its own, where that is not as they are given.

        ``columns`` are the numbers of those of X, where it does not have all of them.
        """
        if self.rows_ == "as_is" and self.solver_ == "frank_wolfe":
            # scipy would add repeated entries in the precision of the matrix.
            return merged(X, "csr") if sp.issparse(X) and X.format == "coo" else X
        x_bound = private_bound.bound_of(self)
        names = getattr(self, "feature_names_in_", None)
        bounds = ColumnBounds.of(x_bound, self.n_features_in_, names, columns)
        if self.rows_ == "as_is":
            found = clipped(bounds.apply(X), bounds.largest)
        else:
            found, _ = row_view(X, self.rows_, bounds)
        if self.solver_ == "select":
            chosen = self.vertices_[:, 0]
            if columns is not None:
                chosen, known = places_in(chosen, columns)
                chosen = chosen[known]
            found = only_columns(found, chosen)
        return found if self.solver_ == "frank_wolfe" else unit_length(found)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_weights")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def refuse(options: dict[str, Any], where: str) -> None:
    """Say why an option is not there; never ignore one."""
    for name in options:
        reason = _REFUSED.get(name)
        if reason is None:
            raise TypeError(f"{where} got an unexpected option {name!r}")
        raise TypeError(f"{where} does not take {name}: {reason}; leave it out")


def source_of(bound: Any) -> str:
    if isinstance(bound, str):
        return "private quantile"
    return "not declared, 1 by default" if bound is None else "declared"


class TooWideError(TooLargeError, AttributeError):
    """Coefficients that do not fit in memory when they are written out.

    To `hasattr` they are not there: a notebook and `dir` ask for all attributes, and show the rest.
    """


def _check_dense(weights: sp.csr_array) -> None:
    needed = math.prod(weights.shape) * weights.dtype.itemsize
    try:
        memory.check(needed, "coef_ as a dense array", "call sparsify(), which keeps it sparse")
    except TooLargeError as error:
        raise TooWideError(str(error)) from None


def _threads(n_jobs: int | None) -> int | None:
    """As in joblib, except that None is all cores: results do not depend on their number."""
    if n_jobs is None or n_jobs == -1:
        return None
    return checks.count("n_jobs", n_jobs, least=1)
