"""The one error that a party or a coordinator sends."""


class Refused(ValueError):  # noqa: N818 (an answer, not a fault)
    """A message or a job was refused. The text holds nothing private, so that it may be sent."""
