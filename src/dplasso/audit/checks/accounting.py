"""Is the claimed epsilon what the stated releases cost, and is it charged?"""

from collections.abc import Iterator

from dplasso.audit.check import Check
from dplasso.audit.session import Session
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import ROUNDING, Verdict


class Accounting(Check[Subject]):
    """Recomputes the claim from the statement of a fit and from what its accountant was charged.

    Costs are those of `dplasso.audit.account` and of the subject's own account, which share no code
    with the product's. A descent is also held to the noise that was asked for while it ran, a
    stream to the matrix of its noise. Nothing is left to chance. Finds a wrong conversion or split,
    a delta counted per round, a sensitivity that is too small for the relation, a window that is
    charged short, less noise than stated, a charge that is missing or too low, also for a second
    fit of the same object. It believes what the statement says was done: whether it was is for the
    other checks.
    """

    name = "accounting"

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        subject, facts = session.subject, session.subject.facts
        charged = subject.charged(session.rng)
        stated = subject.stated_cost(charged.statement)
        first, second = (
            subject.charged_cost(recorder.event()) for recorder in (charged.first, charged.second)
        )
        asked = subject.terms(charged.statement)
        differing = sum(charged.statement[name] != value for name, value in asked.items())
        differing += charged.first.terms_differing(facts.delta, facts.neighboring)
        claimed = facts.epsilon * ROUNDING
        figures = {
            "epsilon of what is stated": (subject.epsilon_of(stated), claimed),
            "epsilon of what is charged": (subject.epsilon_of(first), claimed),
            "cost of what is stated, not charged": (stated, first * ROUNDING),
            "cost of a second fit, not charged": (first, second * ROUNDING),
            "terms of the claim that differ": (differing, 0.0),
            **subject.further_costs(session, charged),
        }
        yield from self.limited(session, figures)
