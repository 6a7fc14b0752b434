"""The check that a device computes as the processor does, to the last bit.

If a row's whole number depended on where it is computed, guarantees that are stated to the last bit
would depend on it, too. So a device is used only if it agrees with the processor on a fixed vector
of hard cases: ties of rounding, subnormal numbers, huge and tiny ones, what is infinite or not a
number, and arguments of the exponential next to where its reduction changes.
"""

import math

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError, Setting
from dplasso.kernels import probe
from dplasso.kernels.cuda.device import Device

# Pairs of numbers, each put through every operation: about 100,000 cases.
PAIRS = 7200


class WrongDeviceError(ParameterError):
    """A device does not compute what the processor does."""


def check(device: Device) -> None:
    """Raise a `WrongDeviceError` if a device differs from the processor on any hard case."""
    first, second = hard_pairs()
    a, b, out = device.put(first), device.put(second), device.empty(PAIRS, np.int64)
    expected = np.empty(PAIRS, np.int64)
    for operation in range(probe.OPERATIONS):
        probe.probe(operation, first, second, expected)
        device.launch("probe", PAIRS, operation, PAIRS, a, b, out)
        if not np.array_equal(device.get(out), expected):
            raise WrongDeviceError(
                "{name} rounds operation {operation} of the hard cases other than the processor, "
                "so models would differ; pass {cpu}",
                name=device.name,
                operation=operation,
                cpu=Setting("device", "cpu"),
            )


def hard_pairs() -> tuple[Floats, Floats]:
    """The hard cases: numbers that are hard on their own, and pairs that are hard together."""
    rng = np.random.Generator(np.random.PCG64(20240607))
    special = np.array(
        [0.0, 1.0, 0.5, 1.5, 2.5, math.inf, math.nan, 5e-324, 2.2250738585072014e-308, 1.7e308]
        + [700.0, 699.9999999999999, 700.0000000000001, 708.0, 745.0, 1e-300, 2.0**50, 2.0**51]
        + [2.0**52 - 0.5, 2.0**53, 2.0**62, 2.0**63, 2.0**64, 1.0 - 2.0**-53, 1.0 + 2.0**-52]
    )
    special = np.concatenate((special, -special))
    any_bits = rng.integers(-(2**63), 2**63, 2000).view(np.float64)
    ties = rng.integers(-(2**20), 2**20, 600) + 0.5
    wide_ties = np.ldexp(rng.integers(2**52, 2**53, 400) + 0.0, -rng.integers(1, 4, 400))
    # Next to odd multiples of ln 2 / 2, where the exponential's reduction changes.
    turns = (2 * rng.integers(-1000, 1000, 600) + 1) * (math.log(2.0) / 2.0)
    turns = (turns.view(np.int64) + rng.integers(-3, 4, 600)).view(np.float64)
    subnormal = rng.integers(0, 2**52, 300).view(np.float64)
    margins = rng.normal(size=900) * 10.0 ** rng.integers(-12, 3, 900)
    alone = np.concatenate((special, any_bits, ties, wide_ties, turns, subnormal, margins))
    # Products, quotients and differences whose exact value lies next to a tie.
    mantissas = np.ldexp(rng.integers(2**26, 2**27, PAIRS - len(alone)) * 2.0 + 1.0, -27)
    first = np.concatenate((alone, mantissas))
    second = rng.permutation(first)
    second[-len(mantissas) :] = np.roll(mantissas, 1)
    return np.ascontiguousarray(first), np.ascontiguousarray(second)
