"""What all parties of a job agree on before anything is drawn: public numbers only."""

import hashlib
import json
import math
import re
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from dplasso.base import checks
from dplasso.federated.errors import Refused

Step = Literal["corrective", "universal"]
SamplingName = Literal["party", "serial", "nice", "distributed", "arbitrary"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
MOST_ROWS = 2**26  # at any party: scores of that many are whole numbers of 64 bits
# More than any job has, and few enough that nobody waits long for terms that ask for too much.
_MOST_ROUNDS, _MOST_FEATURES, _MOST_PARTIES = 2**20, 2**31, 2**12
_MOST_BUDGET = 2.0**20  # squared entries of a row are counted in whole numbers of 64 bits
_SEED_BITS = 64


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
        _keep(
            self, n_features=_count(f"n_features of {self.name}", self.n_features, _MOST_FEATURES)
        )
        for name in ("x_bound", "row_budget"):
            _keep(self, **{name: checks.bound(f"{name} of {self.name}", getattr(self, name))})
        if self.row_budget > _MOST_BUDGET:
            raise ValueError(f"row_budget of {self.name} must be at most {_MOST_BUDGET:g}")


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
        _keep(self, parties=tuple(self.parties), probabilities=tuple(self.probabilities))
        names = [party.name for party in self.parties]
        if not isinstance(self.job, str) or not _NAME.fullmatch(self.job):
            raise ValueError(f"job must be 1 to 63 letters, digits, - and _, got {self.job!r}")
        if not 1 <= len(set(names)) == len(names) <= _MOST_PARTIES:
            raise ValueError(
                f"parties must have names that differ, and there must be 1 to {_MOST_PARTIES}"
            )
        if self.label_holder not in names:
            raise ValueError(f"label_holder must be one of {', '.join(names)}")
        self._check_numbers()
        for name, known in (("step", Step), ("sampling", SamplingName)):
            if getattr(self, name) not in get_args(known):
                raise ValueError(f"{name} must be one of {', '.join(get_args(known))}")
        self._check_sampling()

    def _check_numbers(self) -> None:
        """Numbers of one kind each, so that equal terms are the same text, whoever wrote them."""
        _keep(
            self,
            epsilon=checks.target("epsilon", self.epsilon),
            delta=checks.probability("delta", self.delta),
            radius=checks.bound("radius", self.radius),
            y_bound=checks.bound("y_bound", self.y_bound),
            rounds=_count("rounds", self.rounds, _MOST_ROUNDS),
            n_rows=_count("n_rows", self.n_rows, MOST_ROWS),
            sketch_size=checks.count("sketch_size", self.sketch_size, 1),
            seed=checks.count("seed", self.seed, 0),
            tau=None if self.tau is None else checks.count("tau", self.tau, 1),
        )
        if self.seed.bit_length() > _SEED_BITS:
            raise ValueError(f"seed must have at most {_SEED_BITS} bits; draw one of that size")
        if self.sketch_size > self.universe:
            raise ValueError(
                f"sketch_size must be at most {self.universe} for {self.n_rows} rows, "
                f"got {self.sketch_size}; more than that says nothing more"
            )

    def _check_sampling(self) -> None:
        features = sum(party.n_features for party in self.parties)
        if self.sampling == "nice" and (self.tau is None or self.tau > features):
            raise ValueError(f"sampling 'nice' needs a tau from 1 to {features}, all features")
        if (self.sampling == "arbitrary") != bool(self.probabilities):
            raise ValueError("probabilities go with sampling='arbitrary', one a party")
        if self.probabilities:
            numbers = [checks.bound("probabilities", p) for p in self.probabilities]
            if max(numbers) > 1.0 or len(numbers) != len(self.parties):
                raise ValueError("probabilities must be above 0 and at most 1, one a party")
            _keep(self, probabilities=tuple(numbers))

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
        names = [known.name for known in self.parties]
        if party not in names:
            raise ValueError(f"party must be one of {', '.join(names)}, got {party!r}")
        return names.index(party)

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
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise Refused(f"no terms of a job: {error}") from error


def _keep(terms: PartyTerms | Terms, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(terms, name, value)


def _count(name: str, value: object, most: int) -> int:
    count = checks.count(name, value, 1)
    if count > most:
        raise ValueError(f"{name} must be at most {most}, got {count}")
    return count
