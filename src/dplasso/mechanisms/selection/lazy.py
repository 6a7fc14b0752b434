"""Exact private selection at the cost of the columns it proposes."""

import math

import numpy as np
from numpy.typing import NDArray

from dplasso import threads as pool
from dplasso.kernels import columns as column_kernels
from dplasso.kernels import envelope as tiers
from dplasso.kernels import head as head_kernels
from dplasso.kernels import lazy as kernels
from dplasso.kernels.gradients import row_gradients
from dplasso.kernels.problem import PATH, SCALE, Problem, Walk
from dplasso.kernels.scores import grain_size, partial_score, scores_from
from dplasso.kernels.trials import WORD
from dplasso.mechanisms.selection.base import Rule
from dplasso.mechanisms.selection.noisy_max import NoisyMax

# Columns whose weight can vary by more nats than this get the bounds of the head, so many at most.
HEAD_NATS = 25.0
HEAD_SIZE = 2048
# Of these, so many can be followed one by one once they have been released.
HEAD_ACTIVE = 256
# Heavy vertices are scored at w = 0 until those left over could claim no more than this part of
# the light ones' weight by their norms alone.
UNSCORED_SHARE = 0.1
# More entries than this are handed to all cores, which costs some 50 us.
LONG_COLUMN = 1 << 18
# What an entry costs when all heavy columns are scored together, over what it costs in a score of
# its own: row gradients are then computed once, and all cores share the work.
STOCK_COST = 0.3
LONGEST_SPELL = 256  # rounds by the standard rule before bounds are tried again

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class LazyDraw(Rule):
    """Draws (j, s) with probability proportional to exp(theta * s * alpha_j), and no faster way
    to the same law is known.

    Formal guarantees
    -----------------
    *Neighbouring relation*: two data sets that differ in one row (added or removed; or replaced,
    at twice the range). *Released*: one signed vertex a round; nothing else that is computed here
    leaves it. *Cost*: a round is ``2 theta B Q``-bounded-range (``4 theta B Q`` for replaced rows),
    B the bound on entries and Q that on row gradients, hence ``eps0^2 / 8``-zCDP, and T adaptive
    rounds add up. *Why*: a row changes every score by at most ``B Q``, so the log-weights move
    inside a range of ``2 theta B Q``. The trials of ``kernels.lazy`` release (j, s) with exactly
    this law: every trial is decided by the envelope it was proposed from, envelopes dominate the
    weights, tickets are whole numbers and so add exactly. *Assumptions*: weights are computed
    with relative error below 1e-7 of a round's range (`calibrate` shrinks theta by that much);
    the time a round takes is not protected.
    """

    def __init__(
        self, problem: Problem, walk: Walk, generator: np.random.Generator, threads: int
    ) -> None:
        super().__init__(problem, walk, generator, threads)
        self.gradients: Floats | None = None
        self.plain: NoisyMax | None = None
        self.spell = 1
        self.spell_end = 0  # round at which rounds by the standard rule end
        columns, norm1, norm2 = self._heavy_columns()
        bits = np.zeros((len(problem.indptr) + 6) // 8 + 1, np.uint8)
        column_kernels.mark(bits, columns)
        limit = problem.gradient_bound * norm1 * (1.0 + 1e-9)
        drift = problem.lipschitz * norm2 * (1.0 + 1e-9)
        order = np.argsort(-drift, kind="stable")
        columns, limit, drift = columns[order], limit[order], drift[order]
        dense = self._dense(limit)
        self.head = self._make_head(columns[dense], limit[dense], drift[dense])
        sparse = ~dense
        self.heavy = self._make_heavy(columns[sparse], limit[sparse], drift[sparse])
        self.envelope = self._make_envelope(bits, columns[sparse])
        tiers.choose_unit(problem, walk, self.envelope, self.heavy)
        tiers.aim_words(self.envelope)
        if len(self.head.vertices):
            head_kernels.measure(problem, walk, self.head)

    def advance(self, until: int) -> None:
        while True:
            if self.plain is not None and self.done < self.spell_end:
                self._go_on_plainly(until)
                self._take_stock()
                if self.done < self.spell_end:
                    return  # what stock was found here is found anew where the spell ends
            self.done, wanted = kernels.advance(
                self.problem,
                self.walk,
                self.envelope,
                self.heavy,
                self.head,
                self.generator,
                self.done,
                until,
            )
            if wanted == kernels.FINISHED:
                return
            if wanted == kernels.TAKE_STOCK and not len(self.head.vertices):
                self._walk_plainly()
            elif wanted == kernels.TAKE_STOCK:
                self._take_stock()
            else:
                self.envelope.real[tiers.PENDING_SCORE] = self._score(int(wanted))

    def _walk_plainly(self) -> None:
        """Some rounds by the standard rule, which has the same law, where bounds tell nothing.

        Twice as many as the last time if bounds were of no use for long since, else one.
        (The head's bounds follow single steps, so where there is one this rule goes on by itself.)
        """
        if self.plain is None:
            self.plain = NoisyMax(self.problem, self.walk, self.generator, self.threads)
        useful = self.done - self.plain.done > 2 * self.spell
        self.spell = 1 if useful else min(2 * self.spell, LONGEST_SPELL)
        self.plain.done = self.done
        self.spell_end = self.done + self.spell

    def _go_on_plainly(self, until: int) -> None:
        """Rounds by the standard rule; a spell that ``until`` cuts goes on at the next call."""
        assert self.plain is not None
        self.plain.generator = self.generator
        self.plain.advance(min(self.spell_end, until))
        self.done = self.plain.done

    def _take_stock(self) -> None:
        """Score every heavy vertex anew, and count all tickets by that."""
        heavy, walk = self.heavy, self.walk
        heavy.score[:] = self._scores(heavy.vertices)
        heavy.score_path[:] = walk.scalars[PATH]
        tiers.choose_unit(self.problem, walk, self.envelope, heavy)
        tiers.aim_words(self.envelope)
        self.envelope.whole[tiers.WORK] = 0

    def _heavy_columns(self) -> tuple[Ints, Floats, Floats]:
        """Columns that are not light, with their norms."""
        problem, indptr = self.problem, self.problem.indptr
        lightest = tiers.KAPPA / (problem.theta * problem.gradient_bound)
        if problem.norm1 is not None:
            found = np.empty(len(problem.norm1), np.int64)
            quiet = np.float32(min(lightest / problem.x_bound * (1.0 - 1e-6), 3e38))
            columns = found[: column_kernels.loud_columns(problem.norm1, quiet, found)].copy()
            norm1 = problem.norm1[columns].astype(np.float64) * problem.x_bound
            norm2 = np.empty(len(columns))
            pool.run(
                column_kernels.norms2,
                [
                    (indptr, problem.values, columns[a:b], norm2[a:b])
                    for a, b in self._shares(columns)
                ],
            )
            return columns, norm1, norm2
        runs = pool.even_runs(len(indptr) - 1, self.threads)
        lists = [np.empty(last - first, np.int64) for first, last in runs]
        shortest = math.floor(min(lightest, len(problem.labels)))
        counts = pool.run(
            column_kernels.long_columns,
            [(indptr, shortest, *run, out) for run, out in zip(runs, lists, strict=True)],
        )
        columns = np.concatenate([out[:n] for out, n in zip(lists, counts, strict=True)])
        norm1 = (indptr[columns + 1] - indptr[columns]).astype(np.float64)
        return columns, norm1, np.sqrt(norm1)

    def _shares(self, columns: Ints) -> list[tuple[int, int]]:
        """Split a list of columns into runs of equal work, one a thread where it is worth one."""
        work = self.problem.indptr[columns + 1] - self.problem.indptr[columns]
        starts = np.concatenate(([0], np.cumsum(work, dtype=np.int64)))
        return pool.balanced_runs(starts, self.threads if starts[-1] > LONG_COLUMN else 1)

    def _dense(self, limit: Floats) -> NDArray[np.bool_]:
        """Which heavy columns go to the head: the densest few, where one score a column exists."""
        dense = self.problem.theta * limit > HEAD_NATS
        if self.problem.classes > 1:
            return np.zeros_like(dense)
        if np.count_nonzero(dense) > HEAD_SIZE:
            dense &= limit >= np.partition(limit, -HEAD_SIZE)[-HEAD_SIZE]
        return dense

    def _scores(self, vertices: Ints) -> Floats:
        """Scores at the present margins, from the gradients of all rows, on all cores."""
        problem, walk, out = self.problem, self.walk, np.empty(len(vertices))
        if not len(vertices):
            return out
        rows = len(problem.labels)
        if self.gradients is None:
            self.gradients = np.empty(rows * problem.classes)
        threads = self.threads if rows * problem.classes > LONG_COLUMN else 1
        pool.run(
            row_gradients,
            [(problem, walk, self.gradients, a, b) for a, b in pool.even_runs(rows, threads)],
        )
        pool.run(
            scores_from,
            [
                (problem, self.gradients, vertices[a:b], out[a:b])
                for a, b in self._shares(vertices // problem.classes)
            ],
        )
        return out

    def _score(self, vertex: int) -> float:
        """Score of one long column, on all cores."""
        problem, walk = self.problem, self.walk
        column = vertex // problem.classes
        length = int(problem.indptr[column + 1]) - int(problem.indptr[column])
        parts = pool.run(
            partial_score,
            [
                (problem, walk.margins, walk.scalars[SCALE], vertex, a, b)
                for a, b in pool.even_runs(length, self.threads)
            ],
        )
        return float(sum(parts) * grain_size(problem))

    def _make_envelope(self, heavy_bits: NDArray[np.uint8], columns: Ints) -> tiers.Envelope:
        problem = self.problem
        entries = int(np.sum(problem.indptr[columns + 1] - problem.indptr[columns], dtype=np.int64))
        ring = (self.generator.random(kernels.RING) * WORD).astype(np.int64)
        whole, real = np.zeros(14, np.int64), np.zeros(4)
        whole[tiers.PENDING_TIER] = -1
        whole[tiers.LONG_COLUMN] = LONG_COLUMN
        whole[tiers.MOST_WORK] = STOCK_COST * (entries + len(problem.labels))
        real[tiers.LIGHT_RATE] = problem.theta * problem.gradient_bound * problem.x_bound
        return tiers.Envelope(heavy_bits, ring, whole, real)

    def _make_heavy(self, columns: Ints, limit: Floats, drift: Floats) -> tiers.Heavy:
        classes = self.problem.classes
        if classes > 1:
            columns = (columns[:, None] * classes + np.arange(classes)).ravel()
            limit, drift = np.repeat(limit, classes), np.repeat(drift, classes)
        size = len(columns)
        blocks = -(-size // tiers.BLOCK)
        score, origin = np.zeros(size), np.zeros(size)
        spread = limit * (self.problem.start_bound / self.problem.gradient_bound)
        known = self._worth_scoring(limit)
        spread[known] = 0.0
        score[known] = origin[known] = self._scores(columns[known])
        return tiers.Heavy(
            vertices=columns,
            limit=limit,
            drift=drift,
            score=score,
            score_path=np.where(known, 0.0, -math.inf),
            origin=origin,
            origin_spread=spread,
            tickets=np.zeros(size, np.int64),
            block_tickets=np.zeros(blocks, np.int64),
            block_horizon=np.zeros(blocks),
        )

    def _worth_scoring(self, spread: Floats) -> NDArray[np.bool_]:
        """Heavy vertices that would claim much of the weight if only their norms were known."""
        size = self.problem.theta * spread
        order = np.argsort(size)
        slots = (len(self.problem.indptr) - 1) * self.problem.classes
        claimed = np.logaddexp.accumulate(np.logaddexp(size[order], -size[order]))
        few = np.searchsorted(claimed, math.log(UNSCORED_SHARE * 2.0 * slots))
        worth = np.zeros(len(spread), np.bool_)
        worth[order[few:]] = True
        return worth

    def _make_head(self, columns: Ints, limit: Floats, drift: Floats) -> head_kernels.Head:
        size, references = len(columns), head_kernels.REFERENCES
        active = min(size, HEAD_ACTIVE)
        rows = len(self.problem.labels) if size else 0
        origin = self._scores(columns)
        return head_kernels.Head(
            vertices=columns,
            limit=limit,
            drift=drift,
            origin=origin,
            middle=origin.copy(),
            radius=np.zeros(size),
            measured=np.zeros(size),
            nearest=np.zeros(size, np.int64),
            tickets=np.zeros(size, np.int64),
            row=np.full(size, -1),
            weights=np.zeros(active),
            inner=np.zeros((size, active)),
            inner_abs=np.zeros((size, active)),
            reference_score=np.tile(origin, (references, 1)),
            reference_rest=np.zeros((references, size)),
            reference_weights=np.zeros((references, size, active)),
            scratch=np.zeros(rows),
            whole=np.zeros(2, np.int64),
            real=np.zeros(4),
        )
