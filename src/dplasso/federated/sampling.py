"""Which parties and features a round asks: drawn from a public seed, never from data.

Every feature has the same positive probability in every round, or one that the terms state. Rounds
are independent, except for "party", where parties take turns. With p the least probability of a
feature, the step 2 / (p t + 2) makes block-coordinate Frank-Wolfe converge like 1 / t on a product
of sets under any of these samplings. Sampling adds no privacy: the candidates are public.

==============  ==========================================================  ===================
name            who is asked                                                least probability
==============  ==========================================================  ===================
"party"         one party per round, in turn, all or ``tau`` features       tau_k / (K d_k)
"serial"        one feature of all                                          1 / d
"nice"          ``tau`` features of all                                     tau / d
"distributed"   every party, ``tau`` of its features                        tau_k / d_k
"arbitrary"     each party with its own probability, ``tau`` features       p_k tau_k / d_k
==============  ==========================================================  ===================

tau_k is ``tau``, or d_k if that is less or ``tau`` is None.
"""

from collections.abc import Iterator

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.federated.terms import Terms


class Sampling:
    """The schedule of a job. The coordinator and the parties compute the same one.

    >>> from dplasso.federated import agree
    >>> bounds = dict(x_bounds={"a": 1.0, "b": 1.0}, y_bound=1.0)
    >>> terms = agree({"a": 3, "b": 4}, "a", n_rows=100, epsilon=1.0, delta=1e-6, **bounds)
    >>> {party: len(asked) for party, asked in Sampling(terms).asked(1).items()}
    {'b': 4}
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._counts = np.array([party.n_features for party in terms.parties])
        self._names = [party.name for party in terms.parties]

    @property
    def least_probability(self) -> float:
        """The least probability of a feature to be among the candidates of a round."""
        terms, counts = self._terms, self._counts
        whole = float(counts.sum())
        shares = np.minimum(terms.tau or counts, counts) / counts
        probabilities = {
            "party": shares / len(counts),
            "serial": 1.0 / whole,
            "nice": (terms.tau or whole) / whole,
            "distributed": shares,
            "arbitrary": shares * np.array(terms.probabilities or (1.0,)),
        }
        return float(np.min(probabilities[terms.sampling]))

    def universal_step(self, t: int) -> float:
        """Return the step of round t = 0, 1, ... for any sampling: 2 / (p t + 2)."""
        return 2.0 / (self.least_probability * t + 2.0)

    def asks(self) -> dict[str, int]:
        """Return how often the job asks each party."""
        counts = dict.fromkeys(self._names, 0)
        for t in range(self._terms.rounds):
            for name in self.who(t):
                counts[name] += 1
        return counts

    def who(self, t: int) -> list[str]:
        """Return the parties that round t asks."""
        if self._terms.sampling == "party":
            return [self._names[t % len(self._names)]]
        if self._terms.sampling == "distributed":
            return list(self._names)
        return list(self.asked(t))

    def asked(self, t: int) -> dict[str, Ints]:
        """Return the sorted candidates of round t by party; parties without any are not asked."""
        return dict(self._drawn(t, public_bits(self._terms.seed, 0, t)))

    def _drawn(self, t: int, bits: np.random.Philox) -> Iterator[tuple[str, Ints]]:
        terms, counts = self._terms, self._counts
        if terms.sampling in ("serial", "nice"):
            size = 1 if terms.sampling == "serial" else terms.tau
            drawn = distinct(bits, int(counts.sum()), size or 1)
            owners = np.searchsorted(np.cumsum(counts), drawn, side="right")
            starts = np.cumsum(counts) - counts
            for number in np.unique(owners):
                yield self._names[number], drawn[owners == number] - starts[number]
            return
        for number, (name, count) in enumerate(zip(self._names, counts, strict=True)):
            if terms.sampling == "party" and t % len(counts) != number:
                continue
            if terms.sampling == "arbitrary" and _uniform(bits) >= terms.probabilities[number]:
                continue
            size = min(terms.tau or count, count)
            yield name, distinct(bits, int(count), int(size))


def public_bits(seed: int, purpose: int, number: int) -> np.random.Philox:
    """Return an independent stream for every purpose and number.

    Only raw words are taken from it: numpy's distributions may change with its version, and parties
    need not have the same version.
    """
    return np.random.Philox(key=seed, counter=[0, 0, purpose, number])


def distinct(bits: np.random.Philox, below: int, size: int) -> Ints:
    """Return ``size`` different integers below a bound, sorted, all sets equally likely.

    >>> distinct(public_bits(0, 0, 0), 5, 5)
    array([0, 1, 2, 3, 4])
    """
    if 2 * size > below:
        left_out = distinct(bits, below, below - size)
        return np.setdiff1d(np.arange(below), left_out, assume_unique=True)
    found = np.empty(0, np.int64)
    while len(found) < size:
        # The remainder of 64 bits is biased by less than the bound over 2^64.
        more = (bits.random_raw(2 * size) % np.uint64(below)).astype(np.int64)
        together = np.concatenate([found, more])
        found = together[np.sort(np.unique(together, return_index=True)[1])]
    return np.sort(found[:size])


def _uniform(bits: np.random.Philox) -> float:
    return int(bits.random_raw()) / 2.0**64
