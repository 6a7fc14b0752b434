"""The terms of a job: public numbers that all parties agree on before any noise is drawn.

An administrator hands in a `Proposal`. Once every party has said how many features it has, public
rules (`dplasso.federated.agreement`) turn the proposal into `Terms`.
"""

import hashlib
import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from dplasso.base import checks
from dplasso.base.wording import ParameterError, Setting
from dplasso.federated.declaration import (
    Declared,
    choice,
    count,
    require,
    term,
    terms_of,
    text,
    texts,
)

Protocol = Literal["moments", "sketches"]
Step = Literal["corrective", "universal"]
SamplingName = Literal["party", "serial", "nice", "distributed", "arbitrary"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
MOST_ROWS = 2**26  # at any party: the scores of that many rows fit in 64-bit integers
# Larger than in any real job, and small enough that invalid terms are rejected quickly.
_MOST_ROUNDS, _MOST_FEATURES, MOST_PARTIES = 2**20, 2**31, 2**12
_MOST_BUDGET = 2.0**20  # squared entries of a row are counted in 64-bit integers


OVERLAP = (
    "Least share of n_rows that a party must have in common with each other party, on average; a "
    "job with less, by a noisy count, ends before it begins. 0 for no count."
)


def _named(name: str, value: Any) -> str:
    wanted = "1 to 63 letters, digits, - and _, and begin with a letter or digit"
    require(name, isinstance(value, str) and bool(_NAME.fullmatch(value)), wanted)
    return str(value)


def finite_or_inf(name: str, value: Any) -> float:
    """Check a number above 0, which may be infinite."""
    return checks.target(name, math.inf if value == "inf" else value)  # JSON has no infinity


def _row_budget(name: str, value: Any) -> float:
    budget = checks.bound(name, value)
    require(name, budget <= _MOST_BUDGET, f"at most {_MOST_BUDGET:g}")
    return budget


def share(name: str, value: Any) -> float:
    """Check a number from 0 to 1."""
    share = 0.0 if value == 0 else checks.bound(name, value)
    require(name, share <= 1.0, "0 to 1")
    return share


def _probabilities(name: str, value: Any) -> tuple[float, ...]:
    numbers = tuple(checks.bound(name, one) for one in value)
    require(name, max(numbers, default=1.0) <= 1.0, "above 0 and at most 1")
    return numbers


@dataclass(frozen=True, kw_only=True)
class PartyTerms(Declared):
    """The part of one party in a job."""

    name: str = term(_named, "Name of the party.")
    n_features: int = term(count(1, _MOST_FEATURES), "Number of features that the party has.")
    x_bound: float = term(checks.bound, "Public bound on the entries of the party.", default=1.0)
    row_budget: float = term(
        _row_budget, "Most that the squared entries of a row may add up to.", default=1.0
    )

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
        except ValueError as error:
            raise ValueError(f"party {self.name!r}: {error}") from error


def _party_terms(name: str, value: Any) -> tuple[PartyTerms, ...]:
    return tuple(one if isinstance(one, PartyTerms) else PartyTerms.read(one) for one in value)


class AmongParties(Declared, ABC):
    """Terms that name parties, one of which holds the labels."""

    job: str
    protocol: Any
    label_holder: str
    y_bound: float
    epsilon: float
    delta: float
    min_overlap: float
    rounds: int | None

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the parties, in order."""

    def __post_init__(self) -> None:
        super().__post_init__()
        differ = 1 <= len(set(self.names)) == len(self.names) <= MOST_PARTIES
        require("parties", differ, f"1 to {MOST_PARTIES}, each with a name of its own")
        holder = self.label_holder in self.names
        require("label_holder", holder, f"one of {', '.join(self.names)}")

    @cached_property
    def digest(self) -> bytes:
        """The digest that messages carry: it binds them to these terms."""
        return hashlib.sha256(self.to_json().encode()).digest()

    def number_of(self, party: str) -> int:
        """Return the position of a party in the list."""
        require("party", party in self.names, f"one of {', '.join(self.names)}")
        return self.names.index(party)


@dataclass(frozen=True, kw_only=True)
class JobTerms(AmongParties):
    """The terms that a proposal and the terms of a job of sketches have in common.

    Entries are measured in units of their party's ``x_bound`` and labels in units of ``y_bound``.
    ``radius`` bounds the 1-norm of all weights together in these units.
    """

    job: str = term(_named, "Name of the job.", default="job")
    label_holder: str = term(text, "The party that holds the labels.")
    n_rows: int = term(count(1, MOST_ROWS), "Number of people, declared: public.")
    epsilon: float = term(
        finite_or_inf, "Privacy loss of all parties together.", flags="--epsilon -e"
    )
    delta: float = term(checks.probability, "Probability that epsilon may fail.")
    radius: float | None = term(checks.bound, "Bound on the L1 norm of the weights.", default=5.0)
    y_bound: float = term(
        checks.bound, "Public bound on the labels, as their holder has it; 1 for classes.",
        default=1.0,
    )  # fmt: skip
    rounds: int | None = term(
        count(1, _MOST_ROUNDS), "Number of rounds; by default from a public rule.",
        default=None, flags="--rounds -T",
    )  # fmt: skip
    sketch_size: int | None = term(
        count(1), "Numbers per sketch; by default from a public rule.",
        default=None, flags="--sketch-size -m",
    )  # fmt: skip
    tau: int | None = term(
        count(1), "Features that a party considers per round; by default all.", default=None
    )
    step: Step = term(choice(Step), "How the weights follow the releases.", default="corrective")
    sampling: SamplingName = term(
        choice(SamplingName), "Which parties and features each round asks.", default="party"
    )
    probabilities: tuple[float, ...] = term(
        _probabilities, "With arbitrary sampling: how likely each party is asked, in their order.",
        default=(), flags="--probability",
    )  # fmt: skip
    seed: int = term(count(0, 2**64 - 1), "Public seed of schedule and sketches.", default=0)
    min_overlap: float = term(share, OVERLAP, default=0.0)
    protocol: Protocol | None = term(
        choice(Protocol), "How the parties compute the model.", default="sketches"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = len(self.names) if self.sampling == "arbitrary" else 0
        given = len(self.probabilities) == wanted
        require("probabilities", given, "one per party with sampling='arbitrary', else left out")


@dataclass(frozen=True, kw_only=True)
class Proposal(JobTerms):
    """A job before the parties' numbers of features are known. Open terms are None.

    >>> proposal = Proposal(
    ...     parties=("bank", "shop"), label_holder="bank", n_rows=1000, epsilon=1.0, delta=1e-6
    ... )
    >>> proposal.min_overlap, proposal.rounds
    (0.25, None)
    """

    ADDED: ClassVar[frozenset[str]] = frozenset(
        {"protocol", "step", "sampling", "probabilities", "min_overlap", "colluders"}
    )
    # Terms that only sketches have.
    OF_SKETCHES: ClassVar[tuple[str, ...]] = (
        "rounds", "sketch_size", "tau", "step", "sampling", "probabilities", "row_budget", "seed",
    )  # fmt: skip

    parties: tuple[str, ...] = term(texts, "The parties that take part.")
    radius: float | None = term(
        checks.bound, "Bound on the L1 norm of the weights; by default 5 with sketches, and none "
        "with moments.", default=None,
    )  # fmt: skip
    min_overlap: float = term(share, OVERLAP, default=0.25)
    protocol: Protocol | None = term(
        choice(Protocol), "How the parties compute the model; by default moments up to 1,000 "
        "columns of all parties, and sketches beyond.", default=None,
    )  # fmt: skip
    colluders: int = term(
        count(1, MOST_PARTIES), "With moments: how many parties may join what they know, and still "
        "face epsilon. Every party knows its own noise, so that it is at least 1.", default=1,
    )  # fmt: skip
    row_budget: float | None = term(
        _row_budget, "Most that the squared entries of a row may add up to at each party; by "
        "default from a public rule.", default=None,
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.protocol == "moments" and self.of_sketches:
            raise ParameterError(
                "{term} is a term of sketches; leave it out, or choose the protocol sketches",
                term=Setting(self.of_sketches[0]),
            )

    @property
    def names(self) -> tuple[str, ...]:
        return self.parties

    @property
    def of_sketches(self) -> list[str]:
        """The terms of sketches that were given another value than their default."""
        defaults = {one.name: one.default for one in terms_of(type(self))}
        return [name for name in self.OF_SKETCHES if getattr(self, name) != defaults[name]]


@dataclass(frozen=True, kw_only=True)
class Terms(JobTerms):
    """The terms of a job, complete. `dplasso.federated.agree` fills in the defaults."""

    ADDED: ClassVar[frozenset[str]] = frozenset({"protocol", "min_overlap"})

    parties: tuple[PartyTerms, ...] = term(_party_terms, "The parts of the parties.")
    rounds: int = term(count(1, _MOST_ROUNDS), "Number of rounds.")
    sketch_size: int = term(count(1), "Numbers per sketch.")
    radius: float = term(checks.bound, "Bound on the L1 norm of the weights.", default=5.0)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(party.name for party in self.parties)

    def __post_init__(self) -> None:
        super().__post_init__()
        features = sum(party.n_features for party in self.parties)
        sized = self.sampling != "nice" or (self.tau is not None and self.tau <= features)
        require("tau", sized, f"1 to {features}, all features, with sampling='nice'")
        wanted = f"at most {self.universe} for {self.n_rows} rows; a larger sketch tells no more"
        require("sketch_size", self.sketch_size <= self.universe, wanted)

    @property
    def universe(self) -> int:
        """Number of places that rows are hashed to: a power of two, at least two per row."""
        return int(1 << (2 * self.n_rows - 1).bit_length())

    def of(self, party: str) -> PartyTerms:
        """Return the part of one party."""
        return self.parties[self.number_of(party)]
