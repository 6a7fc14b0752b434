"""Which configurations are audited: examples of each kind, and variations of any."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.base import clone

from dplasso.audit.descent.subject import DescentSubject
from dplasso.audit.facts import AS_IS, BLEND, PRESENCE, SQRT, Facts
from dplasso.audit.few.subject import FewSubject, selects
from dplasso.audit.selection.subject import SelectionSubject
from dplasso.audit.stream.subject import StreamSubject
from dplasso.audit.subject import (
    DECLARED_ROWS,
    ONLINE,
    RELEASED,
    Subject,
    check_parameters,
    refuse,
)
from dplasso.data.columns import MOST_ROWS
from dplasso.estimators import (
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
    PrivateOnlineRegressor,
    Sparsifier,
)
from dplasso.fitting import fitters, private_bound
from dplasso.fitting.frank_wolfe import FrankWolfe
from dplasso.mechanisms.selection import PRIVATE


def example_estimators(solver: str = "frank_wolfe", **common: Any) -> list[Any]:
    """One of each kind: a binary classifier, a regressor, and a classifier of three classes.

    The first by Frank-Wolfe has a Sparsifier. Those by gradient descent claim more, epsilon 8,
    unless told: so that the few fits of a quick audit can certify most of the claim. Those that
    "select" two columns first, by ``solver="auto"``, do so as well, and are not of three classes.
    ``solver`` may also be "online", for estimators of streams: one with a window, an endless one,
    and one whose rows are as long as they are.
    """
    if solver == "online":
        return [
            PrivateOnlineClassifier(classes=[0, 1], **{"window": 16, **common}),
            PrivateOnlineRegressor(**{"y_bound": 1.0, **common}),
            PrivateOnlineClassifier(
                classes=[0, 1, 2],
                **{"window": 32, "batch": 3, "rows": AS_IS, "construction": "tree", **common},
            ),
        ]
    if solver == "select":
        more = {"epsilon": 8.0, "rows": PRESENCE, "n_nonzero": 2, "solver": "auto", **common}
        more = {"n_rows": _enough_rows(PrivateLassoRegressor(**more)), **more}
        return [PrivateLassoClassifier(classes=[0, 1], **more), PrivateLassoRegressor(**more)]
    if solver == "gradient":
        common = {"epsilon": 8.0, "n_rows": 200, "rows": PRESENCE, **common}
        keep: dict[str, Any] = {}
    else:
        common = {"max_iter": 16, "radius": 5.0, **common}
        keep = {"sparsify": Sparsifier()}
    return [
        PrivateLassoClassifier(classes=[0, 1], solver=solver, **keep, **common),
        PrivateLassoRegressor(solver=solver, **common),
        PrivateLassoClassifier(classes=[0, 1, 2], solver=solver, **common),
    ]


def usual_estimators(
    common: Mapping[str, Any], by_rounds: Mapping[str, Any], *, thorough: bool
) -> list[Any]:
    """What is audited where nothing is named: all solvers, and streams; other than by Frank-Wolfe a
    classifier at least.

    Options are ``common`` to all solvers, or for Frank-Wolfe alone.
    """
    most = None if thorough else 1
    return [
        *example_estimators(**common, **by_rounds),
        *example_estimators("gradient", **common)[:most],
        *example_estimators("select", **common)[:most],
        *example_estimators("online", **of_streams(common))[:most],
    ]


def of_streams(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options that streams have too."""
    return {name: options[name] for name in ("epsilon", "delta", "neighboring") if name in options}


def subject_of(estimator: Any, name: str | None = None, weight: float = 1.0) -> Subject:
    """The estimator as a subject of the solver that it would be fitted by, or of a stream."""
    refuse(estimator)
    check_parameters(estimator)
    if not isinstance(estimator, ONLINE) and private_bound.is_asked(estimator.x_bound):
        found = subject_of(_with_known_bound(estimator), name, weight)
        found.notes.append(
            f"x_bound is released: `bound` is of that, other checks are of a bound of {RELEASED:g}"
        )
        return found
    if isinstance(estimator, ONLINE):
        return StreamSubject(estimator, name, weight)
    solvers = fitters.candidates(estimator.solver, float(estimator.epsilon))
    if isinstance(solvers[0], FrankWolfe):
        return SelectionSubject(estimator, name, weight)
    return (FewSubject if _selects(estimator) else DescentSubject)(estimator, name, weight)


def _with_known_bound(estimator: Any) -> Any:
    """As a fit has it once a bound is released; "auto" leaves entries that have one as they are."""
    rows = AS_IS if estimator.rows == "auto" else estimator.rows
    return clone(estimator).set_params(x_bound=RELEASED, rows=rows)


def _enough_rows(estimator: Any) -> int:
    """A number of rows that "auto" selects columns with, if any is."""
    rows = 200
    while rows < MOST_ROWS and not _selects(estimator.set_params(n_rows=rows)):
        rows *= 2
    return rows


def _selects(estimator: Any) -> bool:
    """Whether "auto" would choose columns first, where there are more than 1,000."""
    classes = getattr(estimator, "classes", None)
    outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    return selects(estimator, estimator.n_rows or DECLARED_ROWS, outputs)


def variations(estimator: Any) -> Iterator[Subject]:
    """The configuration itself, then, for as long in all, others that differ in one respect."""
    first = subject_of(estimator)
    yield first
    others = list(_others(first, estimator))
    for label, other in others:
        varied = clone(estimator).set_params(**other)
        yield subject_of(varied, f"{first.name}, {label}", weight=1.0 / len(others))


def _others(first: Subject, estimator: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Other relations, rules, losses, rows and noises."""
    for relation in sorted({"add_remove", "replace_one"} - {estimator.neighboring}):
        yield relation, {"neighboring": relation}
    if isinstance(first, SelectionSubject):
        for rule in PRIVATE:
            if rule != estimator.selection:
                yield rule, {"selection": rule}
    if getattr(estimator, "residual_bound", None) == "auto":
        yield "squared loss", {"residual_bound": math.inf}
    if isinstance(first, StreamSubject):
        yield from _other_noises(estimator)
        return
    assert isinstance(first.facts, Facts)
    for rows in (AS_IS, PRESENCE, SQRT, BLEND):
        if rows != first.facts.rows:
            yield f"rows {rows}", {"rows": rows}


def _other_noises(estimator: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of streams."""
    plain = {"construction": "auto", "noise": "gaussian", "calibration": "tight"}
    for construction in ("buffered", "band", "tree", "window_tree"):
        if construction != estimator.construction:
            yield construction, {**plain, "construction": construction}
    for name, value in (("noise", "gamma"), ("calibration", "paper")):
        if value != getattr(estimator, name):
            yield f"{name} {value}", {**plain, name: value}
