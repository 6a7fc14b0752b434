"""Do drawn columns follow the law on which the guarantee rests?"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dplasso.audit.few import data, reference
from dplasso.audit.fit_subject import WIDE
from dplasso.audit.session import Session
from dplasso.audit.statistics import Tally
from dplasso.base.arrays import Floats, Ints

if TYPE_CHECKING:
    from dplasso.audit.few.subject import FewSubject

RUNS = 600
_NATS = (9.0, 4.0)  # in a log-weight, for the column that is most correlated with the labels
TESTS = 2 * len(_NATS)


def p_values(
    subject: "FewSubject", session: Session[Any]
) -> Iterator[tuple[dict[str, float], int]]:
    """Chi-square tests of drawn columns, conditional on the draws before.

    Columns without entries are counted together, by sign.
    """
    for k, nats in enumerate(_NATS):
        table = data.telling_rows(subject.columns, nats, subject.facts)
        prepared = subject.prepare(*table)
        choose = partial(prepared.choices, session.bits)
        drawn = session.part(k, len(_NATS)).repeated(RUNS, choose)
        law = reference.Scores(table, subject.facts).log_laws(prepared.centres(drawn), WIDE)
        found = _of_draws(law, prepared.outcomes(drawn), subject.columns)
        yield {f"{tested}, {len(table.y)} rows": p for tested, p in found.items()}, len(drawn)


def _of_draws(law: Floats, drawn: Ints, columns: int) -> dict[str, float]:
    first, later = Tally(2 * columns + 2), Tally(2 * columns + 2)
    for place, outcome in enumerate(drawn.T):
        tally = later if place else first
        tally.add(_cells(np.exp(law), columns), _cell_of(outcome, columns))
        law = reference.without(law, outcome)
    return {"first columns": first.p_value(), "later columns": later.p_value()}


def _cells(law: Floats, columns: int) -> Floats:
    """Probabilities, by sign, of the columns that have entries, and of all others together."""
    halves = (law[:, :WIDE], law[:, WIDE:])
    parts = [(half[:, :columns], half[:, columns:].sum(axis=1)) for half in halves]
    return np.column_stack([part for own in parts for part in own])


def _cell_of(outcome: Ints, columns: int) -> Ints:
    place, negative = outcome % WIDE, outcome >= WIDE
    return np.minimum(place, columns) + (columns + 1) * negative
