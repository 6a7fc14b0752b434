"""Noise for pure differential privacy of a vector of bounded 2-norm, on a public grid."""

from decimal import Decimal, localcontext

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Ints
from dplasso.mechanisms.exact_noise import uniform_below
from dplasso.mechanisms.gaussian_cells import LEAST_SIGMA
from dplasso.mechanisms.grid_gaussian import GridGaussian

_DIGITS = 60
_BITS = 200  # bits of a uniform number, which match the decimal digits


class GridGamma:
    """Adds floor(X) to whole numbers, X of density proportional to exp(-|X| / scale).

    The 2-norm |X| has the Gamma law of shape ``dimension`` and this scale; its direction is
    uniform. The mean of floor(X) is -1/2. ``scale=0`` adds nothing, and promises nothing.

    Formal guarantees
    -----------------
    - Neighbouring: any relation under which the whole vector moves by at most Delta in the 2-norm,
      Delta a public number of grid units.
    - Cost: (Delta / scale)-DP (`dplasso.privacy.events.PureDP`): by the triangle inequality the
      density moves by no more than that factor, and v + floor(X) = floor(v + X) for whole v is a
      function of v + X.
    - How it is drawn: X = S G, G a standard normal vector and S / scale the length of another, of
      one dimension more. Mixing normal densities so gives exp(-|x| / scale), since the integral of
      v^(-1/2) exp(-(r^2 / v + v) / 2) over v is sqrt(2 pi) exp(-r). Given S, floor(X) is a
      `GridGaussian` of standard deviation S, which is drawn exactly.
    - Assumptions: those of `GridGaussian`. S is drawn to 60 decimal digits, so a draw is within a
      total variation distance of 10^-50 of its law. No test detects that with an effort at which
      ChaCha20 cannot be told from random bits.

    >>> from dplasso.mechanisms.random_bits import random_bits
    >>> values = np.zeros(3, np.int64)
    >>> GridGamma(3, 2.0**20).add_to(values, random_bits(0).generator)
    >>> bool(np.all(np.abs(values) < 100 * 2**20)), len(set(values.tolist()))
    (True, 3)
    """

    def __init__(self, dimension: int, scale: float) -> None:
        self.dimension = checks.count("dimension", dimension, least=1)
        self.scale = checks.budget("scale", scale)

    def add_to(
        self, values: Ints, generator: np.random.Generator, threads: int | None = None
    ) -> None:
        """Add one draw, a vector, to ``values`` in place."""
        if values.shape != (self.dimension,):
            raise ValueError(f"values must have {self.dimension} entries, got {values.shape}")
        if self.scale == 0.0:
            return
        with localcontext(prec=_DIGITS):
            sigma = Decimal(self.scale) * _chi(self.dimension + 1, generator)
            # If sigma is too small for this grid, draw on a finer one: flooring twice is the same
            # as flooring once.
            finer = 0
            while sigma < Decimal(LEAST_SIGMA):
                sigma, finer = 2 * sigma, finer + 1
        if not finer:
            GridGaussian(sigma).add_to(values, generator, threads)
            return
        fine = np.zeros_like(values)
        GridGaussian(sigma).add_to(fine, generator, threads)
        values += fine >> finer


def _chi(degrees: int, generator: np.random.Generator) -> Decimal:
    """Length of a standard normal vector with ``degrees`` >= 2 entries.

    Its square is twice a Gamma number of shape degrees / 2, drawn by the rejection method of
    Marsaglia and Tsang (2000).
    """
    shape = Decimal(degrees) / 2 - 1 / Decimal(3)
    spread = 1 / (9 * shape).sqrt()
    while True:
        x = _normal(generator)
        root = 1 + spread * x
        if root <= 0:
            continue
        cube = root**3
        # 1 minus a uniform number, because that number may be 0.
        drawn = 1 - _uniform(generator)
        if drawn.ln() < x * x / 2 + shape * (1 - cube + cube.ln()):
            return (2 * shape * cube).sqrt()


def _normal(generator: np.random.Generator) -> Decimal:
    """A standard normal number, by Marsaglia's polar method."""
    while True:
        x, y = 2 * _uniform(generator) - 1, 2 * _uniform(generator) - 1
        square = x * x + y * y
        if 0 < square < 1:
            return x * (-2 * square.ln() / square).sqrt()


def _uniform(generator: np.random.Generator) -> Decimal:
    return Decimal(uniform_below(1 << _BITS, generator)) / (1 << _BITS)
