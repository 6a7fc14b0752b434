"""Does a fitted model depend on its releases alone?"""

from collections.abc import Iterator

import numpy as np

from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.audit.subject import Again, Figures, Pair

FITS = 5
_ROUNDING = 1e-9


class ReleaseCheck(Check[Subject]):
    """Fits as a user does, and obtains the released numbers in other ways.

    The releases of a fit are given to a fit on other rows: its numbers must be the same, bit for
    bit. Coefficients and intercepts are rebuilt from the releases by the subject's reference. Where
    a released count of coefficients is kept, the model must have that many, and the largest. The
    check finds a model that contains more of the data than was released. It also compares ``fit``
    with the parts of it that other checks repeat many times: with the same random bits both must
    release the same numbers, or those checks would test something else. It cannot find leaks
    through time, memory or logs.
    """

    name = "release"

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        worst: Figures = {}
        for k in range(FITS):
            for tested, (figure, limit) in _figures(session.subject.again(session, k)).items():
                before, _ = worst.get(tested, (figure, limit))
                worst[tested] = (float(np.maximum(before, figure)), limit)  # keeps NaN
            session.tell((k + 1) / FITS)
        yield from self.limited(session, worst, FITS)


def _figures(again: Again) -> Figures:
    found = dict(again.more)
    if again.elsewhere is not None:
        found["released numbers that depend on other rows"] = (_differing(again.elsewhere), 0.0)
    if again.by_parts is not None:
        found["numbers in which fit and its parts differ"] = (_differing(again.by_parts), 0.0)
    if again.rebuilt is not None:
        found["coefficients beyond the releases"] = (_gap(again.rebuilt), _ROUNDING)
    return found


def _differing(pair: Pair) -> float:
    """How many numbers are not the same to the last bit."""
    return float(np.sum(pair[0] != pair[1]))


def _gap(pair: Pair) -> float:
    """The largest difference divided by the largest number."""
    found, expected = pair
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300))
