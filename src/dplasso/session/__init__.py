"""Streams that survive crashes: rows are first journaled, then predicted and learned from."""

from dplasso.session.durable import DurableStream
from dplasso.session.folder import StateFolder
from dplasso.session.session import StreamSession

__all__ = ["DurableStream", "StateFolder", "StreamSession"]
