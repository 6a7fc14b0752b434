"""All checks of a search and of its trials, made before anything is charged."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import _safe_indexing

from dplasso.base import checks
from dplasso.base.arrays import Ints, Labels
from dplasso.base.wording import Message, ParameterError, Setting
from dplasso.data import ColumnMatrix
from dplasso.data.described import DescribedRows
from dplasso.data.identifiers import count_people
from dplasso.data.merging import merged
from dplasso.data.rows_of_people import check_people_given
from dplasso.estimators import undeclared
from dplasso.estimators.base import PrivateLasso
from dplasso.estimators.charging import charge, check_accountant
from dplasso.privacy import leaks

# Parameters that the search sets itself, or that all trials must share.
_NOT_SEARCHED = (
    *("epsilon", "delta", "neighboring", "accountant", "random_state"),
    *("classes", "y_bound", "n_rows", "feature_names", "n_jobs", "device", "verbose"),
    *("n_people", "rows_per_person", "person"),
)
_ROWS_READ = Message(
    "the number of rows is not declared, and the score of a search is divided by it; pass {n_rows} "
    "to the estimator"
)
_PEOPLE_READ = Message(
    "the number of people, or that of rows if {rows_per_person} is above 1, is not declared, and "
    "the score of a search is divided by it; pass {n_people} to the estimator, and {n_rows} with it"
)


class SearchRows(NamedTuple):
    """Rows and labels in the form that trials use, and the number and names of the columns."""

    X: Any
    y: Labels
    columns: int
    names: Sequence[str] | Labels | None
    people: Ints | None  # numbers of the people that rows belong to, if people are protected
    counted: int  # what all rows count as together, where it is not declared


def check_parameters(search: Any) -> None:
    """Reject invalid parameters before the data are read."""
    if not isinstance(search.estimator, PrivateLasso):
        raise ParameterError(
            "{estimator} must be a PrivateLassoClassifier or a PrivateLassoRegressor, got {kind}; "
            "of a pipeline, make the search the last step",
            kind=type(search.estimator).__name__,
        )
    if search.estimator.accountant is not None:
        raise ParameterError(
            "{estimator} has an {accountant}, which would be charged for every trial; pass it to "
            "the search instead"
        )
    checks.bound("epsilon", search.epsilon)
    checks.probability("delta", search.delta)
    checks.probability("validation", search.validation)
    check_accountant(search)
    usual = type(search.estimator)()
    for name in ("epsilon", "delta"):
        stated = getattr(search.estimator, name)
        if stated not in (getattr(usual, name), getattr(search, name)):
            raise ParameterError(
                "{parameter} of the estimator is {stated!r}, and that of the search {value!r}; the "
                "search alone has a budget: set it there, and leave it out of the estimator",
                parameter=Setting(name),
                stated=stated,
                value=getattr(search, name),
            )
    for name in {name for setting in ParameterGrid(search.grid) for name in setting}:
        if name in _NOT_SEARCHED:
            raise ParameterError(
                "{grid} has {parameter}, which all trials share; set it on {where}",
                parameter=Setting(name),
                where="the search" if hasattr(search, name) else "its estimator",
            )


def checked_for(
    model: PrivateLasso,
    settings: list[dict[str, Any]],
    X: Any,
    y: object,
    training: float,
    groups: object = None,
) -> SearchRows:
    """Return rows that every setting can be fitted to, and set the classes of ``model``.

    ``training`` is the share of rows that trials are fitted to. Every setting is planned for that
    many rows, and its cost is checked against the budget of a trial.
    """
    if isinstance(X, ColumnMatrix):
        raise ValueError("X is a ColumnMatrix, whose rows cannot be split; pass X itself")
    if isinstance(X, DescribedRows):
        raise ValueError(
            "X is what rows.described() returns, which cannot be split; make the search the last "
            "step of a pipeline after a TableEncoder, or pass rows.X, with the facts about the "
            "rows as parameters of the estimator"
        )
    check_people_given(X, groups)
    if sp.issparse(X):
        X = sp.csr_array(merged(X, "csr"))
    probe = clone(model)
    checked = probe.check_data(X, y)
    people = probe.numbered_people(groups, len(checked))
    if people is None and model.n_rows is None and model.neighboring == "add_remove":
        leaks.report(_ROWS_READ)
    if people is not None:
        reads_people = model.n_people is None and model.neighboring == "add_remove"
        # Under both relations the number of rows is private, and counts if people have several.
        reads_rows = model.n_rows is None and int(model.rows_per_person) > 1
        if reads_people or reads_rows:
            leaks.report(_PEOPLE_READ)
    labels: Labels = np.zeros(2)
    if hasattr(model, "classes"):
        model.set_params(classes=probe.classes_.tolist())
        labels = probe.classes_[:2]
    few = _safe_indexing(X, np.zeros(2, np.intp))
    share = {"n_rows": model.n_rows or max(1, round(len(checked) * training))}
    counted, two = len(checked), None
    if people is not None:
        found = count_people(people)
        counted = min(counted, int(model.rows_per_person) * found)
        share["n_people"] = model.n_people or max(1, round(found * training))
        two = ["one", "two"]
    left_out: dict[str, None] = {}  # an ordered set of names
    for setting in settings:
        trial = clone(model).set_params(**setting, **share)
        plan = trial.prepare(few, labels, two).plan
        charge(trial, plan.event, plan.delta, plan.neighboring, unit=plan.unit.name)
        left_out |= dict.fromkeys(undeclared.bounds_left_out(trial, plan))
    undeclared.report_bounds(left_out, private=True)
    names = getattr(probe, "feature_names_in_", None)
    return SearchRows(X, checked, probe.n_features_in_, names, people, counted)
