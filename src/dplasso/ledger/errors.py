"""What goes wrong with a ledger. Either way nothing has been drawn."""


class BudgetError(ValueError):
    """A charge was refused: it does not fit into what is left, or has no finite cost."""


class LedgerError(ValueError):
    """A ledger could not be found, read, trusted or written."""
