"""Places of people: the same everywhere, told by nothing but identifier and secret."""

import numpy as np
import pytest
from scipy.stats import chisquare

from dplasso.federated.alignment import places_of
from federations import SECRET


def test_the_same_person_is_at_the_same_place_everywhere():
    one = places_of(["ann", " 12", b"raw", np.int64(7)], SECRET, 1024)
    other = places_of([7, "raw", np.str_("ann"), 12], SECRET, 1024)
    assert one.places[[3, 2, 0, 1]].tolist() == other.places.tolist()
    assert one.signs[[3, 2, 0, 1]].tolist() == other.signs.tolist()


def test_another_secret_tells_nothing_of_places():
    one, other = (places_of(range(4000), secret, 8) for secret in (SECRET, bytes(16)))
    table = np.zeros((16, 16))
    np.add.at(table, (2 * one.places + (one.signs > 0), 2 * other.places + (other.signs > 0)), 1)
    assert chisquare(table.ravel()).pvalue > 1e-5


@pytest.mark.parametrize(
    "twice", [["ann", "bob", "ann"], [1, "1"], ["x", b" x".strip()], [" a", "a"]]
)
def test_one_row_a_person(twice):
    with pytest.raises(ValueError, match="identifiers must differ") as told:
        places_of(twice, SECRET, 8)
    assert "ann" not in str(told.value)


@pytest.mark.parametrize("identifier", [1.5, None, True, ("a",)])
def test_identifiers_of_other_kinds_are_refused(identifier):
    with pytest.raises(ValueError, match="identifiers must be texts, integers or bytes, got"):
        places_of([identifier], SECRET, 8)


@pytest.mark.parametrize("secret", [b"short", "a text of many letters", None, bytearray(32)])
def test_a_secret_is_bytes_enough(secret):
    with pytest.raises(ValueError, match="secret must be at least 16 bytes"):
        places_of(["ann"], secret, 8)
