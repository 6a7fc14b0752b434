"""The correlated random numbers that the server hands to each party."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplasso.federated.moments import messages, ring
from dplasso.federated.moments.messages import Kind
from dplasso.federated.moments.ring import Ring
from dplasso.federated.moments.terms import MomentTerms

SEED_BYTES = 32


@dataclass(frozen=True)
class Deal:
    """What one party gets: a mask U of its rows, and shares of products with the other masks.

    ``before`` has one share of U_j'U_k for every party j before this one, k; the other share is
    part of j's ``after``. The mask and ``after`` follow from the seed, so that a deal is short.

    Formal guarantees
    -----------------
    Nothing is released: deals do not depend on data. A deal must reach its party alone. Whoever has
    it, and the party's masked rows, has its table. It may serve once. Masks follow from the seed,
    the terms and the party together, so that a seed that comes again, in another job or to another
    party, makes other masks.
    """

    terms: MomentTerms
    party: str
    seed: bytes
    before: Ring

    @cached_property
    def mask(self) -> Ring:
        """U: capacity x the party's columns."""
        shape = (self.terms.n_rows, self.terms.width(self.party))
        return ring.expanded(self._key(b"mask"), shape)

    @cached_property
    def after(self) -> Ring:
        """Shares of the products with the masks of later parties."""
        own = self.terms.columns(self.party)
        shape = (self.terms.width(self.party), self.terms.n_columns - own.stop)
        return ring.expanded(self._key(b"products"), shape)

    def _key(self, purpose: bytes) -> bytes:
        return ring.derived(self.seed, purpose, self.terms.digest, self.party.encode())

    def to_bytes(self) -> bytes:
        """Pack the message."""
        body = self.seed + ring.to_bytes(self.before)
        return messages.packed(Kind.DEAL, self.terms, self.party, body)

    @classmethod
    def from_bytes(cls, terms: MomentTerms, party: str, content: bytes) -> "Deal":
        """Unpack a message for this party and job, or refuse it."""
        shape = (terms.columns(party).start, terms.width(party))
        length = SEED_BYTES + 8 * shape[0] * shape[1]
        body = messages.unpacked(Kind.DEAL, terms, party, content, length)
        before = ring.from_bytes(body[SEED_BYTES:], shape)
        return cls(terms, party, body[:SEED_BYTES], before)


def deals_of(terms: MomentTerms, generator: np.random.Generator) -> dict[str, Deal]:
    """Return a fresh deal for each party."""
    empty = np.empty((0, 0), np.uint64)
    seeds = {name: Deal(terms, name, generator.bytes(SEED_BYTES), empty) for name in terms.names}
    masks = np.hstack([one.mask for one in seeds.values()])
    shared = np.zeros((terms.n_columns, terms.n_columns), np.uint64)
    for name, one in seeds.items():
        own = terms.columns(name)
        if own.stop < terms.n_columns:
            products = ring.product(one.mask, masks[:, own.stop :])
            shared[own, own.stop :] = products - one.after
    return {
        name: Deal(terms, name, one.seed, shared[: terms.columns(name).start, terms.columns(name)])
        for name, one in seeds.items()
    }
