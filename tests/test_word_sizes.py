"""Sums of whole numbers fit their 64 bits, by arithmetic and not by luck."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dplasso.data import ColumnMatrix
from dplasso.data.columns import MOST_ROWS
from dplasso.data.unit_rows import WHOLE, UnitRows, whole_for
from dplasso.federated import plan as federated
from dplasso.federated import terms
from dplasso.kernels import conditioned
from dplasso.kernels.scores import GRAIN
from dplasso.solvers.exact_margins import MOST_GRAINS
from dplasso.solvers.few.plan import GRAINS, LABEL
from dplasso.solvers.gradient import conditioning
from dplasso.streams import constructions

LIMIT = 2**63


@given(st.integers(1, 2**62))
def test_squares_of_a_row_add_up_in_any_number_of_columns(columns):
    whole = whole_for(columns)
    assert columns * whole**2 < LIMIT
    assert whole == WHOLE or columns * (2 * whole) ** 2 >= LIMIT


def test_scores_of_a_column_add_up():
    assert MOST_ROWS * round(1 / GRAIN) < LIMIT


def test_scores_of_a_choice_add_up():
    assert MOST_ROWS * WHOLE * 2 * LABEL < LIMIT
    assert MOST_ROWS * LABEL * GRAINS < LIMIT // 2**8  # noise is added


def test_sums_of_parties_add_up():
    assert terms.MOST_ROWS * federated.ENTRY * federated.WEIGHT < LIMIT
    # A sketch adds an entry less its centre of every row.
    assert terms.MOST_ROWS * 2 * federated.ENTRY < LIMIT // 2**8
    budget = terms._MOST_BUDGET * (federated.ENTRY * federated.SUM_FACTOR) ** 2
    assert budget < LIMIT


def test_squares_of_a_row_of_a_stream_add_up():
    assert 4**constructions._MOST_BITS * 2 < LIMIT  # up to rounding of its length


def test_a_term_of_a_margin_can_be_rounded():
    assert MOST_GRAINS < 2.0**51


@pytest.mark.parametrize("columns", [1, 7, 3000])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_lengths_of_conditioned_rows_add_up_at_the_largest_damping_and_centre(columns, sign):
    """Whole numbers of Python against those of 64 bits."""
    row = np.ones((1, columns))
    rows = UnitRows.of(row, "unit")
    centre = sign * np.full(columns, 1e3)  # cut to a length of 1
    most = conditioning.Conditioning.of(np.full(columns, 1e9), centre)
    facts = (None, rows.units, conditioning.WHOLE, most.damping, most.whole_centre)
    found = np.zeros(1, np.int64)
    runs = (np.array([0, columns]), np.zeros(1, np.int64))
    conditioned.square_lengths(rows.indptr, rows.indices, rows.values, *facts, *runs, found)
    scale = float(most.damping[0]) * conditioning.WHOLE
    entry = round(scale * (float(rows.units[0]) * rows.largest))
    wanted = sum((entry - int(p)) ** 2 for p in most.whole_centre)
    assert int(found[0]) + most.square_centre == wanted < LIMIT


def test_a_row_of_more_than_2_to_the_24_entries_has_length_one():
    """Squares of a smaller entry beside so many large ones once wrapped around."""
    columns = 2**24 + 1
    values = np.ones(columns, np.float32)
    values[-1] = 2.0**-20
    starts, places = np.arange(columns + 1, dtype=np.int32), np.zeros(columns, np.int32)
    rows = UnitRows.of(ColumnMatrix(starts, places, values, (1, columns), 1.0), "unit")
    sizes, counts = np.unique(rows.values, return_counts=True)
    square = sum(int(size) ** 2 * int(count) for size, count in zip(sizes, counts, strict=True))
    numerator, denominator = float(rows.units[0]).as_integer_ratio()
    length2 = square * numerator**2 / denominator**2
    assert square * numerator**2 <= denominator**2 and length2 > 0.999


def test_a_row_has_one_entry_per_column_at_most():
    repeated = sp.coo_array((np.ones(9), (np.zeros(9, int), np.zeros(9, int))), shape=(1, 2))
    assert ColumnMatrix.of(repeated, 100.0).entries == 1
