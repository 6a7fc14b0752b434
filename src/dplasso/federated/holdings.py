"""The rows that a party holds, and the mechanisms that release something of them."""

import hashlib
import hmac
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base.arrays import Floats, Ints
from dplasso.base.wording import ParameterError
from dplasso.federated.alignment import places_of
from dplasso.federated.columns import Columns, labels_of
from dplasso.federated.overlap_count import noisy_sign_sums
from dplasso.federated.plan import WEIGHT, centre_of, plan_of
from dplasso.federated.quantisation import Quantiser
from dplasso.federated.sketch import Sketcher
from dplasso.federated.terms import Terms
from dplasso.mechanisms.exponential import draw_by_score
from dplasso.mechanisms.grid_gaussian import AddsNoise, GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits


class Noisy(NamedTuple):
    """The noisy sum of a column, and its noisy sketch about the centre that follows from it."""

    total: int
    numbers: Ints


class Holdings:
    """The rows of one party in one job.

    Every call draws new noise. `Party` ensures that none is made twice.

    Formal guarantees
    -----------------
    - Neighbouring: a row is present or absent.
    - Released: the results of `counted`, `labels`, `drawn` and `shared`. Their costs are added up
      in `dplasso.federated.plan.FederatedPlan` only.
    - All numbers before the noise are exact integers: a row changes them by at most the amount
      that is charged.
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
        own = terms.of(name)
        self._columns = Columns(X, own.x_bound, own.row_budget)
        if self._columns.n_features != own.n_features:
            raise ParameterError(
                f"{{X}} has {self._columns.n_features} features, but the terms say {own.n_features}"
            )
        if (y is not None) != (name == terms.label_holder):
            raise ParameterError(
                f"{{y}} must be given at the label holder, {terms.label_holder}, and nowhere else"
            )
        rows = self._columns.n_rows
        self._labels = None if y is None else labels_of(y, terms.y_bound, rows)
        if len(identifiers) != rows:
            raise ParameterError("{identifiers} must be one for each row of X")
        self._identifiers, self._secret, self._bits = identifiers, secret, bits
        self._places = places_of(identifiers, secret, terms.universe)
        self._sketcher = Sketcher(terms, self._places)
        self._sum_noise = self._noise_of(self._plan.sum_noise)
        self._sketch_noise = self._noise_of(self._plan.sketch_noise)
        self._generator = bits.generator

    @cached_property
    def digest(self) -> bytes:
        """Digest of all inputs of the releases: entries, labels, and the places of rows.

        It is keyed by the secret. So nobody who finds it can test a guess of the rows.
        """
        labels = np.empty(0, np.int64) if self._labels is None else self._labels
        digest = hmac.new(self._secret, b"dplasso rows\0", hashlib.sha256)
        for part in (*self._columns.content, labels, *self._places):
            numbers = np.ascontiguousarray(part, "<i8")
            digest.update(len(numbers).to_bytes(8, "little") + numbers.tobytes())
        return digest.digest()

    def counted(self) -> Ints:
        """Release this party's part of the count of common rows."""
        rows = self._identifiers, self._secret
        return noisy_sign_sums(*rows, self._plan, self._bits, self._noise_of)

    def labels(self) -> Noisy:
        """Release the labels, at the label holder only."""
        assert self._labels is not None
        total = self._noisy_sum(self._labels, self._noise_of(self._plan.label_sum_noise))
        centre = centre_of(total, self._terms.n_rows)
        sigma = self._plan.label_sketch_noise(centre)
        noise = self._noise_of(sigma)
        return Noisy(total, self._noisy_sketch(self._labels - centre, noise, sigma))

    def shared(self, feature: int) -> Noisy:
        """Release a feature, and charge the rows' budgets."""
        column = self._columns.column(feature)
        total = self._noisy_sum(self._columns.for_sum(column), self._sum_noise)
        centre = centre_of(total, self._terms.n_rows)
        covered, sigma = self._columns.for_sketch(column, centre), self._plan.sketch_noise
        return Noisy(total, self._noisy_sketch(covered, self._sketch_noise, sigma))

    def charge_again(self, feature: int, total: int) -> None:
        """Charge the rows' budgets for a release from before a restart, as they were then."""
        column = self._columns.column(feature)
        self._columns.for_sum(column)
        self._columns.for_sketch(column, centre_of(total, self._terms.n_rows))

    def drawn(self, residual: Floats, clip: float, candidates: Ints) -> tuple[int, int]:
        """Draw a signed candidate by how fast the sketched residual falls along it."""
        scores = self.scores(residual, clip, candidates)
        signed = np.concatenate([scores, -scores])
        if self._plan.choice_epsilon == math.inf:
            place = int(np.argmax(signed))
        else:
            place = draw_by_score(signed, self._plan.theta, self._generator)
        sign = 1 if place < len(candidates) else -1
        return sign, int(candidates[place % len(candidates)])

    def scores(self, residual: Floats, clip: float, candidates: Ints) -> Ints:
        """Return how fast the residual falls along each candidate, as integers. No release."""
        return self._columns.scores(self.row_weights(residual, clip), candidates)

    def row_weights(self, residual: Floats, clip: float) -> Ints:
        """Return a weight per row, at most `WEIGHT`, from its place and public numbers only."""
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
