"""Forgetting: recent rows count more, computed from the sums that are released anyway."""

from typing import Any

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.kernels import stream_steps


class Forgetting:
    """Sums in which rows fade: half of a row is left after ``half_life`` further rows.

    With S_t the released sum after release t and n_t its rows, the faded sum is D_t = S_t - M_t,
    where M_1 = 0 and M_(t+1) = (1 - q_t) S_t + q_t M_t, q_t = 2^(-n_t / half_life). Then
    D_t = (S_t - S_(t-1)) + q_(t-1) D_(t-1): new rows count in full, and all before them fade.

    Formal guarantees
    -----------------
    A faded sum is a function of released sums and public numbers. It costs nothing beyond them, and
    the account of the stream is the same with and without a half-life. Rows stay protected as long
    as without: forgetting is no expiry.

    >>> faded = Forgetting(1, half_life=1.0)
    >>> [float(faded.of(np.array([s]), 1)[0][0]) for s in (4.0, 4.0, 4.0)]  # one row of 4, then 0
    [4.0, 2.0, 1.0]
    """

    def __init__(self, dimension: int, half_life: float) -> None:
        self.half_life = checks.bound("half_life", half_life)
        # The rows before, as much as they still count, and M. As public as the releases.
        self.held = np.zeros(1 + dimension)
        self.faded_rows, self.forgotten = self.held[:1], self.held[1:]

    def of(self, released: Floats, rows: int) -> tuple[Floats, float]:
        """The faded sum, and how many rows it counts as; ``rows`` are those of this release."""
        faded = released.copy()
        fresh = stream_steps.forget(faded, rows, self.half_life, self.forgotten, self.faded_rows)
        return faded, fresh

    def state(self) -> dict[str, Any]:
        """Arrays from which `resume` continues, to the last bit."""
        return {"forgotten": self.held.copy()}

    def resume(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        found = np.array(state["forgotten"], np.float64)
        if found.shape != self.held.shape or not np.all(np.isfinite(found)):
            raise ValueError("state must have what the stream has forgotten; it has not")
        self.held[:] = found
