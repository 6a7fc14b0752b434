"""The result of a fit."""

from dataclasses import dataclass

import scipy.sparse as sp

from dplasso.base.arrays import Floats, Ints
from dplasso.fitting.row_reader import RowReader
from dplasso.solvers.calibration import Correction


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted linear model: a function of releases and public facts alone.

    Attributes
    ----------
    solver : str
        Name of the solver in `dplasso.fitting.registry`.
    weights : csr_array, outputs x columns
        Weights of rows that ``reader`` has mapped.
    intercepts : ndarray
        One intercept per output.
    released : ndarray of int
        Coordinates that were released one by one: column, sign, and the class if there are more
        than two. It has no rows if the solver releases no coordinates.
    steps : int
        Number of rounds or steps of the solver.
    reader : RowReader
        How new rows are mapped.
    correction : Correction or None
        Scale and shifts by which weights and intercepts were corrected, so that they give
        probabilities; None if the solver's own are unchanged, or in files of earlier versions.
    only_noise : bool
        Whether columns would have added nothing but noise, so that the model does without them. A
        model that was loaded from a file does not say.
    """

    solver: str
    weights: sp.csr_array
    intercepts: Floats
    released: Ints
    steps: int
    reader: RowReader
    correction: Correction | None = None
    only_noise: bool = False
