"""Is the claimed epsilon what the stated releases cost?"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dplasso.audit.account import epsilon_at, range_of_event, rho_of_event
from dplasso.audit.check import Check, Session
from dplasso.audit.recorder import Recorder
from dplasso.audit.selection.facts import ROUNDED_WEIGHTS, SelectionFacts
from dplasso.audit.selection.subject import SelectionSubject
from dplasso.audit.synthetic import random_labels
from dplasso.audit.verdict import Verdict

_ROUNDING = 1.0 + 1e-9


class Accounting(Check[SelectionSubject]):
    """Recomputes the claim from the statement of a fit and from what its accountant was told.

    The account is `dplasso.audit.account`, which shares no code with the product's. Nothing is left
    to chance. Finds a wrong conversion, a delta counted per round, a sensitivity that is too small
    for the relation, a theta larger than the claim allows, a charge that is missing or too low,
    also for a second fit of the same object. It believes what the statement says was done: whether
    it was is for the other checks.
    """

    name = "accounting"
    of = SelectionSubject

    def run(self, session: Session[SelectionSubject]) -> Iterator[Verdict]:
        subject, facts = session.subject, session.subject.facts
        recorder = Recorder()
        X = session.rng.uniform(-1.0, 1.0, (40, subject.columns))
        y = random_labels(40, facts, session.rng)
        y[: facts.classes] = np.arange(facts.classes)
        model = subject.copy(accountant=recorder).fit(X, subject.labels(y))
        statement = model.privacy_
        model.set_params(accountant=(again := Recorder())).fit(X, subject.labels(y))

        event = recorder.event()
        rho, charged = _rho_of(statement), rho_of_event(event)
        theta = statement["releases"][-1]["theta"]
        claimed = facts.epsilon * _ROUNDING
        figures = {
            "epsilon of what is stated": (epsilon_at(rho, facts.delta), claimed),
            "epsilon of what is charged": (epsilon_at(charged, facts.delta), claimed),
            "rho of what is stated, not charged": (rho, charged * _ROUNDING),
            "rho of a second fit, not charged": (charged, rho_of_event(again.event()) * _ROUNDING),
            "range of a round at the theta stated": (
                theta * facts.range_of_unit_theta + ROUNDED_WEIGHTS,
                range_of_event(event) * _ROUNDING,
            ),
            "terms of the claim that differ": (
                _differences(statement, facts)
                + recorder.terms_differing(facts.delta, facts.neighboring),
                0.0,
            ),
        }
        yield from self.limited(session, figures)


def _rho_of(statement: dict[str, Any]) -> float:
    rho = 0.0
    for release in statement["releases"]:
        if "epsilon" in release:
            rho += release["epsilon"] ** 2 / 2.0
        else:
            rho += statement["rounds"] * release["bounded_range"] ** 2 / 8.0
    return rho


def _differences(statement: dict[str, Any], facts: SelectionFacts) -> int:
    asked = {
        "epsilon": facts.epsilon,
        "delta": facts.delta,
        "neighboring": facts.neighboring,
        "rounds": facts.rounds,
        "secure_rng": True,
    }
    counted = sum("epsilon" in release for release in statement["releases"])
    differing = [name for name, value in asked.items() if statement[name] != value]
    return len(differing) + (counted != (facts.count_share > 0.0))
