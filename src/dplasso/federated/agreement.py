"""Terms of a job where not everything is said: the rest follows by public rules."""

import math
from collections.abc import Mapping
from typing import Any

from dplasso.base import checks
from dplasso.federated.plan import plan_of
from dplasso.federated.terms import PartyTerms, Terms
from dplasso.privacy import leaks, zcdp

# Shared features grow with n^(1/6) and sketches with n^(1/2): the uplink with n^(2/3).
_FEATURES, _SKETCH, _LEAST_SKETCH = 2.5, 20.0, 100
# What a feature takes of a row's budget, its entries in units of their bound: on average, for
# entries of 0 and 1 at their dearest, and at most. The first includes the sum, 1/64 of a square.
_OF_A_FEATURE, _MOST_OF_A_FEATURE = 0.27, 5.0
_LEAST_ROW_BUDGET = 0.4
# A sketch that is long beside its noise tells more; a column is worth about this much.
_TELLING = 25.0
_MOST_RHO = 50.0  # beyond that, rounds grow no further


def agree(
    parties: Mapping[str, int],
    label_holder: str,
    *,
    n_rows: int,
    epsilon: float,
    delta: float,
    radius: float = 5.0,
    rounds: int | None = None,
    sketch_size: int | None = None,
    row_budget: float | None = None,
    x_bounds: Mapping[str, float] | None = None,
    y_bound: float | None = None,
    job: str = "job",
    **more: Any,
) -> Terms:
    """Terms with every number that is left out chosen by public rules.

    ``parties`` says how many features each has, ``x_bounds`` how large entries of each may be and
    ``y_bound`` labels: 1 where they are left out, which warns. ``row_budget`` is a row's budget at
    each party. ``more`` are fields of `Terms`.

    >>> public = dict(n_rows=10_000, epsilon=3.0, delta=1e-8)
    >>> bounds = dict(x_bounds={"bank": 1.0, "shop": 1.0}, y_bound=1.0)
    >>> terms = agree({"bank": 40, "shop": 90}, "bank", **public, **bounds)
    >>> terms.rounds, terms.sketch_size, terms.parties[1].row_budget
    (12, 422, 1.62)
    """
    checks.count("n_rows", n_rows, 1)
    if not parties:
        raise ValueError("parties must not be empty; give a name and a number of features each")
    checks.target("epsilon", epsilon)
    checks.probability("delta", delta)
    if rounds is None:
        rounds = _default_rounds(len(parties), n_rows, epsilon, delta)
    if row_budget is None:
        row_budget = _default_budget(len(parties), rounds, epsilon, delta)
    bounds = x_bounds or {}
    if not set(bounds) <= set(parties):
        raise ValueError("x_bounds must be of parties; one of its names is none")
    _warn_of_bounds(entries=set(bounds) < set(parties), labels=y_bound is None)
    agreed = tuple(
        PartyTerms(name, features, float(bounds.get(name, 1.0)), row_budget)
        for name, features in parties.items()
    )
    given: dict[str, Any] = {
        "n_rows": n_rows, "epsilon": epsilon, "delta": delta, "radius": radius, "rounds": rounds,
        "y_bound": 1.0 if y_bound is None else y_bound,
    }  # fmt: skip
    trial = Terms(job, agreed, label_holder, sketch_size=1, **given, **more)
    size = _default_sketch(trial) if sketch_size is None else sketch_size
    return Terms(job, agreed, label_holder, sketch_size=size, **given, **more)


def _warn_of_bounds(*, entries: bool, labels: bool) -> None:
    """Of bounds that were left out: a default of 1 tells nothing of the data, and may not fit."""
    for name, of, left_out in (("x_bounds", "entries", entries), ("y_bound", "labels", labels)):
        if left_out:
            leaks.warn_caller(
                f"{name} is not declared, and {of} beyond 1 are cut to 1; pass {name}, a bound "
                f"on {of} that is known without the data",
                leaks.UndeclaredBoundWarning,
            )


def _default_rounds(parties: int, n_rows: int, epsilon: float, delta: float) -> int:
    """Every party is asked once at least; with little noise, more features pay."""
    rho = min(zcdp.rho_of(epsilon, delta), _MOST_RHO)
    features = max(_FEATURES * math.pow(n_rows, 1 / 6), float(parties))
    return round(features * math.pow(max(1.0, rho), 1 / 6))


def _default_budget(parties: int, rounds: int, epsilon: float, delta: float) -> float:
    """A row's, at each party. Noise grows with the root of all of them together; but a feature that
    finds budgets used up is noise with a weight. Without noise, nothing is cut."""
    if epsilon == math.inf:
        return _MOST_OF_A_FEATURE * rounds
    least = _LEAST_ROW_BUDGET * math.sqrt(math.sqrt(zcdp.rho_of(epsilon, delta)))
    return max(_OF_A_FEATURE * rounds / parties, least)


def _default_sketch(terms: Terms) -> int:
    """As many numbers as tell something beside their noise, within what the uplink allows."""
    plan = plan_of(terms)
    factor = _SKETCH
    if plan.sketch_sigma > 0.0:
        factor = min(_TELLING * plan.total_budget / plan.sketch_sigma**2, _SKETCH)
    size = max(factor * math.sqrt(terms.n_rows), _LEAST_SKETCH)
    return round(min(size, terms.universe))
