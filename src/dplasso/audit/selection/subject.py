"""The audit subject for Frank-Wolfe, and the releases of its many runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dplasso.audit.account import ranges_of_event
from dplasso.audit.attack import Claims
from dplasso.audit.facts import AS_IS
from dplasso.audit.fit_subject import Arm, FitSubject, Ratios
from dplasso.audit.reference_rows import limit_of
from dplasso.audit.representation.fit_holder import dense
from dplasso.audit.selection import data, law, log_ratios, reference, transcript
from dplasso.audit.selection.facts import ROUNDED_WEIGHTS, SelectionFacts
from dplasso.audit.session import Session
from dplasso.audit.statistics import rho_between
from dplasso.audit.subject import Again, Charged, Draw, DrawingSubject, Figures, Pair
from dplasso.audit.synthetic import Neighbours, Table, random_labels
from dplasso.audit.verdict import ROUNDING
from dplasso.base.arrays import Floats, Ints
from dplasso.estimators import (
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    Sparsifier,
)
from dplasso.fitting.frank_wolfe import FrankWolfePlan, FrankWolfeTask
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.mechanisms.selection import PRIVATE

_QUICK_ROUNDS = 100  # rounds of each run that the canary check of a quick audit uses


class SelectionSubject(FitSubject, DrawingSubject):
    """A configuration of Frank-Wolfe."""

    solver = "frank_wolfe"
    quick_examples = None
    options = frozenset({"max_iter", "radius", "selection", "fit_intercept"})
    canary_runs = 900
    rounding = ROUNDING
    law_tests = law.TESTS
    facts: SelectionFacts

    @classmethod
    def examples(cls, **parameters: Any) -> list[Any]:
        """Example estimators, of which the first has a Sparsifier."""
        common = {"solver": cls.solver, "max_iter": 16, "radius": 5.0, **parameters}
        return [
            PrivateLassoClassifier(classes=[0, 1], **{"sparsify": Sparsifier(), **common}),
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

    def prepare(self, X: Any, y: Floats) -> "Prepared":
        """A fit up to its first draw."""
        return Prepared(*self._started(X, y), self.facts)

    def usual_rows(self, rng: np.random.Generator) -> Table:
        X = rng.uniform(-1.0, 1.0, (40, self.columns))
        y = random_labels(40, self.facts, rng)
        y[: self.facts.classes] = np.arange(self.facts.classes)
        return X, y

    def stated_cost(self, statement: Mapping[str, Any]) -> float:
        rho = 0.0
        for release in statement["releases"]:
            if "epsilon" in release:
                rho += release["epsilon"] ** 2 / 2.0
            else:
                rho += statement["rounds"] * release["bounded_range"] ** 2 / 8.0
        return rho

    def terms(self, statement: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().terms(statement), "rounds": self.facts.rounds}

    def further_costs(self, session: Session[Any], charged: Charged) -> Figures:
        releases = charged.statement["releases"]
        counts = sum("epsilon" in release for release in releases)
        return {
            "range of a round at the theta stated": (
                releases[-1]["theta"] * self.facts.range_of_unit_theta + ROUNDED_WEIGHTS,
                ranges_of_event(charged.first.event())[-1] * ROUNDING,
            ),
            "counts stated and asked for that differ": (
                abs(counts - (self.facts.count_share > 0.0)),
                0.0,
            ),
        }

    @property
    def own_claim(self) -> Claims:
        return {"rho": (rho_between, self.facts.rho)}

    def canary_rows(self) -> Neighbours:
        return data.canary_rows(self.columns, self.facts)

    def released(
        self,
        prepared: "Prepared",
        runs: int,
        session: Session[Any],
        tell: Callable[[float], None],
    ) -> Ints:
        rounds = self.facts.rounds if session.thorough else min(self.facts.rounds, _QUICK_ROUNDS)
        return prepared.transcripts(runs, rounds, session.bits, tell)

    def log_ratios(self, arms: Sequence[Arm], released: Ints) -> Ratios:
        there, not_there = (
            reference.log_likelihoods(arm.X, arm.y, released, self.facts) for arm in arms
        )
        return Ratios((there - not_there)[:, None])

    def again(self, session: Session[Any], k: int) -> Again:
        """Vertices from the parts of a fit, and coefficients rebuilt from the vertices."""
        X, y = data.mixed_rows(self.columns, 4.0, self.facts, session.rng)
        seed = int(session.rng.integers(1 << 62))
        model = self.fitted(X, y, seed)
        prepared, bits = self.prepare(X, y), random_bits(seed)
        if isinstance(self.sparsifier, Sparsifier):
            prepared.count(bits)
        parts = prepared.transcripts(1, self.facts.rounds, bits)[0]
        drawn = outcomes(model.vertices_, self.facts)
        return Again(by_parts=(drawn, parts), rebuilt=self._rebuilt(model, drawn))

    def _rebuilt(self, model: Any, drawn: Ints) -> Pair:
        """The kept coefficients and the intercepts, from a model and from its vertices."""
        facts, columns = self.facts, self.columns
        weights = reference.weights_of(drawn, columns + facts.fit_intercept, facts)
        expected = weights[:columns].T
        if facts.bounds is not None and facts.rows == AS_IS:
            expected = expected * (facts.x_bound / facts.bounds)
        found = np.atleast_2d(np.asarray(model.coef_))
        kept = (found != 0.0) if self.sparsifier is not None else np.ones_like(found, bool)
        constant = weights[columns] * limit_of(facts.held_bound) if facts.fit_intercept else 0.0
        intercepts = np.ravel(model.intercept_)
        return (
            np.concatenate([found[kept], intercepts]),
            np.concatenate([expected[kept], np.broadcast_to(constant, intercepts.shape)]),
        )

    def widest_log_ratios(self, session: Session[Any], k: int) -> dict[str, float]:
        return log_ratios.widest(self, session.rng)

    def law_p_values(self, session: Session[Any]) -> Iterator[tuple[dict[str, float], int]]:
        return law.p_values(self, session)

    def transcript(self, rng: np.random.Generator) -> Draw:
        return transcript.draw_of(self, rng)

    def held(self, task: FrankWolfeTask) -> list[Floats]:
        return [dense(task.matrix)]

    def _fix_settings(self) -> None:
        """Fix the radius and rounds that rules choose, so that data of all sizes share them."""
        self._model.set_params(solver=self.solver)
        self._fix_rows(AS_IS)
        self.sparsifier = self._model.get_params()["sparsify"]
        self.columns = self._enough_columns(self.columns)
        self._fix_bounds()
        if "auto" not in (self._model.radius, self._model.max_iter):
            return
        self._fix_n_rows()
        rows = np.zeros((2, self.columns))
        plan = self.copy().prepare(rows, self.labels(np.arange(2.0))).plan
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

    def to_dict(self) -> dict[str, Any]:
        """The subject as the report shows it."""
        return {**super().to_dict(), "selection": self.selection}


class Prepared:
    """A fit prepared up to its first draw, from which it can be run any number of times."""

    def __init__(self, model: Any, task: FrankWolfeTask, facts: SelectionFacts) -> None:
        self.model, self.task, self._facts = model, task, facts

    def transcripts(
        self,
        runs: int,
        rounds: int,
        bits: RandomBits,
        tell: Callable[[float], None] | None = None,
    ) -> Ints:
        """The releases of ``runs`` fits, by the estimator's own walk: outcomes, runs x rounds.

        Only the first ``rounds`` rounds of a fit are run: later ones do not affect them.
        """
        task = self.task.with_drawing(bits=bits)
        found = np.empty((runs, rounds), np.int64)
        for run in range(runs):
            found[run] = outcomes(task.walk(rounds).released, self._facts)
            if tell is not None and run % 50 == 49:
                tell((run + 1) / runs)
        return found

    def count(self, bits: RandomBits) -> int:
        """The count that a fit with a Sparsifier releases."""
        kept = self.task.with_drawing(bits=bits).count_to_keep()
        assert kept is not None
        return kept


def outcomes(vertices: Ints, facts: SelectionFacts) -> Ints:
    """Released vertices as `dplasso.audit.selection.reference` numbers them."""
    classes = vertices[:, 2] if facts.outputs > 1 else 0
    # A coefficient moves against the sign of its score.
    place: Ints = 2 * (vertices[:, 0] * facts.outputs + classes) + (vertices[:, 1] > 0)
    return place
