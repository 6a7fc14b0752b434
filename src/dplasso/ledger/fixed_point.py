"""Amounts of rho as whole multiples of 1e-50: sums are exact, whatever their order or number.

Formal guarantees
-----------------
A release is priced by its exact rational cost in zCDP, rounded *up* to the next unit, once.
Composition adds whole numbers. The cap is the rho that `zcdp.rho_of` grants to (epsilon, delta),
larger by a relative 1e-14, rounded down: that allows for the last digits by which a release
calibrated to the whole budget may exceed it. `rho_of` stays below the largest valid rho by a
relative 2e-13, so that a full ledger is still (epsilon, delta)-DP.
"""

import math
import re
from fractions import Fraction

from dplasso.ledger.errors import BudgetError
from dplasso.privacy import zcdp
from dplasso.privacy.events import Composed, Event, Repeated, Selected

_PLACES = 50
UNIT: int = 10**_PLACES
_LAST_DIGITS = 1 + Fraction(1, 10**14)
_TEXT = re.compile(r"(0|[1-9][0-9]{0,29})(?:\.([0-9]{0,49}[1-9]))?")
_LARGEST: int = 10**30 * UNIT


def price(event: Event) -> int:
    """The cost of an event in rho, in units; the costs of its parts add.

    A search costs the rho of one trial, and an additional cost: `dplasso.ledger.search_cost`.
    """
    match event:
        case Composed(events):
            return sum(map(price, events))
        case Repeated(part, count):
            return count * price(part) if count else 0
        case Selected(part):
            return price(part)
    try:
        cost = zcdp.exact_rho(event)
    except OverflowError:
        raise BudgetError(
            "a release without privacy cannot be charged: its cost is infinite; choose a finite "
            "epsilon, or run it without an accountant"
        ) from None
    return math.ceil(cost * UNIT)


def price_at_most(epsilon: float, delta: float) -> int:
    """Largest cost of a release calibrated to (epsilon, delta), with rounding, in units."""
    granted = zcdp.rho_of(epsilon, delta)
    return math.floor(Fraction(granted) * _LAST_DIGITS * UNIT) if granted < 1e30 else _LARGEST


def cap_of(epsilon: float, delta: float) -> int:
    """The most that may be spent under (epsilon, delta), in units."""
    units = price_at_most(epsilon, delta)
    if not 0 < units < _LARGEST:
        raise ValueError(
            f"epsilon must leave a ledger something to count, got {epsilon!r}; "
            "choose one between 1e-6 and 100"
        )
    return units


def to_float(units: int) -> float:
    """The nearest double; math.inf if it overflows."""
    try:
        return units / UNIT
    except OverflowError:
        return math.inf


def to_text(units: int) -> str:
    """The exact decimal, without trailing zeros."""
    whole, rest = divmod(units, UNIT)
    return f"{whole}.{rest:0{_PLACES}d}".rstrip("0").rstrip(".") if rest else str(whole)


def from_text(text: object) -> int:
    """The units of a decimal as `to_text` writes it; anything else raises ValueError.

    >>> from_text(to_text(5 * 10**48))
    5000000000000000000000000000000000000000000000000
    """
    found = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError("an amount must be a decimal text with at most 50 places")
    whole, places = found[1], found[2] or ""
    return int(whole + places.ljust(_PLACES, "0"))
