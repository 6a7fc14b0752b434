"""The tiers of lazy selection: which vertices are in each, and their first bounds."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import columns as column_kernels
from dplasso.kernels import envelope as tiers
from dplasso.kernels import head as head_kernels
from dplasso.kernels.bends import LABEL, MARKED, Bends
from dplasso.kernels.lazy import RING
from dplasso.kernels.problem import Problem
from dplasso.kernels.trials import WORD
from dplasso.mechanisms.selection import score_bounds

# There is a head if the weight of any column can vary by more nats than HEAD_NATS. It has all such
# columns, but at most HEAD_SIZE. With more rows than MANY_ROWS, where a score costs more than to
# follow a column, it also has those with more than LEAST_NATS.
HEAD_NATS, LEAST_NATS = 25.0, 4.0
MANY_ROWS = 1 << 18
HEAD_SIZE = 8192
# Number of head columns that can be followed individually once they have been released.
HEAD_ACTIVE = 256
# Heavy vertices are scored at w = 0 until the others could claim, by their norms alone, no more
# than this share of the light vertices' weight.
UNSCORED_SHARE = 0.1
# Blocks of heavy vertices keep the bounds of their norms if the resulting trials of all blocks cost
# at most IDLE_COST entries per round; a trial by itself costs as much as TRIAL_COST entries.
IDLE_COST, TRIAL_COST = 5.0, 100.0
# Columns with more entries than this are scored on all cores, which costs some 50 us.
LONG_COLUMN = 1 << 18
# Cost of an entry when all heavy columns are scored together, relative to a score of its own: row
# gradients are then computed once, and all cores share the work.
STOCK_COST = 0.3

# A column with a smaller 1-norm, in units of the bound, has entries too small to count in a score.
_NOTHING = 1e-29

Mask = NDArray[np.bool_]


class Listed(NamedTuple):
    """Vertices, with the bounds of `score_bounds` on their scores."""

    vertices: Ints
    limit: Floats
    drift: Floats
    pad: Floats

    def only(self, chosen: Mask | Ints) -> "Listed":
        return Listed(
            self.vertices[chosen], self.limit[chosen], self.drift[chosen], self.pad[chosen]
        )

    def for_every_class(self, classes: int) -> "Listed":
        """Replace each column by its vertices, one per class."""
        if classes == 1:
            return self
        vertices = (self.vertices[:, None] * classes + np.arange(classes)).ravel()
        return Listed(vertices, *(np.repeat(part, classes) for part in self[1:]))


def shares(problem: Problem, columns: Ints, threads: int) -> list[tuple[int, int]]:
    """Split a list of columns into runs of equal work, one per thread that is worth starting."""
    if threads == 1:
        return [(0, len(columns))]
    starts = np.concatenate(([0], np.cumsum(_entries(problem, columns), dtype=np.int64)))
    return pool.balanced_runs(starts, threads if starts[-1] > LONG_COLUMN else 1)


def _entries(problem: Problem, columns: Ints) -> Ints:
    entries: Ints = problem.indptr[columns + 1] - problem.indptr[columns]
    return entries


def heavy_columns(problem: Problem, rounds: int, threads: int) -> Listed:
    """Columns that are not light, by decreasing drift."""
    # With a smaller 1-norm, theta times the score stays within KAPPA, including rounding.
    room = tiers.KAPPA / problem.theta - score_bounds.most_rounding(problem)
    lightest = room / (problem.gradient_bound * (1.0 + 1e-6 + 1e-15 * rounds))
    if problem.norm1 is None:
        most = max(min(lightest, len(problem.labels)), 0.0)
        columns = _long_columns(problem, math.floor(most), threads)
        norm1 = _entries(problem, columns).astype(np.float64)
        norm2 = np.sqrt(norm1)
    else:
        found = np.empty(len(problem.norm1), np.int64)
        quiet = np.float32(min(max(lightest / problem.x_bound, _NOTHING), 3e38))
        columns = found[: column_kernels.loud_columns(problem.norm1, quiet, found)].copy()
        norm1 = problem.norm1[columns].astype(np.float64) * problem.x_bound
        norm2 = _norms2(problem, columns, threads)
    entries = _entries(problem, columns)
    drift = score_bounds.drift(problem, entries, norm2)
    listed = Listed(
        columns,
        score_bounds.limit(problem, entries, norm1, rounds),
        drift,
        score_bounds.padding(problem, entries, norm1, rounds),
    )
    return listed.only(np.argsort(-drift, kind="stable"))


def _long_columns(problem: Problem, shortest: int, threads: int) -> Ints:
    runs = pool.even_runs(len(problem.indptr) - 1, threads)
    lists = [np.empty(last - first, np.int64) for first, last in runs]
    calls = [(problem.indptr, shortest, *run, out) for run, out in zip(runs, lists, strict=True)]
    counts = pool.run(column_kernels.long_columns, calls)
    return np.concatenate([out[:n] for out, n in zip(lists, counts, strict=True)])


def _norms2(problem: Problem, columns: Ints, threads: int) -> Floats:
    norms = np.empty(len(columns))
    calls = [
        (problem.indptr, problem.values, columns[a:b], norms[a:b])
        for a, b in shares(problem, columns, threads)
    ]
    pool.run(column_kernels.norms2, calls)
    return norms


def dense_ones(problem: Problem, limit: Floats) -> Mask:
    """Which heavy columns go to the head: the densest few, if a column has one score."""
    nats = problem.theta * limit
    dense: Mask = nats > (LEAST_NATS if len(problem.labels) > MANY_ROWS else HEAD_NATS)
    if problem.classes > 1 or not np.any(nats > HEAD_NATS):
        return np.zeros_like(dense)
    if np.count_nonzero(dense) > HEAD_SIZE:  # of equal ones the first: there is room for no more
        dense[np.argsort(-limit, kind="stable")[HEAD_SIZE:]] = False
    return dense


def claims_of(problem: Problem, limit: Floats) -> Floats:
    """Weights that vertices could have by their norms alone, relative to that of all light ones."""
    size = np.minimum(problem.theta * limit, 600.0)
    light = 2.0 * (len(problem.indptr) - 1) * problem.classes
    claims: Floats = (np.exp(size) + np.exp(-size)) / light
    return claims


def worth_scoring(claims: Floats) -> Mask:
    """Mask of the heavy vertices that would claim much of the weight by their norms alone."""
    order = np.argsort(claims)
    worth = np.zeros(len(claims), np.bool_)
    worth[order[np.searchsorted(np.cumsum(claims[order]), UNSCORED_SHARE) :]] = True
    return worth


def _ahead(problem: Problem, heavy: Listed, claims: Floats) -> Floats:
    """How far ahead the tickets of a block are counted: forever if its norms suffice."""
    first = np.arange(0, len(claims), tiers.BLOCK)
    entries = _entries(problem, heavy.vertices // problem.classes)
    cost = np.add.reduceat(claims * (entries + TRIAL_COST), first)
    ahead: Floats = tiers.SLACK / (problem.theta * heavy.drift[first])
    ahead[cost * len(first) <= IDLE_COST] = math.inf
    return ahead


def make_heavy(
    problem: Problem, heavy: Listed, claims: Floats, known: Mask, scores: Floats
) -> tiers.Heavy:
    """The heavy tier; ``scores`` are the scores of the ``known`` vertices at w = 0."""
    ahead = _ahead(problem, heavy, claims)
    origin = np.zeros(len(claims))
    origin[known] = scores
    spread = heavy.limit * (problem.start_bound / problem.gradient_bound)
    spread[known] = 0.0
    return tiers.Heavy(
        vertices=heavy.vertices,
        limit=heavy.limit,
        drift=heavy.drift,
        pad=heavy.pad,
        score=origin.copy(),
        score_path=np.where(known, 0.0, -math.inf),
        origin=origin,
        origin_spread=spread,
        tickets=np.zeros(len(claims), np.int64),
        block_tickets=np.zeros(len(ahead), np.int64),
        block_horizon=np.zeros(len(ahead)),
        block_ahead=ahead,
    )


def make_head(problem: Problem, head: Listed, origin: Floats) -> head_kernels.Head:
    """The head; ``origin`` has its scores at w = 0."""
    size, references = len(origin), head_kernels.REFERENCES
    active = min(size, HEAD_ACTIVE)
    return head_kernels.Head(
        vertices=head.vertices,
        limit=head.limit,
        drift=head.drift,
        pad=head.pad,
        slack=_slack(problem, head),
        weights_pad=_weights_pad(problem, head),
        origin=origin,
        middle=origin.copy(),
        radius=np.zeros(size),
        measured=np.zeros(size),
        nearest=np.zeros(size, np.int64),
        tickets=np.zeros(size, np.int64),
        block_horizon=np.full(-(-size // head_kernels.HEAD_BLOCK), -1.0),
        row=np.full(size, -1),
        weights=np.zeros(active),
        inner=np.zeros((size, active)),
        inner_abs=np.zeros((size, active)),
        reference_score=np.tile(origin, (references, 1)),
        reference_rest=np.zeros((references, size)),
        reference_weights=np.zeros((references, size, active)),
        scratch=np.zeros(
            len(problem.labels) if size else 0, np.uint8 if problem.values is None else np.float64
        ),
        bends=_no_bends(problem, size, active),
        whole=np.zeros(2, np.int64),
        real=np.zeros(5),
    )


def _no_bends(problem: Problem, size: int, active: int) -> Bends:
    """Room for the bends of a head of that size; none where bends are of no use."""
    ones = problem.values is None and problem.weights.size == 0 and problem.two_labels
    useful = size > 0 and ones and math.isfinite(problem.curvature_turn)
    labels = problem.labels if useful else np.empty(0)
    return Bends(
        rows=labels.astype(np.uint64) << LABEL,
        sums=np.zeros((size, min(active, MARKED)) if useful else (0, 0)),
        weights=np.zeros((size, active) if useful else (0, 0)),
        rest=np.zeros(size if useful else 0),
        count=np.zeros(size if useful else 0, np.int64),
    )


def _slack(problem: Problem, head: Listed) -> Floats:
    """Rounding error of sums over active columns of weights times inner products.

    Inner products of whole numbers are exact. Others, of n entries, are off by n units in the last
    place, and so are those of absolute values; the sums have HEAD_ACTIVE terms.
    """
    entries = _entries(problem, head.vertices) if problem.values is not None else 0
    slack: Floats = problem.curvature_high * 2.0**-51 * (entries + np.full(len(head.vertices), 512))
    return slack


def _weights_pad(problem: Problem, head: Listed) -> Floats:
    """Error that rounding of weights, and of their differences, adds to the same sums.

    The two weight vectors have 1-norms of at most the radius. An inner product of absolute values
    is at most the bound on entries times the column's 1-norm, and ``limit`` exceeds that 1-norm
    times the bound on gradients. Two roundings of each make 4 units in the last place in total.
    """
    inner = problem.x_bound * head.limit / problem.gradient_bound
    pad: Floats = problem.curvature_high * 2.0**-50 * problem.radius * inner
    return pad


def make_envelope(problem: Problem, listed: Ints, heavy: Ints, words: Ints) -> tiers.Envelope:
    """The envelope of the light columns: all but those ``listed``, of which some are heavy.

    ``words`` are random words drawn ahead, if any are.
    """
    bits = np.zeros((len(problem.indptr) + 6) // 8 + 1, np.uint8)
    column_kernels.mark(bits, listed)
    whole, real = np.zeros(14, np.int64), np.zeros(5)
    entries = int(np.sum(_entries(problem, heavy), dtype=np.int64))
    whole[tiers.PENDING_TIER] = -1
    whole[tiers.LONG_COLUMN] = LONG_COLUMN
    whole[tiers.MOST_WORK] = STOCK_COST * (entries + len(problem.labels))
    real[tiers.LIGHT_RATE] = problem.theta * problem.gradient_bound * problem.x_bound
    return tiers.Envelope(bits, words, whole, real)


def words_ahead(generator: np.random.Generator) -> Ints:
    """Random words drawn ahead, so that the next proposals are known in advance."""
    return (generator.random(RING) * WORD).astype(np.int64)
