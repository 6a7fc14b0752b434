"""Do the bounds from which lazy selection draws hold in every round?"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dplasso.audit.check import Check
from dplasso.audit.reference_rows import column_bounds
from dplasso.audit.selection import reference
from dplasso.audit.selection.engine import problem_of, walk_of
from dplasso.audit.selection.facts import SelectionFacts
from dplasso.audit.selection.subject import SelectionSubject
from dplasso.audit.session import Session
from dplasso.audit.subject import Subject
from dplasso.audit.synthetic import random_labels
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import envelope as tiers
from dplasso.kernels import head as head_kernels
from dplasso.kernels.intervals import catch_up, intervals
from dplasso.mechanisms import selection
from dplasso.mechanisms.selection.lazy import LazyDraw

ROUNDS = 300  # of every walk; all of them are checked
_ROWS, _COLUMNS = 240, 40
_NATS = 80.0  # effect of all rows together on a log-weight: the densest columns form a head
_LONG_COLUMN = 24  # entries above which scores are computed by cohorts or by several threads
_EACH = 10  # rounds after which scores are computed in all ways
_THREADS = 2
_ROOM = 1e-6  # nats: tolerance for a reference in plain numpy, without grains


class Envelope(Check[SelectionSubject]):
    """Walks with the lazy rule and compares its bounds with exact scores, after every round.

    Data have light, heavy and head columns; columns of a few entries count as long, so that their
    scores are sums over cohorts of rows, or computed by several threads. Steps have two sizes: with
    short ones margins stay near 0, where logistic gradients are steepest and bounds on their change
    tightest. Every interval must contain the exact score, computed by plain numpy from the raw
    rows; tickets must cover the weight of the exact score; scores must be the same in every way in
    which the engine computes them. The check chooses theta and radius, so that all bounds are used.
    It is deterministic except for the choice of walks. It finds bounds on the change of scores that
    are too small, envelopes that are too low, and scores of cohorts that differ from those of rows.
    """

    name = "envelope"
    of = SelectionSubject
    share = 0.2

    def is_for(self, subject: Subject) -> bool:
        return isinstance(subject, SelectionSubject) and subject.selection == "lazy"

    def run(self, session: Session[SelectionSubject]) -> Iterator[Verdict]:
        worst, rounds, reached = _Excess(), 0, np.zeros(4, np.int64)
        walks = list(_walks(session.subject.facts))
        for k, (radius, ones) in enumerate(walks):
            watched = _Watched.of(session, radius, ones=ones)
            if watched is None:
                return  # another rule replaces the lazy one: `law` tests its draws
            for t in range(ROUNDS):
                worst = worst.with_those_of(watched, ways=t % _EACH == 0)
                watched.rule.advance(t + 1)
            reached += watched.reached()
            rounds += ROUNDS
            session.tell((k + 1) / len(walks))
        figures = {
            "exact scores outside their intervals, nats": worst.interval,
            "weights beyond their tickets, nats": worst.tickets,
            "scores computed in other ways, nats apart": worst.scores,
        }
        names = ("light", "heavy", "head", "cohorts")
        details = dict(zip(names, reached.tolist(), strict=True))
        for tested, figure in figures.items():
            yield Verdict(
                *(self.name, session.subject.name, tested, figure, _ROOM),
                runs=rounds,
                details=details,
            )


def _walks(facts: SelectionFacts) -> Iterator[tuple[float, bool]]:
    """Settings of walks: the radius, in units of a margin, and whether entries are 0 or 1."""
    yield 0.5, False
    yield 6.0, False
    yield 0.5, True
    if facts.classes and facts.outputs == 1:
        yield 6.0, True


class _Watched(NamedTuple):
    """A walk of the lazy rule, and the rows it was made of."""

    rule: LazyDraw
    rows: Floats  # as a fit should hold them
    y: Floats
    facts: SelectionFacts
    radius: float

    @classmethod
    def of(
        cls, session: Session[SelectionSubject], margin: float, *, ones: bool
    ) -> "_Watched | None":
        subject, facts = session.subject, session.subject.facts
        X, y = _rows(subject.columns, ones, facts, session.rng)
        task = subject.prepare(X, y).task
        bound = task.matrix.x_bound
        radius = margin / bound if facts.classes else margin * facts.y_bound / bound
        steep = task.plan.request.loss.gradient_bound(radius, bound)
        theta = _NATS / (_ROWS * bound * steep)
        problem = problem_of(task, radius, theta)
        walk = walk_of(problem, ROUNDS)
        rule = selection.PRIVATE["lazy"](problem, walk, session.bits.generator, _THREADS)
        if not isinstance(rule, LazyDraw):
            return None
        rule.envelope.whole[tiers.LONG_COLUMN] = _LONG_COLUMN
        return cls(rule, reference.held(X, facts), y, facts, radius)

    def exact_scores(self) -> Floats:
        """Scores of all vertices at the released weights, by plain numpy."""
        weights, facts = self._weights(), self.facts
        margins = self.rows @ weights
        found: Floats = (self.rows.T @ reference.gradients(margins[None], self.y, facts)[0]).ravel()
        return found

    def _weights(self) -> Floats:
        walk, outputs = self.rule.walk, self.facts.outputs
        done = self.rule.done
        weights = np.zeros(self.rows.shape[1] * outputs)
        if done:
            t = np.arange(done)
            # What a step adds is shrunk by all later ones: (t + 1)(t + 2) / ((done + 1)(done + 2)).
            kept = 2.0 * (t + 2.0) / ((done + 1.0) * (done + 2.0))
            moves = -walk.signs[:done] * kept * self.radius
            np.add.at(weights, walk.vertices[:done], moves)
        return weights.reshape(-1, outputs)

    def reached(self) -> Ints:
        """Numbers of vertices per tier, and of columns whose scores were sums over cohorts."""
        rule = self.rule
        listed = np.array([len(rule.heavy.vertices), len(rule.head.vertices)])
        light = (len(rule.problem.indptr) - 1) * rule.problem.classes - listed.sum()
        return np.array([light, *listed, len(rule.alike.marks)])


class _Excess(NamedTuple):
    """The largest violations seen so far, in nats."""

    interval: float = -math.inf
    tickets: float = -math.inf
    scores: float = 0.0

    def with_those_of(self, watched: _Watched, *, ways: bool) -> "_Excess":
        """The largest violations, including those of the walk's current state."""
        rule, theta = watched.rule, watched.rule.problem.theta
        state = (rule.problem, rule.walk, rule.envelope, rule.heavy, rule.head)
        catch_up(*state)
        exact = watched.exact_scores()
        listed = np.concatenate((rule.heavy.vertices, rule.head.vertices))
        low, high = intervals(rule.walk, rule.heavy, rule.head)
        mine = exact[listed]
        outside = np.maximum(low - mine, mine - high).max(initial=-math.inf) * theta
        light = np.ones(len(exact), bool)
        light[listed] = False
        tickets, rate = _tickets(rule, listed, light), rule.envelope.real[tiers.LIGHT_RATE]
        entries = np.repeat(np.diff(rule.problem.indptr), rule.problem.classes)
        beyond = theta * np.abs(exact) - np.minimum(rate * entries, tiers.KAPPA)
        outside = max(outside, beyond[light].max(initial=-math.inf))
        short = np.logaddexp(theta * exact, -theta * exact) - tickets
        apart = self.scores
        if ways:
            apart = max(apart, theta * float(_apart(rule, exact)))
        return _Excess(
            max(self.interval, float(outside)), max(self.tickets, float(short.max())), apart
        )


def _tickets(rule: LazyDraw, listed: Ints, light: Any) -> Floats:
    """Logarithms of the weight that the tickets of every vertex stand for."""
    envelope, unit = rule.envelope, rule.envelope.real[tiers.LOG_UNIT]
    worth = np.empty(len(light))
    worth[light] = envelope.whole[tiers.LIGHT_SHIFT] * math.log(2.0) + unit
    units = np.repeat(
        [unit, rule.head.real[head_kernels.HEAD_UNIT]],
        [len(rule.heavy.vertices), len(rule.head.vertices)],
    )
    worth[listed] = np.log(np.concatenate((rule.heavy.tickets, rule.head.tickets))) + units
    return worth


def _apart(rule: LazyDraw, exact: Floats) -> float:
    """Largest error of scores, over the ways in which lazy selection computes them."""
    together = np.abs(rule._scores(np.arange(len(exact))) - exact).max()
    lengths = np.repeat(np.diff(rule.problem.indptr), rule.problem.classes)
    long = np.flatnonzero(lengths > _LONG_COLUMN)[-4:]
    alone = [abs(rule._score(int(vertex)) - exact[vertex]) for vertex in long]
    return max(float(together), *alone) if alone else float(together)


def _rows(
    columns: int, ones: bool, facts: SelectionFacts, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Columns from nearly empty to full, of which some are correlated with the labels."""
    columns = columns if facts.bounds is not None else max(columns, _COLUMNS)
    y = random_labels(_ROWS, facts, rng)
    density = np.geomspace(1.5 / _ROWS, 1.0, columns)
    towards = np.where(y > y.mean(), 0.8, 0.3)[:, None] ** np.where(np.arange(columns) % 3, 1, 0)
    X = (rng.random((_ROWS, columns)) < density * towards).astype(np.float64)
    if not ones:
        X *= rng.uniform(0.3, 1.2, X.shape) * rng.choice([-1.0, 1.0], columns)
    return X * column_bounds(columns, facts), y
