import math

import numpy as np
import pytest

from dplasso.privacy.events import BoundedRange, Composed, Gaussian, PureDP, Repeated


def test_events_are_values() -> None:
    release = Composed((Repeated(BoundedRange(0.1), 40), PureDP(0.5), Gaussian(2.0)))
    assert release == Composed((Repeated(BoundedRange(0.1), 40), PureDP(0.5), Gaussian(2.0)))
    assert hash(release) == hash(Composed(release.events))
    assert release != Composed((Repeated(BoundedRange(0.1), 41), PureDP(0.5), Gaussian(2.0)))
    assert BoundedRange(0.1) != PureDP(0.1)


def test_events_are_immutable() -> None:
    with pytest.raises(AttributeError):
        PureDP(0.5).epsilon = 0.1  # type: ignore[misc]


def test_numbers_become_plain_python() -> None:
    assert type(PureDP(np.float32(0.5)).epsilon) is float
    assert type(Repeated(PureDP(1), np.int64(3)).count) is int


def test_a_list_of_events_is_frozen() -> None:
    parts = [PureDP(0.5)]
    release = Composed(parts)  # type: ignore[arg-type]
    parts.append(PureDP(9.0))
    assert release.events == (PureDP(0.5),)


@pytest.mark.parametrize("kind", [BoundedRange, PureDP])
@pytest.mark.parametrize("epsilon", [-1e-300, math.nan, -math.inf, "1", None, True, 1j, 10**400])
def test_epsilon_must_be_a_cost(kind: type, epsilon: object) -> None:
    with pytest.raises(ValueError, match=r"^epsilon must be .*got .*: "):
        kind(epsilon)


@pytest.mark.parametrize("noise", [0.0, -1.0, math.nan, "1"])
def test_noise_multiplier_must_be_above_zero(noise: float) -> None:
    with pytest.raises(ValueError, match=r"^noise_multiplier must be .*got .*: "):
        Gaussian(noise)


@pytest.mark.parametrize("count", [-1, 2.0, True, "3"])
def test_count_must_be_whole(count: int) -> None:
    with pytest.raises(ValueError, match=r"^count must be an integer .*got .*: "):
        Repeated(PureDP(1.0), count)


def test_only_events_compose() -> None:
    with pytest.raises(ValueError, match=r"^events must hold privacy events, got float"):
        Composed((PureDP(1.0), 0.5))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^events must be a tuple of events, got PureDP"):
        Composed(PureDP(1.0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^event must hold privacy events, got int"):
        Repeated(1, 2)  # type: ignore[arg-type]
