"""Do drawn columns follow the law that the guarantee is about?"""

from collections.abc import Iterator

import numpy as np

from dplasso.audit.check import Check, Session
from dplasso.audit.descent.subject import WIDE
from dplasso.audit.few import data, reference
from dplasso.audit.few.subject import FewPrepared, FewSubject, Run, outcomes
from dplasso.audit.statistics import Tally
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats, Ints

RUNS = 600
_NATS = (9.0, 4.0)  # in a log-weight, of the column that tells most


class Law(Check[FewSubject]):
    """Chi-square tests of drawn columns against the exact law, draws given those before.

    The law is computed by `dplasso.audit.few.reference` from the raw rows, the released sum of the
    labels and the public numbers alone, with the theta that the claim allows. Columns without
    entries are counted together, by sign. Finds a theta that is not the one stated, a sign that is
    read and not drawn, columns drawn twice, wrong scores, biased bits. A fault in one row's share
    of a score is too small for it: `range` and `canary` look for those.
    """

    name = "law"
    of = FewSubject
    tests = 2 * len(_NATS)
    share = 0.5

    def run(self, session: Session[FewSubject]) -> Iterator[Verdict]:
        subject, facts = session.subject, session.subject.facts
        for k, nats in enumerate(_NATS):
            X, y = data.telling_rows(subject.columns, nats, facts)
            prepared = subject.prepare(X, y)
            drawn = _drawn(session, prepared, k)
            law = reference.Scores(X, y, facts).log_laws(_centres(drawn, prepared, subject), WIDE)
            choices = outcomes([run.chosen for run in drawn], WIDE)
            found = {
                f"{tested}, {len(X)} rows": p_value
                for tested, p_value in _p_values(law, choices, subject.columns).items()
            }
            yield from self.doubted(session, found, len(drawn))


def _drawn(session: Session[FewSubject], prepared: FewPrepared, k: int) -> list[Run]:
    """Choices; ``k`` of the check's sets of them are done."""

    def pilot(runs: int) -> None:
        for _ in range(runs):
            prepared.choices(session.bits)

    runs = max(session.runs(len(_NATS) * RUNS, pilot) // len(_NATS), 1)
    found = []
    for run in range(runs):
        found.append(prepared.choices(session.bits))
        session.tell((k + (run + 1) / runs) / len(_NATS))
    return found


def _centres(drawn: list[Run], prepared: FewPrepared, subject: FewSubject) -> Floats:
    released = np.array([run.sums[0].released[0] for run in drawn], np.float64)
    return reference.centres_of(released, prepared.label_unit, subject.facts)


def _p_values(law: Floats, drawn: Ints, columns: int) -> dict[str, float]:
    first, later = Tally(2 * columns + 2), Tally(2 * columns + 2)
    for place, outcome in enumerate(drawn.T):
        tally = later if place else first
        tally.add(_cells(np.exp(law), columns), _cell_of(outcome, columns))
        law = reference.without(law, outcome)
    return {"first columns": first.p_value(), "later columns": later.p_value()}


def _cells(law: Floats, columns: int) -> Floats:
    """Chances by sign of the columns that have entries, and of all others together."""
    halves = (law[:, :WIDE], law[:, WIDE:])
    parts = [(half[:, :columns], half[:, columns:].sum(axis=1)) for half in halves]
    return np.column_stack([part for own in parts for part in own])


def _cell_of(outcome: Ints, columns: int) -> Ints:
    place, negative = outcome % WIDE, outcome >= WIDE
    cells: Ints = np.minimum(place, columns) + (columns + 1) * negative
    return cells
