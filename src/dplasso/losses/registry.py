"""Losses of classifiers, by the names that users pass as ``loss``."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dplasso.losses.base import Loss, Probabilities, TwoClassLoss
from dplasso.losses.logistic import LogisticLoss
from dplasso.losses.smoothed_hinge import SmoothedHingeLoss
from dplasso.losses.softmax import SoftmaxLoss


class ClassLoss(NamedTuple):
    """The loss for two classes, and the loss for more classes if there is one.

    ``former_names`` are names of earlier versions, which saved streams may hold.
    """

    two_classes: type[TwoClassLoss]
    more_classes: type[SoftmaxLoss] | None = None
    former_names: tuple[str, ...] = ()

    @property
    def has_probabilities(self) -> bool:
        """Whether margins give class probabilities."""
        return issubclass(self.two_classes, Probabilities)


CLASS_LOSSES = {
    "logistic": ClassLoss(LogisticLoss, SoftmaxLoss),
    "hinge": ClassLoss(SmoothedHingeLoss, former_names=("smoothed_hinge",)),
}


def class_loss(name: Any) -> ClassLoss:
    """The loss of a name; a ValueError lists the known names.

    >>> class_loss("logistic").two_classes.__name__
    'LogisticLoss'
    """
    for known, found in CLASS_LOSSES.items():
        if isinstance(name, str) and name in (known, *found.former_names):
            return found
    names = ", ".join(repr(known) for known in CLASS_LOSSES)
    raise ValueError(f"loss must be one of {names}, got {name!r}")


def loss_of_classes(name: Any, classes: Sequence[Any]) -> Loss:
    """The loss of a name for these classes.

    >>> loss_of_classes("logistic", ["a", "b", "c"]).outputs
    3
    """
    found = class_loss(name)
    if len(classes) == 2:
        return found.two_classes(classes)
    if found.more_classes is None:
        raise ValueError(
            f"loss={name!r} takes two classes, got {len(classes)}; choose loss='logistic', or fit "
            "one model per class with sklearn.multiclass.OneVsRestClassifier"
        )
    return found.more_classes(classes)
