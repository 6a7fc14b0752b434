"""A fit that is prepared up to its next draw."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

from dplasso.base.arrays import Floats
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.plan import Plan
from dplasso.losses.encoded import EncodedLabels
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits


@dataclass(frozen=True, eq=False)
class Drawing:
    """How a fit is carried out. No guarantee depends on the threads or the progress bar.

    ``noise_of`` makes a noise mechanism for a standard deviation. The guarantees are those of
    `GridGaussian`; an audit passes a mechanism that also records its draws.
    """

    bits: RandomBits
    n_threads: int | None = None
    shows_progress: bool = False
    noise_of: NoiseOf = GridGaussian


@dataclass(frozen=True, kw_only=True, eq=False)
class Task(ABC):
    """A fit whose public facts are fixed and whose rows are checked, before anything is drawn.

    A task can be run any number of times; each run is one fit.
    """

    plan: Plan
    labels: Floats  # as the loss encodes them
    drawing: Drawing

    @abstractmethod
    def bounded(self) -> "BoundedTask":
        """Return the same fit with a known bound on entries, which is released if necessary."""

    def with_drawing(self, **changes: Any) -> Self:
        """Return the same task with changes to its `Drawing`."""
        return replace(self, drawing=replace(self.drawing, **changes))

    @property
    def encoded_labels(self) -> EncodedLabels:
        """Labels in the form that solvers use."""
        return EncodedLabels(self.labels)


class BoundedTask(Task):
    """A fit whose bound on entries is known."""

    def bounded(self) -> "BoundedTask":
        return self

    @abstractmethod
    def run(self) -> Fitted:
        """Draw all noise, and return the fitted model."""
