"""How the large messages of a job are cut into slices: by the public terms alone.

A slice travels in one exchange. So every exchange is short, a lost one is sent again by itself, and
the number of exchanges tells nobody anything.
"""

import math
from dataclasses import dataclass

from dplasso.federated.moments import messages
from dplasso.federated.moments.deal import SEED_BYTES
from dplasso.federated.moments.entries import entry_count
from dplasso.federated.moments.messages import KEY_BYTES, TAG_BYTES
from dplasso.federated.moments.pseudonym_lists import PSEUDONYM_BYTES
from dplasso.federated.moments.terms import MomentTerms

SLICE = 2**21  # bytes in an exchange, from or to one party: 10 seconds at 1.7 Mbit/s
PLACE_BYTES = 4
_LEAST_SLICE = 2**12
_FRAMES = 8  # bytes: the lengths of a deal and of places


@dataclass(frozen=True)
class Layout:
    """The numbers of exchanges of a job, and the sizes of their slices."""

    terms: MomentTerms

    @property
    def slice(self) -> int:
        """Most bytes in an exchange, from or to one party."""
        return SLICE

    @property
    def aligns(self) -> int:
        """Exchanges of pseudonyms: of one more than fit, so that the server can tell."""
        return _slices(self.most_pseudonyms * PSEUDONYM_BYTES, SLICE)

    @property
    def most_pseudonyms(self) -> int:
        """How many pseudonyms a party sends at most."""
        return self.terms.n_rows + 1

    @property
    def deals(self) -> int:
        """Exchanges of random numbers and places."""
        terms = self.terms
        products = (terms.columns(name).start * terms.width(name) for name in terms.names)
        dealt = messages.OVERHEAD + SEED_BYTES + 8 * max(products)
        return _slices(dealt + PLACE_BYTES * terms.n_rows + _FRAMES, SLICE)

    @property
    def masked_slice(self) -> int:
        """Bytes of masked rows from one party. A party gets such a slice from each other party."""
        return max(_LEAST_SLICE, SLICE // len(self.terms.names))

    @property
    def masks(self) -> int:
        """Exchanges in which parties send masked rows; one more delivers the last."""
        widest = max(map(self.terms.width, self.terms.names))
        wrapped = (KEY_BYTES + TAG_BYTES) * (len(self.terms.names) - 1)
        length = messages.OVERHEAD + wrapped + 8 * self.terms.n_rows * widest + TAG_BYTES
        return _slices(length, self.masked_slice)

    @property
    def shares(self) -> int:
        """Exchanges in which parties send their shares."""
        return _slices(self.share_length, SLICE)

    @property
    def share_length(self) -> int:
        """Bytes of a share."""
        return messages.OVERHEAD + 8 * entry_count(self.terms)


def sliced(content: bytes, at: int, size: int) -> bytes:
    """Return one slice of a message; empty beyond its end."""
    return content[at * size : (at + 1) * size]


def _slices(length: int, size: int) -> int:
    return max(1, math.ceil(length / size))
