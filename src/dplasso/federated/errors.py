"""What a party or a coordinator says instead of going on."""


class Refused(ValueError):  # noqa: N818 (an answer, not a fault)
    """A message, or a job, that is not accepted. The text holds nothing private: it may be sent."""
