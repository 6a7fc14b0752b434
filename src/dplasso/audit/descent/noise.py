"""Is the noise that fits add normal, as large as stated, and never used again?"""

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from dplasso.audit.check import Check, Session
from dplasso.audit.descent import data
from dplasso.audit.descent.recording import Recorded
from dplasso.audit.descent.subject import DescentSubject, Prepared
from dplasso.audit.statistics import even_chance, pearson, unit_variance, zero_mean
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats

RUNS = 100
_CELLS = 32  # of equal probability, that draws are counted in
_FRESH = 3  # fits by bits of their own


class Noise(Check[DescentSubject]):
    """Tests of released sums less exact ones, in the standard deviations that are charged.

    Mean, variance and a chi-square test of the law, for the first release (the mass; of fits that
    select columns the sum of labels) and for those after it; that signs of
    draws agree as often as not between one release and the next, one column and the next, one fit
    and the next; and that no two releases, of the same fit or of two, share their noise. Fits that
    draw their own bits, as a user's do, are among these. Finds noise that is missing in places, too
    small, of another law, or used again. Faults by less than a few per cent are too small for it.
    """

    name = "noise"
    of = DescentSubject
    tests = 9
    share = 0.4

    def run(self, session: Session[DescentSubject]) -> Iterator[Verdict]:
        subject = session.subject
        prepared = subject.prepare(*data.random_rows(subject.columns, subject.facts, session.rng))

        def pilot(runs: int) -> None:
            for _ in range(runs):
                prepared.releases(session.bits)

        runs = session.runs(RUNS, pilot)
        fits = []
        for run in range(runs):
            fits.append(_units(prepared.releases(session.bits), prepared))
            session.tell((run + 1) / runs)
        yield self._repeated(session, fits)
        yield from self.doubted(session, _p_values(fits, subject.first_release), runs)

    def _repeated(self, session: Session[DescentSubject], fits: list[list[Floats]]) -> Verdict:
        """Releases whose noise is that of another release, as far as both go."""
        subject = session.subject
        X, y = data.random_rows(subject.columns, subject.facts, session.rng)
        own = [subject.prepare(X, y) for _ in range(_FRESH)]
        fresh = [_units(one.releases(), one) for one in own]
        heads = [release[: subject.columns].tobytes() for fit in (*fits, *fresh) for release in fit]
        figure = len(heads) - len(set(heads))
        return Verdict(
            self.name, subject.name, "releases that share noise", figure, 0.0, runs=len(heads)
        )


def _units(drawn: list[Recorded], prepared: Prepared) -> list[Floats]:
    """Noise of every release, in the standard deviations stated.

    Draws are rounded down: what is added to them is half of what that takes away.
    """
    return [
        np.asarray((release.noise + 0.5) / prepared.stated_sigma(place), np.float64)
        for place, release in enumerate(drawn)
    ]


def _p_values(fits: list[list[Floats]], first_release: str) -> dict[str, float]:
    first = np.concatenate([fit[0] for fit in fits])
    steps = np.concatenate([release for fit in fits for release in fit[1:]])
    found = {}
    for of, draws in ((first_release, first), ("steps", steps)):
        found[f"mean of the noise of {of}"] = zero_mean(float(draws.sum()), len(draws))
        found[f"variance of the noise of {of}"] = unit_variance(float(draws @ draws), len(draws))
        cells = np.clip((ndtr(draws) * _CELLS).astype(np.int64), 0, _CELLS - 1)
        counts = np.bincount(cells, minlength=_CELLS)
        found[f"law of the noise of {of}"] = pearson(counts, np.full(_CELLS, 1.0 / _CELLS))
    return found | {
        "signs of one release and the next": _agreement(
            [pair for fit in fits for pair in zip(fit[:-1], fit[1:], strict=True)]
        ),
        "signs of one column and the next": _agreement(
            [(release[:-1], release[1:]) for fit in fits for release in fit]
        ),
        "signs of one fit and the next": _agreement(
            [
                pair
                for one, other in zip(fits[:-1], fits[1:], strict=True)
                for pair in zip(one, other, strict=True)
            ]
        ),
    }


def _agreement(pairs: list[tuple[Floats, Floats]]) -> float:
    """How likely signs are to agree so often, or so rarely, by chance: each is a fair coin's."""
    hits = runs = 0
    for one, other in pairs:
        length = min(len(one), len(other))
        hits += int(np.sum((one[:length] > 0.0) == (other[:length] > 0.0)))
        runs += length
    return even_chance(hits, runs)
