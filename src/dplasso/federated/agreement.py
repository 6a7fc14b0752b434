"""Terms of a job where not everything is said: the rest follows by public rules."""

import math
from collections.abc import Mapping
from typing import Any

from dplasso.federated.plan import plan_of
from dplasso.federated.terms import PartyTerms, Terms
from dplasso.privacy import checks, zcdp

# Of a row, over all parties together and at each of them: what its shared entries, in units of
# their bounds, centred and squared, may add up to.
_ROW_BUDGET, _LEAST_ROW_BUDGET = 4.0, 0.4
_MOST_OF_A_FEATURE = 5.0  # of a row's budget: a sum, and an entry centred as far off as can be
# Shared features grow with n^(1/6) and sketches with n^(1/2): the uplink with n^(2/3).
_FEATURES, _SKETCH = 3.5, 20.0
# A sketch that is long beside its noise tells more; a column is worth about this much.
_TELLING = 100.0
_ASKS_OF_A_PARTY = 2
_LEAST_SKETCH = 100


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
    job: str = "job",
    **more: Any,
) -> Terms:
    """Terms with every number that is left out chosen by public rules.

    ``parties`` says how many features each has, ``x_bounds`` how large entries may be (1 where it
    is left out). ``row_budget`` is a row's budget at each party. ``more`` are fields of `Terms`.

    >>> terms = agree({"bank": 40, "shop": 90}, "bank", n_rows=10_000, epsilon=3.0, delta=1e-8)
    >>> terms.rounds, terms.sketch_size, terms.parties[1].row_budget
    (16, 422, 2.0)
    """
    checks.count("n_rows", n_rows, 1)
    if not parties:
        raise ValueError("parties must not be empty; give a name and a number of features each")
    if rounds is None:
        rounds = max(round(_FEATURES * n_rows ** (1 / 6)), _ASKS_OF_A_PARTY * len(parties))
    if row_budget is None:
        row_budget = _default_budget(len(parties), rounds, epsilon, delta)
    bounds = x_bounds or {}
    if not set(bounds) <= set(parties):
        raise ValueError("x_bounds must be of parties; one of its names is none")
    agreed = tuple(
        PartyTerms(name, features, float(bounds.get(name, 1.0)), row_budget)
        for name, features in parties.items()
    )
    given: dict[str, Any] = {
        "n_rows": n_rows, "epsilon": epsilon, "delta": delta, "radius": radius, "rounds": rounds
    }  # fmt: skip
    trial = Terms(job, agreed, label_holder, sketch_size=1, **given, **more)
    size = _default_sketch(trial) if sketch_size is None else sketch_size
    return Terms(job, agreed, label_holder, sketch_size=size, **given, **more)


def _default_budget(parties: int, rounds: int, epsilon: float, delta: float) -> float:
    """A row's, at each party. Noise grows with the root of all of them together, and what is cut
    distorts: with little noise, the distortion is what counts. Without any, nothing is cut."""
    checks.target("epsilon", epsilon)
    checks.probability("delta", delta)
    if epsilon == math.inf:
        return _MOST_OF_A_FEATURE * rounds
    least = _LEAST_ROW_BUDGET * math.sqrt(math.sqrt(zcdp.rho_of(epsilon, delta)))
    return max(_ROW_BUDGET / parties, least)


def _default_sketch(terms: Terms) -> int:
    """As many numbers as tell something beside their noise, within what the uplink allows."""
    variance = plan_of(terms).sketch_sigma ** 2
    factor = _SKETCH if variance == 0.0 else min(_TELLING / variance, _SKETCH)
    size = max(factor * math.sqrt(terms.n_rows), _LEAST_SKETCH)
    return round(min(size, terms.universe))
