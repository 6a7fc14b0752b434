"""Do released draws and noise follow the law on which the guarantee rests?"""

from collections.abc import Iterator

from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.audit.subject import DrawingSubject, NoisySubject
from dplasso.base.arrays import Floats

_FRESH = 3  # fits that draw their own bits
_LEAST = 2  # numbers per release: a single number may be equal by chance
_DIGITS = 9  # number of digits compared


class Law(Check[DrawingSubject]):
    """Chi-square tests of the draws of fits against their exact law given the draws before.

    The law is computed by the subject's reference from the raw rows and the public numbers alone,
    with the theta that the claim allows. The check finds a theta other than the one stated, a sign
    that is read from the data instead of drawn, columns drawn twice, wrong gradients, scores or
    steps, and biased bits. A fault in one row's share of a score is too small for it: `range` and
    `canary` look for those.
    """

    name = "law"
    of = DrawingSubject
    share = 1.0

    def tests_of(self, subject: DrawingSubject) -> int:
        return subject.law_tests

    def run(self, session: Session[DrawingSubject]) -> Iterator[Verdict]:
        for p_values, runs in session.subject.law_p_values(session):
            yield from self.doubted(session, p_values, runs)


class NoiseCheck(Check[NoisySubject]):
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

    def is_for(self, subject: Subject) -> bool:
        return isinstance(subject, NoisySubject) and subject.noise_tests > 0

    def tests_of(self, subject: NoisySubject) -> int:
        return subject.noise_tests

    def run(self, session: Session[NoisySubject]) -> Iterator[Verdict]:
        subject = session.subject
        fits = session.repeated(subject.noise_runs, lambda: subject.noise(session, session.bits))
        if unknown := sum(not fit for fit in fits):  # no release is one that was stated
            yield from self.limited(session, {"fits not as stated": (float(unknown), 0.0)})
            return
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
