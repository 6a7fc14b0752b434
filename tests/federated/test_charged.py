"""A party that refuses its first request was not charged."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from charging import Counted, deltas, sizes, succeeds_or_costs_nothing, usually
from dplasso.federated import agree
from dplasso.federated.messages import Ask, PartyRequest
from dplasso.federated.party import Party
from dplasso.federated.sampling import Sampling

FEATURES = {"a": 2, "b": 3}
TERMS = st.fixed_dictionaries(
    {
        "n_rows": st.sampled_from([1, 2, 50, 10**6]),
        "epsilon": usually(1.0, sizes),
        "delta": usually(1e-6, deltas),
    },
    optional={
        "radius": sizes,
        "rounds": st.integers(2, 5),
        "y_bound": sizes,
        "row_budget": sizes,
        "sketch_size": st.integers(1, 4),
    },
)


def request(terms, party, labels, clip, number):
    """The first that a party may get: for the labels, or in the first round it is asked in."""
    place = terms.digest, terms.number_of(party)
    if labels and party == terms.label_holder:
        return PartyRequest(*place, 0, Ask.LABELS)
    sampling = Sampling(terms)
    first = next((k for k in range(terms.rounds) if party in sampling.who(k)), 0)
    numbers = np.full(terms.sketch_size, number)
    return PartyRequest(*place, first + 1, Ask.SELECT, clip=clip, numbers=numbers)


@settings(max_examples=100, deadline=None)
@given(
    TERMS,
    st.sampled_from("ab"),
    st.booleans(),
    st.sampled_from([0.0, 1.0, 1e-9, 1e99, 1e300]),
    st.sampled_from([0.0, 1.0, -1e9, 1e99, 1e300]),
    sizes,
)
def test_a_job_that_does_not_begin_costs_nothing(given, name, labels, clip, number, size):
    accountant = Counted()
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (5, FEATURES[name])) * size, np.linspace(-1, 1, 5) * size

    def work():
        terms = agree(FEATURES, "a", **given)
        own = y if name == "a" else None
        party = Party(terms, name, X, range(5), bytes(16), y=own, accountant=accountant)
        party.answer(request(terms, name, labels, clip, number).to_bytes())

    assert succeeds_or_costs_nothing(work, accountant)
