"""Numbers on the wire: fine beside their noise, saturated far beyond it, whole without."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated.plan import ENTRY
from dplasso.federated.quantisation import Quantiser
from federations import agreed

UNIT = ENTRY * math.sqrt(16)
MOST = 2**31 - 1


@settings(max_examples=60, deadline=None)
@given(st.floats(2.0**12, 2.0**48), st.lists(st.floats(-3e4, 3e4), min_size=1, max_size=20))
def test_what_is_cut_is_little_beside_the_noise(noise, sizes):
    wire, noisy = Quantiser(agreed()), (np.array(sizes) * noise).astype(np.int64)
    packed = wire.packed(noisy, noise)
    assert np.abs(packed).max() <= MOST
    error = wire.unpacked(packed, noise) * UNIT - noisy
    assert np.abs(error).max() <= noise / 2**7


def test_far_beyond_the_noise_numbers_saturate():
    wire = Quantiser(agreed())
    assert wire.packed(np.array([-(2**62), 2**62]), 2.0**12).tolist() == [-MOST, MOST]


def test_without_noise_every_bit_is_kept():
    wire = Quantiser(agreed(epsilon=math.inf))
    numbers = np.array([-(2**60) + 1, 0, 7])
    assert wire.width == 8 and np.array_equal(wire.packed(numbers, 0.0), numbers)
    assert wire.unpacked(numbers, 0.0)[2] == pytest.approx(7 / UNIT)
