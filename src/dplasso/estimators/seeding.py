"""Seeds: used only if a person sets one by name, and reported wherever a seeded model is sent."""

import math
import sys
from typing import Any, Self

import numpy as np

from dplasso.base.wording import Message
from dplasso.mechanisms.random_bits import RandomBits, is_secure
from dplasso.privacy import leaks

Seed = int | np.random.Generator | np.random.RandomState | RandomBits | None
SEEDED = Message(
    "{random_state} makes the fit repeatable, and its noise with it: whoever knows the seed can "
    "undo the protection; leave it out for anything you release"
)
# Parts of scikit-learn that set parameters which a person has named: grids and estimator checks.
_BY_NAME = ("sklearn.model_selection", "sklearn.utils")


class SeedsByName:
    """How private estimators treat ``random_state`` apart from fitting.

    Ensembles of scikit-learn set a seed of 31 bits on every member. This is not a person's choice:
    an estimator without a seed ignores it, and its noise stays secure. An estimator that has a seed
    accepts theirs.

    Fits in worker processes warn there, where the warning is easily missed. Therefore a seeded
    estimator also warns when it is sent to another process or returns from one, once per process.
    """

    epsilon: float
    random_state: Seed

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as in scikit-learn.

        A ``random_state`` that scikit-learn itself sets, as ensembles do on their members, is
        ignored unless this estimator already has one.

        Parameters
        ----------
        **params : object
            New values by name.

        Returns
        -------
        self
        """
        if self.random_state is None and "random_state" in params and not _named_by_a_person():
            params = {name: value for name, value in params.items() if name != "random_state"}
        found: Self = super().set_params(**params)  # type: ignore[misc]
        return found

    def __getstate__(self) -> dict[str, Any]:
        self._tell_of_seed()
        found: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return found

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        self._tell_of_seed()

    def _tell_of_seed(self) -> None:
        facts = vars(self)
        stated = facts.get("privacy_", getattr(facts.get("stream_"), "stated", None))
        secure = is_secure(self.random_state) if stated is None else stated.get("secure_rng", True)
        if not secure and isinstance(self.epsilon, float | int) and not math.isinf(self.epsilon):
            leaks.warn_once(SEEDED)


def _named_by_a_person() -> bool:
    """Whether the call of set_params, however deeply nested, comes from outside scikit-learn."""
    frame = sys._getframe(2)
    while frame.f_code.co_name in ("set_params", "_set_params") and frame.f_back is not None:
        frame = frame.f_back
    module = str(frame.f_globals.get("__name__", ""))
    return module.split(".")[0] != "sklearn" or module.startswith(_BY_NAME)
