"""What releases cost a row, in exact fractions: nothing is rounded, nothing of the account used.

The coefficients of the noise, those of the strategy (by substitution) and the standard deviations
that draws really have are fractions. The square of mu is then a fraction, too, and at most that of
the charge, without any tolerance.
"""

from fractions import Fraction

import pytest

from dplasso.kernels.buffered import FINE_BITS
from dplasso.mechanisms.gaussian_cells import GaussianCells
from dplasso.streams import buffered, running_sum
from dplasso.streams.blocks import STEPS, BlockNoise
from dplasso.streams.buffered import BufferedNoise, Echoes
from dplasso.streams.doubling import DoublingNoise

BUDGET = {"sensitivity": 1.0, "epsilon": 1.0, "delta": 1e-6}


def moved(echoes: Echoes, steps: int) -> Fraction:
    """How far a row moves the sources of so many releases: the square, in draws."""
    buffers = [
        (1 - Fraction(1, 1 << int(shift)), Fraction(int(share), 1 << FINE_BITS))
        for shift, share in zip(*echoes, strict=True)
    ]
    b = [Fraction(1), *(sum(s * kept**k for kept, s in buffers) for k in range(steps - 1))]
    found: list[Fraction] = []
    for t in range(steps):
        found.append(1 - sum((b[k] * found[t - k] for k in range(1, t + 1)), Fraction(0)))
    return sum((each * each for each in found), Fraction(0))


def cost(echoes: Echoes, cells: GaussianCells, steps: int, reach: int) -> Fraction:
    """The square of mu of so many releases, for a row that moves a sum by ``reach`` units."""
    return moved(echoes, steps) * (Fraction(reach) / Fraction(cells._exact_sigma)) ** 2


def most_boundaries(window: int) -> int:
    """The most steps, of any ``window`` in a row, that finish a block."""
    return max(
        sum(step % STEPS == 0 for step in range(first, first + window))
        for first in range(1, STEPS + 1)
    )


def cost_of(noise, steps: int | None, reach: int) -> Fraction:
    """The square of mu of all releases of a row while it is protected."""
    if isinstance(noise, BlockNoise):
        within = noise.within
        count = None if steps is None else most_boundaries(steps)
        inside = cost(within.echoes, within.cells, min(steps or STEPS, STEPS - 1), reach)
        return inside + cost_of(noise._whole, count, reach)
    if isinstance(noise, DoublingNoise):  # a row is in one epoch
        epochs = range((6 * noise._first_steps).bit_length())
        found = [noise._epoch_noise(e) for e in epochs if noise._first_steps << e <= 64]
        return max(cost_of(each, noise._first_steps << e, reach) for e, each in enumerate(found))
    assert isinstance(noise, BufferedNoise) and steps is not None
    return cost(noise._echoes, noise._cells, steps, reach)


CASES = [
    *({"construction": "buffered", "window": window} for window in (1, 2, 3, 7, 30, 100)),
    *({"construction": "blocks", "window": window} for window in (1, 55, 56, 57, 100, 150, 300)),
    {"construction": "buffered", "window": 20, "batch": 3},
    {"construction": "buffered", "window": 9, "neighboring": "replace_one"},
    {"construction": "blocks", "window": 90, "neighboring": "replace_one"},
    {"construction": "blocks", "steps": 200},
    {"construction": "buffered", "first_steps": 1},
    {"construction": "buffered", "first_steps": 5},
    {"construction": "blocks", "first_steps": 3 * STEPS},
]


def exact(case: dict) -> tuple[Fraction, Fraction]:
    """The square of mu, and of what is charged."""
    sums = running_sum(3, **BUDGET, **case)
    noise = sums.blocks or sums._ahead._process
    window, batch = case.get("window"), case.get("batch", 1)
    steps = case.get("steps") if window is None else -(-window // batch)
    reach = (2 if "neighboring" in case else 1) << sums.bits
    return cost_of(noise, steps, reach), 1 / Fraction(sums.event.noise_multiplier) ** 2


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_row_costs_more_than_is_charged_to_the_last_digit(case: dict) -> None:
    found, charged = exact(case)
    assert charged * Fraction(7, 10) < found <= charged


def test_a_millionth_of_the_noise_that_is_missing_is_found(monkeypatch) -> None:
    honest = buffered.buffered_sensitivity
    monkeypatch.setattr(
        buffered, "buffered_sensitivity", lambda *given: honest(*given) * (1.0 - 1e-6)
    )
    for case in CASES[:1], CASES[8:9], CASES[-2:-1]:
        found, charged = exact(case[0])
        assert found > charged
