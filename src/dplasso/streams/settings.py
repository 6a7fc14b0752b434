"""The public numbers of a running sum, checked."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

from dplasso.base import checks
from dplasso.base.wording import ParameterError, Setting
from dplasso.privacy.calibration import Neighboring

NoiseLaw = Literal["gaussian", "gamma"]
Construction = Literal[
    "auto", "buffered", "blocks", "band", "regenerated_band", "tree", "window_tree"
]
Calibration = Literal["tight", "paper"]
TooLong = Literal["clip", "refuse"]

TREES = ("tree", "window_tree")
_CHOICES = {
    "noise": NoiseLaw,
    "construction": Construction,
    "calibration": Calibration,
    "neighboring": Neighboring,
    "too_long": TooLong,
}


class Span(NamedTuple):
    """Steps for which a row is protected: a sliding window, or a whole stream of that length."""

    steps: int
    slides: bool

    @property
    def levels(self) -> int:
        """Number of node sizes of a tree over it, and so of nodes that contain a step."""
        if self.slides:
            return (self.steps - 1).bit_length() + 1
        return self.steps.bit_length()


@dataclass(frozen=True)
class Settings:
    """The parameters of `running_sum`; see there."""

    dimension: int
    sensitivity: float
    window: int | None = None
    steps: int | None = None
    batch: int = 1
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    noise: NoiseLaw = "gaussian"
    construction: Construction = "auto"
    calibration: Calibration = "tight"
    neighboring: Neighboring = "add_remove"
    too_long: TooLong = "clip"
    memory: int = 1 << 30
    first_steps: int = 1  # of the first epoch of an endless stream

    def __post_init__(self) -> None:
        for name in ("dimension", "batch", "memory", "first_steps"):
            checks.count(name, getattr(self, name), least=1)
        checks.bound("sensitivity", self.sensitivity)
        if not 1e-100 <= self.sensitivity <= 1e100:
            raise ParameterError(
                f"{{sensitivity}} must lie between 1e-100 and 1e100, got {self.sensitivity!r}; "
                "rescale the rows by a public factor"
            )
        self._check_length()
        self._check_choices()
        self._check_budget()

    def _check_length(self) -> None:
        for name in ("window", "steps"):
            if getattr(self, name) is not None:
                checks.count(name, getattr(self, name), least=1)
        if self.window is not None and self.steps is not None:
            raise ParameterError(
                "{window} and {steps} must not both be given; give {window} for rows that expire, "
                "{steps} for a whole stream of known length, neither for an endless one"
            )

    def _check_choices(self) -> None:
        for name, kind in _CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                raise ParameterError(
                    "{parameter} must be one of {known}, got {value!r}",
                    parameter=Setting(name), known=", ".join(get_args(kind)),
                    value=getattr(self, name),
                )  # fmt: skip
        special = self.noise == "gamma" or self.calibration == "paper"
        if special and self.construction not in ("auto", *TREES):
            raise ParameterError(
                f"{{construction}} must be a tree with noise={self.noise!r} and "
                f"calibration={self.calibration!r}, got {self.construction!r}; "
                "choose 'tree' or 'window_tree'"
            )

    def _check_budget(self) -> None:
        if self.noise == "gamma" and (self.delta is not None or self.rho is not None):
            raise ParameterError(
                "{noise} must have a budget of {epsilon} alone; leave out {delta} and {rho}",
                noise=Setting("noise", "gamma"),
            )
        if self.rho is None:
            checks.target("epsilon", self.epsilon)
            if self.noise == "gaussian":
                checks.probability("delta", self.delta)
            return
        checks.target("rho", self.rho)
        if self.epsilon is not None or self.delta is not None or self.calibration == "paper":
            raise ParameterError(
                "{rho} must be the whole budget; leave out {epsilon}, {delta} and "
                "calibration='paper', or give {epsilon} and {delta} instead of {rho}"
            )

    @property
    def private(self) -> bool:
        """Whether there is any noise."""
        return math.inf not in (self.epsilon, self.rho)

    @property
    def span(self) -> Span | None:
        """Steps for which a row is protected; None for a stream of unknown length."""
        if self.window is not None:
            return Span(-(-self.window // self.batch), slides=True)
        return None if self.steps is None else Span(self.steps, slides=False)

    @property
    def reach(self) -> int:
        """Distance by which a changed row can move a sum, in lengths of a row."""
        return 1 if self.neighboring == "add_remove" else 2

    def as_json(self) -> dict[str, Any]:
        """A dict that JSON can hold."""
        return {key: "inf" if value == math.inf else value for key, value in asdict(self).items()}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Settings":
        """Settings from what `as_json` returned."""
        infinite = {key: math.inf for key, value in found.items() if value == "inf"}
        return cls(**{**found, **infinite})
