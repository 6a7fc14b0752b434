"""Private gradient descent on damped, centred and re-weighted rows: dense and accurate.

The derivation is in docs/explanation/gradient.md. One concept per file: `plan` (public numbers and
their cost), `rows` (the only part that sees data), `held_columns` (the order in which it reads
them), `backend` (where sums are formed and noise is added), `iterate` (what there is per column),
`conditioning`, `mixture` and `descent` (functions of releases), `cut` (a public number of
nonzeros).
"""

from dplasso.solvers.gradient.plan import GradientPlan, plan_descent
from dplasso.solvers.gradient.solve import GradientSolution, gradient_descent, replay

__all__ = ["GradientPlan", "GradientSolution", "gradient_descent", "plan_descent", "replay"]
