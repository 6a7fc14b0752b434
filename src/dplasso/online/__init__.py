"""Online learning: rows come one after another, and weights leave after every one.

Rows touch nothing but a private running sum of their clipped gradients (`RunningSum`); a leader
turns every release of it into weights of a convex set.
"""

from dplasso.online.leaders import Leader, OracleLeader, ProjectedLeader
from dplasso.online.running_sum import RunningSum
from dplasso.online.stream_learner import StreamLearner

__all__ = ["Leader", "OracleLeader", "ProjectedLeader", "RunningSum", "StreamLearner"]
