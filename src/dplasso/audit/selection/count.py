"""Does the Sparsifier's count have the noise that is charged?"""

from collections.abc import Iterator

import numpy as np

from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.audit.selection import data
from dplasso.audit.selection.subject import SelectionSubject
from dplasso.audit.statistics import pearson
from dplasso.base.arrays import Floats
from dplasso.estimators import Sparsifier

RUNS = 400
_MOST_EPSILON = 1e6


class Count(Check[SelectionSubject]):
    """Chi-square tests of released counts against clipped double-geometric noise.

    The noise is the least that the claim allows for the Sparsifier's share of the budget. On empty
    rows the true count is 0, clipped to the lower bound. On rows that need every column it is left
    open: the test alarms only if no true count fits the releases. At most budgets the count is
    almost a coin flip, about which few runs reveal little: both tests are repeated at a budget so
    large that single counts are distinguishable. The check finds noise that is missing or too
    small, and counts that are not clipped before noise is added.
    """

    name = "count"
    of = SelectionSubject
    tests = 4
    share = 0.3

    def is_for(self, subject: Subject) -> bool:
        return isinstance(getattr(subject, "sparsifier", None), Sparsifier)

    def run(self, session: Session[SelectionSubject]) -> Iterator[Verdict]:
        own = session.subject
        for place, subject in enumerate((own, _with_clear_counts(own))):
            facts = subject.facts
            low, high = subject.sparsifier.bounds(subject.columns * facts.outputs)
            truths = {"no column counts": [low], "all columns count": range(low, high + 1)}
            for k, (tested, counts) in enumerate(truths.items()):
                task = subject.prepare(*data.rows_with_nonzeros(subject.columns, k, facts))
                count = task.with_drawing(bits=session.bits).count_to_keep
                drawn = session.part(2 * place + k, 4).repeated(RUNS, count)
                observed = np.bincount(drawn, minlength=subject.columns * facts.outputs + 1)
                likely = max(pearson(observed, _law(subject, truth)) for truth in counts)
                at = f", epsilon {facts.epsilon:g}" if place else ""
                yield from self.doubted(
                    session,
                    {f"released counts where {tested}{at}": likely},
                    len(drawn),
                    low=low,
                    high=high,
                    epsilon=facts.count_epsilon,
                )


def _with_clear_counts(subject: SelectionSubject) -> SelectionSubject:
    """The same configuration at a budget whose noise keeps neighbouring counts distinguishable."""
    low, high = subject.sparsifier.bounds(subject.columns * subject.outputs)
    while subject.facts.count_epsilon < high - low and subject.facts.epsilon < _MOST_EPSILON:
        subject = SelectionSubject(subject.copy(epsilon=2.0 * subject.facts.epsilon))
    return subject


def _law(subject: SelectionSubject, truth: int) -> Floats:
    """Probabilities of the counts 0 .. size, given the true count between the bounds."""
    size = subject.columns * subject.outputs
    low, high = subject.sparsifier.bounds(size)
    gamma = subject.facts.count_epsilon / (high - low)
    values = np.arange(low, high + 1)
    noise = np.tanh(gamma / 2.0) * np.exp(-gamma * np.abs(values - truth))
    # Clipping collects a tail: noise is k or more with probability e^(-gamma k) / (1 + e^-gamma).
    noise[[0, -1]] = np.exp(-gamma * np.array([truth - low, high - truth])) / (1 + np.exp(-gamma))
    law = np.zeros(size + 1)
    kept = np.rint(np.minimum(values * subject.sparsifier.precision, float(size)))
    np.add.at(law, kept.astype(np.int64), noise)
    return law
