"""One check per file, written once for all solvers; `dplasso.audit.runner.CHECKS` lists them."""
