"""Labels that a loss has encoded already, so that no solver encodes them a second time."""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from dplasso.base.arrays import Floats
from dplasso.losses.base import Loss


@dataclass(frozen=True)
class EncodedLabels:
    """The numbers that ``loss.encode`` returned, one per row, and the weights of the rows.

    Weights are between 0 and 1 (`dplasso.data.row_weights`); None where every row counts fully.
    """

    values: Floats
    weights: Floats | None = None


def encoded(loss: Loss, y: "ArrayLike | EncodedLabels", rows: int, of: str = "X") -> Floats:
    """Labels as numbers; those that are encoded already are returned as they are.

    There must be one for each of the ``rows`` ``of`` a matrix, whose name is for the error.

    >>> from dplasso.losses import LogisticLoss
    >>> loss = LogisticLoss(("no", "yes"))
    >>> encoded(loss, EncodedLabels(encoded(loss, ["yes", "no"], 2)), 2)
    array([1., 0.])
    """
    found = y.values if isinstance(y, EncodedLabels) else loss.encode(y)
    weights = row_weights(y)
    if len(found) != rows or (weights is not None and len(weights) != rows):
        # The number of rows may itself be private: the message does not reveal it.
        raise ValueError(f"{of} and y differ in their number of rows; give one label per row")
    return found


def row_weights(y: "ArrayLike | EncodedLabels") -> Floats | None:
    """Weights of the rows that labels belong to; None where every row counts fully."""
    return y.weights if isinstance(y, EncodedLabels) else None
