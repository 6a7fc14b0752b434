"""The audit's own accountant."""

from dplasso.privacy.events import Composed, Event


class Recorder:
    """Records the charges, and spends no budget."""

    def __init__(self) -> None:
        self.charges: list[tuple[Event, float, str]] = []

    def charge(self, event: Event, *, delta: float, neighboring: str, label: str) -> None:
        self.charges.append((event, delta, neighboring))

    def __sklearn_clone__(self) -> "Recorder":
        return self

    def event(self) -> Event:
        """Everything that was charged."""
        return Composed(tuple(event for event, _, _ in self.charges))

    def terms_differing(self, delta: float, neighboring: str) -> int:
        """Number of charges that are superfluous, missing, or on other terms."""
        terms = [charge[1:] for charge in self.charges]
        return sum(term != (delta, neighboring) for term in terms) + (len(terms) != 1)
