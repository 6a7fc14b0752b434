"""A fit after a fork, and fits side by side, are sound and independent."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import dplasso
from dplasso.mechanisms.random_bits import random_bits
from reference import seeded


def fit(generator):
    rng = seeded(0)
    X = sp.random_array((300, 200), density=0.2, rng=rng, format="csc")
    y = rng.integers(0, 2, 300)
    solution = dplasso.frank_wolfe(
        X,
        y,
        loss=dplasso.LogisticLoss(),
        radius=5.0,
        rounds=64,
        theta=0.05,
        generator=generator,
    )
    return solution.columns.tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_then_fit_with_the_same_secure_bits():
    """A child must not repeat its parent's draws, nor hang for threads it does not have."""
    bits = random_bits()
    fit(bits)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(fit(bits), pipe)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        theirs = pickle.load(pipe)
    os.waitpid(child, 0)
    assert len(theirs) == 64
    assert theirs != fit(bits)


def test_fits_in_threads_equal_fits_alone():
    alone = [fit(seed) for seed in range(6)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(fit, range(6))) == alone
    assert len({tuple(columns) for columns in alone}) == 6
    assert np.unique(alone).size > 100
