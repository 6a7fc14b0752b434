"""What one person moves, by brute force and in whole numbers: never more than is charged.

A person is taken away from all parties, the same features are shared in the same order about the
same released totals, and everything is compared before its noise.
"""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated import columns, holdings
from dplasso.federated.alignment import places_of
from dplasso.federated.columns import Columns
from dplasso.federated.holdings import Holdings
from dplasso.federated.messages import Gave, PartyRelease
from dplasso.federated.plan import ENTRY, SUM_FACTOR, WEIGHT, plan_of
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import zcdp
from dplasso.privacy.events import Composed
from federations import FEATURES, SECRET, Data, Replay, agreed, made, moved

ROWS = 8


def case(seed, scale, budget):
    """Terms, data of which some rows are at one party alone, and a made-up list of releases."""
    rng = np.random.default_rng(seed)
    terms = agreed(n_rows=ROWS, sketch_size=4, row_budget=budget)
    data = made(ROWS, seed=seed)
    blocks = {name: block * scale for name, block in data.blocks.items()}
    kept = rng.random(ROWS) < 0.8
    kept[0] = True
    blocks["shop"] = blocks["shop"][kept]
    everybody = data.identifiers["bank"]
    people = {
        "bank": everybody,
        "shop": [one for one, there in zip(everybody, kept, strict=True) if there],
    }
    reach = int(1.2 * ENTRY * ROWS)
    order = [(name, k) for name, count in FEATURES.items() for k in range(count)]
    releases = [("bank", released(Gave.LABELS, -1, rng.integers(-reach, reach)))]
    for place in rng.permutation(len(order)):
        name, feature = order[place]
        releases.append((name, released(Gave.SHARED, feature, rng.integers(-reach, reach))))
    return terms, Data(blocks, people, data.y * scale), releases


def released(kind, feature, total):
    return PartyRelease(b"", 0, 0, kind, 1, int(feature), int(total))


def charged(terms, party=None):
    """Twice the rho of all that has Gaussian noise, in the job or at one party."""
    event = plan_of(terms).event if party is None else plan_of(terms).event_of(party)
    return 2 * Fraction(zcdp.rho(Composed(event.events[:-1])))


def excess(seed, scale, budget):
    """What the person moves over what is charged: for the whole job, and at each party."""
    terms, data, releases = case(seed, scale, budget)
    present = Replay(terms, data).parts(releases)
    absent = Replay(terms, data.without("person 0")).parts(releases)
    shares = [moved(present, absent) / charged(terms)]
    for name in FEATURES:
        own = [[part for part in parts if part.party == name] for parts in (present, absent)]
        shares.append(moved(*own) / charged(terms, name))
    return [float(share) for share in shares]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 3.0), st.floats(0.01, 8.0))
def test_nobody_moves_more_than_is_charged(seed, scale, budget):
    assert max(excess(seed, scale, budget)) <= 1.0


def test_the_charge_is_nearly_reached():
    """Charging much less would not be enough."""
    assert max(excess(seed, 3.0, 2.0)[0] for seed in range(10)) > 0.8


def found(budget=2.0):
    return max(max(excess(seed, 3.0, budget)) for seed in range(6)) > 1.0


def test_nothing_is_found_where_nothing_is_planted():
    assert not found() and not found(budget=0.02)


def test_a_filter_that_is_forgotten_is_found(monkeypatch):
    monkeypatch.setattr(Columns, "_charged", lambda self, values, weight: values)
    assert found()


def test_a_filter_that_looks_and_does_not_charge_is_found(monkeypatch):
    def careless(self, values, weight):
        most = np.sqrt(self.left).astype(np.int64) // weight
        return np.clip(values, -most, most)

    monkeypatch.setattr(Columns, "_charged", careless)
    assert found()


def test_a_centre_that_is_not_charged_is_found(monkeypatch):
    def careless(self, column, centre):
        return self._charged(column, SUM_FACTOR) - centre

    monkeypatch.setattr(Columns, "for_sketch", careless)
    assert found()


def test_a_sketch_that_is_not_centred_is_found(monkeypatch):
    def careless(self, column, centre):
        self._charged(column - centre, SUM_FACTOR)
        return column

    monkeypatch.setattr(Columns, "for_sketch", careless)
    assert found()


def test_a_sum_that_is_not_charged_is_found(monkeypatch):
    monkeypatch.setattr(Columns, "for_sum", lambda self, column: column)
    assert found(budget=0.02)


def test_entries_beyond_their_bound_are_found(monkeypatch):
    monkeypatch.setattr(
        columns, "_in_units", lambda values, bound: np.trunc(values / bound * ENTRY)
    )
    assert found()


def test_people_with_two_rows_are_found(monkeypatch):
    """As if identifiers were not checked, and person 1 were person 0 under another name."""

    def blind(identifiers, secret, universe):
        return places_of([f"{k} {name}" for k, name in enumerate(identifiers)], secret, universe)

    def doubled(*args):
        terms, data, releases = honest(*args)
        twice = {
            name: ["person 0" if one == "person 1" else one for one in people]
            for name, people in data.identifiers.items()
        }
        return terms, Data(data.blocks, twice, data.y), releases

    honest = case
    monkeypatch.setattr(holdings, "places_of", blind)
    monkeypatch.setitem(globals(), "case", doubled)
    assert found()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.floats(-1e100, 1e100), min_size=4, max_size=4),
    st.one_of(st.just(0.0), st.floats(1e-100, 1e100)),
)
def test_scores_move_by_at_most_what_theta_is_made_for(seed, residual, clip):
    terms, data, _ = case(seed, 2.0, 3.0)
    scores = [scores_of(terms, rows, residual, clip) for rows in (data, data.without("person 0"))]
    change = [int(a) - int(b) for a, b in zip(*scores, strict=True)]
    assert max(map(abs, change)) <= ENTRY * WEIGHT
    assert plan_of(terms).theta * 2 * ENTRY * WEIGHT == Fraction(plan_of(terms).choice_epsilon)


def test_scores_can_move_as_far_as_that():
    terms, data, _ = case(0, 100.0, 3.0)
    present, absent = (
        scores_of(terms, rows, [1e9, 0.1, -2.0, 3.0], 1e-3)
        for rows in (data, data.without("person 0"))
    )
    assert np.abs(present - absent).max() == ENTRY * WEIGHT


def scores_of(terms, data, residual, clip):
    held = Holdings(
        terms, "bank", data.blocks["bank"], data.identifiers["bank"], SECRET, data.y, random_bits(0)
    )
    weights = held.row_weights(np.array(residual), clip)
    return held._columns.scores(weights, np.arange(FEATURES["bank"]))
