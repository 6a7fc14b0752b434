"""Fits to rows in shards, which processes on several machines hold.

`shards` says which files make a shard, `shard` holds one of them (the only part that sees rows),
`crew` is the driver's handle of all of them, in this process (`in_process`) or on Ray (`ray_crew`),
`sums` adds up their answers, `selections` runs the rounds of Frank-Wolfe over their columns,
`run_log` stores what was released, and `fingerprint` knows a fit again by its public facts.
docs/explanation/cluster.md has the rest.
"""

from dplasso.cluster.cluster import Cluster
from dplasso.cluster.shards import Shards

__all__ = ["Cluster", "Shards"]
