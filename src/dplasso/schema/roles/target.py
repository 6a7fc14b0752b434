"""The column to predict: classes, or numbers within bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dplasso.schema.roles.base import Role, checked_number, checked_range, checked_texts


@dataclass(frozen=True)
class Target(Role):
    """The column to predict. A schema has at most one.

    Parameters
    ----------
    classes : list of str, default=None
        All possible labels, to the letter, as a public fact.
    low, high : float, default=None
        Instead of classes: public bounds of labels that are numbers, to which they are clipped.
    class_weight : dict of str to float, default={}
        Weights of classes, above 0 and at most 1; a class that it does not name has the weight 1.

    Examples
    --------
    >>> Target(["no", "yes"], class_weight={"no": 0.5}).classes
    ('no', 'yes')
    """

    kind: ClassVar[str] = "target"
    classes: Sequence[str] | None = None
    low: float | None = None
    high: float | None = None
    class_weight: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        low, high = checked_range(self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.classes is not None:
            classes = checked_texts("classes", self.classes)
            object.__setattr__(self, "classes", classes)
            if len(classes) < 2:
                raise ValueError("classes must be two or more different texts; declare them all")
            if low is not None or high is not None:
                raise ValueError("classes have no low and high; leave those out")
        object.__setattr__(self, "class_weight", self._checked_weights(self.class_weight))

    def _checked_weights(self, weights: Any) -> dict[str, float]:
        if not isinstance(weights, Mapping):
            raise ValueError("class_weight must give classes their weights: {no = 0.5, yes = 1.0}")
        names = checked_texts("class_weight", weights)
        found = dict(zip(names, weights.values(), strict=True))
        if found and not set(found) <= set(self.classes or ()):
            raise ValueError("class_weight must name classes; correct it, or declare the class")
        found = {name: checked_number("class_weight", weight) for name, weight in found.items()}
        if not all(0.0 < weight <= 1.0 for weight in found.values()):
            raise ValueError("class_weight must be above 0 and at most 1; divide by the largest")
        return found

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The bounds of labels that are numbers, if both are stated."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def blanks(self) -> tuple[str, ...]:
        return () if self.classes or self.bounds else ("classes (or low and high)",)

    @property
    def words(self) -> str:
        return "the label"
