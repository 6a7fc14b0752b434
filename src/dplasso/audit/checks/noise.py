"""Does the noise of fits have the stated law and size, and is it never reused?"""

from collections.abc import Iterator

from dplasso.audit.check import Check
from dplasso.audit.session import Session
from dplasso.audit.subject import NoisySubject
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats

_FRESH = 3  # fits that draw their own bits
_LEAST = 2  # numbers per release: a single number may be equal by chance
_DIGITS = 9  # number of digits compared


class Noise(Check[NoisySubject]):
    """Tests the differences of released and exact sums, in units of the charged noise.

    The subject states their law. Normal noise is tested by its mean, its variance and a chi-square
    test of its law; the signs of draws must agree half of the time between one release and the
    next, one column and the next, one fit and the next. No two releases, of the same fit or of
    different fits, may share their noise; this includes fits that draw their own bits, as a user's
    do. The check finds noise that is missing in places, too small, of another law, or reused. It
    cannot detect errors of less than a few per cent.
    """

    name = "noise"
    of = NoisySubject
    share = 0.4

    def tests_of(self, subject: NoisySubject) -> int:
        return subject.noise_tests

    def run(self, session: Session[NoisySubject]) -> Iterator[Verdict]:
        subject = session.subject
        fits = session.repeated(subject.noise_runs, lambda: subject.noise(session, session.bits))
        fresh = [subject.noise(session, None) for _ in range(_FRESH)]
        repeated = {"releases that share noise": (_repeated([*fits, *fresh]), 0.0)}
        yield from self.limited(session, repeated, len(fits))
        yield from self.doubted(session, subject.noise_p_values(fits), len(fits))


def _repeated(fits: list[list[Floats]]) -> int:
    """Number of releases with the noise of another release, over their common length."""
    releases = [release for fit in fits for release in fit if len(release) >= _LEAST]
    length = min(map(len, releases))
    heads = [release[:length].round(_DIGITS).tobytes() for release in releases]
    return len(heads) - len(set(heads))
