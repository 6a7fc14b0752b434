"""Gradient descent under audit, and its releases."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dplasso.audit.descent.facts import Course, DescentFacts
from dplasso.audit.descent.recording import Forgery, Recorded, Recording
from dplasso.audit.facts import PRESENCE
from dplasso.audit.subject import Subject
from dplasso.base.arrays import Floats, Ints
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.gradient import DescentTask
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.solvers.gradient import GradientPlan

MOST_ROWS = 4000  # of the data that audits make
WIDE = 1100  # columns, of a descent that re-weights them


class DescentSubject(Subject):
    """A configuration of gradient descent."""

    facts: DescentFacts
    first_release = "the mass"

    def prepare(self, X: Any, y: Floats) -> "Prepared":
        """A fit up to its first draw. Bounds by column are those of the first, again and again."""
        model = self.copy()
        if np.ndim(model.x_bound) and X.shape[1] != self.columns:
            model.set_params(x_bound=np.resize(model.x_bound, X.shape[1]).tolist())
        return Prepared(model, self.task_of(model, X, y), self.facts)

    def _fix_settings(self) -> None:
        self._model.set_params(solver="gradient")
        if self._model.rows == "auto":
            self._model.set_params(rows=PRESENCE)
            self.notes.append("rows='auto' is presence for sparse rows: the audit takes that")
        self._fix_bounds()
        self._fix_n_rows()
        # Rows that are replaced are as many as declared.
        if self._model.neighboring == "replace_one" and self._model.n_rows > MOST_ROWS:
            self.notes.append(f"of {self._model.n_rows} rows, {MOST_ROWS} are audited")
            self._model.set_params(n_rows=MOST_ROWS)

    def _read_facts(self) -> DescentFacts:
        return DescentFacts(
            **self._common_facts(),
            n_rows=int(self._model.n_rows),
            n_nonzero=n_nonzero_of(self._model),
        )

    def _usual_name(self) -> str:
        return f"{super()._usual_name()}, gradient"


class Prepared:
    """A descent that stands before its first draw, and can start from there any number of times."""

    def __init__(self, model: Any, task: DescentTask, facts: DescentFacts) -> None:
        self.model, self.task, self._facts = model, task, facts
        self._recording = Recording()
        self.fitted: Fitted | None = None  # of the last run

    @property
    def course(self) -> Course:
        """How the descent goes on from releases."""
        return course_of(self.task.plan.descent)

    def stated_sigma(self, place: int) -> float:
        """The noise that a release is stated to have, on what the textbook says it can move by."""
        plan = self.task.plan.descent
        multiplier = plan.step_multiplier if place else plan.mass_multiplier
        return multiplier * plan.unit * self._facts.sensitivity(place)

    def releases(self, bits: RandomBits | None = None) -> list[Recorded]:
        """What a fit releases; by bits of its own unless told."""
        self._recording.found.clear()
        task = self.task.with_drawing(noise_of=self._recording)
        self.fitted = (task if bits is None else task.with_drawing(bits=bits)).run()
        return list(self._recording.found)

    def answers(self, releases: Sequence[Ints]) -> list[Recorded]:
        """The sums that a fit forms where its releases are the given ones."""
        forgery = Forgery(releases)
        self.fitted = self.task.with_drawing(noise_of=forgery).run()
        return forgery.found


def n_nonzero_of(estimator: Any) -> int | None:
    """The public number of coefficients to keep; ``sparsify=k`` is the same."""
    given = estimator.get_params()
    found = given["sparsify"] if given["n_nonzero"] is None else given["n_nonzero"]
    return None if found is None else int(found)


def course_of(plan: GradientPlan) -> Course:
    """What the plan of a descent says of its way."""
    return Course(
        unit=plan.unit,
        steps=plan.steps,
        step=plan.step,
        intercept_step=plan.intercept_step,
        clip=plan.clip,
        least_mass=plan.thresholds.least,
        damped_from=plan.thresholds.damped,
        centred_from=plan.thresholds.centred,
        shared_from=plan.thresholds.shared,
    )
