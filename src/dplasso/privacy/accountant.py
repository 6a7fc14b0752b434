"""Who is told of a release before it happens."""

from typing import NamedTuple, Protocol, runtime_checkable

from dplasso.privacy.events import Event


class Receipt(NamedTuple):
    """Where a charge stands in a ledger, and what is spent with it: public, like its entries."""

    entry: int
    hash: str
    epsilon_spent: float  # of all charges up to this one, at the ledger's delta
    epsilon_cap: float
    delta: float


@runtime_checkable
class Accountant(Protocol):
    """Anything with a ``charge`` method can keep the budget of an estimator's fits.

    Formal guarantees
    -----------------
    An estimator calls ``charge`` once a fit, after every check and before the first draw. If it
    raises, nothing is drawn and nothing is released.
    """

    def charge(self, event: Event, *, delta: float, neighboring: str, label: str) -> Receipt | None:
        """Count a release: what it is, at which delta and relation it is stated, and whose.

        A receipt becomes part of the fit's privacy statement.
        """
