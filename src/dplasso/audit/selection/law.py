"""Do released vertices follow the law on which the guarantee rests?"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from dplasso.audit.reference import Table
from dplasso.audit.selection import data, reference
from dplasso.audit.selection.reference import SelectionFacts
from dplasso.audit.session import Session
from dplasso.audit.statistics import Tally
from dplasso.base.arrays import Floats, Ints

if TYPE_CHECKING:
    from dplasso.audit.selection.subject import SelectionSubject

RUNS = 1200
_ROUNDS = 24  # the first ones, which are tested
_NATS = (4.0, 40.0)  # effect of all rows together on a log-weight: see `data.mixed_rows`
TESTS = 3 * len(_NATS) + 1


class SignTally:
    """A test for signs that are read from the data in some rounds instead of drawn.

    Given its column, the sign of a released vertex is that of the score with probability p = 1 / (1
    + exp(-2 theta |score|)). If the sign is read instead in a share f of the rounds, that
    probability is p + f (1 - p). The statistic is the derivative in f of the log-likelihood at f =
    0: it adds 1/p - 1 for a sign that agrees with its score and -1 for one that does not. Under the
    right law it is a martingale whose variance grows by (1 - p) / p; its mean grows by f times
    that. No other test has more power against a small f.
    """

    def __init__(self) -> None:
        self.draws = 0
        self._total = self._variance = 0.0

    def add(self, log_laws: Floats, drawn: Ints) -> None:
        """Add draws, one per row of ``log_laws``: log-probabilities of (+, -) vertex by vertex."""
        runs = np.arange(len(drawn))
        gap = log_laws[runs, drawn & ~1] - log_laws[runs, drawn | 1]  # 2 theta score
        agrees = np.where(gap >= 0.0, drawn % 2 == 0, drawn % 2 == 1)
        odds = np.exp(-np.abs(gap))  # (1 - p) / p
        self.draws += len(drawn)
        self._total += float(np.sum(np.where(agrees, odds, -1.0)))
        self._variance += float(np.sum(odds))

    def p_value(self) -> float:
        """The two-sided p-value: signs may also disagree with their scores too often."""
        if self._variance == 0.0:
            return 1.0
        return float(2.0 * ndtr(-abs(self._total) / math.sqrt(self._variance)))


def p_values(
    subject: "SelectionSubject", session: Session[Any]
) -> Iterator[tuple[dict[str, float], int]]:
    """Chi-square tests of released vertices, conditional on the rounds before.

    First vertices are tested by outcome; those of later rounds by outcome, and by how likely each
    was; signs of all rounds together, given the columns. Only envelopes that are far too low are
    detected here; `envelope` looks for the others.
    """
    facts, signs = subject.facts, SignTally()
    rounds = min(facts.rounds, _ROUNDS)
    for k, nats in enumerate(_NATS):
        table = data.mixed_rows(subject.columns, nats, facts, session.rng)
        task, part = subject.prepare(*table), session.part(k, len(_NATS))

        def pilot(runs: int, task: Any = task, table: Table = table) -> None:
            drawn = subject.transcripts(task, runs, rounds, session)
            reference.log_likelihoods(table, drawn, facts)

        runs = part.runs(RUNS, pilot)
        drawn = subject.transcripts(task, runs, rounds, part)
        found = _of_vertices(table, drawn, facts, signs)
        yield {f"{tested}, {len(table.y)} rows": p_value for tested, p_value in found.items()}, runs
    yield {"signs given columns": signs.p_value()}, signs.draws


def _of_vertices(
    table: Table, drawn: Ints, facts: SelectionFacts, signs: SignTally
) -> dict[str, float]:
    cells = 2 * (table.X.shape[1] + facts.fit_intercept) * facts.outputs
    first, later, ranked = Tally(cells), Tally(cells), Tally(cells)
    for part in reference.parts(drawn, table.X, facts):
        for t, logs in enumerate(reference.log_laws(table, part, facts)):
            law, outcomes = np.exp(logs), part[:, t]
            signs.add(logs, outcomes)
            if t == 0:
                first.add(law, outcomes)
                continue
            later.add(law, outcomes)
            order = np.argsort(-law, axis=1, kind="stable")
            places = np.argsort(order, axis=1)[np.arange(len(part)), outcomes]
            ranked.add(np.take_along_axis(law, order, axis=1), places)
    return {
        "first vertices": first.p_value(),
        "later vertices": later.p_value(),
        "later vertices by rank": ranked.p_value(),
    }
