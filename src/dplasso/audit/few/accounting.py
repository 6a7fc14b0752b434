"""Is the claimed epsilon what the stated releases cost, and are those the ones drawn?"""

from collections.abc import Iterator
from typing import Any

from dplasso.audit.account import epsilon_at, range_of_event, rho_of_event
from dplasso.audit.check import Check, Session
from dplasso.audit.descent import data
from dplasso.audit.descent.account import mu_of, multipliers_of
from dplasso.audit.descent.recording import Recorded
from dplasso.audit.few.facts import FewFacts
from dplasso.audit.few.subject import FewPrepared, FewSubject, widened
from dplasso.audit.recorder import Recorder
from dplasso.audit.verdict import Verdict

_ROUNDING = 1.0 + 1e-9


class Accounting(Check[FewSubject]):
    """Recomputes the claim from the statement, from the charge, and from the noise handed out.

    Costs add in zCDP: those of Gaussian releases, whose standard deviations are the ones that noise
    was asked for while a fit ran, over lengths by `FewFacts`; and those of draws, by their range.
    Nothing is left to chance. Finds a wrong conversion or split, releases that are not charged or
    have less noise than stated, a budget spent twice. How far draws really range is left to
    `range`, that noise is as large as asked for to `noise`.
    """

    name = "accounting"
    of = FewSubject

    def run(self, session: Session[FewSubject]) -> Iterator[Verdict]:
        subject, facts, recorder = session.subject, session.subject.facts, Recorder()
        X, y = data.random_rows(subject.columns, facts, session.rng)
        model = subject.wide_copy(accountant=recorder).fit(widened(X), subject.labels(y))
        stated, event, claimed = model.privacy_, recorder.event(), facts.epsilon * _ROUNDING
        model.set_params(accountant=(again := Recorder())).fit(widened(X), subject.labels(y))
        prepared = subject.prepare(X, y)
        drawn = prepared.run(session.bits)
        rho, charged = _rho_of(stated), rho_of_event(event)
        draws = len(drawn.chosen.columns) * range_of_event(event) ** 2 / 8.0
        rho_drawn = draws + mu_of(_multipliers(drawn.sums, prepared, facts)) ** 2 / 2.0
        figures = {
            "epsilon of what is stated": (epsilon_at(rho, facts.delta), claimed),
            "epsilon of what is charged": (epsilon_at(charged, facts.delta), claimed),
            "epsilon of what is drawn": (epsilon_at(rho_drawn, facts.delta), claimed),
            "rho of what is stated, not charged": (rho, charged * _ROUNDING),
            "rho of what is drawn, not charged": (rho_drawn, charged * _ROUNDING),
            "rho of a second fit, not charged": (charged, rho_of_event(again.event()) * _ROUNDING),
            "range of a draw, beyond the claim's": (
                range_of_event(event),
                facts.draw_epsilon * _ROUNDING,
            ),
            "sums drawn and charged that differ": (
                abs(len(drawn.sums) - len(multipliers_of(event))),
                0.0,
            ),
            "columns beyond those asked for": (len(drawn.chosen.columns) - facts.chosen, 0.0),
            "terms of the claim that differ": (
                _differences(stated, facts)
                + recorder.terms_differing(facts.delta, facts.neighboring),
                0.0,
            ),
        }
        yield from self.limited(session, figures)


def _rho_of(statement: dict[str, Any]) -> float:
    """What a statement's releases cost: of the labels, of draws, of the mass, of steps."""
    counts = (1, statement["public"]["n_nonzero"]["value"], 1, statement["rounds"])
    rho = 0.0
    for release, count in zip(statement["releases"], counts, strict=True):
        if "bounded_range" in release:
            rho += count * release["bounded_range"] ** 2 / 8.0
        else:
            rho += count / (2.0 * release["noise_multiplier"] ** 2)
    return rho


def _multipliers(sums: list[Recorded], prepared: FewPrepared, facts: FewFacts) -> list[float]:
    """Noise multipliers of what was drawn."""
    units = (prepared.label_unit, prepared.course.unit)
    return [
        release.sigma / (units[min(place, 1)] * facts.sensitivity(place))
        for place, release in enumerate(sums)
    ]


def _differences(statement: dict[str, Any], facts: FewFacts) -> int:
    asked = {
        "epsilon": facts.epsilon,
        "delta": facts.delta,
        "neighboring": facts.neighboring,
        "secure_rng": True,
    }
    return sum(statement[name] != value for name, value in asked.items())
