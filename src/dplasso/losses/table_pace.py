"""How far a preconditioned descent on a table goes, declared by the loss."""

from typing import NamedTuple


class TablePace(NamedTuple):
    """Clips and limits of the table solver, in units of a label or of a margin.

    ``lengthened`` is the largest factor by which a row is brought to the common length. For classes
    direction matters more than size, and a short row would waste the noise that it is charged. But
    margins see the row's own length: if gradients saw rows far longer, steps would go astray along
    columns that are rarely on. For numbers the size of a row is its information.
    """

    cut: float  # absolute value, or 2-norm, at which residuals are clipped
    margin_noise: float  # largest noise standard deviation in a margin
    curvature: float  # largest curvature of the loss that the preconditioner counts with
    longest: float = 60.0  # largest total length of all steps
    step: float = 0.5  # length of a step, if that is their total length
    lengthened: float = 2.0
    of_numbers: bool = False  # whether labels are numbers, whose mean and spread are released
    reweighted: bool = False  # whether columns whose weights show nothing are damped on the way
