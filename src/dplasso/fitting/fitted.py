"""What a fit comes to."""

from dataclasses import dataclass

import scipy.sparse as sp

from dplasso.base.arrays import Floats, Ints
from dplasso.fitting.row_reader import RowReader


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted linear model: a function of releases and public facts alone.

    Attributes
    ----------
    solver : str
        The name of the solver, as `dplasso.fitting.fitters` knows it.
    weights : csr_array, outputs x columns
        For rows as ``reader`` maps them.
    intercepts : one per output.
    released : the coordinates that were released one by one: column, sign, and the class where
        there are more than two; no rows where none were.
    steps : int
        Rounds or steps of the solver.
    reader : RowReader
        How new rows are mapped.
    """

    solver: str
    weights: sp.csr_array
    intercepts: Floats
    released: Ints
    steps: int
    reader: RowReader
