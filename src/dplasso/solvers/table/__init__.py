"""The accurate solver for tables: precondition once, then descend."""

from dplasso.solvers.table.plan import TablePlan, plan_table
from dplasso.solvers.table.solve import fit_table, replay, table_margins
from dplasso.solvers.table.walk import TableSolution

__all__ = ["TablePlan", "TableSolution", "fit_table", "plan_table", "replay", "table_margins"]
