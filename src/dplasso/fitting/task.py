"""A fit that stands before its next draw."""

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
    """How a fit is carried out: no guarantee depends on the threads or the progress bar.

    ``noise_of`` makes a noise mechanism for a standard deviation. The guarantees are those of
    `GridGaussian`; an audit passes one that also takes notes.
    """

    bits: RandomBits
    n_threads: int | None = None
    shows_progress: bool = False
    noise_of: NoiseOf = GridGaussian


@dataclass(frozen=True, kw_only=True, eq=False)
class Task(ABC):
    """All that is public has been fixed, rows and labels have been checked, nothing was drawn.

    A task can be run any number of times; each run is one fit.
    """

    plan: Plan
    labels: Floats  # as the loss encodes them
    drawing: Drawing

    @abstractmethod
    def bounded(self) -> "BoundedTask":
        """The same fit with a known bound on entries, which is released first if need be."""

    def with_drawing(self, **changes: Any) -> Self:
        """The same task, carried out in another way."""
        return replace(self, drawing=replace(self.drawing, **changes))

    @property
    def encoded_labels(self) -> EncodedLabels:
        """Labels as solvers take them."""
        return EncodedLabels(self.labels)


class BoundedTask(Task):
    """A fit whose bound on entries is known."""

    def bounded(self) -> "BoundedTask":
        return self

    @abstractmethod
    def run(self) -> Fitted:
        """Draw, and return what the releases come to."""
