"""Which configurations are audited: examples of each kind, and variations of any."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.base import clone

from dplasso.audit.descent.subject import DescentSubject
from dplasso.audit.facts import AS_IS, BLEND, PRESENCE, SQRT, Facts
from dplasso.audit.selection.subject import SelectionSubject
from dplasso.audit.stream.subject import StreamSubject
from dplasso.audit.subject import ONLINE, Subject, refuse
from dplasso.estimators import (
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
    PrivateOnlineRegressor,
    Sparsifier,
)
from dplasso.mechanisms.selection import PRIVATE


def example_estimators(solver: str = "frank_wolfe", **common: Any) -> list[Any]:
    """One of each kind: a binary classifier, a regressor, and a classifier of three classes.

    The first by Frank-Wolfe has a Sparsifier. Those by gradient descent claim more, epsilon 8,
    unless told: so that the few fits of a quick audit can certify most of the claim. ``solver`` is
    "frank_wolfe", "gradient", or "online" for estimators of streams: one with a window, an endless
    one, and one whose rows are as long as they are.
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
    """What is audited where nothing is named: both solvers, and streams; of descents and streams a
    classifier at least.

    Options are ``common`` to both solvers, or for Frank-Wolfe alone.
    """
    most = None if thorough else 1
    return [
        *example_estimators(**common, **by_rounds),
        *example_estimators("gradient", **common)[:most],
        *example_estimators("online", **of_streams(common))[:most],
    ]


def of_streams(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options that streams have too."""
    return {name: options[name] for name in ("epsilon", "delta", "neighboring") if name in options}


def subject_of(estimator: Any, name: str | None = None, weight: float = 1.0) -> Subject:
    """The estimator as a subject of the solver that it would be fitted by, or of a stream."""
    refuse(estimator)
    estimator._check_parameters()
    if isinstance(estimator, ONLINE):
        return StreamSubject(estimator, name, weight)
    descends = estimator._chosen_solver()[0] == "gradient"
    return (DescentSubject if descends else SelectionSubject)(estimator, name, weight)


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
