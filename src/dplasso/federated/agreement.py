"""Public rules that complete the terms of a job from what was proposed."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from dplasso.base.wording import ParameterError
from dplasso.federated.plan import plan_of
from dplasso.federated.server_side import Offer
from dplasso.federated.terms import PartyTerms, Proposal, Protocol, Terms
from dplasso.privacy import leaks, zcdp

# Shared features grow with n^(1/6) and sketches with n^(1/2): the uplink grows with n^(2/3).
_FEATURES, _SKETCH, _LEAST_SKETCH = 2.5, 20.0, 100
# Share of a row's budget that a feature takes, with entries in units of their bound: on average for
# entries of 0 and 1 that are equally likely, and at most. The first includes the sum, 1/64 of it.
_OF_A_FEATURE, _MOST_OF_A_FEATURE = 0.27, 5.0
_LEAST_ROW_BUDGET = 0.4
# Sketch numbers per unit of signal over noise: beyond that they hold mostly noise.
_INFORMATIVE = 25.0
_MOST_RHO = 50.0  # a larger rho adds no more rounds
_RADIUS = 5.0
MOST_COLUMNS_OF_MOMENTS = 1000  # of all parties; beyond, masked tables are too large
PROTOCOL_RULE = (
    f"moments where all parties together have at most {MOST_COLUMNS_OF_MOMENTS:,} columns, "
    "sketches where they have more, or where the proposal says so or has a term of sketches"
)


def agree(
    parties: Mapping[str, int],
    label_holder: str,
    *,
    x_bounds: Mapping[str, float] | None = None,
    y_bound: float | None = None,
    **terms: Any,
) -> Terms:
    """Return the terms of a job, with every open term chosen by a public rule.

    Parameters
    ----------
    parties : mapping of str to int
        The number of features of each party.
    label_holder : str
        The party that holds the labels.
    x_bounds : mapping of str to float, optional
        Public bounds on the entries of each party. A missing one is 1, with a warning.
    y_bound : float, optional
        Public bound on the labels. A missing one is 1, with a warning.
    **terms
        Other terms of a `Proposal` by name: ``n_rows``, ``epsilon`` and ``delta`` are required.
        ``min_overlap`` is 0 if it is left out: the rows of one process are aligned already.

    Returns
    -------
    Terms

    Examples
    --------
    >>> public = dict(n_rows=10_000, epsilon=3.0, delta=1e-8)
    >>> bounds = dict(x_bounds={"bank": 1.0, "shop": 1.0}, y_bound=1.0)
    >>> terms = agree({"bank": 40, "shop": 90}, "bank", **public, **bounds)
    >>> terms.rounds, terms.sketch_size, terms.of("shop").row_budget
    (12, 422, 1.62)
    """
    bounds = x_bounds or {}
    if not set(bounds) <= set(parties):
        raise ParameterError("{x_bounds} must name parties only; one of its names is no party")
    _warn_of_bounds(entries=set(bounds) < set(parties), labels=y_bound is None)
    given = {"min_overlap": 0.0, **terms}
    given |= {"label_holder": label_holder, "y_bound": 1.0 if y_bound is None else y_bound}
    return settle(Proposal(parties=tuple(parties), **given), parties, bounds)


def protocol_for(proposal: Proposal, offers: Mapping[str, Offer]) -> Protocol:
    """Return the protocol of a job: a public rule, where the proposal leaves it open.

    Sketches where the proposal has one of their terms, or where the parties have more columns
    together than `MOST_COLUMNS_OF_MOMENTS`; else secret-shared moments.
    """
    if proposal.protocol is not None:
        return proposal.protocol
    columns = sum(offer.n_features for offer in offers.values())
    wide = columns > MOST_COLUMNS_OF_MOMENTS or len(proposal.parties) < 2
    return "sketches" if wide or proposal.of_sketches else "moments"


def settle(
    proposal: Proposal, n_features: Mapping[str, int], x_bounds: Mapping[str, float] | None = None
) -> Terms:
    """Return the terms that follow from a proposal and the parties' numbers of features.

    Entries of a party without a bound in ``x_bounds`` are in units of their own bounds.
    """
    rounds = proposal.rounds or _default_rounds(proposal, n_features)
    parties = tuple(
        PartyTerms(
            name=name,
            n_features=n_features[name],
            x_bound=(x_bounds or {}).get(name, 1.0),
            row_budget=proposal.row_budget or _default_budget(proposal, rounds, n_features[name]),
        )
        for name in proposal.parties
    )
    given = asdict(proposal) | {"parties": parties, "rounds": rounds, "sketch_size": 1}
    given |= {"protocol": "sketches", "radius": proposal.radius or _RADIUS}
    for name in ("row_budget", "colluders"):
        del given[name]
    terms = Terms(**given)
    return replace(terms, sketch_size=proposal.sketch_size or _default_sketch(terms))


def _warn_of_bounds(*, entries: bool, labels: bool) -> None:
    """Warn of bounds that were left out: a default of 1 reveals nothing, but may not fit."""
    for name, of, left_out in (("x_bounds", "entries", entries), ("y_bound", "labels", labels)):
        if left_out:
            leaks.warn_caller(
                f"{name} is not declared, and {of} beyond 1 are cut to 1; pass {name}, a bound "
                f"on {of} that is known without the data",
                leaks.UndeclaredBoundWarning,
            )


def _default_rounds(proposal: Proposal, n_features: Mapping[str, int]) -> int:
    """Every party is asked at least once; with little noise, more features are worthwhile. A party
    in turn is asked no more often than the one with the most features has any to share.
    """
    rho = min(zcdp.rho_of(proposal.epsilon, proposal.delta), _MOST_RHO)
    parties = len(proposal.parties)
    features = max(_FEATURES * math.pow(proposal.n_rows, 1 / 6), float(parties))
    rounds = round(features * math.pow(max(1.0, rho), 1 / 6))
    in_turn = proposal.sampling == "party" and proposal.step == "corrective"
    return min(rounds, parties * max(n_features.values())) if in_turn else rounds


def _default_budget(proposal: Proposal, rounds: int, n_features: int) -> float:
    """The budget of a row at a party with so many features, each of which is shared once at most.
    Noise grows with the root of all budgets together, but a feature that finds the budgets spent
    has a sketch of noise only. Without noise nothing is cut.
    """
    if proposal.epsilon == math.inf:
        return _MOST_OF_A_FEATURE * min(rounds, n_features)
    shared = min(rounds / len(proposal.parties), n_features)
    least = _LEAST_ROW_BUDGET * math.sqrt(math.sqrt(zcdp.rho_of(proposal.epsilon, proposal.delta)))
    return max(_OF_A_FEATURE * shared, least)


def _default_sketch(terms: Terms) -> int:
    """As many numbers as are informative despite their noise, within the limit on the uplink."""
    plan = plan_of(terms)
    factor = _SKETCH
    if plan.sketch_sigma > 0.0:
        factor = min(_INFORMATIVE * plan.total_budget / plan.sketch_sigma**2, _SKETCH)
    size = max(factor * math.sqrt(terms.n_rows), _LEAST_SKETCH)
    return round(min(size, terms.universe))
