"""Matrices of mixed density, and many repetitions of one round of lazy selection."""

import numpy as np
import scipy.sparse as sp

from dplasso.kernels import lazy as kernels
from dplasso.kernels.trials import WORD
from dplasso.losses import SquaredLoss
from reference import outcome, seeded


def mixed_matrix(rng, rows, columns, signed=False):
    """Columns from nearly empty to full, one of them empty, two of them equal."""
    density = np.geomspace(1.5 / rows, 1.0, columns)
    X = (rng.random((rows, columns)) < density) * rng.uniform(0.1, 1.0, (rows, columns))
    if signed:
        X *= rng.choice([-1.0, 1.0], (rows, columns))
    X[:, 2] = 0.0
    X[:, columns - 2] = X[:, columns - 3]
    return sp.csc_array(X)


def labels_for(loss, rng, rows):
    if isinstance(loss, SquaredLoss):
        return rng.normal(size=rows)
    return rng.integers(0, max(loss.outputs, 2), rows)


def _parts(rule):
    """Every array of a rule's state, part by part."""
    head = [part for part in rule.head if part is not rule.head.bends]
    return rule.walk, rule.envelope, rule.heavy, head, rule.head.bends


def frozen(rule):
    """Every array of a rule's state, copied."""
    return [[np.copy(array) for array in part] for part in _parts(rule)]


def thaw(rule, saved, rng, done):
    """Back to a saved state, with words that the saved run never saw."""
    for part, arrays in zip(_parts(rule), saved, strict=True):
        for array, old in zip(part, arrays, strict=True):
            array[...] = old
    rule.generator, rule.done = rng, done
    rule.spell_end = 0  # not in a spell of the standard rule, whose law is tested elsewhere
    rule.envelope.ring[:] = (rng.random(kernels.RING) * WORD).astype(np.int64)


def draws_from(rule, count, seed):
    """Counts of signed vertices over many repetitions of a rule's next round."""
    saved, done = frozen(rule), rule.done
    counts = np.zeros(2 * (len(rule.problem.indptr) - 1) * rule.problem.classes)
    rng = seeded(seed)
    for _ in range(count):
        thaw(rule, saved, rng, done)
        rule.advance(done + 1)
        counts[outcome(rule.walk.vertices[done], rule.walk.signs[done])] += 1
    thaw(rule, saved, rng, done)
    return counts
