"""Is the claimed epsilon what the noise of a stream allows anyone to tell of a row?"""

import warnings
from collections.abc import Iterator
from typing import Any

from dplasso.audit.check import Check, Session
from dplasso.audit.descent.account import gaussian_epsilon
from dplasso.audit.recorder import Recorder
from dplasso.audit.stream import reference
from dplasso.audit.stream.facts import StreamFacts
from dplasso.audit.stream.subject import STEPS, StreamSubject, begun, noise_matrix
from dplasso.audit.synthetic import random_labels
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats
from dplasso.privacy import leaks

_ROUNDING = 1.0 + 1e-9
_LONGEST = {1: 64, 2: 512}  # windows, in releases, that are looked at as they are, by norm


class Accounting(Check[StreamSubject]):
    """Recomputes the claim from the statement, from the charge, and from the matrix of the noise.

    The matrix says which noises are in which release. `dplasso.audit.stream.reference` finds what
    they let anyone tell of a row while it is protected: of every row of a short stream of several
    windows, and of the first row of a window as long as declared, up to 512 releases. Nothing is
    left to chance. Finds a wrong conversion, a window that is charged short, rows that show before
    they expire, a sensitivity that is too small for the relation, a charge missing or too low. That
    noise is what its matrix says is left to `noise`, that rows move sums by no more to
    `sensitivity`.
    """

    name = "accounting"
    of = StreamSubject

    def run(self, session: Session[StreamSubject]) -> Iterator[Verdict]:
        subject, facts = session.subject, session.subject.facts
        recorder = Recorder()
        model = begun(subject.copy(n_features=subject.columns, accountant=recorder))
        stated, claimed = model.privacy_, facts.epsilon * _ROUNDING
        charged = reference.epsilon_of_event(recorder.event(), facts.delta)
        again = reference.epsilon_of_event(_second_charge(session).event(), facts.delta)
        figures = {
            "epsilon of what is stated": (_stated(stated, facts), claimed),
            "epsilon of what is charged": (charged, claimed),
            "epsilon of a second stream, not charged": (charged, again * _ROUNDING),
            "epsilon of the row told best": (self._told_best(subject), claimed),
            "epsilon of a window's first row": (
                self._first_of_window(subject, model),
                _stated(stated, facts) * _ROUNDING,
            ),
            "rows of the window that are not stated": (_missing(stated, facts), 0.0),
            "terms of the claim that differ": (
                _differences(stated, facts)
                + recorder.terms_differing(facts.delta, facts.neighboring),
                0.0,
            ),
        }
        yield from self.limited(session, figures)

    def _told_best(self, subject: StreamSubject) -> float:
        """Of all rows of a short stream."""
        matrix = _matrix(subject, subject.begun(subject.columns), STEPS)
        told = reference.told_while_protected(matrix, subject.short_window, subject.norm)
        return reference.epsilon_of(float(told.max()), subject.facts.delta, subject.norm)

    def _first_of_window(self, subject: StreamSubject, model: Any) -> float:
        """At the length that was declared."""
        steps = min(subject.facts.steps_protected or STEPS, _LONGEST[subject.norm])
        told = reference.told(_matrix(subject, model, steps), 0, subject.norm)
        return reference.epsilon_of(told, subject.facts.delta, subject.norm)


def _second_charge(session: Session[StreamSubject]) -> Recorder:
    """What the accountant is told of a second stream of one estimator."""
    subject, facts = session.subject, session.subject.facts
    X = session.rng.uniform(-1.0, 1.0, (2 * max(facts.classes, 2), subject.columns))
    y = random_labels(len(X), facts, session.rng)
    model = subject.copy(n_features=subject.columns, accountant=Recorder())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", leaks.UndeclaredBoundWarning)
        model.fit(X, subject.labels(y)).set_params(accountant=(again := Recorder()))
        model.fit(X, subject.labels(y))
    return again


def _matrix(subject: StreamSubject, model: Any, steps: int) -> Floats:
    """Of the noise, in units that cost 1: deviations, or scales of Gamma noise."""
    matrix = noise_matrix(model, steps)
    return (
        matrix
        if subject.norm == 2
        else matrix / reference.gamma_deviation(model.stream_.weights.size)
    )


def _stated(statement: dict[str, Any], facts: StreamFacts) -> float:
    if "mu" not in statement:
        return float(statement["epsilon"])
    return gaussian_epsilon(float(statement["mu"]), facts.delta)


def _missing(statement: dict[str, Any], facts: StreamFacts) -> float:
    """Rows that should be protected, and are not stated to be."""
    stated = statement["window_rows"]
    if stated == "all":
        return 0.0
    return float("inf") if facts.window is None else max(0.0, float(facts.window - stated))


def _differences(statement: dict[str, Any], facts: StreamFacts) -> int:
    asked = {
        "epsilon": facts.epsilon,
        "delta": facts.delta if "mu" in statement else 0.0,
        "neighboring": facts.neighboring,
        "secure_rng": True,
    }
    return sum(statement[name] != value for name, value in asked.items())
