"""Fits of a few chosen columns: released mean of the labels, draws of columns, then a descent."""

from dplasso.audit.few.accounting import Accounting
from dplasso.audit.few.canary import Canary
from dplasso.audit.few.law import Law
from dplasso.audit.few.release import Release
from dplasso.audit.few.sensitivity import RangeTest, Sensitivity

__all__ = ["Accounting", "Canary", "Law", "RangeTest", "Release", "Sensitivity"]
