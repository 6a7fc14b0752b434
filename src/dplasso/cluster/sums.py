"""Sums over all shards, as the solvers ask for them. Nothing here ever sees a row."""

from typing import Any

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.base.rooms import KeptRoom
from dplasso.cluster.crew import Crew
from dplasso.cluster.run_log import RunLog
from dplasso.solvers.correction.walk import Place
from dplasso.solvers.gradient.conditioning import Conditioning
from dplasso.solvers.gradient.plan import GradientPlan
from dplasso.solvers.table.plan import TablePlan
from dplasso.solvers.table.questions import Question


class SummedRows:
    """The sums of `PrivateRows` over all shards.

    A sum whose release is stored is not computed again: noise would be added to it, and the stored
    release takes its place (`RunLog`).
    """

    def __init__(self, crew: Crew, log: RunLog, plan: GradientPlan) -> None:
        self._crew, self._log, self._plan = crew, log, plan
        self._conditioning: Conditioning | None = None
        self._room = KeptRoom()

    def mass(self) -> Ints:
        """Sums of the unit rows, by column."""
        pending = self._log.pending()
        return self._crew.total("mass") if pending is None else pending

    def sums(self, conditioning: Conditioning, weights: Floats, intercepts: Floats) -> Ints:
        """Sums of the row gradients, outputs x (columns, then the constant).

        The next sums take their place.
        """
        if self._log.pending() is not None:  # what is stored may be of fewer columns
            return np.zeros((self._plan.outputs, self._plan.n_columns + 1), np.int64)
        if conditioning is not self._conditioning:
            self._crew.tell("take_conditioning", conditioning)
            self._conditioning = conditioning
        few = conditioning.few
        if few is None:
            return self._crew.total("sums", weights, intercepts, room=self._room)
        left = self._crew.total("sums", weights[:, few], intercepts)
        sums = np.zeros((len(left), self._plan.n_columns + 1), np.int64)
        sums[:, few], sums[:, -1] = left[:, :-1], left[:, -1]
        return sums


class SummedTable:
    """The answers of `PrivateTable`, over all shards."""

    def __init__(self, crew: Crew, log: RunLog, plan: TablePlan) -> None:
        self._crew, self._log, self._plan = crew, log, plan

    def answer(self, question: Question) -> Ints:
        """Exact sums, without noise."""
        pending = self._log.pending(len(question.noise(self._plan)))
        return self._crew.total("answer", question) if pending is None else pending


class SummedMargins:
    """The sums of `MarginRows` over all shards, for the margins of a released ``model``."""

    def __init__(self, crew: Crew, log: RunLog, model: Any) -> None:
        self._crew, self._log, self._model = crew, log, model
        self._told = False

    def counts(self, unit: float) -> Ints:
        """Rows by label and bin of margins."""
        return self._total("counts", unit)

    def slopes(self, limit: float, spreads: Floats) -> Ints:
        """Slopes of the loss at several spreads."""
        return self._total("slopes", limit, spreads)

    def sums(self, at: Place) -> Ints:
        """Sums at the current correction."""
        return self._total("margin_sums_at", at)

    def _total(self, method: str, *args: Any) -> Ints:
        if (pending := self._log.pending()) is not None:
            return pending
        if not self._told:
            self._crew.tell("take_model", self._model)
            self._told = True
        return self._crew.total(method, *args)
