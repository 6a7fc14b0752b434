"""Private running sums over a stream: all releases so far together protect each recent row.

`running_sum` makes one; docs/explanation/online.md derives the constructions. One concept per file:
`whole_rows` (rows to integers, the only part that sees data), `covers`, `tree`, `band`, `buffered`,
`doubling` (noise as a function of a key and the step), `settings` (public numbers), `account`
(their cost).
"""

from dplasso.streams.running_sum import RunningSum, State, running_sum

__all__ = ["RunningSum", "State", "running_sum"]
