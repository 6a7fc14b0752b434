"""Transcripts of descents, which hold the noise of all releases."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dplasso.audit.descent.recording import Recorded, Recording
from dplasso.audit.synthetic import labels_in_turn
from dplasso.base.arrays import Ints
from dplasso.mechanisms.random_bits import RandomBits

if TYPE_CHECKING:
    from dplasso.audit.descent.subject import DescentSubject
    from dplasso.audit.subject import Draw

_ROWS = 60
_FORKED_AFTER = 5  # releases


def draw_of(subject: "DescentSubject", rng: np.random.Generator) -> "Draw":
    """Fits whose draws are the noise of their sums."""
    X = rng.normal(size=(subject.rows_at_least(_ROWS), subject.columns))
    y = labels_in_turn(len(X), subject.facts)

    def draw(bits: RandomBits | None, halfway: Callable[[], None] | None) -> tuple[Ints, int]:
        prepared, recording = subject.prepare(X, y), _Interrupted(halfway)
        prepared.run_with(recording, bits)
        before = _FORKED_AFTER if halfway is not None else 0
        drawn, earlier = (_noise(part) for part in (recording.found, recording.found[:before]))
        return drawn, len(earlier)

    return draw


class _Interrupted(Recording):
    """Records the noise of a descent, and makes a call before its sixth release."""

    def __init__(self, halfway: Callable[[], None] | None) -> None:
        super().__init__()
        self._halfway = halfway

    def release(self, sigma: float, values: Ints, generator: Any, threads: int | None) -> None:
        if self._halfway is not None and len(self.found) == _FORKED_AFTER:
            self._halfway()
        super().release(sigma, values, generator, threads)


def _noise(found: list[Recorded]) -> Ints:
    parts = [release.noise for release in found]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
