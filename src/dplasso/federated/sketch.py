"""Sketches: rows are hashed to places and multiplied by rows of a Hadamard matrix.

The matrix J has ``size`` rows. The column of a person consists of signs over sqrt(size), so that
its length is exactly 1. Sketches keep inner products up to an error of ||a|| ||b|| / sqrt(size).
With as many rows as places they are exact, except for people who share a place. J is never stored.
"""

import math

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.alignment import Places
from dplasso.federated.sampling import distinct, public_bits
from dplasso.federated.terms import Terms
from dplasso.kernels import hadamard

_ROWS_OF_J = 1  # the purpose of these public bits; rounds have purpose 0


class Sketcher:
    """Sketches of columns over the rows of one party, and the transposed map."""

    def __init__(self, terms: Terms, rows: Places) -> None:
        self._rows = rows
        self._universe = terms.universe
        bits = public_bits(terms.seed, _ROWS_OF_J, 0)
        self._chosen = distinct(bits, terms.universe, terms.sketch_size)

    def of(self, values: Ints) -> Ints:
        """Return sqrt(size) J times the values, one per row: exact integers."""
        spread = np.zeros(self._universe, np.int64)
        hadamard.scatter(self._rows.places, self._rows.signs, values, spread)
        hadamard.transform(spread)
        return spread[self._chosen]

    def back(self, vector: Floats) -> Floats:
        """Return J' times a vector: one number per row."""
        spread = np.zeros(self._universe)
        spread[self._chosen] = vector
        hadamard.transform(spread)
        scale = 1.0 / math.sqrt(len(self._chosen))
        return spread[self._rows.places] * self._rows.signs * scale
