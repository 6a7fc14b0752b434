"""A few columns, chosen by the exponential mechanism, and a private descent on those alone.

The derivation is in docs/explanation/few.md. One concept per file: `plan` (public numbers and their
cost), `scores` (the only part that sees data), `solve` (draws, then the descent).
"""

from dplasso.solvers.few.plan import FewPlan, plan_few
from dplasso.solvers.few.scores import ColumnScores
from dplasso.solvers.few.solve import Chosen, FewSolution, choose, refit

__all__ = ["Chosen", "ColumnScores", "FewPlan", "FewSolution", "choose", "plan_few", "refit"]
