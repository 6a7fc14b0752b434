"""Long transcripts of streams, which hold the signs of the noise, step by step."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.mechanisms.random_bits import RandomBits

if TYPE_CHECKING:
    from dplasso.audit.stream.subject import StreamSubject
    from dplasso.audit.subject import Draw

STEPS = {"gaussian": 1_400, "gamma": 400}  # per transcript, by noise
_SIGNS = 63  # number of noise signs taken per step


def draw_of(subject: "StreamSubject") -> "Draw":
    """Signs of a step's noises, as one number: they repeat where the noises do.

    Repeated noise becomes visible after the earlier noise has decayed.
    """
    steps, columns = STEPS[subject.facts.noise], -(-_SIGNS // subject.outputs)

    def draw(bits: RandomBits | None, halfway: Callable[[], None] | None) -> tuple[Ints, int]:
        total = subject.begun(columns, bits, n_rows=None).total
        noise = total.stretch(steps // 2).values
        if halfway is not None:
            halfway()
        noise = np.concatenate([noise, total.stretch(steps // 2).values])
        return _signs(noise), steps // 2

    return draw


def _signs(noise: Ints) -> Ints:
    bits = (noise[:, :_SIGNS] > 0).astype(np.int64)
    return np.asarray(bits @ (np.int64(1) << np.arange(bits.shape[1])), np.int64)
