"""Products modulo 2^64 are those of numpy's own integers, and masks those of ChaCha20."""

import numpy as np
import pytest

from dplasso.federated.moments import ring


@pytest.mark.parametrize(
    ("rows", "left", "right"),
    [(0, 2, 3), (1, 1, 1), (7, 3, 1), (512, 2, 5), (513, 1, 4), (1700, 5, 3)],
)
def test_products_are_exact(rows, left, right):
    rng = np.random.default_rng(rows)
    one, other = (rng.integers(0, 2**64, (rows, columns), np.uint64) for columns in (left, right))
    assert np.array_equal(ring.product(one, other), one.T @ other)


def test_products_of_the_largest_numbers_are_exact():
    largest = np.full((1024, 2), 2**64 - 1, np.uint64)
    assert np.array_equal(ring.product(largest, largest), np.full((2, 2), 1024, np.uint64))


def test_products_of_negative_numbers_are_those_of_signed_integers():
    rng = np.random.default_rng(1)
    one, other = (rng.integers(-(2**16), 2**16, (900, 3)) for _ in range(2))
    found = ring.product(one.view(np.uint64), other.view(np.uint64)).view(np.int64)
    assert np.array_equal(found, one.T @ other)


def test_a_mask_is_the_key_stream_of_the_standard():
    """RFC 8439, appendix A.1, test vector 1: the key, the nonce and the counter are 0."""
    stream = ring.to_bytes(ring.expanded(bytes(32), (8,)))
    assert stream[:16].hex() == "76b8e0ada0f13d90405d6ae55386bd28"
    assert stream[-8:].hex() == "c387b669b2ee6586"


def test_numbers_survive_their_bytes():
    numbers = np.random.default_rng(0).integers(0, 2**64, (3, 5), np.uint64)
    assert np.array_equal(ring.from_bytes(ring.to_bytes(numbers), (3, 5)), numbers)
