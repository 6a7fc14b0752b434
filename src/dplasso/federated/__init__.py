"""Learning one model from features that may not leave their owners. See docs/federated.md."""

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
