"""Streams that survive crashes: rows are journaled, predicted, then learned from."""

from dplasso.session.folder import StateFolder
from dplasso.session.session import StreamSession

__all__ = ["StateFolder", "StreamSession"]
