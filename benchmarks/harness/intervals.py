"""Means of a few runs, and how far they can be trusted."""

import math
import statistics
from typing import Any

from scipy.stats import t as student


def interval(values: list[float]) -> dict[str, Any]:
    """Mean, and half the width of the 95 % interval of the mean by Student's law."""
    half = math.nan
    if len(values) > 1:
        spread = statistics.stdev(values) / math.sqrt(len(values))
        half = float(student.ppf(0.975, len(values) - 1)) * spread
    return {"mean": statistics.fmean(values), "half": half, "seeds": len(values)}
