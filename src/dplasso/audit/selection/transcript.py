"""Long transcripts of Frank-Wolfe, on rows with almost no signal."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from dplasso.audit.access import bits_of
from dplasso.audit.synthetic import labels_in_turn
from dplasso.base.arrays import Ints
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.solvers import frank_wolfe

if TYPE_CHECKING:
    from dplasso.audit.selection.subject import SelectionSubject
    from dplasso.audit.subject import Draw

COLUMNS = 1 << 14  # so that a signed vertex carries 15 bits
LONG = {"lazy": 60_000}  # rounds of a transcript, by selection rule
USUAL = 2_500
_ROWS, _DENSITY, _THETA = 60, 0.01, 1e-3


def draw_of(subject: "SelectionSubject", rng: np.random.Generator) -> "Draw":
    """Fits whose draws are the numbers of signed vertices."""
    model = subject.copy()
    X = sp.random_array((_ROWS, COLUMNS), density=_DENSITY, rng=rng, format="csc")
    y = subject.labels(labels_in_turn(_ROWS, subject.facts))
    loss, rounds = model.prepare(X, y).plan.request.loss, LONG.get(model.selection, USUAL)

    def draw(bits: RandomBits | None, halfway: Callable[[], None] | None) -> tuple[Ints, int]:
        called: list[int] = []

        def progress(done: int) -> None:
            if halfway is not None and not called and done < rounds:
                halfway()
                called.append(done)

        found = frank_wolfe(
            *(X, y),
            loss=loss,
            radius=1.0,
            rounds=rounds,
            theta=_THETA,
            selection=model.selection,
            generator=bits_of(subject.copy(random_state=bits)),
            n_threads=1,
            progress=progress,
        )
        drawn = 2 * (found.columns * subject.outputs + found.classes) + (found.signs > 0)
        return drawn, called[0] if called else 0

    return draw
