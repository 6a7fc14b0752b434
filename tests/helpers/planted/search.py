"""Bugs in the scores of a private search."""

import numpy as np

from dplasso.search import private_search, scoring
from planted.bug import of_any_size


def weights_of_classes_as_given(monkeypatch):
    """A score counts a row by the weight of its class; the largest weight need not be 1.

    Noise is for rows that count 1 at most: a weight of 5 has a fifth of the noise it needs.
    """
    right = scoring.scorer_for

    def scorer_for(model, scoring, weights, multiplier, rows):
        made = right(model, scoring, weights, multiplier, rows)
        whole = np.floor(made.weights * made.most).astype(np.int64)
        return made._replace(weights=whole, most=1.0)

    monkeypatch.setattr(private_search, "scorer_for", scorer_for)


@of_any_size
def noise_of_scores_times(monkeypatch, size):
    """A score has less noise than is charged."""
    right = scoring.scorer_for
    monkeypatch.setattr(
        private_search,
        "scorer_for",
        lambda model, name, weights, multiplier, rows: right(
            model, name, weights, size * multiplier, rows
        ),
    )
