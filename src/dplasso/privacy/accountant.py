"""The interface of an accountant, which is charged before each release."""

from typing import NamedTuple, Protocol, runtime_checkable

from dplasso.privacy.events import Event
from dplasso.privacy.unit import ROW


class Receipt(NamedTuple):
    """The place of a charge in a ledger, and the total spent so far: public, like its entries."""

    entry: int
    hash: str
    epsilon_spent: float  # epsilon of all charges up to this one, at the ledger's delta
    epsilon_cap: float
    delta: float


@runtime_checkable
class Accountant(Protocol):
    """Any object with a ``charge`` method can keep the budget of an estimator's fits.

    Formal guarantees
    -----------------
    An estimator calls ``charge`` once per fit, after all checks and before the first draw. If it
    raises, nothing is drawn and nothing is released.
    """

    def charge(
        self, event: Event, *, delta: float, neighboring: str, label: str, unit: str = ROW
    ) -> Receipt | None:
        """Charge a release; ``delta``, ``neighboring`` and ``unit`` are those it is stated for.

        ``unit`` says whom it protects (`dplasso.privacy.unit.Unit`). It is passed only if that is
        not a row: an accountant that has no such argument cannot be charged for people. A receipt
        becomes part of the fit's privacy statement.
        """
