import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.privacy.calibration import Neighboring, calibrate, selection_event, spent
from dplasso.privacy.events import BoundedRange, Composed, PureDP, Repeated
from dplasso.privacy.zcdp import delta_of, epsilon_of, rho

RELATIONS: tuple[Neighboring, ...] = ("add_remove", "replace_one")
relations = st.sampled_from(RELATIONS)
bounds = st.floats(-6.0, 6.0).map(lambda power: 10.0**power)

# rounds, epsilon, delta and the eps0 of a round they allow.
PUBLISHED = [
    (50, 1.0, 1e-6, 0.06243),
    (400, 0.1, 1e-5, 2.943e-3),
    (400, 1.0, 1e-6, 0.02207),
    (400, 8.0, 1e-8, 0.1277),
    (4000, 1.0, 1e-6, 6.979e-3),
    (400000, 0.1, 1e-6, 8.013e-5),
]


def log_law(theta: float, alpha: np.ndarray) -> np.ndarray:
    """The log-probabilities of the signed coordinates."""
    weights = theta * np.concatenate([alpha, -alpha])
    return weights - np.logaddexp.reduce(weights)


@pytest.mark.parametrize(("rounds", "epsilon", "delta", "eps0"), PUBLISHED)
def test_known_step_sizes(rounds: int, epsilon: float, delta: float, eps0: float) -> None:
    assert 2.0 * calibrate(epsilon, delta, rounds) == pytest.approx(eps0, rel=2e-4)
    replaced = 4.0 * calibrate(epsilon, delta, rounds, neighboring="replace_one")
    assert replaced == pytest.approx(eps0, rel=2e-4)


def test_theta_scales_with_the_bounds() -> None:
    theta = calibrate(1.0, 1e-6, 400)
    assert calibrate(1.0, 1e-6, 400, x_bound=4.0) == pytest.approx(theta / 4.0, rel=1e-14)
    assert calibrate(1.0, 1e-6, 400, gradient_bound=0.5) == pytest.approx(2.0 * theta, rel=1e-14)
    assert calibrate(1.0, 1e-6, 1600) == pytest.approx(theta / 2.0, rel=1e-14)


@settings(max_examples=200)
@given(
    st.floats(1e-3, 100.0),
    st.floats(-12.0, -0.31).map(lambda power: 10.0**power),
    st.integers(1, 10**7),
    bounds,
    relations,
    bounds,
)
def test_what_is_spent_is_the_budget(
    epsilon: float, delta: float, rounds: int, x: float, neighboring: Neighboring, gradient: float
) -> None:
    theta = calibrate(epsilon, delta, rounds, x, neighboring, gradient)
    back = spent(theta, delta, rounds, x, neighboring, gradient)
    assert back <= epsilon
    assert back == pytest.approx(epsilon, rel=5e-10)


@pytest.mark.parametrize("neighboring", RELATIONS)
def test_theta_leaves_room_for_rounded_weights(neighboring: Neighboring) -> None:
    bare = {"add_remove": 2.0, "replace_one": 4.0}[neighboring]
    theta = calibrate(1.0, 1e-6, 400, 3.0, neighboring, 0.5)
    # A range larger by 0.98e-7 still fits, ten times as much does not.
    for more, fits in ((0.98e-7, True), (9.8e-7, False)):
        eps0 = bare * theta * 3.0 * 0.5 * (1.0 + more)
        assert (delta_of(400 * eps0**2 / 8.0, 1.0) <= 1e-6) is fits


@pytest.mark.parametrize("neighboring", RELATIONS)
def test_neighbours_stay_within_the_charged_range(neighboring: Neighboring) -> None:
    rng = np.random.default_rng(0)
    x_bound, gradient_bound, rounds = 2.0, 0.25, 40
    theta = calibrate(1.0, 1e-6, rounds, x_bound, neighboring, gradient_bound)
    event = selection_event(theta, rounds, x_bound, neighboring, gradient_bound).event
    assert isinstance(event, BoundedRange)
    rows = 1 if neighboring == "add_remove" else 2
    widest = 0.0
    for _ in range(500):
        alpha = rng.normal(size=6) * 30.0
        change = x_bound * gradient_bound * rng.choice([-1.0, 0.0, 1.0], size=(rows, 6))
        ratio = log_law(theta, alpha + change.sum(axis=0)) - log_law(theta, alpha)
        widest = max(widest, float(np.ptp(ratio)))
    assert widest <= event.epsilon
    assert widest >= event.epsilon * (1.0 - 2e-7)


@pytest.mark.parametrize("neighboring", RELATIONS)
def test_event_composes_with_others(neighboring: Neighboring) -> None:
    event = selection_event(0.01, 100, 2.0, neighboring, 0.5)
    eps0 = {"add_remove": 0.02, "replace_one": 0.04}[neighboring]
    assert isinstance(event, Repeated)
    assert event.count == 100
    assert rho(event) == pytest.approx(100 * eps0**2 / 8.0, rel=3e-7)
    together = epsilon_of(rho(Composed((event, PureDP(0.1)))), 1e-6)
    assert together > spent(0.01, 1e-6, 100, 2.0, neighboring, 0.5)


def test_no_privacy_and_no_information() -> None:
    assert calibrate(math.inf, 1e-6, 400) == math.inf
    assert spent(math.inf, 1e-6, 400) == math.inf
    assert spent(0.0, 1e-6, 400) == 0.0


BAD: list[tuple[str, list[Any]]] = [
    ("epsilon", [0.0, -1.0, math.nan, -math.inf, "1", None, True]),
    ("delta", [0.0, 1.0, -1e-6, math.nan, math.inf, "1e-6", None]),
    ("rounds", [0, -1, 10.0, math.nan, True, "10", None]),
    ("x_bound", [0.0, -1.0, math.nan, math.inf, "1", None, True]),
    ("gradient_bound", [0.0, -1.0, math.nan, math.inf, "1", None, True]),
    ("neighboring", ["add-remove", "", None, 0]),
]


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD for v in values])
def test_bad_arguments_are_named(name: str, value: Any) -> None:
    good = {"epsilon": 1.0, "delta": 1e-6, "rounds": 10}
    with pytest.raises(ValueError, match=rf"^{name} must be .*got .*: "):
        calibrate(**{**good, name: value})
    if name != "epsilon":
        back = {"theta": 1.0, "delta": 1e-6, "rounds": 10}
        with pytest.raises(ValueError, match=rf"^{name} must be .*got .*: "):
            spent(**{**back, name: value})


@pytest.mark.parametrize("theta", [-1.0, math.nan, "1", True])
def test_theta_must_be_a_number(theta: Any) -> None:
    with pytest.raises(ValueError, match=r"^theta must be .*got .*: "):
        spent(theta, 1e-6, 10)


@pytest.mark.parametrize("theta", [1e-14, 1e-6, 0.1, 30.0])
def test_rounded_exponentials_are_charged_whatever_theta_is(theta: float) -> None:
    event = selection_event(theta, 1).event
    assert isinstance(event, BoundedRange)
    assert event.epsilon >= 2.0 * theta * (1.0 + 9.4e-8) + 2e-13


def test_a_budget_smaller_than_rounding_is_refused() -> None:
    with pytest.raises(ValueError, match="raise it, or lower rounds"):
        calibrate(1e-12, 1e-300, 1000)
    assert spent(calibrate(1e-9, 1e-6, 1000), 1e-6, 1000) <= 1e-9


def test_bad_arguments_are_named_without_privacy_too() -> None:
    with pytest.raises(ValueError, match="^rounds must be"):
        calibrate(math.inf, 1e-6, 0)
    with pytest.raises(ValueError, match="^delta must be"):
        calibrate(math.inf, 0.0, 1)


@pytest.mark.parametrize("extreme", [1e-80, 1e80])
def test_bounds_too_extreme_for_theta(extreme: float) -> None:
    with pytest.raises(ValueError, match=r"^x_bound \* gradient_bound must lie .*: rescale"):
        calibrate(1.0, 1e-6, 10, x_bound=extreme, gradient_bound=extreme)
