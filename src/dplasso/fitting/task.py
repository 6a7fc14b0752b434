"""A fit that is prepared up to its next draw."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from dplasso.base.arrays import Floats
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.plan import Plan
from dplasso.losses.encoded import EncodedLabels
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy.accountant import Receipt


@dataclass(frozen=True, eq=False)
class Drawing:
    """How a fit is carried out. No result depends on the threads, the progress bar or the device.

    ``noise_of`` makes a noise mechanism for a standard deviation. The guarantees are those of
    `GridGaussian`; an audit passes a mechanism that also records its draws.
    """

    bits: RandomBits
    n_threads: int | None = None
    shows_progress: bool = False
    noise_of: NoiseOf = GridGaussian
    device: str = "cpu"


@dataclass(frozen=True, kw_only=True, eq=False)
class Task(ABC):
    """A fit whose public facts are fixed and whose rows are checked, before anything is drawn.

    A task can be run any number of times; each run is one fit.
    """

    plan: Plan
    labels: Floats  # as the loss encodes them
    drawing: Drawing
    weights: Floats | None = None  # of the rows; None where every row counts fully

    @abstractmethod
    def bounded(self) -> "BoundedTask":
        """Return the same fit with a known bound on entries, which is released if necessary."""

    def with_drawing(self, **changes: Any) -> Self:
        """Return the same task with changes to its `Drawing`."""
        return replace(self, drawing=replace(self.drawing, **changes))

    def charged(self, charge: Callable[[str], Receipt | None]) -> Receipt | None:
        """Charge the fit, once; ``charge`` takes what is added to the label of the charge."""
        return charge("")

    @property
    def encoded_labels(self) -> EncodedLabels:
        """Labels in the form that solvers use."""
        return EncodedLabels(self.labels, self.weights)


class BoundedTask(Task):
    """A fit whose bound on entries is known."""

    def bounded(self) -> "BoundedTask":
        return self

    def arrange(self) -> None:
        """Let processes that hold the rows arrange them as the solver needs; nothing is drawn."""
        return

    @abstractmethod
    def run(self) -> Fitted:
        """Draw all noise, and return the fitted model."""
