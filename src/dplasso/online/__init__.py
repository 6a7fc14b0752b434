"""Online learning: rows arrive one after another, and weights are released along the way.

Rows enter only a private running sum of their clipped gradients (`RunningSum`); a leader turns
every release of that sum into weights in a convex set.
"""

from dplasso.online.leaders import Leader, OracleLeader, ProjectedLeader
from dplasso.online.stream_learner import RunningSum, StreamLearner

__all__ = ["Leader", "OracleLeader", "ProjectedLeader", "RunningSum", "StreamLearner"]
