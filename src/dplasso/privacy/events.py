"""What happened to the data: immutable events, free of any opinion on their cost.

An event is a promise about a mechanism that was run. An accountant (`dplasso.privacy.zcdp`)
turns events into a cost; the same events can be priced by several accountants.

Formal guarantees
-----------------
Every event is stated for one fixed neighbouring relation, chosen by the code that records it;
events recorded under different relations must not be composed. The events of a `Composed` or
`Repeated` may be chosen adaptively, each from the outputs of those before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from dplasso.base import checks

TrialLaw = Literal["logarithmic", "geometric"]


@dataclass(frozen=True, slots=True)
class BoundedRange:
    """One epsilon-bounded-range release.

    Formal guarantees
    -----------------
    For any two neighbours the log-ratio of the two output laws varies by at most `epsilon` over
    all outputs (Durfee and Rogers, 2019). An exponential mechanism is of this kind, `epsilon`
    being the range of the change in its log-weights. It is implied by epsilon/2-DP and implies
    epsilon-DP.
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checks.budget("epsilon", self.epsilon))


@dataclass(frozen=True, slots=True)
class PureDP:
    """One epsilon-differentially private release.

    Formal guarantees
    -----------------
    For any two neighbours the log-ratio of the two output laws is at most `epsilon` in absolute
    value. A Laplace or geometric mechanism is of this kind.
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checks.budget("epsilon", self.epsilon))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """One value released with Gaussian noise.

    Formal guarantees
    -----------------
    `noise_multiplier` is the standard deviation of the noise divided by the L2 sensitivity of the
    value under the neighbouring relation. The discrete Gaussian counts as one of the same
    parameter.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        checked = checks.target("noise_multiplier", self.noise_multiplier)
        object.__setattr__(self, "noise_multiplier", checked)


@dataclass(frozen=True, slots=True)
class ZeroConcentrated:
    """One rho-zCDP release, of whatever kind.

    Formal guarantees
    -----------------
    For any two neighbours and every order a > 1 the Renyi divergence of order a between the two
    output laws is at most a * `rho` (Bun and Steinke, 2016).
    """

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", checks.budget("rho", self.rho))


@dataclass(frozen=True, slots=True)
class Composed:
    """Several releases from the same data, in order."""

    events: tuple["Event", ...]

    def __post_init__(self) -> None:
        events = tuple(_events("events", self.events))
        object.__setattr__(self, "events", events)


@dataclass(frozen=True, slots=True)
class Repeated:
    """The same kind of release, `count` times."""

    event: "Event"
    count: int

    def __post_init__(self) -> None:
        (event,) = _events("event", (self.event,))
        object.__setattr__(self, "event", event)
        object.__setattr__(self, "count", checks.count("count", self.count, least=0))


@dataclass(frozen=True, slots=True)
class Selected:
    """The best of a random number of trials, each a release of the same kind.

    Formal guarantees
    -----------------
    The number of trials is k = 1, 2, ... with probability proportional to (1 - `stop`)^k / k
    ("logarithmic") or (1 - `stop`)^k ("geometric"), drawn independently of the data and kept
    secret. Trials are independent runs of one mechanism, which keeps `event`; an order that does
    not depend on the data says which of their outputs is best, and nothing is released but that
    one. `dplasso.privacy.trials` prices it. The event of a trial may not itself be selected.
    """

    event: "Event"
    stop: float
    law: TrialLaw = "logarithmic"

    def __post_init__(self) -> None:
        (event,) = _events("event", (self.event,))
        if is_selected(event):
            raise ValueError("event of a Selected must not hold another: search once.")
        object.__setattr__(self, "event", event)
        object.__setattr__(self, "stop", checks.probability("stop", self.stop))
        if self.law not in get_args(TrialLaw):
            raise ValueError(f"law must be 'logarithmic' or 'geometric', got {self.law!r}.")


Release = BoundedRange | PureDP | Gaussian | ZeroConcentrated
Event = Release | Composed | Repeated | Selected


def is_selected(event: Event) -> bool:
    """Whether there is a `Selected` among an event's parts: it costs more than rho."""
    match event:
        case Selected():
            return True
        case Composed(events):
            return any(map(is_selected, events))
        case Repeated(part, _):
            return is_selected(part)
    return False


def _events(name: str, values: object) -> Iterator[Event]:
    if not isinstance(values, tuple | list):
        raise ValueError(f"{name} must be a tuple of events, got {type(values).__name__}.")
    for value in values:
        if not isinstance(value, Event):
            kind = type(value).__name__
            raise ValueError(f"{name} must hold privacy events, got {kind}: see {__name__}.")
        yield value
