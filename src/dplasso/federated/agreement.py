"""Terms of a job where not everything is said: the rest follows by public rules."""

import math
from collections.abc import Mapping
from typing import Any

from dplasso.federated.plan import plan_of
from dplasso.federated.terms import PartyTerms, Terms
from dplasso.privacy import checks

# Of a row, over all parties together and at each of them: what its shared entries, in units of
# their bounds, centred and squared, may add up to.
_ROW_BUDGET, _LEAST_ROW_BUDGET = 6.0, 1.2
# Shared features grow with n^(1/6) and sketches with n^(1/2): the uplink with n^(2/3).
_FEATURES, _SKETCH = 3.5, 20.0
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
    (16, 164, 3.0)
    """
    checks.count("n_rows", n_rows, 1)
    if not parties:
        raise ValueError("parties must not be empty; give a name and a number of features each")
    each = max(_ROW_BUDGET / len(parties), _LEAST_ROW_BUDGET) if row_budget is None else row_budget
    bounds = x_bounds or {}
    if not set(bounds) <= set(parties):
        raise ValueError("x_bounds must be of parties; one of its names is none")
    agreed = tuple(
        PartyTerms(name, features, float(bounds.get(name, 1.0)), each)
        for name, features in parties.items()
    )
    if rounds is None:
        rounds = max(round(_FEATURES * n_rows ** (1 / 6)), _ASKS_OF_A_PARTY * len(agreed))
    given: dict[str, Any] = {
        "n_rows": n_rows, "epsilon": epsilon, "delta": delta, "radius": radius, "rounds": rounds
    }  # fmt: skip
    trial = Terms(job, agreed, label_holder, sketch_size=1, **given, **more)
    size = _default_sketch(trial) if sketch_size is None else sketch_size
    return Terms(job, agreed, label_holder, sketch_size=size, **given, **more)


def _default_sketch(terms: Terms) -> int:
    """As many numbers as tell something beside their noise, within what the uplink allows."""
    most = min(_SKETCH * math.sqrt(terms.n_rows), terms.universe)
    sigma = plan_of(terms).sketch_sigma
    telling = most if sigma == 0.0 else 0.6 * terms.n_rows / sigma**2
    return max(1, round(min(max(telling, _LEAST_SKETCH), most)))
