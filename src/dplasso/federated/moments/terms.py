"""The public terms of a job of secret-shared moments."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from dplasso.base import checks
from dplasso.federated.declaration import Declared, choice, count, require, term, text
from dplasso.federated.terms import (
    MOST_PARTIES,
    MOST_ROWS,
    OVERLAP,
    AmongParties,
    finite_or_inf,
    share,
)
from dplasso.privacy import gaussian
from dplasso.privacy.calibration import Neighboring

Account = Literal["exact", "rho"]

_MOST_COLUMNS = 2**14  # a matrix of that many columns has 2^27 entries
_MOST_WEIGHT = 2.0**10  # of labels
# Squared weight of labels, in units of the squared length of features and the constant 1.
_SHARE_OF_LABEL, _SHARE_OF_CLASSES = 0.25, 2.0
# Of the budget, for the means about which rows are centred.
_FOR_CENTRES, _MOST_FOR_CENTRES = 0.03, 0.5
# Noise in the mean products of a person, times the root of the number of features, from which on
# short rows get no more room than they have in one place.
_MUCH_NOISE = 0.02
# Of the largest squared length of a row, and of its root: what the bound on its length keeps.
_OF_LENGTH, _OF_ROOT = 0.15, 0.3


def _weight(name: str, value: Any) -> float:
    weight = checks.bound(name, value)
    within = 1.0 / _MOST_WEIGHT <= weight <= _MOST_WEIGHT
    require(name, within, f"between {1.0 / _MOST_WEIGHT:g} and {_MOST_WEIGHT:g}")
    return weight


@dataclass(frozen=True, kw_only=True)
class PartyBlock(Declared):
    """The columns of one party. ``row_bound`` is the R_k of docs/explanation/federated_moments.md.

    Entries are measured in units of their own public bounds, so that each is between -1 and 1.
    """

    name: str = term(text, "Name of the party.")
    n_features: int = term(count(1, _MOST_COLUMNS), "Number of features that the party has.")
    row_bound: float = term(checks.bound, "Longer rows are shortened to this length.")
    mean_bound: float = term(
        checks.bound, "The same before they are centred, where their mean is taken.", default=1.0
    )


def _centring(name: str, value: Any) -> float:
    part = share(name, value)
    require(name, part <= _MOST_FOR_CENTRES, f"at most {_MOST_FOR_CENTRES:g}")
    return part


def _blocks(name: str, value: Any) -> tuple[PartyBlock, ...]:
    return tuple(one if isinstance(one, PartyBlock) else PartyBlock.read(one) for one in value)


@dataclass(frozen=True, kw_only=True)
class MomentTerms(AmongParties):
    """All that parties and server agree on before anything is computed. `agree_moments` fills in
    row bounds by a public rule.

    ``n_rows`` is a capacity: every party sends that many rows, with zeros where it has none, and
    the number of people is not revealed but by the noisy matrix. A job that is run again, for
    whatever reason, has another ``attempt``: all masks and keys follow from the digest of the
    terms. With ``colluders`` c, epsilon is what c parties together learn of the rest.

    Where the server numbers people, ``n_people`` is how many are declared, and ``n_rows`` has room
    for more (`dplasso.federated.moments.capacity`). With the account "rho", epsilon is converted as
    ledgers do that add up jobs, which takes a few percent more noise. ``centring`` pays for the
    means about which parties centre their rows (`dplasso.federated.moments.centring`); with 0, rows
    are as they are.
    """

    ADDED: ClassVar[frozenset[str]] = frozenset(
        {"n_people", "min_overlap", "account", "radius", "label_weight", "centring"}
    )

    rounds = 1  # one matrix is opened
    protocol: Literal["moments"] = term(
        choice(Literal["moments"]), "How the parties compute the model.", default="moments"
    )
    job: str = term(text, "Name of the job.", default="job")
    attempt: int = term(count(0, 2**32), "How often the job was begun before.", default=0)
    label_holder: str = term(text, "The party that holds the labels.")
    n_rows: int = term(count(1, MOST_ROWS), "Most people that may take part, declared: public.")
    epsilon: float = term(finite_or_inf, "Privacy loss of all parties together.")
    delta: float = term(checks.probability, "Probability that epsilon may fail.")
    neighboring: Neighboring = term(
        choice(Neighboring), "Whether a person is added or replaced.", default="add_remove"
    )
    colluders: int = term(
        count(0, MOST_PARTIES), "Parties that may join what they know, and still face epsilon.",
        default=1,
    )  # fmt: skip
    y_bound: float = term(checks.bound, "Public bound on the labels.", default=1.0)
    n_classes: int = term(count(0, _MOST_COLUMNS), "Number of classes; 0: numbers.", default=0)
    n_people: int = term(
        count(0, MOST_ROWS), "Declared number of people, where the server numbers them; else 0.",
        default=0,
    )  # fmt: skip
    min_overlap: float = term(share, OVERLAP, default=0.0)
    account: Account = term(
        choice(Account), "How epsilon is converted: for one job, or as ledgers do.", default="exact"
    )
    radius: float | None = term(
        checks.bound, "Bound on the L1 norm of the weights; none by default.", default=None
    )
    label_weight: float = term(
        _weight, "Labels are this many times as large as bounded entries.", default=1.0
    )
    centring: float = term(
        _centring, "Share of the budget for the means about which rows are centred; 0: none.",
        default=0.0,
    )  # fmt: skip
    parties: tuple[PartyBlock, ...] = term(_blocks, "The columns of the parties.")

    def __post_init__(self) -> None:
        super().__post_init__()
        most = len(self.names) - 1
        require("colluders", self.colluders <= most, f"at most {most}: one party must be honest")
        require("n_classes", self.n_classes != 1, "0 for numbers, or at least 2")
        require("n_people", self.n_people <= self.n_rows, "at most n_rows")
        fits = self.n_columns <= _MOST_COLUMNS
        require("parties", fits, f"parties with at most {_MOST_COLUMNS} columns in all")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(block.name for block in self.parties)

    @property
    def n_targets(self) -> int:
        """Columns of labels: one for numbers and two classes, else one per class."""
        return self.n_classes if self.n_classes > 2 else 1

    @property
    def n_features(self) -> int:
        """Features of all parties."""
        return sum(block.n_features for block in self.parties)

    @property
    def n_columns(self) -> int:
        """All columns of the matrix: features, the constant 1, labels."""
        return self.n_features + 1 + self.n_targets

    def width(self, party: str) -> int:
        """Number of columns that a party adds: the label holder also has the 1 and the labels."""
        own = self.parties[self.number_of(party)].n_features
        return own + (1 + self.n_targets) * (party == self.label_holder)

    def columns(self, party: str) -> slice:
        """The columns of a party in the matrix while it is shared, party after party."""
        before = sum(self.width(name) for name in self.names[: self.number_of(party)])
        return slice(before, before + self.width(party))


def default_row_bound(attributes: int, of_all: int | None = None, noise: float = 0.0) -> float:
    """Return a public bound on the length of a party's rows.

    An attribute is a number, or a category with one column of 0 and 1 per level. Entries are at
    most 1, so that a row of a attributes is at most sqrt(a) long, and little longer about the mean.
    Most rows are far shorter about the mean, the more so with several attributes: noise for rows of
    full length would be wasted. The rule keeps 0.15 of the largest squared length, and more of few
    attributes.

    Few attributes need that room, but the bounds of several parties then add up to more than that
    of one place, and noise with them. Of ``of_all`` attributes of all parties, a share ``noise`` of
    1 gives bounds that add up to that of one place, however the attributes are dealt out.

    >>> [round(default_row_bound(a) ** 2, 2) for a in (1, 4, 16, 100)]
    [0.45, 1.2, 3.6, 18.0]
    >>> [round(default_row_bound(4, 16, noise) ** 2, 2) for noise in (0.0, 0.5, 1.0)]
    [1.2, 1.02, 0.9]
    """
    held = attributes / of_all if of_all else 1.0
    return math.sqrt(_OF_LENGTH * attributes + _OF_ROOT * math.sqrt(attributes * held**noise))


def _noise_level(terms: MomentTerms, attributes: int) -> float:
    """Return how much the noise of a job decides, from 0 to 1: from public numbers alone.

    The noise is that of one place by the default rules (bounds, weight of labels, add_remove, exact
    account), whatever the terms have.
    """
    if terms.epsilon == math.inf:
        return 0.0
    features = 1.0 + default_row_bound(attributes) ** 2
    labels = default_label_weight([default_row_bound(attributes)], terms.n_classes) ** 2
    sigma = math.sqrt(features * (features + 2.0 * labels) / 2.0)
    sigma /= gaussian.mu_of(terms.epsilon, terms.delta)
    people = terms.n_people or terms.n_rows
    return min(1.0, sigma * math.sqrt(terms.n_features) / people / _MUCH_NOISE)


def default_label_weight(row_bounds: Iterable[float], n_classes: int) -> float:
    """Return a public weight of labels against features.

    A larger weight takes noise from the products of features with labels, and adds noise to the
    products of features with each other. One column of labels is fitted by weights of about 1. Each
    of several columns of 0 and 1 has small weights, so that the second kind of noise matters less.

    >>> round(default_label_weight([2.0], 2) ** 2, 2), round(default_label_weight([2.0], 9) ** 2, 2)
    (1.25, 10.0)
    """
    features = 1.0 + math.fsum(bound * bound for bound in row_bounds)
    share = _SHARE_OF_CLASSES if n_classes > 2 else _SHARE_OF_LABEL
    return min(math.sqrt(share * features), _MOST_WEIGHT)


def agree_moments(
    parties: Mapping[str, int],
    label_holder: str,
    *,
    attributes: Mapping[str, int] | None = None,
    row_bounds: Mapping[str, float] | None = None,
    **terms: Any,
) -> MomentTerms:
    """Return the terms of a job, by public rules where they are not given.

    Row bounds are those of `default_row_bound`, and the weight of labels is that of
    `default_label_weight`. Both follow from public numbers. Rows are centred about noisy means,
    which take 3% of the budget.

    Parameters
    ----------
    parties : mapping of str to int
        The number of features of each party.
    label_holder : str
        The party that holds the labels.
    attributes : mapping of str to int, optional
        The number of attributes behind the features of a party, which is smaller where a category
        has several columns of 0 and 1.
    row_bounds : mapping of str to float, optional
        Public bounds on the lengths of rows, in units of the bounds on entries.
    **terms
        Other terms of `MomentTerms` by name: ``n_rows``, ``epsilon``, ``delta`` are required.

    Returns
    -------
    MomentTerms

    Examples
    --------
    >>> public = dict(n_rows=10_000, epsilon=1.0, delta=1e-8)
    >>> terms = agree_moments({"bank": 4, "shop": 9}, "bank", **public)
    >>> [round(block.row_bound**2, 2) for block in terms.parties]
    [1.1, 2.2]
    """
    known, given = {**parties, **(attributes or {})}, row_bounds or {}
    strange = (set(known) | set(given)) - set(parties)
    require("attributes and row_bounds", not strange, "about parties only")
    of_all = sum(known.values())

    def blocks(noise: float) -> tuple[PartyBlock, ...]:
        return tuple(
            PartyBlock(
                name=name,
                n_features=features,
                row_bound=given.get(name, default_row_bound(known[name], of_all, noise)),
                mean_bound=math.sqrt(known[name]),
            )
            for name, features in parties.items()
        )

    terms.setdefault("colluders", min(1, len(parties) - 1))
    terms.setdefault("centring", _FOR_CENTRES)
    checked = MomentTerms(parties=blocks(0.0), label_holder=label_holder, **terms)
    agreed = replace(checked, parties=blocks(_noise_level(checked, of_all)))
    if "label_weight" in terms:
        return agreed
    bounds = [block.row_bound for block in agreed.parties]
    return replace(agreed, label_weight=default_label_weight(bounds, agreed.n_classes))
