"""Privacy events of all kinds, for tests of ledgers."""

from hypothesis import strategies as st

from dplasso.privacy.events import (
    BoundedRange,
    Composed,
    Gaussian,
    PureDP,
    Repeated,
    ZeroConcentrated,
)

costs = st.floats(1e-9, 1e3)
singles = st.one_of(
    costs.map(BoundedRange), costs.map(PureDP), costs.map(Gaussian), costs.map(ZeroConcentrated)
)
events = st.recursive(
    singles,
    lambda parts: st.one_of(
        st.lists(parts, max_size=4).map(tuple).map(Composed),
        st.builds(Repeated, parts, st.integers(0, 10**6)),
    ),
    max_leaves=8,
)
