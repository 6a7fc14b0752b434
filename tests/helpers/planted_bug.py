"""What is known of a planted bug."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dplasso import audit


class Bug(NamedTuple):
    """How to plant it (a function of pytest's monkeypatch), the checks of the audit that are
    expected to find it, and in which fits: by which solver, with which options."""

    plant: Callable[[Any], None]
    found_by: tuple[str, ...]
    solver: str = "frank_wolfe"
    options: Mapping[str, Any] = {}

    def estimator(self) -> Any:
        """What to audit."""
        return audit.example_estimators(self.solver, **self.options)[0]
