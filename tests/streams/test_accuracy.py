"""Released sums are as accurate as stated: against the published noise, and by construction."""

import math

import numpy as np
import pytest

from dplasso.streams import RunningSum, State, running_sum

BUDGET = {"sensitivity": 1.0, "epsilon": 1.0, "delta": 1e-6}


def error(coordinates: int) -> float:
    """Five standard deviations of a measured one, relative."""
    return 5.0 / math.sqrt(2 * coordinates)


def measured(coordinates: int, window: int, construction: str, calibration: str = "tight") -> float:
    """Error of the sum in which all nodes of a tree take part: one step before two windows."""
    sums = running_sum(
        coordinates,
        window=window,
        construction=construction,
        calibration=calibration,
        seed=window,
        **BUDGET,
    )
    header, arrays = sums.state()
    resumed = RunningSum.from_state(State({**header, "position": 2 * window - 2}, arrays))
    return float(np.sqrt(np.mean(resumed.add(np.zeros(coordinates)) ** 2)))


@pytest.mark.parametrize(("window", "least"), [(64, 24.0), (1024, 30.0)])
def test_published_noise_is_many_times_what_the_budget_asks_for(window, least) -> None:
    published = measured(40_000, window, "window_tree", "paper")
    tight = measured(40_000, window, "window_tree")
    assert published / tight > least * (1 + error(40_000))
    levels = int(math.log2(window)) + 1
    node = math.sqrt(8) * levels * math.log(2e6)
    assert published == pytest.approx(node * math.sqrt(levels), rel=error(40_000))
    assert node == pytest.approx({64: 287, 1024: 451}[window], abs=1)


def test_a_band_has_a_third_of_the_error_of_a_tree() -> None:
    mu = running_sum(1, window=8, **BUDGET).privacy["mu"]
    tree, band = (measured(3000, 1024, construction) * mu for construction in ("tree", "band"))
    assert tree == pytest.approx(11.0, rel=error(3000))
    assert band == pytest.approx(3.27, rel=error(3000))
    assert tree / band > 3.0


def test_worst_errors_by_the_matrix() -> None:
    """All steps of three windows: worst and root of the mean square, in units of Delta / mu."""
    wanted = {
        "band": (3.27, 3.27),
        "buffered": (3.30, 3.30),
        "tree": (11.0, 8.1),
        "window_tree": (11.0, 10.5),
    }
    for construction, (worst, mean) in wanted.items():
        sums = running_sum(1, window=1024, construction=construction, **BUDGET)
        matrix = sums.noise.noise_matrix(3 * 1024)
        variances = np.sum(matrix**2, axis=1) * sums.privacy["mu"] ** 2
        assert math.sqrt(variances.max()) == pytest.approx(worst, rel=0.003)
        assert math.sqrt(variances[1024:].mean()) == pytest.approx(mean, rel=0.006)
