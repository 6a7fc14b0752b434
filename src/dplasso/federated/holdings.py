"""What a party holds, and the mechanisms that let go of some of it."""

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.alignment import places_of
from dplasso.federated.columns import Columns, checked_rows, labels_of
from dplasso.federated.plan import WEIGHT, centre_of, plan_of
from dplasso.federated.quantisation import Quantiser
from dplasso.federated.sketch import Sketcher
from dplasso.federated.terms import Terms
from dplasso.mechanisms.exponential import draw_by_score
from dplasso.mechanisms.grid_gaussian import AddsNoise, GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits


class Noisy(NamedTuple):
    """A column's sum, and its sketch about the centre that the sum suggests."""

    total: int
    numbers: Ints


class Holdings:
    """The rows of one party in one job. Every method draws anew, and none may be asked twice: that
    is for `Party` to see to.

    Formal guarantees
    -----------------
    - Neighbouring: a row is there, or is not.
    - Released: what `labels`, `drawn` and `shared` return. Costs: see
      `dplasso.federated.plan.FederatedPlan`, the only place where they are added up.
    - Everything before the noise is whole numbers, exact: a row moves them by what is charged.
    """

    def __init__(
        self,
        terms: Terms,
        name: str,
        X: Any,
        identifiers: Sequence[object],
        secret: bytes,
        y: ArrayLike | None,
        bits: RandomBits,
        noise_of: NoiseOf | None = None,
    ) -> None:
        self._noise_of = noise_of or GridGaussian
        self._terms, self._plan, self._quantiser = terms, plan_of(terms), Quantiser(terms)
        own = terms.parties[terms.number_of(name)]
        self._columns = Columns(X, own.x_bound, own.row_budget)
        if self._columns.n_features != own.n_features:
            raise ValueError(
                f"X has {self._columns.n_features} features, the terms say {own.n_features}"
            )
        if (y is not None) != (name == terms.label_holder):
            raise ValueError(f"y belongs to the label holder, {terms.label_holder}, alone")
        rows = self._columns.n_rows
        self._labels = None if y is None else labels_of(y, terms.y_bound, rows)
        places = places_of(checked_rows(identifiers, rows), secret, terms.universe)
        self._places = places
        self._sketcher = Sketcher(terms, places)
        self._sum_noise = self._noise_of(self._plan.sum_noise)
        self._sketch_noise = self._noise_of(self._plan.sketch_noise)
        self._generator = bits.generator

    @cached_property
    def digest(self) -> bytes:
        """Of all that releases are computed from: entries, labels, and the places of rows."""
        labels = np.empty(0, np.int64) if self._labels is None else self._labels
        digest = hashlib.sha256()
        for part in (*self._columns.content, labels, *self._places):
            numbers = np.ascontiguousarray(part, "<i8")
            digest.update(len(numbers).to_bytes(8, "little") + numbers.tobytes())
        return digest.digest()

    def labels(self) -> Noisy:
        """Of the labels; only the label holder has them."""
        assert self._labels is not None
        total = self._noisy_sum(self._labels, self._noise_of(self._plan.label_sum_noise))
        centre = centre_of(total, self._terms.n_rows)
        sigma = self._plan.label_sketch_noise(centre)
        noise = self._noise_of(sigma)
        return Noisy(total, self._noisy_sketch(self._labels - centre, noise, sigma))

    def shared(self, feature: int) -> Noisy:
        """Of a feature; the rows' budgets are charged."""
        column = self._columns.column(feature)
        total = self._noisy_sum(self._columns.for_sum(column), self._sum_noise)
        centre = centre_of(total, self._terms.n_rows)
        covered, sigma = self._columns.for_sketch(column, centre), self._plan.sketch_noise
        return Noisy(total, self._noisy_sketch(covered, self._sketch_noise, sigma))

    def charge_again(self, feature: int, total: int) -> None:
        """Charge the rows' budgets for a release of an earlier life as they were then."""
        column = self._columns.column(feature)
        self._columns.for_sum(column)
        self._columns.for_sketch(column, centre_of(total, self._terms.n_rows))

    def drawn(self, residual: Floats, clip: float, candidates: Ints) -> tuple[int, int]:
        """A signed candidate, by how fast the sketched residual falls along it."""
        scores = self.scores(residual, clip, candidates)
        signed = np.concatenate([scores, -scores])
        if self._plan.choice_epsilon == math.inf:
            place = int(np.argmax(signed))
        else:
            place = draw_by_score(signed, self._plan.theta, self._generator)
        sign = 1 if place < len(candidates) else -1
        return sign, int(candidates[place % len(candidates)])

    def scores(self, residual: Floats, clip: float, candidates: Ints) -> Ints:
        """How fast the residual falls along each candidate, in whole numbers; no release."""
        return self._columns.scores(self.row_weights(residual, clip), candidates)

    def row_weights(self, residual: Floats, clip: float) -> Ints:
        """Of each row, at most `WEIGHT`: of its place and of public numbers alone."""
        slopes = self._sketcher.back(residual) / (clip or 1.0)
        return np.rint(np.clip(slopes, -1.0, 1.0) * -WEIGHT).astype(np.int64)

    def _noisy_sum(self, values: Ints, noise: AddsNoise) -> int:
        total = np.array([values.sum()], np.int64)
        noise.add_to(total, self._generator)
        return int(total[0])

    def _noisy_sketch(self, values: Ints, noise: AddsNoise, sigma: float) -> Ints:
        sketch = self._sketcher.of(values)
        noise.add_to(sketch, self._generator)
        return self._quantiser.packed(sketch, sigma)
