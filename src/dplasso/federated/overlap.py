"""How many rows parties have in common, estimated from what they released."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.federated.count_plan import ENTRY
from dplasso.federated.job_plan import JobPlan


@dataclass(frozen=True)
class Overlap:
    """Estimated shares of the declared rows that parties have in common: post-processing.

    ``shares`` has, for each party, the mean over the other parties of the share that both have.
    ``spread`` is the standard deviation of such a number where all rows are common.
    """

    shares: dict[str, float]
    spread: float

    @classmethod
    def of(cls, plan: JobPlan, sums: Mapping[str, Ints]) -> "Overlap":
        """Estimate the shares from the noisy sums of signs of all parties."""
        rows, signs = plan.n_people, plan.count.signs
        numbers = np.array([sums[name] for name in plan.terms.names]) / ENTRY
        common = numbers @ numbers.T / (signs * rows)
        others = len(numbers) - 1
        shares = (common.sum(axis=1) - np.diag(common)) / others
        noise = 1.0 + signs * plan.count.sigma**2 / rows
        spread = math.sqrt((noise**2 + 1.0) / (signs * others))
        return cls(dict(zip(plan.terms.names, shares.tolist(), strict=True)), spread)

    def fault(self, n_rows: int, least: float) -> str:
        """Return what to do about parties that have less than ``least`` in common, if any has."""
        few = [name for name, share in self.shares.items() if share < least]
        if not few:
            return ""
        found = ", ".join(
            f"{name} about {max(0.0, self.shares[name]):.0%} (+- {self.spread:.0%})" for name in few
        )
        return (
            f"too few rows are common: of {n_rows:,} declared rows, {found} with other parties, "
            f"and min_overlap is {least:.0%}; compare how {', '.join(few)} and the others spell "
            "identifiers (id_column), and submit again, with a lower min_overlap if it is right"
        )
