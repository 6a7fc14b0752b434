"""A self-contained page about a fitted model, for people who have to trust it."""

from dplasso.report.curve_fits import Curve, accuracy_curve
from dplasso.report.evaluation import Evaluation, evaluate
from dplasso.report.page import render, write_report
from dplasso.report.progress import Progress

__all__ = [
    "Curve",
    "Evaluation",
    "Progress",
    "accuracy_curve",
    "evaluate",
    "render",
    "write_report",
]
