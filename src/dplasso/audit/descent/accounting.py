"""Is the claimed epsilon what the stated releases cost, and are those the ones drawn?"""

import math
from collections.abc import Iterator
from typing import Any

from dplasso.audit.account import epsilon_at, rho_of_event
from dplasso.audit.check import Check, Session
from dplasso.audit.descent import data
from dplasso.audit.descent.account import gaussian_epsilon, mu_of, multipliers_of
from dplasso.audit.descent.facts import DescentFacts
from dplasso.audit.descent.recording import Recorded
from dplasso.audit.descent.subject import DescentSubject
from dplasso.audit.recorder import Recorder
from dplasso.audit.verdict import Verdict

_ROUNDING = 1.0 + 1e-9


class Accounting(Check[DescentSubject]):
    """Recomputes the claim from the statement, from the charge, and from the noise handed out.

    A fit without an accountant is planned by the Gaussian curve, one with an accountant in zCDP:
    both are looked at. Standard deviations are those that the noise was asked for while a fit ran,
    over the lengths that `DescentFacts` says a row has. Nothing is left to chance. Finds a wrong
    conversion, releases or second fits that are not charged, less noise than stated, a sensitivity
    that is too small for the relation. That noise is as large as asked for is left to `noise`, that
    sums move by no more to `sensitivity`.
    """

    name = "accounting"
    of = DescentSubject

    def run(self, session: Session[DescentSubject]) -> Iterator[Verdict]:
        subject, facts = session.subject, session.subject.facts
        X, y = data.random_rows(subject.columns, facts, session.rng)
        recorder = Recorder()
        stated = subject.copy().fit(X, subject.labels(y)).privacy_
        model = subject.copy(accountant=recorder).fit(X, subject.labels(y))
        counted = model.privacy_
        model.set_params(accountant=(again := Recorder())).fit(X, subject.labels(y))
        prepared = subject.prepare(X, y)
        drawn = prepared.releases(session.bits)
        charged = multipliers_of(prepared.task.plan.event)
        rho, claimed = rho_of_event(recorder.event()), facts.epsilon * _ROUNDING
        cost, cost_counted = mu_of(_multipliers(stated)), mu_of(_multipliers(counted))
        drawn_cost = mu_of(_drawn(drawn, prepared.course.unit, facts))
        figures = {
            "epsilon of what is stated": (gaussian_epsilon(cost, facts.delta), claimed),
            "epsilon of what is drawn": (gaussian_epsilon(drawn_cost, facts.delta), claimed),
            "epsilon of what is charged": (epsilon_at(rho, facts.delta), claimed),
            "mu of what is drawn, not stated": (drawn_cost, cost * _ROUNDING),
            "mu of what is stated, not charged": (
                max(cost / mu_of(charged), cost_counted / math.sqrt(2.0 * rho)),
                _ROUNDING,
            ),
            "rho of a second fit, not charged": (rho, rho_of_event(again.event()) * _ROUNDING),
            "releases drawn and charged that differ": (abs(len(drawn) - len(charged)), 0.0),
            "terms of the claim that differ": (
                _differences(stated, facts)
                + recorder.terms_differing(facts.delta, facts.neighboring),
                0.0,
            ),
        }
        yield from self.limited(session, figures)


def _multipliers(statement: dict[str, Any]) -> list[float]:
    """Noise multipliers of all releases of a statement: one of the mass, then those of steps."""
    mass, step = (float(release["noise_multiplier"]) for release in statement["releases"])
    return [mass] + [step] * int(statement["rounds"])


def _drawn(drawn: list[Recorded], unit: float, facts: DescentFacts) -> list[float]:
    """Noise multipliers of what was drawn."""
    return [
        release.sigma / (unit * facts.sensitivity(place)) for place, release in enumerate(drawn)
    ]


def _differences(statement: dict[str, Any], facts: DescentFacts) -> int:
    asked = {
        "epsilon": facts.epsilon,
        "delta": facts.delta,
        "neighboring": facts.neighboring,
        "secure_rng": True,
    }
    return sum(statement[name] != value for name, value in asked.items())
