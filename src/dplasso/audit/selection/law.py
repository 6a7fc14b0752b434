"""Do released vertices follow the law on which the guarantee rests?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dplasso.audit.selection import data, reference
from dplasso.audit.selection.facts import SelectionFacts
from dplasso.audit.selection.signs import SignTally
from dplasso.audit.session import Session
from dplasso.audit.statistics import Tally
from dplasso.base.arrays import Floats, Ints

if TYPE_CHECKING:
    from dplasso.audit.selection.subject import SelectionSubject

RUNS = 1200
_ROUNDS = 24  # the first ones, which are tested
_NATS = (4.0, 40.0)  # effect of all rows together on a log-weight: see `data.mixed_rows`
TESTS = 3 * len(_NATS) + 1


def p_values(
    subject: "SelectionSubject", session: Session[Any]
) -> Iterator[tuple[dict[str, float], int]]:
    """Chi-square tests of released vertices, conditional on the rounds before.

    First vertices are tested by outcome; those of later rounds by outcome, and by how likely each
    was; signs of all rounds together, given the columns. Only envelopes that are far too low are
    detected here; `envelope` looks for the others.
    """
    facts, signs = subject.facts, SignTally()
    for k, nats in enumerate(_NATS):
        X, y = data.mixed_rows(subject.columns, nats, facts, session.rng)
        prepared = subject.prepare(X, y)

        def pilot(runs: int, prepared: Any = prepared, X: Floats = X, y: Floats = y) -> None:
            drawn = prepared.transcripts(runs, _rounds(facts), session.bits)
            reference.log_likelihoods(X, y, drawn, facts)

        def tell(part: float, k: int = k) -> None:
            session.tell((k + part) / len(_NATS))

        runs = max(session.runs(len(_NATS) * RUNS, pilot) // len(_NATS), 1)
        drawn = prepared.transcripts(runs, _rounds(facts), session.bits, tell)
        found = _of_vertices(X, y, drawn, facts, signs)
        yield {f"{tested}, {len(X)} rows": p_value for tested, p_value in found.items()}, runs
    yield {"signs given columns": signs.p_value()}, signs.draws


def _of_vertices(
    X: Floats, y: Floats, drawn: Ints, facts: SelectionFacts, signs: SignTally
) -> dict[str, float]:
    cells = 2 * (X.shape[1] + facts.fit_intercept) * facts.outputs
    first, later, ranked = Tally(cells), Tally(cells), Tally(cells)
    for part in reference.parts(drawn, X, facts):
        for t, logs in enumerate(reference.log_laws(X, y, part, facts)):
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


def _rounds(facts: SelectionFacts) -> int:
    return min(facts.rounds, _ROUNDS)
