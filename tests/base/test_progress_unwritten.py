"""A bar that cannot be written does not end the work that it shows."""

import sys

import numpy as np
import pytest

from charging import Counted
from dplasso import PrivateLassoClassifier


class Terminal:
    """A terminal that takes some writes, and then fails at every other."""

    encoding = "utf-8"

    def __init__(self, writes, error):
        self.left, self.error, self.refused = writes, error, 0

    def isatty(self):
        return True

    def write(self, text):
        self.left -= 1
        self.flush()
        return len(text)

    def flush(self):
        if self.left < 0:
            self.refused += 1
            raise self.error("nobody reads")


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient"])
@pytest.mark.parametrize("error", [BrokenPipeError, OSError, ValueError])
@pytest.mark.parametrize("writes", [0, 1])
def test_a_fit_that_is_paid_for_outlives_its_bar(monkeypatch, solver, error, writes):
    monkeypatch.setenv("TERM", "xterm")
    X = np.random.default_rng(0).uniform(-1, 1, (60, 5))
    accountant, terminal = Counted(), Terminal(writes, error)
    model = PrivateLassoClassifier(
        classes=[0, 1], n_rows=60, x_bound=1.0, solver=solver, verbose=1, accountant=accountant
    )
    monkeypatch.setattr(sys, "stderr", terminal)
    model.fit(X, np.arange(60) % 2)
    monkeypatch.undo()
    assert accountant.charges == 1 and model.n_iter_ and terminal.refused


def test_a_fit_needs_no_standard_error(monkeypatch):
    X = np.random.default_rng(0).uniform(-1, 1, (60, 5))
    monkeypatch.setattr(sys, "stderr", None)
    model = PrivateLassoClassifier(classes=[0, 1], n_rows=60, x_bound=1.0, verbose=1)
    assert model.fit(X, np.arange(60) % 2).n_iter_
