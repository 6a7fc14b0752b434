"""The model of a job of moments, and each party's part of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax

from dplasso.base.arrays import Floats, Ints
from dplasso.base.wording import ParameterError
from dplasso.federated.moments.rows import RowMap
from dplasso.federated.moments.terms import MomentTerms

_LEAST = 1e-4  # of every probability, all classes together


class Odds(NamedTuple):
    """Log-odds of the classes are slope * score + intercept, column by column.

    Of several classes they are against a number that all classes share.
    """

    slope: Floats
    intercept: Floats

    def classes(self, scores: Floats) -> Ints:
        """Return the place of the predicted class of each row."""
        if len(self.slope) == 1:
            return (scores[:, 0] > 0.0).astype(np.int64)
        found: Ints = np.argmax(scores * self.slope + self.intercept, axis=1)
        return found

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each class: never 0, since no model is that sure."""
        log_odds = scores * self.slope + self.intercept
        if len(self.slope) == 1:
            found: Floats = expit(np.column_stack([-log_odds[:, 0], log_odds[:, 0]]))
        else:
            found = softmax(log_odds, axis=1)
        careful: Floats = _LEAST / found.shape[1] + (1.0 - _LEAST) * found
        return careful


@dataclass(frozen=True)
class MomentModel:
    """Weights of all parties' features, a column for each column of labels.

    Parties compute `part_scores` of their own rows, which add up to the scores of people. Two
    classes are told apart by the sign of the score, several by their log-odds.

    Formal guarantees
    -----------------
    A function of the job's release: no further cost. Scores of new rows are not protected: whoever
    sees them learns something about those rows.
    """

    terms: MomentTerms
    coefficients: Floats  # features x columns of labels
    intercepts: Floats
    odds: Odds | None  # for classes
    centres: Mapping[str, Floats] = field(default_factory=dict)  # of parties, which have them

    def part(self, party: str) -> Floats:
        """Return the weights of one party's features."""
        counts = [block.n_features for block in self.terms.parties]
        place = self.terms.number_of(party)
        start = sum(counts[:place])
        return self.coefficients[start : start + counts[place]]

    def part_scores(self, party: str, X: Any, x_bound: Any = 1.0) -> Floats:
        """Return one party's part of the scores. The label holder's has the intercepts."""
        centre = self.centres.get(party)
        if self.terms.centring and centre is None:
            raise ParameterError(
                f"{{centres}} has none for {party}: rows are centred about means that the party has"
            )
        rows = RowMap(self.terms, party, x_bound, centre)
        scores: Floats = rows.whole(X) / rows.entry @ self.part(party)
        return scores + self.intercepts * (party == self.terms.label_holder)

    def scores(
        self, blocks: Mapping[str, Any], x_bounds: Mapping[str, Any] | None = None
    ) -> Floats:
        """Return the scores of rows whose blocks are all at hand."""
        if set(blocks) != set(self.terms.names):
            raise ParameterError("{blocks} must hold the features of every party, by name")
        bounds = x_bounds or {}
        parts = (self.part_scores(name, X, bounds.get(name, 1.0)) for name, X in blocks.items())
        total: Floats = sum(parts, np.zeros(1))
        return total

    def numbers(self, scores: Floats) -> Floats:
        """Return predicted numbers in the units of the labels."""
        return scores[:, 0] * self.terms.y_bound

    def classes(self, scores: Floats) -> Ints:
        """Return predicted classes."""
        return self._odds().classes(scores)

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each class, by the relation in `odds`."""
        return self._odds().probabilities(scores)

    def _odds(self) -> Odds:
        if self.odds is None:
            raise ParameterError("the model predicts numbers; declare {n_classes} for classes")
        return self.odds
