"""How far a preconditioned descent on a table goes, declared by the loss."""

from typing import NamedTuple


class TablePace(NamedTuple):
    """Clips and limits of the table solver, in units of a label or of a margin.

    ``keeps_short`` says whether rows shorter than the common length stay short. For classes every
    row is brought to that length: direction matters more than size, and a short row would waste
    the noise that it is charged. For numbers the size of a row is its information.
    """

    cut: float  # absolute value, or 2-norm, at which residuals are clipped
    margin_noise: float  # largest noise standard deviation in a margin
    curvature: float  # largest curvature of the loss that the preconditioner counts with
    longest: float = 60.0  # largest total length of all steps
    keeps_short: bool = False
    of_numbers: bool = False  # whether labels are numbers, whose mean and spread are released
    calibrated: bool = False  # whether margins give probabilities, which are corrected at the end
    reweighted: bool = False  # whether columns whose weights show nothing are damped on the way
