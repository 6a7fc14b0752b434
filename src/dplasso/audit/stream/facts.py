"""The public numbers of a stream, and what follows from them by the textbook."""

from dataclasses import dataclass
from functools import cached_property

from dplasso.audit.descent.account import mu_for
from dplasso.audit.facts import Claim

GAMMA = "gamma"


@dataclass(frozen=True, kw_only=True)
class StreamFacts(Claim):
    """One configuration of an online estimator.

    ``window`` are the rows that are to be protected, None for all, of which there are ``n_rows`` at
    most, if that is known; ``batch`` the least rows of a release; ``clip`` the length that a row's
    gradients may have together.
    """

    window: int | None
    n_rows: int | None
    batch: int
    noise: str
    clip: float
    shown = (*Claim.shown, "window", "n_rows", "batch", "noise", "clip")

    @property
    def steps_protected(self) -> int | None:
        """Releases that a row must not show in: those made while it is one of the last, or all;
        None where these have no end."""
        rows = self.n_rows if self.window is None else self.window
        return None if rows is None else -(-rows // self.batch)

    @property
    def reach(self) -> float:
        """How far two neighbours are apart in an exact sum, at most."""
        return self.rows_changed * self.clip

    @cached_property
    def mu(self) -> float:
        """All that the claim allows, by the Gaussian curve."""
        return mu_for(self.epsilon, self.delta)
