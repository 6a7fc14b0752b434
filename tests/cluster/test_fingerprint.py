"""Facts that differ anywhere have another fingerprint, and equal ones have one in every process."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from dplasso.cluster.fingerprint import fingerprint
from dplasso.losses import SoftmaxLoss


@dataclass
class Plan:
    bounds: object = None


DIFFERENT = [
    *(None, False, 0, 0.0, -0.0, "0", b"0", "", (), [0], [[]], [[], []], {}, {0: 0}, {"0": 0}, {0}),
    *([1, 2], [12], ["1", "2"], ["12", ""], [[1], 2], [1, [2]], {"a": 1, "b": 2}, {"a": 2, "b": 1}),
    *(1e-300, np.nextafter(1e-300, 1.0), float("nan"), float("inf")),
    *(np.zeros(2), np.zeros((2, 1)), np.zeros(2, np.float32), np.zeros(2, np.int64)),
    *(Plan(), Plan(0), Plan([0.0, 1.0]), Plan(np.array([0.0, 1.0])), Plan, fingerprint),
    *(SoftmaxLoss(["a", "b"]), SoftmaxLoss(["a", "c"]), SoftmaxLoss([0, 1])),
]


def test_facts_that_differ_have_other_fingerprints() -> None:
    assert len({fingerprint(fact) for fact in DIFFERENT}) == len(DIFFERENT)


def test_equal_facts_have_one_fingerprint_in_every_process() -> None:
    facts = "{'b': {'x', 'y', 'z'}, 'a': np.arange(3.0), 'loss': SoftmaxLoss(['u', 'v'])}"
    script = (
        "import numpy as np\nfrom dplasso.losses import SoftmaxLoss\n"
        f"from dplasso.cluster.fingerprint import fingerprint\nprint(fingerprint({facts}))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    again = {"loss": SoftmaxLoss(["u", "v"]), "b": {"z", "y", "x"}, "a": np.arange(3.0)}
    assert found.stdout.strip() == fingerprint(again)
    assert fingerprint(np.int64(3)) == fingerprint(3)
    assert fingerprint(np.arange(6.0).reshape(2, 3).T) == fingerprint(
        np.ascontiguousarray(np.arange(6.0).reshape(2, 3).T)
    )


def test_what_has_no_fields_is_rejected() -> None:
    with pytest.raises(TypeError):
        fingerprint(object())
