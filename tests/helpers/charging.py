"""Whether failed work was charged, and parameters that may make work fail."""

import warnings

from hypothesis import strategies as st


class Counted:
    """An accountant that counts its charges."""

    def __init__(self):
        self.charges = 0

    def charge(self, event, *, delta, neighboring, label):
        self.charges += 1


def succeeds_or_costs_nothing(work, accountant):
    """Whether work was done, or rejected with a readable error before any charge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            work()
        except ValueError:
            return accountant.charges == 0
    return accountant.charges == 1


sizes = st.sampled_from(
    [1, 1.0, 0.5, 1e-3, 1e3, 1e-6, 1e6, 1e-20, 1e20, 1e-160, 1e154, 1e-300, 1e300, 5e-324, 1.7e308]
)
odd = st.sampled_from([0, -1, float("nan"), float("inf"), "x", None, True, [], 1e400])
deltas = st.sampled_from([1e-6, 1e-12, 1e-300, 0.5, 1.0 - 2.0**-53])


def usually(usual, others):
    """The usual value half of the time, so that one error seldom hides another."""
    return st.one_of(st.just(usual), others)
