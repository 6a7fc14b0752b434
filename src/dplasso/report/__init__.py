"""One self-contained page about a fitted model, for people who have to trust it."""

from dplasso.report.evaluation import Evaluation, evaluate
from dplasso.report.page import render, write_report

__all__ = ["Evaluation", "evaluate", "render", "write_report"]
