"""The audit subject for gradient descent, and its releases."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dplasso.audit import account, correction, statistics, synthetic
from dplasso.audit.access import n_nonzero_of, rows_counted
from dplasso.audit.descent import data, recording
from dplasso.audit.descent.reference import (
    Course,
    DescentFacts,
    DescentState,
    ReferenceRows,
    log_ratios_of_descents,
)
from dplasso.audit.fit_subject import WIDE, FitSubject, Ratios
from dplasso.audit.reference import PRESENCE, Claim, Table
from dplasso.audit.representation.holders import unit_entries
from dplasso.audit.session import Session
from dplasso.audit.subject import Again, Charged, Draw, Figures, NoisySubject
from dplasso.audit.verdict import ROUNDING
from dplasso.base.arrays import Floats, Ints
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.gradient import DescentTask
from dplasso.mechanisms.grid_gaussian import NoiseOf
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.solvers.correction import CorrectionPlan
from dplasso.solvers.gradient import GradientPlan

MOST_ROWS = 4000  # most rows of the audit's own data
_ROWS = 60  # rows of the fits whose noise is compared
_APART = 0.01  # tolerance between integer and real sums, in row lengths
_NARROW = 1000  # columns up to which margins are expected to be smaller
CORRECTION_SUMS = ("the counts by margin", "a correction's sums")


class DescentSubject(FitSubject, NoisySubject):
    """A configuration of gradient descent."""

    solver = "gradient"
    canary_runs = 700
    canary_batch = 50
    calibrated_to = "mu"
    first_release = "the mass"
    facts: DescentFacts

    @property
    def noise_tests(self) -> int:
        return 15 if correction.is_corrected(self.facts) else 9

    @classmethod
    def examples(cls, **parameters: Any) -> list[Any]:
        """The claim is epsilon 8, so that the few fits of a quick audit can certify most of it."""
        own: dict[str, Any] = {"epsilon": 8.0, "n_rows": 200, "row_map": PRESENCE}
        common = {**own, "solver": cls.solver, **parameters}
        return [
            PrivateLassoClassifier(classes=[0, 1], **common),
            PrivateLassoRegressor(**common),
            PrivateLassoClassifier(classes=[0, 1, 2], **common),
        ]

    def prepare(self, X: Any, y: Floats, people: Ints | None = None) -> "Prepared":
        """A fit up to its first draw."""
        return Prepared(FitSubject.prepare(self, X, y, people), self.facts)

    def as_declared(self, table: Table) -> Table:
        return data.filled(table, self.facts)

    def rows_at_least(self, rows: int) -> int:
        """Where rows are replaced, there are as many as declared."""
        return self.facts.n_rows if self.facts.neighboring == "replace_one" else rows

    def usual_rows(self, rng: np.random.Generator) -> Table:
        return data.random_rows(self.columns, self.facts, rng)

    def stated_multipliers(self, statement: Mapping[str, Any]) -> list[float]:
        """Noise multipliers of all releases in a statement: the mass, the steps, a correction's."""
        multipliers = (float(release["noise_multiplier"]) for release in statement["releases"])
        mass, step, *more = multipliers
        counts = more[:1] + more[1:] * (correction.RELEASES - 1)
        return [mass] + [step] * int(statement["rounds"]) + counts

    def stated_cost(self, statement: Mapping[str, Any]) -> float:
        return account.mu_of(self.stated_multipliers(statement)) ** 2 / 2.0

    def further_costs(self, session: Session[Any], charged: Charged) -> Figures:
        """A fit without an accountant is planned by the Gaussian curve, not in zCDP.

        The noise drawn is the noise requested while a fit ran, divided by the sensitivities in the
        facts.
        """
        table = self.usual_rows(session.rng)
        statement = self.copy().fit(*self.data(*table)).privacy_
        stated = account.mu_of(self.stated_multipliers(statement))
        prepared = self.prepare(*table)
        planned = account.multipliers_of(prepared.task.plan.event)
        drawn, beyond = self.drawn(prepared, session, len(planned))
        cost, delta = account.mu_of(drawn), self.facts.delta
        claimed, by_curve = self.facts.epsilon * ROUNDING, account.gaussian_epsilon
        return {
            "epsilon of what is stated, by the curve": (by_curve(stated, delta), claimed),
            "epsilon of what is drawn": (by_curve(cost, delta), claimed),
            "mu of what is drawn, not stated": (cost, stated * ROUNDING),
            "mu of what is stated, not planned": (stated, account.mu_of(planned) * ROUNDING),
            **beyond,
        }

    def drawn(
        self, prepared: Any, session: Session[Any], planned: int
    ) -> tuple[list[float], Figures]:
        """Multipliers of the noise that a fit requests, and the releases that are not planned."""
        drawn = prepared.releases(session.bits)
        differing = abs(len(drawn) - planned)
        beyond = {"releases drawn and charged that differ": (float(differing), 0.0)}
        return prepared.multipliers(drawn), beyond

    def canary_rows(self) -> synthetic.Neighbours:
        return data.canary_rows(self.columns, self.facts)

    def released(self, prepared: Any, runs: int, session: Session[Any]) -> Any:
        return session.each(runs, lambda run: prepared.run(session.bits))

    def log_ratios(self, tables: synthetic.Neighbours, prepared: Any, released: Any) -> Ratios:
        """Log-likelihood ratios of all releases, of the mass, and of the steps."""
        found = stacked(released)
        rows = [ReferenceRows.of(table, self.facts) for table in tables]
        descent = log_ratios_of_descents(
            found[: prepared.solver_sums],
            rows,
            (prepared.stated_sigma(0), prepared.stated_sigma(1)),
            prepared.course,
            self.facts,
        )
        mass, steps, squares = descent.mass, descent.steps, descent.squares
        parts = [mass + steps, mass, steps]
        if correction.is_corrected(self.facts):
            more, length = correction.log_ratios(
                found[prepared.solver_sums :],
                (descent.state.margins(rows[0]), descent.state.margins(rows[1])),
                ((rows[0].y, rows[0].copies), (rows[1].y, rows[1].copies)),
                prepared.correction,
            )
            parts, squares = [mass + steps + more, mass, steps, more], squares + length
        return Ratios(np.stack(parts, axis=1), squares)

    def again(self, session: Session[Any], k: int) -> Again:
        """Every other fit has many columns; the reference handles few columns that are all kept."""
        rng, columns = session.rng, WIDE if k % 2 else self.columns
        table, other = (data.random_rows(columns, self.facts, rng) for _ in range(2))
        seed, prepared = int(rng.integers(1 << 62)), self.prepare(*table)
        drawn = prepared.releases(random_bits(seed))
        elsewhere = self.prepare(*other)
        elsewhere.answers([release.released for release in drawn])
        own, whole = numbers_of(prepared.fitted), numbers_of(self.fitted(table, seed).fitted_)
        found = Again((own, whole), (own, numbers_of(elsewhere.fitted)))
        if columns != self.columns or self.facts.n_nonzero is not None:
            return found
        rebuilt, apart = self._rebuilt(prepared, drawn, ReferenceRows.of(table, self.facts))
        more = {"sums beyond rows and releases, in rows": (apart, _APART)}
        return found._replace(rebuilt=(own, rebuilt), more=more)

    def _rebuilt(
        self, prepared: "Prepared", drawn: list[recording.Recorded], rows: ReferenceRows
    ) -> tuple[Floats, float]:
        """Weights and intercepts rebuilt from the releases, and the error of sums."""
        course, shape = prepared.course, (1, self.facts.outputs, -1)
        mass, *steps = drawn[: prepared.solver_sums]
        state = DescentState(
            mass.released[None, :].astype(np.float64), mass.sigma, course, self.facts
        )
        gaps = [np.linalg.norm(mass.sums - rows.mass(course))]
        for step in steps:
            gaps.append(np.linalg.norm(step.sums.reshape(shape) - state.sums(rows)))
            state.receive(step.released.astype(np.float64).reshape(shape))
        (weights,), (intercepts,) = state.result()
        apart = float(np.max(gaps)) / course.unit
        if correction.is_corrected(self.facts):
            found, margins = prepared.correction(), state.margins(rows)[0]
            for place, release in enumerate(drawn[prepared.solver_sums :]):
                exact = found.exact(margins, rows.y, rows.copies, place)
                gap = np.linalg.norm(release.sums - exact) / correction.UNIT
                # A margin at the end of a bin may be rounded into the next one.
                apart = max(apart, float(gap) if place else 0.0)
                found.receive(release.released.astype(np.float64), place)
            scale, shifts = found.result()
            weights, intercepts = scale * weights, scale * intercepts + shifts
        return np.append(weights.ravel(), intercepts + self.facts.y_middle), apart

    def widest_changes(self, session: Session[Any], k: int) -> dict[str, float]:
        """The distance of the mass and of the step sums of two neighbours, divided by the charge.

        Both are given the same forged releases instead of noisy ones, which put the centre at the
        row itself, or drive weights and dampings to extremes. Differences are exact integers.
        """
        facts, rng = self.facts, session.rng
        *both, row = data.neighbours(WIDE if k % 3 == 0 else self.columns, facts, rng)
        form = synthetic.random_form(rng)
        pair = [self.prepare(form(table.X), *table[1:]) for table in both]
        forged = data.forged_releases(row, pair[0].course, facts, rng)
        forged += correction.forged(facts, facts.n_rows, rng)
        one, other = (prepared.answers(forged) for prepared in pair)
        return pair[0].shares_of_charges(one, other, ("the mass", "a step's sums"))

    def noise(self, session: Session[Any], bits: RandomBits | None) -> list[Floats]:
        """Noise in stated standard deviations. Draws are rounded down: half a unit is added."""
        prepared = self.prepare(*self.usual_rows(session.rng))
        return [
            np.asarray((release.noise + 0.5) / prepared.stated_sigma(place), np.float64)
            for place, release in enumerate(prepared.releases(bits))
        ]

    def noise_p_values(self, fits: list[list[Floats]]) -> dict[str, float]:
        first = np.concatenate([fit[0] for fit in fits])
        corrected = correction.is_corrected(self.facts)
        last = len(fits[0]) - (correction.RELEASES if corrected else 0)
        steps = np.concatenate([release for fit in fits for release in fit[1:last]])
        return {
            **statistics.normal_p_values(self.first_release, first),
            **statistics.normal_p_values("steps", steps),
            **(correction_p_values([fit[last:] for fit in fits]) if corrected else {}),
            **statistics.sign_p_values(fits),
        }

    def transcript(self, rng: np.random.Generator) -> Draw:
        """Fits whose draws are the noise of their sums."""
        X = rng.normal(size=(self.rows_at_least(_ROWS), self.columns))
        y = synthetic.labels_in_turn(len(X), self.facts)

        def draw(bits: RandomBits | None, halfway: Callable[[], None]) -> tuple[Ints, int]:
            noted = recording.Recording(halfway)
            self.prepare(X, y).run_with(noted, bits)
            noise = [release.noise for release in noted.found]
            return np.concatenate(noise), sum(map(len, noise[: noted.HALFWAY]))

        return draw

    def held(self, task: Any) -> list[Floats]:
        return [*unit_entries(task.rows)]

    def _fix_settings(self) -> None:
        self._model.set_params(solver="gradient")
        self._fix_row_map(PRESENCE)
        self._fix_bounds()
        self._fix_n_rows()
        # Where rows are replaced, there are as many as declared.
        counted = rows_counted(self._model, 0)
        if self._model.neighboring == "replace_one" and counted > MOST_ROWS:
            self.notes.append(f"of {counted} rows, {MOST_ROWS} are audited")
            self._model.set_params(**self.declaring(MOST_ROWS))

    def _read_facts(self) -> DescentFacts:
        return DescentFacts(
            **self._common_facts(),
            n_rows=rows_counted(self._model, 0),
            n_nonzero=n_nonzero_of(self._model),
        )


class Prepared:
    """A descent prepared up to its first draw, from which it can be run any number of times."""

    fitted: Fitted  # the result of the last run

    def __init__(self, task: DescentTask, facts: DescentFacts) -> None:
        self.task, self._facts = task, facts
        self._recording = recording.Recording()

    @property
    def _descent(self) -> GradientPlan:
        """The plan of the descent."""
        return self.task.plan.descent

    @property
    def course(self) -> Course:
        """How the descent continues from releases."""
        plan = self._descent
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

    @property
    def solver_sums(self) -> int:
        """Number of noisy sums before those of a correction."""
        return 1 + self._descent.steps

    def _stated(self, place: int) -> tuple[float, float]:
        """The noise multiplier of a release of the solver, and its textbook sensitivity."""
        plan = self._descent
        multiplier = plan.step_multiplier if place else plan.mass_multiplier
        return multiplier, plan.unit * self._facts.sensitivity(place)

    def _stated_anywhere(self, place: int) -> tuple[float, float]:
        """The same of any release."""
        if place < self.solver_sums or self.task.plan.correction is None:
            return self._stated(place)
        return correction_stated(self.task.plan.correction, place - self.solver_sums, self._facts)

    def stated_sigma(self, place: int) -> float:
        """The noise standard deviation from the stated multiplier and the textbook sensitivity."""
        multiplier, sensitivity = self._stated_anywhere(place)
        return multiplier * sensitivity

    def multipliers(self, drawn: list[recording.Recorded]) -> list[float]:
        """Noise multipliers of the recorded noise."""
        return [
            release.sigma / self._stated_anywhere(place)[1] for place, release in enumerate(drawn)
        ]

    def correction(self) -> correction.Reference:
        """The reference of a correction, before its first release."""
        plan, place = self.task.plan.correction, self.solver_sums
        assert plan is not None
        narrow = self._descent.n_columns <= _NARROW
        signal = min(self._facts.n_rows * plan.mu / math.sqrt(correction.SHARE), 1500.0)
        return correction.Reference(
            claim=self._facts,
            n_rows=self._facts.n_rows,
            margin=4.0,
            scale=1.2 if narrow else 0.65,
            off=0.35 if narrow else 0.25,
            spread=3.0 if narrow else 1.2 * math.sqrt(1.0 + signal / 60.0),
            noise=0.0 if narrow else 0.8,
            shift_off=0.4 if narrow else 0.3,
            moves=True,
            sigmas=(
                *(self.stated_sigma(place), self.stated_sigma(place + 1)),
                self.stated_sigma(place + 2),
            ),
        )

    def shares_of_charges(
        self,
        one: list[recording.Recorded],
        other: list[recording.Recorded],
        releases: tuple[str, ...],
    ) -> dict[str, float]:
        """The distances of the sums of two neighbours, over the charge, with a correction's."""
        charged = account.multipliers_of(self.task.plan.event)
        if not correction.is_corrected(self._facts):
            return recording.shares_of_charges(one, other, charged, releases)
        last = correction.RELEASES
        return {
            **recording.shares_of_charges(one[:-last], other[:-last], charged[:-last], releases),
            **recording.shares_of_charges(
                one[-last:], other[-last:], charged[-last:], CORRECTION_SUMS
            ),
        }

    def run_with(self, noise_of: NoiseOf, bits: RandomBits | None) -> None:
        """Fit with another mechanism for the noise, and with its own bits if none are given."""
        task = self.task.with_drawing(noise_of=noise_of)
        self.fitted = (task if bits is None else task.with_drawing(bits=bits)).run()

    def releases(self, bits: RandomBits | None = None) -> list[recording.Recorded]:
        """Run a fit and return its noisy sums."""
        self._recording.found.clear()
        self.run_with(self._recording, bits)
        return list(self._recording.found)

    def run(self, bits: RandomBits | None = None) -> Any:
        """Run a fit and return all its releases."""
        return self.releases(bits)

    def answers(self, releases: Sequence[Ints]) -> list[recording.Recorded]:
        """The exact sums that a fit computes if its releases are the given ones."""
        forgery = recording.Forgery(releases)
        self.run_with(forgery, None)
        return forgery.found


def numbers_of(fitted: Fitted) -> Floats:
    """All coefficients and intercepts of a fit."""
    return np.append(fitted.weights.toarray().ravel(), fitted.intercepts)


def stacked(fits: Sequence[list[recording.Recorded]]) -> list[Floats]:
    """Released sums, one array per release: runs x numbers."""
    return [
        np.stack([release.released for release in place]).astype(np.float64)
        for place in zip(*fits, strict=True)
    ]


def correction_stated(plan: CorrectionPlan, place: int, claim: Claim) -> tuple[float, float]:
    """The noise multiplier of a release of a correction, and its textbook sensitivity."""
    multiplier = plan.step_multiplier if place else plan.count_multiplier
    return multiplier, correction.UNIT * correction.sensitivity(place, claim)


def correction_p_values(fits: list[list[Floats]]) -> dict[str, float]:
    """Tests of the noise of corrections."""
    counts = np.concatenate([fit[0] for fit in fits])
    sums = np.concatenate([release for fit in fits for release in fit[1:]])
    return {
        **statistics.normal_p_values("counts by margin", counts),
        **statistics.normal_p_values("corrections", sums),
    }
