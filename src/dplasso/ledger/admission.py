"""Whether a charge, or a larger budget, may be the next entry of a ledger.

Formal guarantees
-----------------
A charge is admitted only if all charges including it stay within the cap, in exact amounts of rho
and of the additional cost of searches (`dplasso.ledger.search_cost`), and if it is stated for the
ledger's neighbouring relation, and for the unit of the charges before it, a row or a person: costs
under different relations, or for different units, do not add. A larger budget takes effect for
later charges; all charges together, earlier ones included, are then within that budget.
"""

from dataclasses import replace

from dplasso.base.wording import ParameterError
from dplasso.ledger.chain import Position, left_after, raises, unit_after
from dplasso.ledger.entry import Charge, Raised, now
from dplasso.ledger.errors import BudgetError
from dplasso.ledger.refusal import of_other_unit, refusal


def admitted(asked: Charge, position: Position, shown: str) -> Charge:
    """The charge as the next entry; a BudgetError says why it is rejected."""
    limits, head = position.limits, position.head
    if asked.neighboring != limits.neighboring:
        raise BudgetError(
            f"{asked.label} is stated for neighboring={asked.neighboring!r}, and the ledger "
            f"{shown} for {limits.neighboring!r}: costs of the two do not add; state it for "
            f"{limits.neighboring!r}, or use another ledger"
        )
    if asked.unit != (known := unit_after(head, asked.unit)):
        raise BudgetError(of_other_unit(asked, known, shown))
    entry = replace(
        asked,
        sequence=head.sequence + 1,
        time=now(),
        total=head.total + asked.cost,
        total_beyond=head.total_beyond.plus(asked.beyond),
        previous=head.hash,
    )
    if left_after(limits, entry) < 0:
        raise BudgetError(refusal(asked, position, shown))
    return entry


def raised(asked: Raised, position: Position) -> Raised:
    """The larger budget as the next entry; an error if it is not larger."""
    limits, head = position.limits, position.head
    if not raises(limits, asked):
        raise ParameterError(
            "{epsilon} and {delta} must not be smaller than the ledger's {known}, {known_delta}, "
            "and one must be larger; a budget can only be raised",
            known=f"{limits.epsilon:g}",
            known_delta=f"{limits.delta:g}",
        )
    return replace(
        asked,
        sequence=head.sequence + 1,
        time=now(),
        neighboring=limits.neighboring,
        total=head.total,
        total_beyond=head.total_beyond,
        unit=head.unit,
        previous=head.hash,
    )
