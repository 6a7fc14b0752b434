"""Do released vertices follow the law that the guarantee is about?"""

from collections.abc import Iterator

import numpy as np

from dplasso.audit.check import Check, Session
from dplasso.audit.selection import data, reference
from dplasso.audit.selection.facts import SelectionFacts
from dplasso.audit.selection.signs import SignTally
from dplasso.audit.selection.subject import Prepared, SelectionSubject
from dplasso.audit.statistics import Tally
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats, Ints

RUNS = 1200
_ROUNDS = 24  # that are looked at, the first ones
_NATS = (4.0, 40.0)  # that all rows together can move a log-weight by: see `data.mixed_rows`


class Law(Check[SelectionSubject]):
    """Chi-square tests of what fits release against the exact law, rounds given those before.

    The law is computed by `dplasso.audit.selection.reference` from the raw rows and the public
    numbers alone, with the theta that the claim allows. First vertices are tested by outcome; those
    of later rounds by outcome, and by how likely each was; signs of all rounds together, given the
    columns. Finds a theta that is not the one stated, a sign that is read and not drawn, even in a
    few rounds only, wrong gradients or steps, biased bits. Envelopes that are too low show here if
    they are far too low; `envelope` looks for those.
    A fault in one row's share of a score is too small for it: `range` and `canary` look for those.
    """

    name = "law"
    of = SelectionSubject
    tests = 3 * len(_NATS) + 1
    share = 1.0

    def run(self, session: Session[SelectionSubject]) -> Iterator[Verdict]:
        subject, facts = session.subject, session.subject.facts
        signs = SignTally()
        for k, nats in enumerate(_NATS):
            X, y = data.mixed_rows(subject.columns, nats, facts, session.rng)
            prepared = subject.prepare(X, y)
            runs = self._runs(session, prepared, X, y)

            def tell(part: float, k: int = k) -> None:
                session.tell((k + part) / len(_NATS))

            drawn = prepared.transcripts(runs, _rounds(facts), session.bits, tell)
            found = {
                f"{tested}, {len(X)} rows": p_value
                for tested, p_value in self._p_values(session, X, y, drawn, signs).items()
            }
            yield from self.doubted(session, found, runs)
        yield from self.doubted(session, {"signs given columns": signs.p_value()}, signs.draws)

    def _runs(
        self, session: Session[SelectionSubject], prepared: Prepared, X: Floats, y: Floats
    ) -> int:
        facts = session.subject.facts

        def pilot(runs: int) -> None:
            drawn = prepared.transcripts(runs, _rounds(facts), session.bits)
            reference.log_likelihoods(X, y, drawn, facts)

        return max(session.runs(2 * RUNS, pilot) // len(_NATS), 1)

    def _p_values(
        self,
        session: Session[SelectionSubject],
        X: Floats,
        y: Floats,
        drawn: Ints,
        signs: SignTally,
    ) -> dict[str, float]:
        facts = session.subject.facts
        cells = 2 * (session.subject.columns + facts.intercept) * facts.outputs
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
