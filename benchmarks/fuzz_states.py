"""States of streams, altered by their structure with digests that fit: resumed, or refused.

    python benchmarks/fuzz_states.py [--minutes 1] [--seed 0]

A state is as secret as the rows, and whoever could alter one could as well read it; but a damaged
one must not crash, hang, or take more memory than it holds.
"""

import contextlib
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from harness.fuzzing import Door, Tried, fuzz
from harness.fuzzing.archives import altered
from harness.fuzzing.door import MIB

from archives import signed
from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor

MODELS = (
    lambda: PrivateOnlineClassifier(1.0, classes=[0, 1], n_rows=500),
    lambda: PrivateOnlineClassifier(1.0, classes=[0, 1, 2], window=20),
    lambda: PrivateOnlineRegressor(1.0, n_rows=500),
)


def states(folder: Path) -> list[tuple[Any, bytes]]:
    """Models that can go on, and their states."""
    X = np.linspace(-1, 1, 120).reshape(30, 4)
    found = []
    for make in MODELS:
        model = make()
        model.partial_fit(X, np.arange(30) % 2)
        model.save_state(folder / "state")
        found.append((make, (folder / "state").read_bytes()))
        (folder / "state").unlink()
    return found


def state(held: list[tuple[Any, bytes]], seed: int) -> Tried:
    rng = random.Random(seed)
    make, content = rng.choice(held)
    content = signed(altered(rng, content))
    path = Path(f"state-{seed % 8}")
    for left in Path().glob("state-*"):
        left.unlink()
    path.write_bytes(content)
    model = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.load_state(path)
        except ValueError as error:
            assert str(error)
            return Tried(len(content))
        columns = model.n_features_in_
        with contextlib.suppress(ValueError):  # other classes, or no room for rows
            model.partial_fit(np.zeros((2, columns)), [0, 1])
        assert len(model.predict(np.zeros((2, columns)))) == 2
    return Tried(len(content))


DOORS = [Door("states of streams", states, state, flat=64 * MIB)]


if __name__ == "__main__":
    fuzz(__doc__, DOORS)
