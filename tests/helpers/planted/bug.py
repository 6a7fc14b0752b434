"""A planted bug, and bugs of any size."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dplasso import audit

CLASSIFIER, REGRESSOR, THREE_CLASSES = 0, 1, 2  # the examples of `audit.example_estimators`
Plant = Callable[[Any], None]  # takes pytest's monkeypatch


class Bug(NamedTuple):
    """How to plant a bug, the checks of the audit that must find it, and the estimator it is in."""

    plant: Plant
    found_by: tuple[str, ...]
    solver: str = "frank_wolfe"
    options: Mapping[str, Any] = {}
    example: int = CLASSIFIER

    def estimator(self) -> Any:
        """The estimator to audit."""
        return audit.example_estimators(self.solver)[self.example].set_params(**self.options)


def of_any_size(plant: Callable[[Any, float], None]) -> Callable[[float], Plant]:
    """Make a function of the size that returns the bug to plant."""

    @functools.wraps(plant)
    def sized(size: float) -> Plant:
        return functools.partial(plant, size=size)

    return sized
