"""Probabilities corrected after a fit: noisy counts and sums give a scale and intercepts."""

from dplasso.solvers.calibration import Correction
from dplasso.solvers.correction.plan import SHARE, CorrectionPlan, plan_correction
from dplasso.solvers.correction.rows import MarginRows
from dplasso.solvers.correction.solve import correct, replay
from dplasso.solvers.correction.walk import Usual

__all__ = [
    "SHARE",
    "Correction",
    "CorrectionPlan",
    "MarginRows",
    "Usual",
    "correct",
    "plan_correction",
    "replay",
]
