"""Figures that are computed from public rows, one kind per file. They are NOT private."""

from dplasso.report.measured.measure import Measured, measure
from dplasso.report.measured.numbers import Residuals
from dplasso.report.measured.ranking import Ranking
from dplasso.report.measured.reliability import Reliability
from dplasso.report.measured.subgroups import Subgroup, Subgroups

__all__ = [
    "Measured",
    "Ranking",
    "Reliability",
    "Residuals",
    "Subgroup",
    "Subgroups",
    "measure",
]
