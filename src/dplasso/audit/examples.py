"""Which configurations are audited: examples of each solver, and variations of any."""

from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.base import clone

from dplasso.audit.fit_subject import RELEASED
from dplasso.audit.reference import AS_IS
from dplasso.audit.registry import SUBJECTS
from dplasso.audit.subject import TABLES, Subject, refuse
from dplasso.fitting.registry import fitter_of


def example_estimators(solver: str = "frank_wolfe", **parameters: Any) -> list[Any]:
    """One of each kind: a binary classifier, a regressor, and a classifier of three classes.

    The first by Frank-Wolfe has a Sparsifier. Those by gradient descent and by the table solver
    claim epsilon 8 by default, so that the few fits of a quick audit can certify most of the claim.
    Those that "select" two columns first, by ``solver="auto"``, claim the same, and none has three
    classes. ``solver`` may also be "online", for estimators of streams: one with a window, an
    endless one, and one whose rows are not scaled.
    """
    return SUBJECTS[solver].examples(**parameters)


def usual_estimators(
    common: Mapping[str, Any], own: Mapping[str, Any], *, thorough: bool
) -> list[Any]:
    """The default subjects of an audit: at least one classifier per solver, and for streams.

    Options are ``common`` to all solvers, or apply only to those that have them (``own``).
    """
    return [
        estimator
        for kind in SUBJECTS.values()
        for estimator in _examples(kind, common, own)[: None if thorough else kind.quick_examples]
    ]


def _examples(kind: type[Subject], common: Mapping[str, Any], own: Mapping[str, Any]) -> list[Any]:
    shared = {name: value for name, value in common.items() if name not in kind.lacking}
    options = {name: value for name, value in own.items() if name in kind.options}
    return kind.examples(**shared, **options)


def named_estimators(
    kind: int | None, solver: str | None, common: Mapping[str, Any], own: Mapping[str, Any]
) -> list[Any]:
    """The examples of one solver or of all solvers; only the one at index ``kind`` if given."""
    found = []
    for each in SUBJECTS.values() if solver is None else (SUBJECTS[solver],):
        made = _examples(each, common, own)
        found += made if kind is None else made[kind:][:1]
    return found


def subject_of(estimator: Any, name: str | None = None, weight: float = 1.0) -> Subject:
    """The estimator as a subject of the solver that fitted or would fit it, or of a stream."""
    refuse(estimator)
    estimator = _with_own_solver(estimator)
    estimator.check_parameters()
    if isinstance(estimator, TABLES) and estimator.releases_bound:
        found = subject_of(_with_known_bound(estimator), name, weight)
        found.notes.append(
            f"x_bound is released: `bound` is of that, other checks are of a bound of {RELEASED:g}"
        )
        return found
    kind = next(kind for kind in SUBJECTS.values() if kind.takes(estimator))
    return kind(estimator, name, weight)


def _with_own_solver(estimator: Any) -> Any:
    """A fitted model as it was fitted, to rows or people, and by the same solver: "auto" might
    choose otherwise for the audit's own rows."""
    if not isinstance(estimator, TABLES) or not hasattr(estimator, "fitted_"):
        return estimator
    found, fitter = clone(estimator), fitter_of(estimator.solver_)
    if fitter.named_by_users:
        found.set_params(solver=fitter.name)
    public = estimator.privacy_["public"]
    if "n_people" in public and found.n_people is None:  # groups are no parameter
        found.set_params(n_people=public["n_people"]["value"])
    return found


def _with_known_bound(estimator: Any) -> Any:
    """The estimator after its bound is released; "auto" does not map entries with a known bound."""
    row_map = AS_IS if estimator.row_map == "auto" else estimator.row_map
    return clone(estimator).set_params(x_bound=RELEASED, row_map=row_map)


def variations(estimator: Any) -> Iterator[Subject]:
    """The configuration itself, then others that differ in one respect and share as much time."""
    first = subject_of(estimator)
    yield first
    others = list(first.others())
    for label, other in others:
        varied = clone(estimator).set_params(**other)
        yield subject_of(varied, f"{first.name}, {label}", weight=1.0 / len(others))
