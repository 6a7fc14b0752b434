"""Exact private selection that scores only the columns it proposes."""

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import envelope as tiers
from dplasso.kernels import head as head_kernels
from dplasso.kernels import lazy as kernels
from dplasso.kernels.bends import score_and_bends, score_and_bends_of_rows
from dplasso.kernels.gradients import row_gradients
from dplasso.kernels.problem import PATH, SCALE
from dplasso.kernels.scores import grain_size, partial_score, scores_from
from dplasso.mechanisms.random_bits import keys_before
from dplasso.mechanisms.selection import lazy_tiers
from dplasso.mechanisms.selection.base import Rule
from dplasso.mechanisms.selection.cohorts import AlikeRows
from dplasso.mechanisms.selection.lazy_tiers import LONG_COLUMN, shares
from dplasso.mechanisms.selection.noisy_max import NoisyMax

LONGEST_SPELL = 256  # most rounds by the standard rule before bounds are tried again


class LazyDraw(Rule):
    """Draws (j, s) with probability proportional to exp(theta * s * alpha_j), computing few alpha.

    The scores that it computes equal those of `NoisyMax` to the last bit, and the law is the same;
    with the same seed the two release different vertices.

    Formal guarantees
    -----------------
    Those of `Rule`. *Why*: a row changes every score by at most ``B Q``, so the log-weights move
    inside a range of ``2 theta B Q``. The trials of ``kernels.lazy`` release (j, s) with exactly
    this law: every trial is decided by the envelope it was proposed from, envelopes dominate the
    weights (`score_bounds` derives how much bounds are padded for rounding), tickets are whole
    numbers and so add exactly, and coins have their exact probability, so no outcome has
    probability 0.
    """

    def _prepare(self) -> None:
        self.gradients: Floats | None = None
        self.plain: NoisyMax | None = None
        self.spell = 1
        self.spell_end = 0  # last round of the current spell of the standard rule
        self.alike = AlikeRows(self.problem, self.walk)
        self._key = keys_before(self.generator)
        self._sort_into_tiers()

    def _sort_into_tiers(self) -> None:
        problem, walk = self.problem, self.walk
        columns = lazy_tiers.heavy_columns(problem, len(walk.vertices), self.threads)
        dense = lazy_tiers.dense_ones(problem, columns.limit)
        head, sparse = columns.only(dense), columns.only(~dense)
        heavy = sparse.for_every_class(problem.classes)
        claims = lazy_tiers.claims_of(problem, heavy.limit)
        known = lazy_tiers.worth_scoring(claims)
        size = len(head.vertices)
        origin = self._scores(np.concatenate((head.vertices, heavy.vertices[known])))
        self.head = lazy_tiers.make_head(problem, head, origin[:size])
        self.heavy = lazy_tiers.make_heavy(problem, heavy, claims, known, origin[size:])
        self.envelope = lazy_tiers.make_envelope(
            problem,
            columns.vertices,
            sparse.vertices,
            lazy_tiers.words_ahead(self.generator),
        )
        tiers.choose_unit(problem, walk, self.envelope, self.heavy)
        tiers.aim_words(self.envelope)
        if size:
            head_kernels.measure(problem, walk, self.head)

    def advance(self, until: int) -> None:
        while True:
            if self.plain is not None and self.done < self.spell_end:
                self._go_on_plainly(until)
                self._take_stock()
                if self.done < self.spell_end:
                    return  # stock is taken again when the spell ends
            self._forget_words_of_another_key()
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
                self.envelope.real[tiers.PENDING_SCORE] = self._pending_score(int(wanted))

    def _forget_words_of_another_key(self) -> None:
        """In a forked child, replace the words drawn ahead, because the parent has the same ones.

        A trial that waits for its score is dropped. The trials that follow are independent of it,
        so the first of them that is not void has the law of the round.
        """
        if self._key != (key := keys_before(self.generator)):
            self._key = key
            self.envelope.ring[:] = lazy_tiers.words_ahead(self.generator)
            self.envelope.whole[tiers.PENDING_TIER] = -1

    def _walk_plainly(self) -> None:
        """Plan some rounds by the standard rule, which has the same law, where bounds do not help.

        The spell is one round if bounds were useful for long since the last spell, otherwise twice
        as long as that. (The bounds of a head must follow every step, so with a head there is no
        such spell.)
        """
        if self.plain is None:
            self.plain = NoisyMax(self.problem, self.walk, self.generator, self.threads)
        useful = self.done - self.plain.done > 2 * self.spell
        self.spell = 1 if useful else min(2 * self.spell, LONGEST_SPELL)
        self.plain.done = self.done
        self.spell_end = self.done + self.spell

    def _go_on_plainly(self, until: int) -> None:
        """Run rounds by the standard rule; a spell cut by ``until`` continues at the next call."""
        assert self.plain is not None
        self.plain.generator = self.generator
        self.plain.advance(min(self.spell_end, until))
        self.done = self.plain.done

    def _take_stock(self) -> None:
        """Score every heavy vertex again, and recount all tickets with these scores."""
        heavy, walk = self.heavy, self.walk
        heavy.score[:] = self._scores(heavy.vertices)
        heavy.score_path[:] = walk.scalars[PATH]
        tiers.choose_unit(self.problem, walk, self.envelope, heavy)
        tiers.aim_words(self.envelope)
        self.envelope.whole[tiers.WORK] = 0

    def _scores(self, vertices: Ints) -> Floats:
        """Scores at the current margins, from the gradients of all rows, on all cores."""
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
                for a, b in shares(problem, vertices // problem.classes, self.threads)
            ],
        )
        return out

    def _pending_score(self, vertex: int) -> float:
        """Score of one long column that a trial waits for, with its bends if these are due."""
        whole, slot = self.envelope.whole, int(self.envelope.whole[tiers.PENDING_SLOT])
        place = self.problem, self.walk, self.head, slot
        if whole[tiers.PENDING_TIER] == kernels.HEAD and head_kernels.bends_are_due(*place):
            return self._score_with_bends(slot)
        return self._score(vertex)

    def _score(self, vertex: int) -> float:
        """Score of one long column, from cohorts if possible, otherwise on all cores."""
        problem, walk = self.problem, self.walk
        found = self.alike.score(vertex, self.done)
        if found is not None:
            return found
        parts = pool.run(
            partial_score,
            [
                (problem, walk.margins, walk.scalars[SCALE], vertex, a, b)
                for a, b in self._runs(vertex // problem.classes)
            ],
        )
        return float(sum(parts) * grain_size(problem))

    def _score_with_bends(self, slot: int) -> float:
        """Score of one long column of the head; its new bends are stored."""
        problem, walk, head = self.problem, self.walk, self.head
        column, count = int(head.vertices[slot]), head_kernels.bends_kept(head)
        place = problem, walk.margins, walk.scalars[SCALE], head.bends.rows
        rows = self.alike.rows_of(column, self.done)
        if rows is not None:
            grains, bends = score_and_bends_of_rows(*place, *rows, count)
        else:
            parts = pool.run(
                score_and_bends, [(*place, column, a, b, count) for a, b in self._runs(column)]
            )
            grains = sum(part[0] for part in parts)
            bends = np.sum([part[1] for part in parts], axis=0)
        head_kernels.store_bends(walk, head, slot, bends)
        return float(grains * grain_size(problem))

    def _runs(self, column: int) -> list[tuple[int, int]]:
        """Split the entries of a column among the threads that are worth starting."""
        length = int(self.problem.indptr[column + 1]) - int(self.problem.indptr[column])
        return pool.even_runs(length, self.threads if length > LONG_COLUMN else 1)
