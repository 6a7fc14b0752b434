"""Frank-Wolfe under audit, and its releases, many times."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dplasso.audit.facts import AS_IS
from dplasso.audit.selection.facts import SelectionFacts
from dplasso.audit.subject import Subject
from dplasso.base.arrays import Floats, Ints
from dplasso.estimators import Sparsifier
from dplasso.fitting.frank_wolfe import FrankWolfePlan, FrankWolfeTask
from dplasso.mechanisms.random_bits import RandomBits


class SelectionSubject(Subject):
    """A configuration of Frank-Wolfe."""

    facts: SelectionFacts

    def prepare(self, X: Any, y: Floats) -> "Prepared":
        """A fit up to its first draw."""
        model = self.copy()
        return Prepared(model, self.task_of(model, X, y), self.facts)

    def _fix_settings(self) -> None:
        """Radius and rounds that rules choose, chosen once: data of all sizes then share them."""
        self._model.set_params(solver="frank_wolfe")
        if self._model.rows == "auto":
            self._model.set_params(rows=AS_IS)
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
        """Columns that a Sparsifier's own bounds leave room for."""
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
            intercept=bool(model.fit_intercept),
            count_share=share,
            stale=model.selection == "big_step_little_step",
        )

    @property
    def selection(self) -> str:
        """The name of the selection rule."""
        return str(self._model.selection)

    def to_dict(self) -> dict[str, Any]:
        """As the report has it."""
        return {**super().to_dict(), "selection": self.selection}


class Prepared:
    """A fit that stands before its first draw, and can be drawn from there any number of times."""

    def __init__(self, model: Any, task: FrankWolfeTask, facts: SelectionFacts) -> None:
        self.model, self.task, self._facts = model, task, facts

    def transcripts(
        self,
        runs: int,
        rounds: int,
        bits: RandomBits,
        tell: Callable[[float], None] | None = None,
    ) -> Ints:
        """What ``runs`` fits release, by the estimator's own walk: outcomes, runs x rounds.

        ``rounds`` are the first of a fit, if not all: those after them make no difference to them.
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
