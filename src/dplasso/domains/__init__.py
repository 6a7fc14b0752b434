"""Convex sets of weights, with projections, linear and local linear oracles."""

from dplasso.domains.base import Domain
from dplasso.domains.box import Box
from dplasso.domains.l1_ball import L1Ball
from dplasso.domains.l2_ball import L2Ball
from dplasso.domains.simplex import Simplex

__all__ = ["Box", "Domain", "L1Ball", "L2Ball", "Simplex"]
