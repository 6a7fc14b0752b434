"""Private running sums over a stream: every release so far, together, hides each recent row.

`running_sum` makes one; docs/online.md derives the constructions. One concept a file: `whole_rows`
(rows to whole numbers, the only part that sees data), `covers`, `tree`, `band`, `doubling` (noise,
functions of a key and the step), `settings` (public numbers and their cost), `exposure` (the cost,
computed a second time).
"""

from dplasso.streams.exposure import exposure, telling_statistic
from dplasso.streams.running_sum import RunningSum, State, running_sum

__all__ = ["RunningSum", "State", "exposure", "running_sum", "telling_statistic"]
