"""The audit subject for a choice of columns and the descent on them, and its releases."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dplasso.audit import account, correction
from dplasso.audit.access import n_nonzero_of, rows_counted, solver_of
from dplasso.audit.descent import subject as descent
from dplasso.audit.descent.data import forged_releases, neighbours
from dplasso.audit.descent.recording import Forgery, Recorded
from dplasso.audit.descent.reference import ReferenceRows, log_ratio, log_ratios_of_descents
from dplasso.audit.few import data, law, reference
from dplasso.audit.few.reference import FewFacts
from dplasso.audit.fit_subject import WIDE, FitSubject, Ratios
from dplasso.audit.reference import PRESENCE, Table
from dplasso.audit.representation.holders import dense, unit_entries
from dplasso.audit.session import Session
from dplasso.audit.subject import Again, Charged, DrawingSubject, Figures
from dplasso.audit.synthetic import Neighbours, random_form
from dplasso.audit.verdict import ROUNDING
from dplasso.base.arrays import Floats, Ints
from dplasso.data.columns import MOST_ROWS as MOST_DECLARED
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.fitting.select_then_fit import SelectTask
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.solvers.few import Chosen
from dplasso.solvers.few.plan import GRAINS, LABEL
from dplasso.solvers.gradient import GradientPlan


class Run(NamedTuple):
    """The releases of one fit: the columns with their signs, and all sums with their noise."""

    chosen: Chosen
    sums: list[Recorded]  # of the labels, of the rows, of the steps


class FewSubject(descent.DescentSubject, DrawingSubject):
    """A configuration for which ``solver="auto"`` chooses columns if there are many.

    Data of a few columns are widened by empty columns, to as many as needed.
    """

    solver = "select"
    canary_runs = 400
    canary_batch = FitSubject.canary_batch
    tries = 40
    law_tests = law.TESTS
    calibrated_to = "rho"
    first_release = "the labels"
    facts: FewFacts

    @classmethod
    def examples(cls, **parameters: Any) -> list[Any]:
        """Examples that choose two columns, by ``solver="auto"``; none has three classes."""
        more = {"epsilon": 8.0, "row_map": PRESENCE, "n_nonzero": 2, "solver": "auto", **parameters}
        more = {"n_rows": _enough_rows(PrivateLassoRegressor(**more)), **more}
        return [PrivateLassoClassifier(classes=[0, 1], **more), PrivateLassoRegressor(**more)]

    def prepare(self, X: Any, y: Floats, people: Ints | None = None) -> "FewPrepared":
        return FewPrepared(FitSubject.prepare(self, X, y, people), self.facts)

    @property
    def given_columns(self) -> int:
        return WIDE

    def given(self, X: Any) -> Any:
        return widened(X)

    def stated_cost(self, statement: Mapping[str, Any]) -> float:
        """The cost of the labels, the draws, the mass and the steps."""
        counts = [1, statement["public"]["n_nonzero"]["value"], 1, statement["rounds"]]
        counts += [1, correction.RELEASES - 1] if correction.is_corrected(self.facts) else []
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
        columns, widest = len(drawn.chosen.columns), account.ranges_of_event(event)[-1]
        rho = columns * widest**2 / 8.0 + account.mu_of(prepared.multipliers(drawn.sums)) ** 2 / 2.0
        sums = abs(len(drawn.sums) - len(account.multipliers_of(event)))
        return {
            "epsilon of what is drawn": (self.epsilon_of(rho), facts.epsilon * ROUNDING),
            "rho of what is drawn, not charged": (rho, self.charged_cost(event) * ROUNDING),
            "range of a draw, beyond the claim's": (widest, facts.draw_epsilon * ROUNDING),
            "sums drawn and charged that differ": (sums, 0.0),
            "columns beyond those asked for": (columns - facts.chosen, 0.0),
        }

    def canary_rows(self) -> Neighbours:
        return data.canary_rows(self.columns, self.facts)

    def released(self, prepared: Any, runs: int, session: Session[Any]) -> list[Run]:
        """The releases before a correction, which are those that are scored."""
        return session.each(runs, lambda run: prepared.uncorrected(session.bits))

    def log_ratios(self, tables: Neighbours, prepared: Any, released: list[Run]) -> Ratios:
        """Log-likelihood ratios of all of these, of the labels, the draws, and the descent."""
        both = [reference.Scores(table, self.facts) for table in tables]
        there, not_there = (np.array([scores.label_sum * LABEL_UNIT]) for scores in both)
        sums = label_sums(released)[:, None]
        labels, _ = log_ratio(sums, there, not_there, prepared.stated_sigma(0))
        centres, outcomes = prepared.centres(released), prepared.outcomes(released)
        chosen, others = (
            reference.log_likelihoods(scores.log_laws(centres, WIDE), outcomes) for scores in both
        )
        parts = (labels, chosen - others, self._ratios_of_descents(tables, prepared, released))
        return Ratios(np.stack([sum(parts), *parts], axis=1))

    def _ratios_of_descents(
        self, tables: Neighbours, prepared: "FewPrepared", released: list[Run]
    ) -> Floats:
        """Compute the ratios of descents on the same columns together."""
        ratios = np.zeros(len(released))
        sigmas = (prepared.stated_sigma(1), prepared.stated_sigma(2))
        columns = np.stack([np.sort(run.chosen.columns) for run in released])
        kinds, places = np.unique(columns, axis=0, return_inverse=True)
        for kind, picked in enumerate(kinds):
            group = np.flatnonzero(places.ravel() == kind)
            last = prepared.solver_sums
            sums = descent.stacked([released[run].sums[1:last] for run in group])
            rows = [ReferenceRows.of(_picked(table, picked), self.facts) for table in tables]
            found = log_ratios_of_descents(sums, rows, sigmas, prepared.course, self.facts)
            ratios[group] = found.mass + found.steps
        return ratios

    def again(self, session: Session[Any], k: int) -> Again:
        rng = session.rng
        table, other = (self.usual_rows(rng) for _ in range(2))
        seed, prepared = int(rng.integers(1 << 62)), self.prepare(*table)
        drawn, fitted = prepared.run(random_bits(seed)), prepared.fitted
        elsewhere = self.prepare(*other)
        elsewhere.answers([release.released for release in drawn.sums], drawn.chosen)
        own, whole = descent.numbers_of(fitted), self.fitted(table, seed).fitted_
        beyond = np.setdiff1d(fitted.weights.indices, drawn.chosen.columns)
        return Again(
            by_parts=(
                np.append(own, fitted.released.ravel()),
                np.append(descent.numbers_of(whole), whole.released.ravel()),
            ),
            elsewhere=(own, descent.numbers_of(elsewhere.fitted)),
            more={"coefficients beyond the chosen columns": (float(len(beyond)), 0.0)},
        )

    def widest_changes(self, session: Session[Any], k: int) -> dict[str, float]:
        """The distances of the label sums, the masses and the step sums, divided by the charge.

        The descent uses forged columns, which include those of the row.
        """
        fits, row, chosen = self._neighbours(session.rng)
        released = np.array([chosen.centre * GRAINS * self.facts.n_rows], np.int64)
        forged = forged_releases(row[chosen.columns], fits[0].course, self.facts, session.rng)
        forged += correction.forged(self.facts, self.facts.n_rows, session.rng)
        one, other = (fit.answers([released, *forged], chosen) for fit in fits)
        return fits[0].shares_of_charges(one, other, ("the labels", "the mass", "a step's sums"))

    def widest_log_ratios(self, session: Session[Any], k: int) -> dict[str, float]:
        """The range of a draw's log-ratio over columns and signs, divided by the charge.

        The centre of the labels is forged. Scores are the solver's own, without rounding.
        """
        fits, _, chosen = self._neighbours(session.rng)
        theta, same = (
            fit.task.plan.few.theta(fit.task.scores.longest(chosen.centre)) for fit in fits
        )
        one, other = (fit.task.scores.of_centre(chosen.centre) for fit in fits)
        # Either sign may be drawn: the largest change for one sign has its opposite for the other.
        widest = 2 * int(np.abs(one - other).max())
        charged = Fraction(account.ranges_of_event(fits[0].task.plan.event)[-1])
        share = float(theta * widest / charged) if theta == same else math.inf
        return {"widest log-ratio of a draw, over the charge": share}

    def _neighbours(self, rng: np.random.Generator) -> tuple[list["FewPrepared"], Floats, Chosen]:
        """Two neighbours, the row that only one has, and a forged choice of columns for both."""
        *both, row = neighbours(self.columns, self.facts, rng)
        form = random_form(rng)
        fits = [self.prepare(form(table.X), *table[1:]) for table in both]
        return fits, row, data.forged_choice(self.columns, row, self.facts, rng)

    def law_p_values(self, session: Session[Any]) -> Iterator[tuple[dict[str, float], int]]:
        return law.p_values(self, session)

    def held(self, task: SelectTask) -> list[Floats]:
        rows, labels = task.scores.rows, task.scores.labels.astype(np.float64)
        return [*unit_entries(rows), labels, dense(task.matrix)]

    def _fix_settings(self) -> None:
        self._fix_row_map(PRESENCE)
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
        declared, rows = rows_counted(self._model, 0), descent.MOST_ROWS
        while rows < declared and not self.takes(self.copy(**self.declaring(rows))):
            rows *= 2
        self._model.set_params(**self.declaring(min(rows, declared)))
        if rows < declared:
            self.notes.append(f"of {declared} rows, {rows} are audited")

    def _read_facts(self) -> FewFacts:
        chosen = n_nonzero_of(self._model)
        assert chosen is not None  # otherwise no columns would be selected
        return FewFacts(
            **self._common_facts(),
            n_rows=rows_counted(self._model, 0),
            n_nonzero=None,  # a descent that keeps all of its columns
            chosen=chosen,
        )


LABEL_UNIT = float(LABEL * GRAINS)  # a label at its bound, in the sum of the labels


class FewPrepared(descent.Prepared):
    """A fit prepared up to its first draw, from which it can be run any number of times."""

    task: SelectTask  # type: ignore[assignment]
    _facts: FewFacts

    @property
    def _descent(self) -> GradientPlan:
        return self.task.plan.few.refit

    @property
    def solver_sums(self) -> int:
        return 2 + self._descent.steps

    def _stated(self, place: int) -> tuple[float, float]:
        if place == 0:
            multiplier = self.task.plan.few.centre_multiplier
            return multiplier, LABEL_UNIT * self._facts.sensitivity(0)
        multiplier = self._descent.step_multiplier if place > 1 else self._descent.mass_multiplier
        return multiplier, self._descent.unit * self._facts.sensitivity(place)

    def run(self, bits: RandomBits | None = None) -> Run:
        """Run a fit and return all its releases."""
        sums = self.releases(bits)
        columns, signs = self.fitted.released.T
        return Run(Chosen(0, columns, signs), sums)

    def uncorrected(self, bits: RandomBits) -> Run:
        """Run a fit up to its correction, and return the releases."""
        self._recording.found.clear()
        task = self.task.with_drawing(noise_of=self._recording, bits=bits)
        chosen = task.choose()
        columns, signs = task.solved(chosen).released.T
        return Run(Chosen(0, columns, signs), list(self._recording.found))

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
        self.fitted = task.refit(chosen)
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
    if not sp.issparse(X) and rows <= descent.MOST_ROWS // 4:
        return np.hstack([X, np.zeros((rows, WIDE - columns), X.dtype)])
    found = sp.coo_array(X)
    return sp.coo_array((found.data, found.coords), shape=(rows, WIDE))


def _picked(table: Table, columns: Ints) -> Table:
    """Some of the columns; those that were added to the rows are empty."""
    found = np.zeros((len(table.y), len(columns)))
    own = columns < table.X.shape[1]
    found[:, own] = table.X[:, columns[own]]
    return table._replace(X=found)


def _enough_rows(estimator: Any) -> int:
    """A number of rows for which "auto" selects columns, if there is one."""
    rows = 200
    while rows < MOST_DECLARED and solver_of(estimator.set_params(n_rows=rows), rows, WIDE) != (
        FewSubject.solver
    ):
        rows *= 2
    return rows
