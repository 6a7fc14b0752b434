"""What all parties of a job agree on before anything is drawn: public numbers only."""

import hashlib
import json
import math
import re
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Literal, get_args

from dplasso.federated.errors import Refused
from dplasso.privacy import checks

Step = Literal["corrective", "universal"]
SamplingName = Literal["party", "serial", "nice", "distributed", "arbitrary"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_MOST_ROWS = 2**26


@dataclass(frozen=True)
class PartyTerms:
    """One party: how many features it has, a bound on their entries, and a row's budget there."""

    name: str
    n_features: int
    x_bound: float = 1.0
    row_budget: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(
                "a party's name must be 1 to 63 letters, digits, - and _, a letter or digit first, "
                f"got {self.name!r}"
            )
        checks.count(f"n_features of {self.name}", self.n_features, 1)
        checks.bound(f"x_bound of {self.name}", self.x_bound)
        checks.bound(f"row_budget of {self.name}", self.row_budget)


@dataclass(frozen=True)
class Terms:
    """A job: who takes part, what it may cost, and how it is run. `agree` fills in the defaults.

    Entries count in units of their party's ``x_bound`` and labels in units of ``y_bound``;
    ``radius`` bounds the 1-norm of all weights together in these units.

    ``rounds`` is how often the coordinator asks; ``sampling`` says whom and for which features
    (`dplasso.federated.sampling`); ``step`` how weights follow (`dplasso.federated.weights`).
    """

    job: str
    parties: tuple[PartyTerms, ...]
    label_holder: str
    n_rows: int
    epsilon: float
    delta: float
    radius: float
    rounds: int
    sketch_size: int
    y_bound: float = 1.0
    step: Step = "corrective"
    sampling: SamplingName = "party"
    tau: int | None = None
    probabilities: tuple[float, ...] = field(default=())
    seed: int = 0

    def __post_init__(self) -> None:
        names = [party.name for party in self.parties]
        if not isinstance(self.job, str) or not _NAME.fullmatch(self.job):
            raise ValueError(f"job must be 1 to 63 letters, digits, - and _, got {self.job!r}")
        if not names or len(set(names)) < len(names):
            raise ValueError("parties must have names that differ, and there must be one at least")
        if self.label_holder not in names:
            raise ValueError(f"label_holder must be one of {', '.join(names)}")
        checks.target("epsilon", self.epsilon)
        checks.probability("delta", self.delta)
        checks.bound("radius", self.radius)
        checks.bound("y_bound", self.y_bound)
        checks.count("rounds", self.rounds, 1)
        checks.count("seed", self.seed, 0)
        if checks.count("n_rows", self.n_rows, 1) > _MOST_ROWS:
            raise ValueError(f"n_rows must be at most {_MOST_ROWS}, got {self.n_rows}")
        if checks.count("sketch_size", self.sketch_size, 1) > self.universe:
            raise ValueError(
                f"sketch_size must be at most {self.universe} for {self.n_rows} rows, "
                f"got {self.sketch_size}; more than that says nothing more"
            )
        for name, known in (("step", Step), ("sampling", SamplingName)):
            if getattr(self, name) not in get_args(known):
                raise ValueError(f"{name} must be one of {', '.join(get_args(known))}")
        self._check_sampling()

    def _check_sampling(self) -> None:
        features = sum(party.n_features for party in self.parties)
        if self.tau is not None:
            checks.count("tau", self.tau, 1)
        if self.sampling == "nice" and (self.tau is None or self.tau > features):
            raise ValueError(f"sampling 'nice' needs a tau from 1 to {features}, all features")
        if (self.sampling == "arbitrary") != bool(self.probabilities):
            raise ValueError("probabilities go with sampling='arbitrary', one a party")
        if self.probabilities:
            sound = all(0.0 < p <= 1.0 for p in self.probabilities)
            if not sound or len(self.probabilities) != len(self.parties):
                raise ValueError("probabilities must be above 0 and at most 1, one a party")

    @property
    def universe(self) -> int:
        """Places that rows are hashed to: two a row, at least, a power of two."""
        return int(1 << (2 * self.n_rows - 1).bit_length())

    @cached_property
    def digest(self) -> bytes:
        """What every message of the job carries."""
        return hashlib.sha256(self.to_json().encode()).digest()

    def number_of(self, party: str) -> int:
        """Where a party stands in the list."""
        return [known.name for known in self.parties].index(party)

    def to_json(self) -> str:
        """The terms as text: the same for the same terms."""
        content = asdict(self)
        content["epsilon"] = self.epsilon if self.epsilon < math.inf else "inf"
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Terms":
        """Terms that `to_json` wrote; anything else is refused."""
        try:
            content = json.loads(text)
            content["parties"] = tuple(PartyTerms(**party) for party in content["parties"])
            content["probabilities"] = tuple(content["probabilities"])
            content["epsilon"] = float(content["epsilon"])
            return cls(**content)
        except (KeyError, TypeError, ValueError) as error:
            raise Refused(f"no terms of a job: {error}") from error
