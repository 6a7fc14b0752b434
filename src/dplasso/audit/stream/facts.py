"""The public numbers of a stream, and textbook quantities that follow from them."""

from dataclasses import dataclass
from functools import cached_property

from dplasso.audit.descent.account import mu_for
from dplasso.audit.facts import Claim

GAMMA = "gamma"


@dataclass(frozen=True, kw_only=True)
class StreamFacts(Claim):
    """One configuration of an online estimator.

    ``window`` is the number of rows to protect, None for all; there are at most ``n_rows`` rows, if
    that is known; ``batch`` is the least number of rows per release; ``clip`` is the largest joint
    length of a row's gradients.
    """

    window: int | None
    n_rows: int | None
    batch: int
    noise: str
    clip: float
    shown = (*Claim.shown, "window", "n_rows", "batch", "noise", "clip")

    @property
    def steps_protected(self) -> int | None:
        """Number of releases that must hide a row: those made while it is in the window, or all;
        None where the stream is endless."""
        rows = self.n_rows if self.window is None else self.window
        return None if rows is None else -(-rows // self.batch)

    @property
    def reach(self) -> float:
        """The largest distance of the exact sums of two neighbours."""
        return self.rows_changed * self.clip

    @cached_property
    def mu(self) -> float:
        """The total mu that the claim allows, by the Gaussian curve."""
        return mu_for(self.epsilon, self.delta)
