"""The number of trials follows its law."""

import math

import numpy as np
import pytest

from dplasso.mechanisms.trial_count import trial_count
from reference import chi_square, seeded

DRAWS, MOST = 2000, 12


@pytest.mark.parametrize("law", ["logarithmic", "geometric"])
@pytest.mark.parametrize("stop", [0.6, 0.1])
def test_law(law, stop):
    generator = seeded(0)
    drawn = [trial_count(stop, law, generator) for _ in range(DRAWS)]
    k = np.arange(1, MOST + 1)
    chances = (1.0 - stop) ** k / (k if law == "logarithmic" else 1)
    chances = chances / (-math.log(stop) if law == "logarithmic" else (1.0 - stop) / stop)
    law_of_all = np.append(chances, 1.0 - chances.sum())
    observed = np.bincount(np.minimum(drawn, MOST + 1), minlength=MOST + 2)[1:]
    assert chi_square(observed, law_of_all) > 1e-4


def test_stop_must_be_a_probability():
    with pytest.raises(ValueError, match="^stop must be"):
        trial_count(0.0, "geometric", seeded(0))
