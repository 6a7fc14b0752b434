"""Learning one model from features that may not leave their owners.

See docs/explanation/federated.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dplasso.federated.agreement import agree
    from dplasso.federated.caps import Caps
    from dplasso.federated.card import Card
    from dplasso.federated.coordinator import Coordinator
    from dplasso.federated.errors import Refused
    from dplasso.federated.model import PartyModel
    from dplasso.federated.party import Party
    from dplasso.federated.simulation import Outcome, simulate
    from dplasso.federated.terms import PartyTerms, Proposal, Terms

__all__ = [
    "Caps",
    "Card",
    "Coordinator",
    "Outcome",
    "Party",
    "PartyModel",
    "PartyTerms",
    "Proposal",
    "Refused",
    "Terms",
    "agree",
    "simulate",
]

# Where each stands. A party brings numba and scipy, which take a second to import: an
# administrator, who only sends a proposal, needs neither.
_HOMES = {
    "agreement": ("agree",),
    "caps": ("Caps",),
    "card": ("Card",),
    "coordinator": ("Coordinator",),
    "errors": ("Refused",),
    "model": ("PartyModel",),
    "party": ("Party",),
    "simulation": ("Outcome", "simulate"),
    "terms": ("PartyTerms", "Proposal", "Terms"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            module = import_module(f"dplasso.federated.{home}")
            globals()[name] = found = getattr(module, name)
            return found
    raise AttributeError(f"module 'dplasso.federated' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
