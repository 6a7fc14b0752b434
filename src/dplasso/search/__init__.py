"""Choose settings privately (`PrivateSearch`), and score models on private rows."""

from dplasso.search.private_scores import PrivateScores, private_score
from dplasso.search.private_search import PrivateSearch
from dplasso.search.row_scores import NoisyScore

__all__ = ["NoisyScore", "PrivateScores", "PrivateSearch", "private_score"]
