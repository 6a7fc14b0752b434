"""Vertical federation: parties that hold different features of the same people."""

from dplasso.federated.roles import Answers, Coordinates, Holdings, Refused, Terms

__all__ = ["Answers", "Coordinates", "Holdings", "Refused", "Terms"]
