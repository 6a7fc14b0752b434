"""A self-contained page about a fitted model, for people who have to trust it."""

from dplasso.report.about import About
from dplasso.report.compared import describe_several, render_several, write_several
from dplasso.report.curve_fits import Curve, accuracy_curve
from dplasso.report.evaluation import Evaluation, evaluate
from dplasso.report.examination import examine
from dplasso.report.page import render, write_report
from dplasso.report.progress import Progress
from dplasso.report.subject import Subject
from dplasso.report.twin import describe

__all__ = [
    "About",
    "Curve",
    "Evaluation",
    "Progress",
    "Subject",
    "accuracy_curve",
    "describe",
    "describe_several",
    "evaluate",
    "examine",
    "render",
    "render_several",
    "write_report",
    "write_several",
]
