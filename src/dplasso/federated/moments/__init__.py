"""One model from one noisy matrix that parties open together.

See docs/explanation/federated_moments.md.
"""

from dplasso.federated.moments.model import MomentModel
from dplasso.federated.moments.opened import Moments
from dplasso.federated.moments.party import MomentParty
from dplasso.federated.moments.plan import MomentPlan, moment_plan
from dplasso.federated.moments.server import MomentServer
from dplasso.federated.moments.simulation import MomentOutcome, simulate_moments
from dplasso.federated.moments.terms import MomentTerms, PartyBlock, agree_moments
from dplasso.federated.moments.weights import fit_moments

__all__ = [
    "MomentModel",
    "MomentOutcome",
    "MomentParty",
    "MomentPlan",
    "MomentServer",
    "MomentTerms",
    "Moments",
    "PartyBlock",
    "agree_moments",
    "fit_moments",
    "moment_plan",
    "simulate_moments",
]
