"""Is the noise that fits add of the law that is stated, as large, and never used again?"""

from collections.abc import Iterator

from dplasso.audit.check import Check
from dplasso.audit.session import Session
from dplasso.audit.subject import NoisySubject
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats

_FRESH = 3  # fits by bits of their own
_LEAST = 2  # numbers of a release: a single one may be that of another by chance
_DIGITS = 9  # that are compared


class Noise(Check[NoisySubject]):
    """Tests of released sums less exact ones, in units of what is charged.

    The subject says what they should be. Normal noise is tested by its mean, its variance and a
    chi-square test of its law; the signs of draws must agree as often as not between one release
    and the next, one column and the next, one fit and the next. No two releases, of the same fit or
    of two, may share their noise; fits that draw their own bits, as a user's do, are among these.
    Finds noise that is missing in places, too small, of another law, or used again. Faults by less
    than a few per cent are too small for it.
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
    """Releases whose noise is that of another release, as far as both go."""
    releases = [release for fit in fits for release in fit if len(release) >= _LEAST]
    length = min(map(len, releases))
    heads = [release[:length].round(_DIGITS).tobytes() for release in releases]
    return len(heads) - len(set(heads))
