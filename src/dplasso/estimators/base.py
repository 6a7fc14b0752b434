"""The steps of a fit that the classifier and the regressor share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Labels
from dplasso.base.devices import on_card
from dplasso.base.interrupts import interrupts_as_raised
from dplasso.base.silence import without_sizes
from dplasso.base.wording import Message, ParameterError, Setting
from dplasso.cluster import Shards
from dplasso.cluster.opened import OpenShards, opened
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.bounds import by_position
from dplasso.data.described import DescribedRows
from dplasso.data.identifiers import count_people
from dplasso.data.row_maps import needs_bound
from dplasso.data.rows_of_people import check_people_given
from dplasso.estimators import undeclared
from dplasso.estimators.charging import bits_of, charge
from dplasso.estimators.coefficients import FittedCoefficients
from dplasso.estimators.declared import declared, facts_left_out
from dplasso.estimators.export import Exportable
from dplasso.estimators.parameter_checks import (
    MOST_DECLARED_ROWS,
    CheckedParameters,
    threads_of,
)
from dplasso.estimators.parameters import StoredParameters, reject
from dplasso.estimators.seeding import SeedsByName
from dplasso.estimators.sharded import check_in_memory, prepared, reading_of
from dplasso.estimators.statement import statement
from dplasso.estimators.validation import Rows, check_lengths, checked_rows, checked_target
from dplasso.fitting import private_bound, registry
from dplasso.fitting.plan import Plan
from dplasso.fitting.request import (
    Fact,
    Numbers,
    Request,
    Sourced,
)
from dplasso.fitting.sparsifier import Sparsifier
from dplasso.fitting.task import Drawing, Task
from dplasso.losses import Loss
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy import leaks
from dplasso.privacy.statement import READ, PrivacyStatement, fact
from dplasso.schema import Schema
from dplasso.solvers.correction import CountedRows

if TYPE_CHECKING:
    from dplasso.estimators.export.portable import Portable


class PresenceWarning(UserWarning):
    """A rule reads dense columns, which may be numbers, as present or absent."""


class DeviceWarning(UserWarning):
    """A fit runs on the processor, although a graphics card was asked for."""


class LabelFacts(NamedTuple):
    """Bounds on labels and public facts about them, in the form of the privacy statement."""

    bounds: dict[str, Fact]
    public: dict[str, Fact]


class PrivateLasso(
    SeedsByName, StoredParameters, CheckedParameters, Exportable, FittedCoefficients, ABC
):
    """Base class of `PrivateLassoClassifier` and `PrivateLassoRegressor`."""

    privacy_: PrivacyStatement
    n_features_in_: int
    feature_names_in_: Sequence[str] | Labels
    table_plan_: dict[str, object]
    declared_: dict[str, Any]  # facts of the rows that no parameter declares
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

    def fit(self, X: object, y: object = None, groups: object = None, **rejected: object) -> Self:
        """Fit to rows ``X`` and labels ``y``, protecting rows, or people if ``groups`` are given.

        Parameters
        ----------
        X : array, sparse matrix, data frame, ColumnMatrix, DescribedRows or Shards
            Rows x columns. `dplasso.Shards` are files that other processes read (``backend``), and
            that hold the labels, too. A `dplasso.data.described.DescribedRows`
            (``rows.described()`` of rows that `dplasso.read_rows` read) also describes them: its
            bounds and public facts count where the parameters of the estimator are left out.
        y : array
            One label per row; None for `Shards`.
        groups : array or None, default=None
            One identifier of a person per row, text or whole numbers. Neighbours then differ in all
            rows of one person. Identifiers are not stored. None takes those of `DescribedRows`;
            without any, every row is protected by itself.
        **rejected : object
            Other arguments of ``fit`` in scikit-learn are rejected.

        Returns
        -------
        self

        Formal guarantees
        -----------------
        The fitted model, including every attribute, is (``epsilon``, ``delta``)-differentially
        private, in the sense and given the public facts that ``privacy_`` states. The budget is
        charged to ``accountant`` before the first draw. With ``groups``, the weights of a person's
        rows add up to at most ``rows_per_person`` (`dplasso.data.row_weights`), and the noise is
        that many times larger than for a row: neighbours differ in one person.
        """
        reject(rejected, "fit")
        return without_sizes("the fit", lambda: self._fit(X, y, groups))

    def _fit(self, X: object, y: object, groups: object) -> Self:
        if isinstance(X, Shards):
            self.check_parameters()
            with opened(X, self.backend, **reading_of(self)) as rows:
                return self._fit(rows.facts.described(), y, groups)
        # Else numpy may raise or warn depending on the rows.
        with interrupts_as_raised(), np.errstate(all="ignore"):
            task = self.prepare(X, y, groups)
            plan = task.plan
            undeclared.report(self, plan)
            cost = plan.event, plan.delta, plan.neighboring
            receipt = task.charged(lambda of: charge(self, *cost, of, unit=plan.unit.name))
            ready = task.bounded()
            self.restore(ready.run())
        self.privacy_ = statement(self, ready.plan, receipt, secure=task.drawing.bits.secure)
        if self.fitted_.only_noise:  # at the end: the model must not be lost if this raises
            leaks.warn_caller(_ONLY_NOISE, leaks.OnlyNoiseWarning)
        if (counted := self.fitted_.miscounted) is not None:
            name = "{n_people}" if plan.unit.is_person else "{n_rows}"
            message = _miscounted(name, plan.request.n_rows.value, counted)
            leaks.warn_caller(message, leaks.RowCountWarning)
        return self

    def plan(self, n_rows: int, n_features: int, n_people: int | None = None) -> Plan:
        """Plan a fit: what it will do, release and cost.

        The plan reads no data, draws nothing and charges no accountant. A fit follows the same
        plan.

        Parameters
        ----------
        n_rows : int
            Number of rows of the data. If the estimator, or the rows that it was fitted to, declare
            ``n_rows``, rules use that one.
        n_features : int
            Number of columns of the data.
        n_people : int or None, default=None
            Number of people in the data, if people are to be protected. If the estimator declares
            ``n_people``, rules use that one.

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
        >>> plan = model.plan(n_rows=10_000, n_features=50_000, n_people=2_000)
        >>> plan.unit.name, plan.n_rows.value
        ('person', 2000)
        """
        self.check_parameters()
        rows = checks.count("n_rows", n_rows, least=1, most=MOST_DECLARED_ROWS)
        columns = checks.count("n_features", n_features, least=1)
        names = self.feature_names
        if names is None and isinstance(self.x_bound, Mapping):
            names = list(self.x_bound)  # in any order, which no plan depends on
        loss, people = self._declared_loss(), declared(self, "n_people")
        if n_people is not None:
            people = checks.count("n_people", n_people, least=1, most=MOST_DECLARED_ROWS)
        elif people is None and self.protects_people:
            raise ParameterError(
                "{n_people} is missing for a plan that protects people; declare it, or pass it"
            )
        found = None if people is None else Numbers(rows, people)
        request = self._request((rows, columns), loss, DescribedRows(None), names, found)
        return registry.plan(request)

    def prepare(self, X: object, y: object, groups: object = None) -> Task:
        """Check and plan a fit without charging or drawing anything.

        `fit`, audits and searches all start here.

        Parameters
        ----------
        X : array, sparse matrix, data frame or DescribedRows
            Rows x columns, as for `fit`.
        y : array
            One label per row.
        groups : array or None, default=None
            One identifier of a person per row, to protect people.

        Returns
        -------
        Task
            The planned fit.
        """
        described = X if isinstance(X, DescribedRows) else DescribedRows(X)
        if groups is not None:
            described = described.with_groups(groups)
        check_people_given(described.X, described.groups)
        self._take_facts(described)
        self.check_parameters()
        if isinstance(described.X, OpenShards):
            return prepared(self, described, described.X, y)
        check_in_memory(self)
        self.check_card()
        rows, labels = self._checked(described.X, y)
        self._describe(described)
        loss = self._make_loss(labels)
        check_lengths(rows, labels)
        people = self.numbered_people(described.groups, len(labels))
        found = None if people is None else Numbers(len(labels), count_people(people))
        names = vars(self).get("feature_names_in_")
        plan = registry.plan(self._request(rows.shape, loss, described, names, found))
        self._warn_of_presence(plan, described)
        self._warn_of_device(plan)
        drawing = Drawing(
            self._random_bits(), threads_of(self.n_jobs), self.verbose > 0, device=self.device
        )
        encoded = loss.encode(labels)
        return registry.prepare(plan, rows, encoded, drawing, self._row_weights(people, encoded))

    def check_data(self, X: object, y: object) -> Labels:
        """Reject rows and labels that no fit could use, and return the labels as an array.

        It sets the attributes that describe columns and labels: ``n_features_in_``, ``classes_``.
        """
        rows, labels = self._checked(X, y)
        check_lengths(rows, labels)
        self._make_loss(labels).encode(labels)
        return labels

    def _request(
        self,
        shape: tuple[int, int],
        loss: Loss,
        described: DescribedRows,
        names: Sequence[str] | Labels | None,
        found: Numbers | None,
    ) -> Request:
        """Collect the public facts of a fit from checked parameters.

        ``found`` are the numbers of rows and people, if people are protected.
        """
        unit, n_rows, people_facts = self._counted(shape[0], found)
        bound = described.bounds if self.x_bound is None else self.x_bound
        releases = self.releases_bound and bound is self.x_bound
        x_bound = None if releases else by_position(1.0 if bound is None else bound, names)
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
            n_rows=n_rows,
            unit=unit,
            people_facts=people_facts,
            weighs_classes=self._weighs_classes,
            n_features=Sourced(int(shape[1]), counted),
            x_bound=x_bound,
            x_bound_source=private_bound.SOURCE if releases else source_of(bound),
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

    def _take_facts(self, described: DescribedRows) -> None:
        """Remember the public facts of the rows that no parameter declares."""
        if hasattr(self, "declared_"):
            del self.declared_
        if facts := facts_left_out(self, described.facts):
            self.declared_ = facts

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

    @property
    def schema_(self) -> Schema:
        """The schema by which a model of a table reads files and frames."""
        recipe = vars(self).get("table_plan_", {})
        if "target" not in recipe:
            raise AttributeError("the model was not fitted to a table, and has no schema_")
        return Schema.from_dict(recipe)

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
        storage by the data. Entries that are declared to be bounded by 1 are mostly presence
        already, columns with another bound or a range are never read so, and columns that were made
        from a table are what its plan says.
        """
        by_rule = self.row_map == "auto" and not needs_bound(plan.row_map)
        assert plan.bounds is not None or not by_rule  # a released bound leaves entries as they are
        undeclared = self.x_bound is None and described.table_plan is None
        if by_rule and undeclared and plan.bounds is not None:
            columns = plan.request.n_features.value - len(plan.bounds.ranged)
            leaks.warn_caller(_presence(columns), PresenceWarning)

    def _warn_of_device(self, plan: Plan) -> None:
        """Warn if the solver that a rule chose does not run on the device that was asked for."""
        if on_card(self.device) and not plan.fitter.on_card(self.selection):
            leaks.warn_caller(_on_processor(plan.solver), DeviceWarning)

    def _random_bits(self) -> RandomBits:
        return bits_of(self)

    def stated_as(self, statement: PrivacyStatement) -> Self:
        """Return a copy of this fitted model with the statement of the procedure that chose it."""
        found = type(self).__new__(type(self))
        found.__dict__.update(self.__dict__, privacy_=statement)
        return found

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file atomically. `dplasso.load` reads it back.

        A file that exists is replaced without a question, in one step. Facts that were declared
        with the rows of the fit are parameters of the model that is read back.
        The format uses no pickle: see :doc:`/reference/model_format`.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        from dplasso.estimators.saving import save

        save(self, path)

    def _portable(self) -> "Portable":
        from dplasso.estimators.export.portable import portable_fit

        return portable_fit(self)

    def predict_file(
        self,
        path: str | PathLike[str] | Sequence[str | PathLike[str]],
        output: str | PathLike[str],
        *,
        proba: bool = False,
        identifier: str | None = None,
        **options: Any,
    ) -> None:
        """Predict the rows of a file, read as the training rows were, and write a file.

        Parameters
        ----------
        path : str or path, or a sequence of them
            Rows in any format that `dplasso.read_rows` reads.
        output : str or path
            The file to write, one line per row. Only its owner may read it, since predictions are
            AS PRIVATE AS THE ROWS. It is written completely or not at all. A name that ends in
            ``.csv`` gets CSV with a header; others get lines, with tabs between columns.
        proba : bool, default=False
            Whether to write the probabilities of all classes, below a header.
        identifier : str or None, default=None
            Column of a table that is written before each prediction, below a header.
        **options
            ``schema``, ``zero_based``, ``delimiter``, ``encoding``, ``longest_line`` and
            ``progress`` of `dplasso.read_rows`; and ``raw``, whether to leave text unchanged that a
            spreadsheet would read as a formula.

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
    "released mean or shares of the classes, or hardly anything else; declare tighter bounds, fit "
    "more rows or fewer columns, or raise {epsilon}"
)


def _miscounted(name: str, value: int, counted: CountedRows) -> Message:
    return Message(
        name + " is declared as {value:,}, but the released counts add up to about {found:,.0f} "
        "(+- {noise:,.0f}); steps and noise were chosen for the declared number, so a fit with a "
        "number near the true one is likely to predict better, at its own cost",
        value=value,
        found=counted.found,
        noise=counted.noise,
    )


def _on_processor(solver: str) -> Message:
    return Message(
        "the rule chose the solver {chosen}, which runs on the processor: {card} speeds up "
        "{gradient}, {table} and {noisy_max}; the model is the same",
        chosen=solver,
        card=Setting("device", "cuda"),
        gradient=Setting("solver", "gradient"),
        table=Setting("solver", "table"),
        noisy_max=Setting("selection", "noisy_max"),
    )


def _presence(columns: int) -> Message:
    return Message(
        "{auto} reads the entries of {columns:,} columns as present or absent, which leaves "
        "nothing of numbers that are hardly ever 0; pass {sqrt} for such numbers, or {presence} "
        "to silence this",
        columns=columns,
        **{name: Setting("row_map", name) for name in ("auto", "sqrt", "presence")},
    )


def source_of(bound: object) -> str:
    """Source of a bound that is not released, in the words of the privacy statement."""
    return undeclared.NOT_DECLARED if bound is None else "declared"
