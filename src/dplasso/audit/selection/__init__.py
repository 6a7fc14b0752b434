"""Fits by Frank-Wolfe: released vertices, drawn by the exponential mechanism."""

from dplasso.audit.selection.accounting import Accounting
from dplasso.audit.selection.canary import Canary
from dplasso.audit.selection.count import Count
from dplasso.audit.selection.envelope import Envelope
from dplasso.audit.selection.law import Law
from dplasso.audit.selection.range_test import RangeTest
from dplasso.audit.selection.release import Release

__all__ = ["Accounting", "Canary", "Count", "Envelope", "Law", "RangeTest", "Release"]
