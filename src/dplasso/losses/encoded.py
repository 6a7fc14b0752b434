"""Labels that a loss has encoded already, so that no solver encodes them a second time."""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from dplasso.base.arrays import Floats
from dplasso.losses.base import Loss


@dataclass(frozen=True)
class EncodedLabels:
    """The numbers that ``loss.encode`` returned, one per row."""

    values: Floats


def encoded(loss: Loss, y: "ArrayLike | EncodedLabels") -> Floats:
    """Labels as numbers; those that are encoded already are returned as they are.

    >>> from dplasso.losses import LogisticLoss
    >>> loss = LogisticLoss(("no", "yes"))
    >>> encoded(loss, EncodedLabels(encoded(loss, ["yes", "no"])))
    array([1., 0.])
    """
    return y.values if isinstance(y, EncodedLabels) else loss.encode(y)
