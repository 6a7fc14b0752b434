"""The budget ledger: every release is charged to it first, durably. See docs/how_to/ledger.md."""

from dplasso.ledger.budget import Budget
from dplasso.ledger.entry import Charge, Genesis
from dplasso.ledger.errors import BudgetError, LedgerError

__all__ = ["Budget", "BudgetError", "Charge", "Genesis", "LedgerError"]
