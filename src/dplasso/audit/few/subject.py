"""A choice of columns and the descent on them under audit, and what they release."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dplasso.audit.descent.facts import Course
from dplasso.audit.descent.recording import Forgery, Recorded, Recording
from dplasso.audit.descent.subject import (
    MOST_ROWS,
    WIDE,
    DescentSubject,
    course_of,
    n_nonzero_of,
)
from dplasso.audit.facts import PRESENCE
from dplasso.audit.few.facts import FewFacts
from dplasso.base.arrays import Floats, Ints
from dplasso.fitting import fitters
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.select import Select, SelectTask
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.solvers.few import Chosen
from dplasso.solvers.few.plan import GRAINS, LABEL


class Run(NamedTuple):
    """What one fit releases: the columns with their signs, and all sums with their noise."""

    chosen: Chosen
    sums: list[Recorded]  # of the labels, of the rows, of the steps


class FewSubject(DescentSubject):
    """A configuration that ``solver="auto"`` fits by a choice of columns, where they are many.

    Data of a few columns are widened by empty ones, to as many as it takes.
    """

    facts: FewFacts
    first_release = "the labels"

    # It has what checks of either kind of subject ask of it, and a task of its own.
    def prepare(self, X: Any, y: Floats) -> "FewPrepared":  # type: ignore[override]
        """A fit up to its first draw."""
        model = self.wide_copy()
        return FewPrepared(model, self.task_of(model, widened(X), y), self.facts)

    def wide_copy(self, **parameters: Any) -> Any:
        """A fresh estimator, for as many columns as it takes."""
        model = self.copy(**parameters)
        if np.ndim(model.x_bound):
            model.set_params(x_bound=np.resize(model.x_bound, WIDE).tolist())
        return model

    def _fix_settings(self) -> None:
        if self._model.rows == "auto":
            self._model.set_params(rows=PRESENCE)
            self.notes.append("rows='auto' is presence for sparse rows: the audit takes that")
        self.notes.append(
            "of more than 1,000 columns, a few are selected: the audit takes those; of fewer "
            "columns the same fit is a descent, audited with solver='gradient'"
        )
        self._fix_bounds()
        self._fix_n_rows()
        if self._model.neighboring == "replace_one":
            self._fewer_rows()

    def _fewer_rows(self) -> None:
        """Rows that are replaced are as many as declared: no more than the rule asks for."""
        declared, rows = int(self._model.n_rows), MOST_ROWS
        while rows < declared and not selects(self._model, rows):
            rows *= 2
        self._model.set_params(n_rows=min(rows, declared))
        if rows < declared:
            self.notes.append(f"of {declared} rows, {rows} are audited")

    def _read_facts(self) -> FewFacts:
        return FewFacts(
            **self._common_facts(),
            n_rows=int(self._model.n_rows),
            n_nonzero=None,  # a descent that keeps all of its columns
            chosen=int(n_nonzero_of(self._model) or 0),
        )

    def _usual_name(self) -> str:
        return super()._usual_name().replace("gradient", "select")


class FewPrepared:
    """A fit that stands before its first draw, and can start from there any number of times."""

    def __init__(self, model: Any, task: SelectTask, facts: FewFacts) -> None:
        self.model, self.task, self._facts = model, task, facts
        self._recording = Recording()
        self.fitted: Fitted | None = None  # of the last run

    @property
    def course(self) -> Course:
        """How the descent goes on from releases."""
        return course_of(self.task.plan.few.refit)

    @property
    def label_unit(self) -> float:
        """What a label's bound is in the sum of the labels."""
        return float(LABEL * GRAINS)

    def stated_sigma(self, place: int) -> float:
        """The noise that a sum is stated to have, on what the textbook says it can move by."""
        plan, descent = self.task.plan.few, self.task.plan.few.refit
        multipliers = (plan.centre_multiplier, descent.mass_multiplier, descent.step_multiplier)
        unit = self.label_unit if place == 0 else descent.unit
        return multipliers[min(place, 2)] * unit * self._facts.sensitivity(place)

    def choices(self, bits: RandomBits) -> Run:
        """The first part of a fit alone."""
        self._recording.found.clear()
        chosen = self.task.with_drawing(noise_of=self._recording, bits=bits).choose()
        return Run(chosen, list(self._recording.found))

    def run(self, bits: RandomBits | None = None) -> Run:
        """What a fit releases; by bits of its own unless told."""
        self._recording.found.clear()
        task = self.task.with_drawing(noise_of=self._recording)
        self.fitted = (task if bits is None else task.with_drawing(bits=bits)).run()
        columns, signs = self.fitted.released.T
        return Run(Chosen(0, columns, signs), list(self._recording.found))

    def releases(self, bits: RandomBits | None = None) -> list[Recorded]:
        """The noisy sums alone."""
        return self.run(bits).sums

    def answers(self, releases: Sequence[Ints], chosen: Chosen) -> list[Recorded]:
        """The sums that a fit forms where its releases and columns are the given ones."""
        forgery = Forgery(releases)
        task = self.task.with_drawing(noise_of=forgery)
        task.choose()
        self.fitted = task.refit(chosen)
        return forgery.found


def selects(estimator: Any, rows: int, outputs: int = 1) -> bool:
    """Whether a fit of this estimator to many columns selects a few of them first."""
    name, _ = fitters.choose(
        estimator.solver,
        epsilon=float(estimator.epsilon),
        delta=float(estimator.delta),
        n_rows=rows,
        n_features=WIDE,
        outputs=outputs,
        n_nonzero=n_nonzero_of(estimator),
    )
    return name == Select.name


def widened(X: Any) -> Any:
    """Rows with empty columns behind their own, so many that some are chosen first."""
    rows, columns = X.shape
    if columns >= WIDE:
        return X
    if not sp.issparse(X) and rows <= MOST_ROWS // 4:
        return np.hstack([X, np.zeros((rows, WIDE - columns), X.dtype)])
    found = sp.coo_array(X)
    return sp.coo_array((found.data, found.coords), shape=(rows, WIDE))


def outcomes(chosen: Sequence[Chosen], columns: int) -> Ints:
    """Draws of many runs as `dplasso.audit.few.reference` numbers them: runs x draws."""
    return np.stack([one.columns + columns * (one.signs < 0) for one in chosen])
