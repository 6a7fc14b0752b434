"""The ledger of a party: its charges, within the limits of its settings."""

from dplasso.federated.errors import Refused
from dplasso.federated.party_settings import PartySettings
from dplasso.ledger import Budget, LedgerError


def open_ledger(settings: PartySettings) -> Budget:
    """Open the ledger of a party, or begin it. Other limits than it was begun with are refused.

    A ledger counts against the limits that it was begun with. A limit that is changed later would
    not hold for what was charged before.
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
            f"{limits[1]:g}, but its ledger was begun with {found.epsilon:g} and {found.delta:g}; "
            "restore these limits"
        ) from None
