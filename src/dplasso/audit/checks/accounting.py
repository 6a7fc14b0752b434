"""Does the claimed epsilon equal the cost of the stated releases, and is it charged?"""

from collections.abc import Iterator

from dplasso.audit.check import ROUNDING, Check, Session, Subject, Verdict


class Accounting(Check[Subject]):
    """Recomputes the claim from the statement of a fit and from the charge to its accountant.

    Costs are those of `dplasso.audit.account` and of the subject's own account, which share no code
    with the product's. A descent is also compared with the noise that was requested while it ran,
    and a stream with the matrix of its noise. The check is deterministic. It finds a wrong
    conversion or split, a delta counted per round, a sensitivity that is too small for the
    relation, a window whose charge is too short, less noise than stated, and a charge that is
    missing, too low or on other terms, also for a second fit of the same object. It trusts the
    statement about what was done: the other checks test whether it was done.
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
        for recorder in (charged.first, charged.second):
            differing += recorder.terms_differing(facts.delta, facts.neighboring, facts.unit)
        claimed = facts.epsilon * ROUNDING
        figures = {
            "epsilon of what is stated": (subject.epsilon_of(stated), claimed),
            "epsilon of what is charged": (subject.epsilon_of(first), claimed),
            "stated cost, at most the charge": (stated, first * ROUNDING),
            "charge of a first fit, at most that of a second": (first, second * ROUNDING),
            "terms of the claim that differ": (differing, 0.0),
            **subject.further_costs(session, charged),
        }
        yield from self.limited(session, figures)
