"""The audit subject for Frank-Wolfe, and the releases of its many runs."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.audit import account, correction, synthetic
from dplasso.audit.access import bits_of
from dplasso.audit.descent.recording import Forgery, Recorded, Recording, shares_of_charges
from dplasso.audit.descent.subject import CORRECTION_SUMS, correction_p_values, correction_stated
from dplasso.audit.fit_subject import FitSubject, Ratios
from dplasso.audit.reference import AS_IS, Table, limit_of, range_units
from dplasso.audit.representation.holders import dense
from dplasso.audit.selection import data, engine, law, reference
from dplasso.audit.selection.reference import ROUNDED_WEIGHTS, SelectionFacts
from dplasso.audit.session import Session
from dplasso.audit.subject import (
    Again,
    Charged,
    Draw,
    DrawingSubject,
    Figures,
    NoisySubject,
    Pair,
)
from dplasso.audit.verdict import ROUNDING
from dplasso.base.arrays import Floats, Ints
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor, Sparsifier
from dplasso.fitting.corrected import Solved
from dplasso.fitting.frank_wolfe import FrankWolfePlan, FrankWolfeTask
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.mechanisms.selection import PRIVATE
from dplasso.privacy.events import Composed, Event, Gaussian, Repeated
from dplasso.solvers import frank_wolfe

_LONG_COLUMNS = 1 << 14  # of long transcripts: a signed vertex carries 15 bits
LONG_ROUNDS = {"lazy": 60_000}  # rounds of a long transcript, by selection rule
_USUAL_ROUNDS = 2_500
_ROUNDING = 1e-9  # of a weight, as a share of the radius
_QUICK_ROUNDS = 100  # rounds of each run that the canary check of a quick audit uses


class SelectionSubject(FitSubject, DrawingSubject, NoisySubject):
    """A configuration of Frank-Wolfe."""

    solver = "frank_wolfe"
    quick_examples = None
    options = frozenset({"max_iter", "radius", "selection", "fit_intercept"})
    canary_runs = 900
    rounding = ROUNDING
    shown_parameters = ("selection",)
    law_tests = law.TESTS
    facts: SelectionFacts

    @classmethod
    def examples(cls, **parameters: Any) -> list[Any]:
        """Example estimators, of which the first has a Sparsifier."""
        common = {"solver": cls.solver, "max_iter": 16, "radius": 5.0, **parameters}
        return [
            PrivateLassoClassifier(classes=[0, 1], **{"n_nonzero": Sparsifier(), **common}),
            PrivateLassoRegressor(**common),
            PrivateLassoClassifier(classes=[0, 1, 2], **common),
        ]

    def others(self) -> Iterator[tuple[str, dict[str, Any]]]:
        relation, *rest = super().others()
        yield relation
        for rule in PRIVATE:
            if rule != self.selection:
                yield rule, {"selection": rule}
        yield from rest

    @property
    def selection(self) -> str:
        """The name of the selection rule."""
        return str(self._model.selection)

    def usual_rows(self, rng: np.random.Generator) -> Table:
        X = rng.uniform(-1.0, 1.0, (40, self.columns))
        y = synthetic.random_labels(40, self.facts, rng)
        y[: self.facts.classes] = np.arange(self.facts.classes)
        return synthetic.gathered(Table(X, y), self.facts, rng)

    def stated_cost(self, statement: Mapping[str, Any]) -> float:
        rho = 0.0
        for release in statement["releases"]:
            if "epsilon" in release:
                rho += release["epsilon"] ** 2 / 2.0
            elif "bounded_range" in release:
                rho += statement["rounds"] * release["bounded_range"] ** 2 / 8.0
        counts, *sums = [part for part in statement["releases"] if "noise_multiplier" in part] or [
            {"noise_multiplier": math.inf}
        ]
        rho += 0.5 / counts["noise_multiplier"] ** 2
        return rho + sum(
            0.5 * (correction.RELEASES - 1) / part["noise_multiplier"] ** 2 for part in sums
        )

    def terms(self, statement: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().terms(statement), "rounds": self.facts.rounds}

    def further_costs(self, session: Session[Any], charged: Charged) -> Figures:
        releases = charged.statement["releases"]
        counts = sum("epsilon" in release for release in releases)
        differing = abs(counts - (self.facts.count_share > 0.0))
        (theta,) = (release["theta"] for release in releases if "theta" in release)
        event = charged.first.event()
        multipliers, drawn = _multipliers_of(event), self._multipliers_drawn(session)
        return {
            "range of a round at the theta stated": (
                theta * self.facts.range_of_unit_theta + ROUNDED_WEIGHTS,
                account.ranges_of_event(event)[-1] * ROUNDING,
            ),
            "mu of a correction as drawn, not charged": (
                account.mu_of(drawn),
                account.mu_of(multipliers) * ROUNDING,
            ),
            "sums drawn and charged that differ": (abs(len(drawn) - len(multipliers)), 0.0),
            "counts stated and asked for that differ": (differing, 0.0),
        }

    def _multipliers_drawn(self, session: Session[Any]) -> list[float]:
        """Noise multipliers of the noise that was requested while a fit was corrected."""
        task = self.prepare(*self.usual_rows(session.rng))
        return [
            release.sigma / (correction.UNIT * correction.sensitivity(place, self.facts))
            for place, release in enumerate(self._corrected(task, session.bits))
        ]

    def _corrected(self, task: FrankWolfeTask, bits: RandomBits | None) -> list[Recorded]:
        """Run the rounds of a fit and correct their result; return the noisy sums."""
        noted = Recording()
        task = task.with_drawing(noise_of=noted)
        task = task if bits is None else task.with_drawing(bits=bits)
        task.corrected(task.walk(self.facts.rounds))
        return noted.found

    @property
    def noise_tests(self) -> int:
        return 6 if correction.is_corrected(self.facts) else 0

    def widest_changes(self, session: Session[Any], k: int) -> dict[str, float]:
        """The distances of counts and of a correction's sums, for one forged model on two
        neighbours, divided by the charge."""
        facts, rng = self.facts, session.rng
        both, form = self._neighbours(rng)[0], synthetic.random_form(rng)
        tasks = [self.prepare(form(table.X), *table[1:]) for table in both]
        shape = (facts.outputs, tasks[0].plan.request.n_features.value)
        size = 10.0 ** rng.uniform(-3.0, 3.0)
        weights = size * rng.normal(size=shape) * (rng.random(shape) < 0.5)
        intercepts = size * rng.normal(size=facts.outputs) * 10.0 ** rng.uniform(-3.0, 3.0)
        width = 3 if facts.outputs > 1 else 2
        solved = Solved(sp.csr_array(weights), intercepts, np.empty((0, width), np.int64), 1)
        forged = correction.forged(facts, tasks[0].plan.request.n_rows.value, rng)
        one, other = Forgery(forged), Forgery(forged)
        for task, forgery in zip(tasks, (one, other), strict=True):
            task.with_drawing(noise_of=forgery).corrected(solved)
        charged = _multipliers_of(tasks[1].plan.event)
        return shares_of_charges(one.found, other.found, charged, CORRECTION_SUMS)

    def noise(self, session: Session[Any], bits: RandomBits | None) -> list[Floats]:
        """Noise in stated standard deviations. Draws are rounded down: half a unit is added."""
        task = self.prepare(*self.usual_rows(session.rng))
        plan = task.plan.correction
        return [
            np.asarray(
                (release.noise + 0.5) / math.prod(correction_stated(plan, place, self.facts)),
                np.float64,
            )
            for place, release in enumerate(self._corrected(task, bits))
        ]

    def noise_p_values(self, fits: list[list[Floats]]) -> dict[str, float]:
        return correction_p_values(fits)

    def canary_rows(self) -> synthetic.Neighbours:
        return data.canary_rows(self.columns, self.facts)

    def released(self, prepared: Any, runs: int, session: Session[Any]) -> Ints:
        rounds = self.facts.rounds if session.thorough else min(self.facts.rounds, _QUICK_ROUNDS)
        return self.transcripts(prepared, runs, rounds, session)

    def transcripts(self, task: Any, runs: int, rounds: int, session: Session[Any]) -> Ints:
        """The releases of ``runs`` fits, by the estimator's own walk: outcomes, runs x rounds.

        Only the first ``rounds`` rounds of a fit are run: later ones do not affect them.
        """
        task, found = task.with_drawing(bits=session.bits), np.empty((runs, rounds), np.int64)
        for run in range(runs):
            found[run] = outcomes(task.vertices(task.solution(rounds)), self.facts)
            if run % 50 == 49:
                session.tell((run + 1) / runs)
        return found

    def log_ratios(self, tables: synthetic.Neighbours, prepared: Any, released: Ints) -> Ratios:
        there, not_there = (
            reference.log_likelihoods(table, released, self.facts) for table in tables
        )
        return Ratios((there - not_there)[:, None])

    def again(self, session: Session[Any], k: int) -> Again:
        """Vertices from the parts of a fit, and coefficients rebuilt from the vertices."""
        table = data.mixed_rows(self.columns, 4.0, self.facts, session.rng)
        seed = int(session.rng.integers(1 << 62))
        model = self.fitted(table, seed)
        task, bits = self.prepare(*table), random_bits(seed)
        count = task.with_drawing(bits=bits).count_to_keep()  # before the rounds, as in a fit
        parts = self.transcripts(task, 1, self.facts.rounds, replace(session, bits=bits))[0]
        drawn = outcomes(model.vertices_, self.facts)
        noted = Recording()
        task.with_drawing(bits=random_bits(seed), noise_of=noted).run()
        return Again(
            by_parts=(drawn, parts),
            rebuilt=self._rebuilt(model, drawn, task, noted.found),
            more={} if count is None else self._wrongly_kept(model, drawn, count),
        )

    def _wrongly_kept(self, model: Any, drawn: Ints, count: int) -> Figures:
        """Whether as many coefficients are kept as were counted, and whether they are the largest.

        Sizes are those of the weights of scaled columns. Of equally large ones any may be kept.
        A weight whose steps cancel may be zero, or as small as rounding errors.
        """
        rows = self.columns + self.facts.fit_intercept
        weights = reference.weights_of(drawn, rows, self.facts)[: self.columns].T
        kept = np.atleast_2d(np.asarray(model.coef_)) != 0.0
        sizes = np.abs(weights) / self.facts.radius
        moved = np.isin(np.arange(weights.size), drawn // 2)
        least, most = (min(count, int(np.sum(which))) for which in (sizes > _ROUNDING, moved))
        number = int(np.sum(kept))
        smaller = sizes[~kept].max(initial=0.0) - sizes[kept].min(initial=math.inf)
        return {
            "coefficients more or fewer than counted": (
                float(max(least - number, number - most, 0)),
                0.0,
            ),
            "excess of a dropped coefficient over a kept one": (
                float(max(smaller, 0.0)),
                _ROUNDING,
            ),
        }

    def _rebuilt(self, model: Any, drawn: Ints, task: FrankWolfeTask, sums: list[Recorded]) -> Pair:
        """The kept coefficients and the intercepts, from a model, and from its vertices and the
        releases of its correction."""
        facts, columns = self.facts, self.columns
        weights = reference.weights_of(drawn, columns + facts.fit_intercept, facts)
        found = np.atleast_2d(np.asarray(model.coef_))
        kept = (found != 0.0) if self.sparsifier is not None else np.ones_like(found, bool)
        expected = np.where(kept, weights[:columns].T, 0.0)
        constant = np.zeros(facts.outputs)
        if facts.fit_intercept:
            constant = weights[columns] * limit_of(facts.held_bound)
        if sums:
            scale, shifts = self._correction(expected, constant, task, sums)
            expected, constant = scale * expected, scale * constant + shifts
        if facts.centred is not None and facts.row_map == AS_IS:
            middles, units = range_units(columns, facts)
            expected = expected / units
            constant = constant - expected @ middles
        elif facts.bounds is not None and facts.row_map == AS_IS:
            expected = expected * (facts.x_bound / facts.bounds)
        return (
            np.concatenate([found[kept], np.ravel(model.intercept_)]),
            np.concatenate([expected[kept], constant + facts.y_middle]),
        )

    def _correction(
        self, weights: Floats, intercepts: Floats, task: FrankWolfeTask, sums: list[Recorded]
    ) -> tuple[float, Floats]:
        """Scale and shifts by the releases of a correction, within the ball of the radius."""
        facts, plan = self.facts, task.plan.correction
        assert plan is not None
        counts, first, last = (math.prod(correction_stated(plan, k, facts)) for k in range(3))
        length = float(np.linalg.norm(weights)) or facts.radius
        found = correction.Reference(
            claim=facts,
            n_rows=plan.n_rows,
            margin=0.7 * length * limit_of(facts.held_bound),
            scale=1.8,
            off=0.5,
            spread=0.49 * length * limit_of(facts.held_bound),
            moves=facts.fit_intercept,
            sigmas=(counts, first, last),
        )
        for place, release in enumerate(sums):
            found.receive(release.released.astype(np.float64), place)
        scale, shifts = found.result()
        scale = min(scale, 1.0)
        moved = scale * intercepts + shifts
        room = facts.radius - scale * float(np.abs(weights).sum())
        used = float(np.abs(moved).sum()) / limit_of(facts.held_bound)
        moved = moved * (max(room, 0.0) / used) if used > room else moved
        return scale, moved - scale * intercepts

    def widest_log_ratios(self, session: Session[Any], k: int) -> dict[str, float]:
        """The widest log-ratio of a round of one walk on two neighbours, divided by the charge.

        Both data sets pass the estimator's own validation and the engine's own scoring, up to
        theta; both walk along the same vertices, which may drive the row's gradient to its bound.
        """
        facts, columns, rng = self.facts, self.columns, session.rng
        (base, more), row, label = self._neighbours(rng)
        path, form = engine.path_for(row, label, columns, facts, rng), synthetic.random_form(rng)
        tasks = [self.prepare(form(table.X), *table[1:]) for table in (base, more)]
        one, another = (engine.log_weights(task, path, facts) for task in tasks)
        widest = float(np.ptp(one - another, axis=1).max())
        charged = account.ranges_of_event(tasks[1].plan.event)[-1]
        return {"widest log-ratio of a round, over the charge": widest / charged}

    def _neighbours(self, rng: np.random.Generator) -> tuple[tuple[Table, Table], Floats, float]:
        """Two neighbours, and the row with its label that only the second has."""
        facts, columns = self.facts, self.columns
        base = data.mixed_rows(columns, 1.0, facts, rng)
        row, label = synthetic.random_row(columns, facts, rng)
        rival, other = synthetic.random_row(columns, facts, rng)
        at = int(rng.integers(len(base.y) + 1)) if rng.random() < 0.5 else len(base.y)
        more = synthetic.joined(base, at, synthetic.newcomer(row, label, facts, rng))
        if facts.neighboring == "replace_one":
            # The replacement with the largest effect: the same row with another label.
            rival = row if rng.random() < 0.5 else rival
            base = synthetic.joined(base, at, synthetic.newcomer(rival, other, facts, rng))
        return (base, more), row, label

    def law_p_values(self, session: Session[Any]) -> Iterator[tuple[dict[str, float], int]]:
        return law.p_values(self, session)

    def transcript(self, rng: np.random.Generator) -> Draw:
        """Fits on rows with almost no signal, whose draws are the numbers of signed vertices."""
        X = sp.random_array((60, _LONG_COLUMNS), density=0.01, rng=rng, format="csc")
        y = self.labels(synthetic.labels_in_turn(60, self.facts))
        loss = self.copy().prepare(X, y, self.identifiers(60)).plan.request.loss
        rounds = LONG_ROUNDS.get(self.selection, _USUAL_ROUNDS)

        def draw(bits: RandomBits | None, halfway: Callable[[], None]) -> tuple[Ints, int]:
            called: list[int] = []

            def progress(done: int) -> None:
                if not called and done < rounds:
                    halfway()
                    called.append(done)

            found = frank_wolfe(
                *(X, y),
                loss=loss,
                radius=1.0,
                rounds=rounds,
                theta=1e-3,
                selection=self.selection,
                generator=bits_of(self.copy(random_state=bits)),
                n_threads=1,
                progress=progress,
            )
            drawn = 2 * (found.columns * self.outputs + found.classes) + (found.signs > 0)
            return drawn, called[0] if called else 0

        return draw

    def held(self, task: FrankWolfeTask) -> list[Floats]:
        return [dense(task.matrix)]

    def _fix_settings(self) -> None:
        """Fix the radius and rounds that rules choose, so that data of all sizes share them."""
        self._model.set_params(solver=self.solver)
        self._fix_row_map(AS_IS)
        self.sparsifier = self._model.n_nonzero
        self.columns = self._enough_columns(self.columns)
        self._fix_bounds()
        self._fix_n_rows()  # corrections use it, whatever the radius and the rounds
        if "auto" not in (self._model.radius, self._model.max_iter):
            return
        rows = np.zeros((2, self.columns))
        plan = self.copy().prepare(*self.data(rows, np.arange(2.0))).plan
        assert isinstance(plan, FrankWolfePlan)
        self._model.set_params(radius=plan.radius, max_iter=plan.rounds.value)
        self.notes.append(
            f"by the public rules: radius {plan.radius:g}, {plan.rounds.value} rounds"
        )

    def _enough_columns(self, least: int) -> int:
        """A number of columns that satisfies a Sparsifier's own bounds."""
        columns = least
        while isinstance(self.sparsifier, Sparsifier) and columns < 1 << 20:
            try:
                self.sparsifier.bounds(columns * self.outputs)
                break
            except ValueError:
                columns *= 2
        return columns

    def _read_facts(self) -> SelectionFacts:
        model, share = self._model, 0.0
        if isinstance(self.sparsifier, Sparsifier):
            share = float(self.sparsifier.budget_share)
        return SelectionFacts(
            **self._common_facts(),
            rounds=int(model.max_iter),
            radius=float(model.radius),
            fit_intercept=bool(model.fit_intercept),
            count_share=share,
            stale=model.selection == "big_step_little_step",
        )

    def _usual_name(self) -> str:
        return super()._usual_name().removesuffix(f", {self.solver}")


def _multipliers_of(event: Event) -> list[float]:
    """Noise multipliers of the releases of a correction, which come last."""
    parts = [part for part in account.parts_of_event(event) if isinstance(part[0], Gaussian)]
    return account.multipliers_of(Composed(tuple(Repeated(*part) for part in parts)))


def outcomes(vertices: Ints, facts: SelectionFacts) -> Ints:
    """Released vertices as `dplasso.audit.selection.reference` numbers them."""
    classes = vertices[:, 2] if facts.outputs > 1 else 0
    # A coefficient moves against the sign of its score.
    return 2 * (vertices[:, 0] * facts.outputs + classes) + (vertices[:, 1] > 0)
