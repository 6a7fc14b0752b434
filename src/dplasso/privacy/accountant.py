"""Who is told of a release before it happens."""

from typing import Protocol, runtime_checkable

from dplasso.privacy.events import Event


@runtime_checkable
class Accountant(Protocol):
    """Anything with a ``charge`` method can keep the budget of an estimator's fits.

    Formal guarantees
    -----------------
    An estimator calls ``charge`` once a fit, after every check and before the first draw. If it
    raises, nothing is drawn and nothing is released.
    """

    def charge(self, event: Event, *, delta: float, neighboring: str, label: str) -> None:
        """Count a release: what it is, at which delta and relation it is stated, and whose."""
