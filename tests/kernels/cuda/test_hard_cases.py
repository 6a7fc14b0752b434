"""A device is used only if it has the processor's bits where rounding is hard."""

import numpy as np
import pytest

from dplasso.kernels import probe
from dplasso.kernels.cuda.hard_cases import PAIRS, WrongDeviceError, check, hard_pairs
from twin import Twin


def test_the_kernels_compute_as_the_processor_does() -> None:
    device = Twin()
    check(device)
    assert device.launched.count("probe") * PAIRS > 100_000


# Not -ffast-math: it would change the rounding of the whole process.
@pytest.mark.parametrize(
    "flags", [("-march=native", "-ffp-contract=fast"), ("-fsingle-precision-constant",)]
)
def test_a_device_with_another_rounding_is_rejected(flags: tuple[str, ...]) -> None:
    with pytest.raises(WrongDeviceError, match="twin"):
        check(Twin(flags=flags))


@pytest.mark.parametrize("operation", range(probe.OPERATIONS))
def test_one_bit_off_in_one_case_is_seen(operation: int) -> None:
    class OneBitOff(Twin):
        def launch(self, kernel: str, work: int, *arguments: object, **kinds: object) -> None:
            super().launch(kernel, work, *arguments, **kinds)
            if arguments[0] == operation:
                arguments[-1][PAIRS // 2] ^= 1

    with pytest.raises(WrongDeviceError, match=f"operation {operation} "):
        check(OneBitOff())


def test_hard_cases_are_hard() -> None:
    """They hold what is rare in random numbers, and most results of an operation differ."""
    first, second = hard_pairs()
    for numbers in (first, second):
        assert np.isnan(numbers).any() and np.isinf(numbers).any()
        assert np.any((numbers != 0) & (np.abs(numbers) < 2.0**-1022))
        assert np.sum(np.abs(numbers[np.isfinite(numbers)] % 1.0) == 0.5) > 300
    with np.errstate(all="ignore"):
        exact = first.astype(np.longdouble) * second + first
        fused = exact.astype(np.float64) != first * second + first
    assert fused.sum() > 1000
