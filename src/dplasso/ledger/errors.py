"""Errors of a ledger. When they are raised, nothing has been drawn."""


class BudgetError(ValueError):
    """A charge was rejected: it exceeds the remaining budget, or has no finite cost."""


class LedgerError(ValueError):
    """A ledger could not be found, read, trusted or written."""
