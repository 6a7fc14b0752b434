"""In whole numbers: a person moves no sum further than the rows that they count as."""

import pytest

from neighbour_pairs import share_of
from people_pairs import people

CHECKED = {
    "gradient sums": 60,
    "few scores": 60,
    "selection scores": 40,
    "table sums": 80,
    "correction sums": 60,
}


@pytest.mark.parametrize("check", CHECKED)
def test_a_person_moves_a_sum_by_no_more_than_the_rows_they_count_as(check: str) -> None:
    """Up to 1,000 rows of a person, with other numbers of rows, storage and relations."""
    shares = [share_of(check, 1, number, people) for number in range(CHECKED[check])]
    assert max(shares) > 0.99  # and no less: the charge is for what happens
