"""Synthetic notes as a sparse matrix of words."""

import math

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Ints

INFORMATIVE = np.arange(5, 30)


def make_notes(
    n_rows: int = 20_000, n_words: int = 1_000_000, *, random_state: int = 0
) -> tuple[sp.csr_array, Ints]:
    """Notes of about 40 words each, drawn by Zipf's law, and labels 0 and 1.

    The words 5 to 29 are informative: even ones raise the odds of label 1, odd ones lower them.
    An entry is 1 where the note has the word.
    """
    if n_words <= INFORMATIVE[-1]:
        raise ValueError(f"n_words must be at least {INFORMATIVE[-1] + 1}, the informative words.")
    rng = np.random.default_rng(random_state)
    lengths = rng.poisson(40, n_rows) + 1
    # The k-th commonest word has probability about 1 / (k ln n_words).
    words = np.floor(np.exp(rng.random(lengths.sum()) * math.log(n_words))).astype(np.int64) - 1
    starts = np.concatenate(([0], np.cumsum(lengths)))
    # Small indices, which scikit-learn takes wherever it takes sparse rows.
    index = np.int32 if max(n_words, len(words)) <= np.iinfo(np.int32).max else np.int64
    places = (words.astype(index), starts.astype(index))
    notes = sp.csr_array((np.ones(len(words)), *places), shape=(n_rows, n_words))
    notes.sum_duplicates()
    notes.data[:] = 1.0
    effect = np.where(INFORMATIVE % 2 == 0, 2.0, -2.0)
    margin = notes[:, INFORMATIVE] @ effect
    return notes, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-margin))).astype(np.int64)
