"""Convex sets that weights may live in: projections, linear and local linear oracles."""

from dplasso.domains.base import Domain, ProjectableDomain
from dplasso.domains.birkhoff import BirkhoffPolytope
from dplasso.domains.box import Box
from dplasso.domains.flow import FlowPolytope
from dplasso.domains.l1_ball import L1Ball
from dplasso.domains.l2_ball import L2Ball
from dplasso.domains.simplex import Simplex
from dplasso.domains.walk import Walk

__all__ = [
    "BirkhoffPolytope",
    "Box",
    "Domain",
    "FlowPolytope",
    "L1Ball",
    "L2Ball",
    "ProjectableDomain",
    "Simplex",
    "Walk",
]
