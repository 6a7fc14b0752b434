"""Streams: running sums of clipped gradients, with noise that is correlated over time."""

from dplasso.audit.stream.accounting import Accounting
from dplasso.audit.stream.canary import Canary
from dplasso.audit.stream.gamma_noise import GammaNoise
from dplasso.audit.stream.noise import Noise
from dplasso.audit.stream.release import Release
from dplasso.audit.stream.sensitivity import Sensitivity

__all__ = ["Accounting", "Canary", "GammaNoise", "Noise", "Release", "Sensitivity"]
