"""Choose settings privately: `PrivateSearch`, and how its trials are scored."""

from dplasso.search.private_search import PrivateSearch

__all__ = ["PrivateSearch"]
