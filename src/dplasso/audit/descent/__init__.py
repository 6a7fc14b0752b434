"""Fits by gradient descent: released sums over the rows, with Gaussian noise on a grid."""

from dplasso.audit.descent.accounting import Accounting
from dplasso.audit.descent.canary import Canary
from dplasso.audit.descent.noise import Noise
from dplasso.audit.descent.release import Release
from dplasso.audit.descent.sensitivity import Sensitivity

__all__ = ["Accounting", "Canary", "Noise", "Release", "Sensitivity"]
