"""Do the bounds from which lazy selection draws hold in every round?"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.audit.reference import Table, entries_of, row_shares
from dplasso.audit.selection import reference
from dplasso.audit.selection.engine import problem_of, walk_of
from dplasso.audit.selection.reference import SelectionFacts
from dplasso.audit.selection.subject import SelectionSubject
from dplasso.audit.synthetic import gathered, random_labels
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


class EnvelopeCheck(Check[SelectionSubject]):
    """Walks with the lazy rule and compares its bounds with exact scores, after every round.

    Data have light, heavy and head columns; columns of a few entries count as long, so that their
    scores are sums over cohorts of rows, or computed by several threads. Steps have two sizes: with
    short ones margins stay near 0, where logistic gradients are steepest and bounds on their change
    tightest. Every interval must contain the exact score, computed by plain numpy from the raw
    rows; tickets must cover the weight of the exact score; scores must be the same in every way in
    which the engine computes them. The check chooses theta and radius, so that all bounds are used.
    It is deterministic except for the choice of walks. It finds bounds on the change of scores that
    are too small, envelopes that are too low, and scores of cohorts that differ from those of rows.
    A walk by a rule that has no such bounds is an alarm: nothing could be compared.
    """

    name = "envelope"
    of = SelectionSubject
    share = 0.2

    def is_for(self, subject: Subject) -> bool:
        return isinstance(subject, SelectionSubject) and subject.selection == "lazy"

    def run(self, session: Session[SelectionSubject]) -> Iterator[Verdict]:
        found, reached, unwatched = list[dict[str, float]](), np.zeros(4, np.int64), 0
        walks = list(_walks(session.subject.facts))
        for k, (radius, ones) in enumerate(walks):
            watched = _Watched.of(session, radius, ones=ones)
            if watched is None:
                unwatched += 1
                continue
            for t in range(ROUNDS):
                found.append(watched.excess(in_all_ways=t % _EACH == 0))
                watched.rule.advance(t + 1)
            reached += watched.reached()
            session.tell((k + 1) / len(walks))
        tiers_reached = zip(("light", "heavy", "head", "cohorts"), reached.tolist(), strict=True)
        yield from self.worst(session, found, len(found), _ROOM, **dict(tiers_reached))
        others = {"walks that another rule made": (float(unwatched), 0.0)}
        yield from self.limited(session, others, len(walks))


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
    shares: Floats  # as how much of a row every row counts
    facts: SelectionFacts  # with the walk's own radius

    @classmethod
    def of(
        cls, session: Session[SelectionSubject], margin: float, *, ones: bool
    ) -> "_Watched | None":
        """A walk before its first round; None if another rule takes the place of the lazy one."""
        subject, facts = session.subject, session.subject.facts
        table = _rows(subject.columns, ones, facts, session.rng)
        task = subject.prepare(*table)
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
        held, shares = reference.held(table.X, facts), row_shares(table, facts)
        return cls(rule, held, table.y, shares, replace(facts, radius=radius))

    def exact_scores(self) -> Floats:
        """Scores of all vertices at the released weights, by plain numpy."""
        walk, done, facts = self.rule.walk, self.rule.done, self.facts
        drawn = 2 * walk.vertices[:done].astype(np.int64) + (walk.signs[:done] < 0)
        margins = self.rows @ reference.weights_of(drawn, self.rows.shape[1], facts)
        gradients = reference.gradients(margins[None], self.y, facts)[0]
        return (self.rows.T @ (self.shares[:, None] * gradients)).ravel()

    def reached(self) -> Ints:
        """Numbers of vertices per tier, and of columns whose scores were sums over cohorts."""
        rule = self.rule
        listed = np.array([len(rule.heavy.vertices), len(rule.head.vertices)])
        light = (len(rule.problem.indptr) - 1) * rule.problem.classes - listed.sum()
        return np.array([light, *listed, len(rule.alike.marks)])

    def excess(self, *, in_all_ways: bool) -> dict[str, float]:
        """The largest violations in the walk's current state, in nats."""
        rule, theta = self.rule, self.rule.problem.theta
        catch_up(rule.problem, rule.walk, rule.envelope, rule.heavy, rule.head)
        exact = self.exact_scores()
        listed = np.concatenate((rule.heavy.vertices, rule.head.vertices))
        low, high = intervals(rule.walk, rule.heavy, rule.head)
        outside = np.maximum(low - exact[listed], exact[listed] - high) * theta
        light = np.ones(len(exact), bool)
        light[listed] = False
        entries = np.repeat(np.diff(rule.problem.indptr), rule.problem.classes)
        rate = rule.envelope.real[tiers.LIGHT_RATE]
        beyond = theta * np.abs(exact) - np.minimum(rate * entries, tiers.KAPPA)
        short = np.logaddexp(theta * exact, -theta * exact) - _tickets(rule, listed, light)
        found = {
            "exact scores outside their intervals, nats": float(
                np.concatenate([outside, beyond[light]]).max()
            ),
            "weights beyond their tickets, nats": float(short.max()),
        }
        if in_all_ways:
            apart = theta * _apart(rule, exact)
            found["differences of scores computed in other ways, nats"] = apart
        return found


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
    together = np.abs(rule._scores(np.arange(len(exact))) - exact)
    lengths = np.repeat(np.diff(rule.problem.indptr), rule.problem.classes)
    long = np.flatnonzero(lengths > _LONG_COLUMN)[-4:]
    alone = [abs(rule._score(int(vertex)) - exact[vertex]) for vertex in long]
    return float(np.max([*together, *alone]))


def _rows(columns: int, ones: bool, facts: SelectionFacts, rng: np.random.Generator) -> Table:
    """Columns from nearly empty to full, of which some are correlated with the labels."""
    columns = columns if facts.bounds is not None else max(columns, _COLUMNS)
    y = random_labels(_ROWS, facts, rng)
    density = np.geomspace(1.5 / _ROWS, 1.0, columns)
    towards = np.where(y > y.mean(), 0.8, 0.3)[:, None] ** np.where(np.arange(columns) % 3, 1, 0)
    X = (rng.random((_ROWS, columns)) < density * towards).astype(np.float64)
    if not ones:
        X *= rng.uniform(0.3, 1.2, X.shape) * rng.choice([-1.0, 1.0], columns)
    return gathered(Table(entries_of(X, facts), y), facts, rng)
