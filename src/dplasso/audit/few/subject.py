"""The audit subject for a choice of columns and the descent on them, and its releases."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dplasso.audit.access import n_nonzero_of, solver_of
from dplasso.audit.account import ranges_of_event
from dplasso.audit.attack import Claims
from dplasso.audit.descent.account import mu_of, multipliers_of
from dplasso.audit.descent.facts import Course
from dplasso.audit.descent.likelihood import log_ratio, of_descents
from dplasso.audit.descent.recording import Forgery, Recorded
from dplasso.audit.descent.reference import Rows
from dplasso.audit.descent.subject import (
    MOST_ROWS,
    DescentSubject,
    Prepared,
    course_of,
    numbers_of,
    stacked,
)
from dplasso.audit.facts import PRESENCE
from dplasso.audit.few import changes, data, law, reference
from dplasso.audit.few.facts import FewFacts
from dplasso.audit.fit_subject import WIDE, Arm, FitSubject, Ratios
from dplasso.audit.representation.fit_holder import dense
from dplasso.audit.session import Session
from dplasso.audit.statistics import rho_between
from dplasso.audit.subject import Again, Charged, DrawingSubject, Figures
from dplasso.audit.synthetic import Neighbours
from dplasso.audit.verdict import ROUNDING
from dplasso.base.arrays import Floats, Ints
from dplasso.data.columns import MOST_ROWS as MOST_DECLARED
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.fitting.select import SelectTask
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.solvers.few import Chosen
from dplasso.solvers.few.plan import GRAINS, LABEL


class Run(NamedTuple):
    """The releases of one fit: the columns with their signs, and all sums with their noise."""

    chosen: Chosen
    sums: list[Recorded]  # of the labels, of the rows, of the steps


class FewSubject(DescentSubject, DrawingSubject):
    """A configuration for which ``solver="auto"`` chooses columns if there are many.

    Data of a few columns are widened by empty columns, to as many as needed.
    """

    solver = "select"
    canary_runs = 400
    canary_batch = FitSubject.canary_batch
    tries = 40
    law_tests = law.TESTS
    first_release = "the labels"
    facts: FewFacts

    @classmethod
    def examples(cls, **parameters: Any) -> list[Any]:
        """Examples that choose two columns, by ``solver="auto"``; none has three classes."""
        more = {"epsilon": 8.0, "rows": PRESENCE, "n_nonzero": 2, "solver": "auto", **parameters}
        more = {"n_rows": _enough_rows(PrivateLassoRegressor(**more)), **more}
        return [PrivateLassoClassifier(classes=[0, 1], **more), PrivateLassoRegressor(**more)]

    def prepare(self, X: Any, y: Floats) -> "FewPrepared":
        return FewPrepared(*self._started(X, y), self.facts)

    @property
    def given_columns(self) -> int:
        return WIDE

    def given(self, X: Any) -> Any:
        return widened(X)

    def stated_cost(self, statement: Mapping[str, Any]) -> float:
        """The cost of the labels, the draws, the mass and the steps."""
        counts = (1, statement["public"]["n_nonzero"]["value"], 1, statement["rounds"])
        rho = 0.0
        for release, count in zip(statement["releases"], counts, strict=True):
            if "bounded_range" in release:
                rho += count * release["bounded_range"] ** 2 / 8.0
            else:
                rho += count / (2.0 * release["noise_multiplier"] ** 2)
        return rho

    def further_costs(self, session: Session[Any], charged: Charged) -> Figures:
        """Draws cost by their range, sums by the noise that was requested while a fit ran."""
        event, facts = charged.first.event(), self.facts
        prepared = self.prepare(*self.usual_rows(session.rng))
        drawn = prepared.run(session.bits)
        draws = len(drawn.chosen.columns) * ranges_of_event(event)[-1] ** 2 / 8.0
        rho = draws + mu_of(prepared.multipliers(drawn.sums)) ** 2 / 2.0
        sums = abs(len(drawn.sums) - len(multipliers_of(event)))
        return {
            "epsilon of what is drawn": (self.epsilon_of(rho), facts.epsilon * ROUNDING),
            "rho of what is drawn, not charged": (rho, self.charged_cost(event) * ROUNDING),
            "range of a draw, beyond the claim's": (
                ranges_of_event(event)[-1],
                facts.draw_epsilon * ROUNDING,
            ),
            "sums drawn and charged that differ": (sums, 0.0),
            "columns beyond those asked for": (len(drawn.chosen.columns) - facts.chosen, 0.0),
        }

    @property
    def own_claim(self) -> Claims:
        return {"rho": (rho_between, self.facts.rho)}

    def canary_rows(self) -> Neighbours:
        return data.canary_rows(self.columns, self.facts)

    def log_ratios(self, arms: Sequence[Arm], released: list[Run]) -> Ratios:  # type: ignore[override]
        """Log-likelihood ratios of all releases, of the labels, the draws, and the descent."""
        prepared: FewPrepared = arms[0].prepared
        both = [reference.Scores(arm.X, arm.y, self.facts) for arm in arms]
        there, not_there = (np.array([scores.label_sum * LABEL_UNIT]) for scores in both)
        sums = label_sums(released)[:, None]
        labels, _ = log_ratio(sums, there, not_there, prepared.stated_sigma(0))
        centres, outcomes = prepared.centres(released), prepared.outcomes(released)
        chosen, others = (
            reference.log_likelihoods(scores.log_laws(centres, WIDE), outcomes) for scores in both
        )
        parts = (labels, chosen - others, self._ratios_of_descents(arms, released))
        return Ratios(np.stack([sum(parts), *parts], axis=1))

    def _ratios_of_descents(self, arms: Sequence[Arm], released: list[Run]) -> Floats:
        """Compute the ratios of descents on the same columns together."""
        prepared, ratios = arms[0].prepared, np.zeros(len(released))
        sigmas = (prepared.stated_sigma(1), prepared.stated_sigma(2))
        columns = np.stack([np.sort(run.chosen.columns) for run in released])
        kinds, places = np.unique(columns, axis=0, return_inverse=True)
        for kind, picked in enumerate(kinds):
            group = np.flatnonzero(places.ravel() == kind)
            sums = stacked([released[run].sums[1:] for run in group])
            rows = [Rows.of(_picked(arm.X, picked), arm.y, self.facts) for arm in arms]
            mass, steps, _ = of_descents(sums, rows, sigmas, prepared.course, self.facts)
            ratios[group] = mass + steps
        return ratios

    def again(self, session: Session[Any], k: int) -> Again:
        rng = session.rng
        (X, y), other = (self.usual_rows(rng) for _ in range(2))
        seed, prepared = int(rng.integers(1 << 62)), self.prepare(X, y)
        drawn, fitted = prepared.run(random_bits(seed)), prepared.fitted
        elsewhere = self.prepare(*other)
        elsewhere.answers([release.released for release in drawn.sums], drawn.chosen)
        own, whole = numbers_of(fitted), self.fitted(X, y, seed).fitted_
        beyond = np.setdiff1d(fitted.weights.indices, drawn.chosen.columns)
        return Again(
            by_parts=(
                np.append(own, fitted.released.ravel()),
                np.append(numbers_of(whole), whole.released.ravel()),
            ),
            elsewhere=(own, numbers_of(elsewhere.fitted)),
            more={"coefficients beyond the chosen columns": (float(len(beyond)), 0.0)},
        )

    def widest_changes(self, session: Session[Any], k: int) -> dict[str, float]:
        return changes.widest(self, session.rng)

    def widest_log_ratios(self, session: Session[Any], k: int) -> dict[str, float]:
        return changes.widest_log_ratio(self, session.rng)

    def law_p_values(self, session: Session[Any]) -> Iterator[tuple[dict[str, float], int]]:
        return law.p_values(self, session)

    def held(self, task: SelectTask) -> list[Floats]:
        rows, labels = task.scores.rows, task.scores.labels.astype(np.float64)
        return [dense(rows), rows.units, labels, dense(task.matrix)]

    def _fix_settings(self) -> None:
        self._fix_rows(PRESENCE)
        self.notes.append(
            "of more than 1,000 columns, a few are selected: the audit takes those; of fewer "
            "columns the same fit is a descent, audited with solver='gradient'"
        )
        self._fix_bounds()
        self._fix_n_rows()
        if self._model.neighboring == "replace_one":
            self._fewer_rows()

    def _fewer_rows(self) -> None:
        """Where rows are replaced, declare no more rows than the rule needs."""
        declared, rows = int(self._model.n_rows), MOST_ROWS
        while rows < declared and not self.takes(self.copy(n_rows=rows)):
            rows *= 2
        self._model.set_params(n_rows=min(rows, declared))
        if rows < declared:
            self.notes.append(f"of {declared} rows, {rows} are audited")

    def _read_facts(self) -> FewFacts:
        chosen = n_nonzero_of(self._model)
        assert chosen is not None  # otherwise no columns would be selected
        return FewFacts(
            **self._common_facts(),
            n_rows=int(self._model.n_rows),
            n_nonzero=None,  # a descent that keeps all of its columns
            chosen=chosen,
        )


LABEL_UNIT = float(LABEL * GRAINS)  # a label at its bound, in the sum of the labels


class FewPrepared(Prepared):
    """A fit prepared up to its first draw, from which it can be run any number of times."""

    task: SelectTask  # type: ignore[assignment]
    _facts: FewFacts

    @property
    def course(self) -> Course:
        return course_of(self.task.plan.few.refit)

    def _stated(self, place: int) -> tuple[float, float]:
        plan, descent = self.task.plan.few, self.task.plan.few.refit
        if place == 0:
            return plan.centre_multiplier, LABEL_UNIT
        return descent.step_multiplier if place > 1 else descent.mass_multiplier, descent.unit

    def run(self, bits: RandomBits | None = None) -> Run:
        """Run a fit and return all its releases."""
        sums = self.releases(bits)
        columns, signs = self.fitted.released.T
        return Run(Chosen(0, columns, signs), sums)

    def choices(self, bits: RandomBits) -> Run:
        """Run only the first part of a fit, the choice of columns."""
        self._recording.found.clear()
        chosen = self.task.with_drawing(noise_of=self._recording, bits=bits).choose()
        return Run(chosen, list(self._recording.found))

    def answers(  # type: ignore[override]
        self, releases: Sequence[Ints], chosen: Chosen
    ) -> list[Recorded]:
        """The exact sums that a fit computes if its releases and columns are the given ones."""
        forgery = Forgery(releases)
        task = self.task.with_drawing(noise_of=forgery)
        task.choose()
        self._fitted = task.refit(chosen)
        return forgery.found

    def centres(self, runs: Sequence[Run]) -> Floats:
        """The centres of the labels, from their released sums."""
        return reference.centres_of(label_sums(runs), LABEL_UNIT, self._facts)

    def outcomes(self, runs: Sequence[Run]) -> Ints:
        """Draws as the reference numbers them: runs x draws."""
        return np.stack([run.chosen.columns + WIDE * (run.chosen.signs < 0) for run in runs])


def label_sums(runs: Sequence[Run]) -> Floats:
    """The released sum of the labels of every run."""
    return np.array([run.sums[0].released[0] for run in runs], np.float64)


def widened(X: Any) -> Any:
    """Rows with empty columns after their own, so many that the solver first chooses some."""
    rows, columns = X.shape
    if columns >= WIDE:
        return X
    if not sp.issparse(X) and rows <= MOST_ROWS // 4:
        return np.hstack([X, np.zeros((rows, WIDE - columns), X.dtype)])
    found = sp.coo_array(X)
    return sp.coo_array((found.data, found.coords), shape=(rows, WIDE))


def _picked(X: Floats, columns: Ints) -> Floats:
    """Some of the columns; those that were added to the rows are empty."""
    found = np.zeros((len(X), len(columns)))
    own = columns < X.shape[1]
    found[:, own] = X[:, columns[own]]
    return found


def _enough_rows(estimator: Any) -> int:
    """A number of rows for which "auto" selects columns, if there is one."""
    rows = 200
    while rows < MOST_DECLARED and solver_of(estimator.set_params(n_rows=rows), rows, WIDE) != (
        FewSubject.solver
    ):
        rows *= 2
    return rows
