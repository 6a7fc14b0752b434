"""Whether a charge may be the next entry of a ledger.

Formal guarantees
-----------------
A charge is admitted only if all charges including it stay within the cap, in exact amounts of rho
and of the additional cost of searches (`dplasso.ledger.search_cost`), and if it is stated for the
ledger's neighbouring relation, and for the unit of the charges before it, a row or a person: costs
under different relations, or for different units, do not add.
"""

from dataclasses import replace

from dplasso.ledger.chain import Position, left_after, unit_after
from dplasso.ledger.entry import Charge, now
from dplasso.ledger.errors import BudgetError
from dplasso.ledger.refusal import of_other_unit, refusal


def admitted(asked: Charge, position: Position, shown: str) -> Charge:
    """The charge as the next entry; a BudgetError says why it is rejected."""
    genesis, head = position
    if asked.neighboring != genesis.neighboring:
        raise BudgetError(
            f"{asked.label} is stated for neighboring={asked.neighboring!r}, and the ledger "
            f"{shown} for {genesis.neighboring!r}: costs of the two do not add; state it for "
            f"{genesis.neighboring!r}, or use another ledger"
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
    if left_after(genesis, entry) < 0:
        raise BudgetError(refusal(asked, position, shown))
    return entry
