"""Probabilities corrected after a fit: noisy counts and sums give a scale and intercepts."""

from dplasso.solvers.correction.counted_rows import CountedRows, counted_rows
from dplasso.solvers.correction.own_margin import without_own
from dplasso.solvers.correction.plan import SHARE, CorrectionPlan, plan_correction
from dplasso.solvers.correction.rows import MarginRows, MarginSums
from dplasso.solvers.correction.solve import correct, replay
from dplasso.solvers.correction.walk import Correction, Usual

__all__ = [
    "SHARE",
    "Correction",
    "CorrectionPlan",
    "CountedRows",
    "MarginRows",
    "MarginSums",
    "Usual",
    "correct",
    "counted_rows",
    "plan_correction",
    "replay",
    "without_own",
]
