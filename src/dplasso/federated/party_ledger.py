"""The ledger of a party: its charges, within the limits of its settings."""

from pathlib import Path

from dplasso.federated.errors import Refused
from dplasso.federated.party_settings import PartySettings
from dplasso.ledger import Budget, LedgerError


def open_ledger(settings: PartySettings) -> Budget:
    """Open the ledger of a party, or begin it. Other limits than the ledger has are refused.

    A ledger counts against the limits that it was begun with, or that `Budget.raise_to` has entered
    since: each change of them is on record.
    """
    limits = settings.max_epsilon, settings.max_delta
    try:
        return Budget(*limits, store=str(settings.ledger))
    except LedgerError:
        if not settings.ledger.exists():
            raise
        found = Budget.open(str(settings.ledger))
        if (found.epsilon, found.delta) == limits:
            raise
        raise Refused(
            f"party.toml of {settings.party} has max_epsilon {limits[0]:g} and max_delta "
            f"{limits[1]:g}, but its ledger has {found.epsilon:g} and {found.delta:g}; restore "
            "these limits, or raise them with dplasso federated configure"
        ) from None


def raise_limits(ledger: Path, max_epsilon: float | None, max_delta: float | None) -> bool:
    """Raise the limits of a ledger that exists; return whether they were lower. None stays."""
    if not ledger.exists():
        return False
    found = Budget.open(str(ledger))
    wanted = max_epsilon or found.epsilon, max_delta or found.delta
    if wanted == (found.epsilon, found.delta):
        return False
    if wanted[0] < found.epsilon or wanted[1] < found.delta:
        raise ValueError(
            f"max_epsilon and max_delta can only be raised; the ledger {ledger} has "
            f"{found.epsilon:g} and {found.delta:g}"
        )
    found.raise_to(*wanted)
    return True
