"""Lists of pseudonyms, as parties send them and the server reads them."""

import numpy as np
from numpy.typing import NDArray

Pseudonyms = NDArray[np.uint64]  # rows x 2: 128 bits each

PSEUDONYM_BYTES = 16


def read_pseudonyms(content: bytes) -> Pseudonyms:
    """Read pseudonyms, 16 bytes each."""
    return np.frombuffer(content, "<u8").astype(np.uint64).reshape(-1, 2)


def order_of(names: Pseudonyms) -> NDArray[np.int64]:
    """The order in which pseudonyms are sent: it says nothing of the order of the rows."""
    found: NDArray[np.int64] = np.lexsort((names[:, 1], names[:, 0]))
    return found


def has_repeats(names: Pseudonyms) -> bool:
    """Whether a pseudonym occurs twice."""
    ordered = names[order_of(names)]
    return bool((ordered[1:] == ordered[:-1]).all(axis=1).any())
