"""What `agree` chooses, what a row's budget cuts, and what the coordinator makes of noise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated import agree, agreement, simulate, weights
from dplasso.federated.columns import Columns
from dplasso.federated.plan import ENTRY, SUM_FACTOR, plan_of
from dplasso.federated.weights import CHANCE, Corrective
from dplasso.privacy import zcdp
from federations import agreed

UNIT = (ENTRY * SUM_FACTOR) ** 2
entries = st.lists(st.floats(-1.0, 1.0), min_size=5, max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(entries, min_size=1, max_size=6), st.floats(1e-6, 3.0), st.integers(-ENTRY, ENTRY))
def test_a_row_gives_what_its_budget_covers_and_keeps_its_signs(rows, budget, centre):
    columns = Columns(np.array(rows), 1.0, budget)
    spent = np.zeros(len(rows))
    for feature in range(5):
        column = columns.column(feature)
        for given_, wanted, weight in (
            (columns.for_sum(column), column, 1),
            (columns.for_sketch(column, centre), column - centre, SUM_FACTOR),
        ):
            spent += (given_ * weight) ** 2.0
            assert np.all(np.abs(given_) <= np.abs(wanted)) and np.all(given_ * wanted >= 0)
            # What is cut takes all that is left, but for less than one unit more.
            cut = given_ != wanted
            assert np.all(
                spent[cut] + (2 * np.abs(given_[cut]) + 1) * weight**2 > budget * UNIT - 1
            )
    assert np.all(spent <= budget * UNIT) and np.all(columns.left >= 0)


def test_what_a_row_gives_does_not_depend_on_others():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (20, 6))
    together, apart = Columns(X, 1.0, 0.7), [Columns(row[None, :], 1.0, 0.7) for row in X]
    for feature in range(6):
        column = together.column(feature)
        alone = [each.for_sketch(each.column(feature), 9000)[0] for each in apart]
        assert together.for_sketch(column, 9000).tolist() == alone


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0, 64.0])
@pytest.mark.parametrize("parties", [2, 5, 20])
def test_the_uplink_grows_no_faster_than_rows_to_the_three_quarters(epsilon, parties):
    """At a fixed budget, T m numbers; 2/3 but for what is rounded and what is the least."""
    names = {f"p{k}": 50 for k in range(parties)}
    rows = np.geomspace(1e3, 1e6, 7).astype(int)
    chosen = [agree(names, "p0", n_rows=int(n), epsilon=epsilon, delta=1e-9) for n in rows]
    sent = [terms.rounds * terms.sketch_size for terms in chosen]
    assert np.polyfit(np.log(rows), np.log(sent), 1)[0] <= 0.72
    assert all(terms.sketch_size <= terms.universe for terms in chosen)


def test_more_privacy_is_never_longer_sketches():
    sizes = [
        agree({"a": 9, "b": 9}, "a", n_rows=50_000, epsilon=e, delta=1e-9).sketch_size
        for e in (0.1, 1.0, 3.0, 10.0, 100.0, math.inf)
    ]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


def test_without_privacy_nothing_is_cut():
    terms = agree({"a": 4}, "a", n_rows=10, epsilon=math.inf, delta=1e-9)
    columns = Columns(np.ones((3, 4)), 1.0, terms.parties[0].row_budget)
    for feature in range(4):
        column = columns.column(feature)
        assert np.array_equal(columns.for_sum(column), column)
        assert np.array_equal(columns.for_sketch(column, -ENTRY), column + ENTRY)


def coins(rows, features, seed, signal=0.0):
    """Fair coins at two parties, and labels of which four in five are 1; one feature may tell."""
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 1.0], (rows, 2 * features))
    score = 0.84 + rng.normal(size=rows) + signal * (X[:, 0] - 0.5)
    blocks = {"a": X[:, :features], "b": X[:, features:]}
    return blocks, np.where(score > 0.0, 1.0, -1.0)


def assert_the_mean_is_learnt(epsilon, rows, features, seeds=12):
    """All weights are 0, as often as the rule says, and the intercept is then the mean of the
    labels but for its own noise."""
    with_weights = 0
    for seed in range(seeds):
        blocks, y = coins(rows, features, seed, signal=1.5)
        bounds = {"x_bounds": {"a": 1.0, "b": 1.0}, "y_bound": 1.0}
        terms = agree(
            {"a": features, "b": features}, "a", n_rows=rows, epsilon=epsilon, delta=1e-7,
            seed=seed, **bounds,
        )  # fmt: skip
        outcome = simulate(terms, blocks, y, random_state=seed)
        if any(outcome.card.weights):
            with_weights += 1
            continue
        spread = plan_of(terms).label_sum_multiplier / rows
        assert abs(outcome.card.intercept - y.mean()) <= 4.0 * spread + 1e-3
    assert with_weights <= 2


@pytest.mark.parametrize(("epsilon", "rows", "features"), [(0.05, 3000, 8), (0.3, 1000, 2)])
def test_with_a_budget_that_is_too_small_the_model_is_the_mean(epsilon, rows, features):
    assert_the_mean_is_learnt(epsilon, rows, features)


def test_a_rule_that_keeps_all_weights_is_noticed(monkeypatch):
    def all_of_them(self, products):
        return np.arange(len(products))

    monkeypatch.setattr(Corrective, "_supported", all_of_them)
    with pytest.raises(AssertionError):
        assert_the_mean_is_learnt(0.05, 3000, 8)


def test_with_enough_budget_weights_are_learnt():
    blocks, y = coins(20_000, 8, 0, signal=1.5)
    bounds = {"x_bounds": {"a": 1.0, "b": 1.0}, "y_bound": 1.0}
    terms = agree({"a": 8, "b": 8}, "a", n_rows=20_000, epsilon=4.0, delta=1e-9, **bounds)
    outcome = simulate(terms, blocks, y, random_state=0)
    assert np.mean((outcome.margins(blocks) - y) ** 2) < 0.95 * y.var()


def chance_of_weights(trials=1500, features=40, shared=8, size=100):
    """How often noise alone gives weights, if features are those that the labels' noise favours
    most, which no choice exceeds."""
    terms = agreed({"a": features // 2, "b": features // 2}, "a", rounds=shared, sketch_size=size)
    rng, found = np.random.default_rng(0), 0
    for _ in range(trials):
        labels = rng.normal(size=size) * 3.0
        columns = rng.normal(size=(features, size)) * rng.choice([0.3, 1.0, 3.0])
        chosen = np.argsort(-np.abs(columns @ labels))[:shared]
        weights = Corrective(terms, sigma=0.8)
        weights.set_labels(labels, 3.0)
        for feature in chosen:
            weights.share(("a", int(feature)), columns[feature] + 0.8 * rng.normal(size=size))
        weights.move(0, {})
        found += bool(weights.values.any())
    return found / trials


def test_noise_gives_weights_as_rarely_as_the_rule_says():
    assert chance_of_weights() <= 2.0 * CHANCE


def test_a_rule_that_forgets_how_features_are_chosen_is_noticed(monkeypatch):
    usual = weights._most
    monkeypatch.setattr(weights, "_most", lambda chances: usual(1))
    assert chance_of_weights() > 2.0 * CHANCE


def assert_budgets_know_their_features(epsilon, rounds, features):
    """A budget covers the fair coins that a party may share, and no more of them than it has."""
    names = {f"p{k}": count for k, count in enumerate(features)}
    terms = agree(names, "p0", n_rows=5000, epsilon=epsilon, delta=1e-8, rounds=rounds)
    least = 0.4 * zcdp.rho_of(epsilon, 1e-8) ** 0.25
    for party in terms.parties:
        shared = min(terms.rounds / len(names), party.n_features)
        of_coins = (1 / 4 + 1 / 64) * shared  # a centred coin squared, and its part of the sum
        assert of_coins <= party.row_budget <= max(1.02 * of_coins, least)


BUDGETS = [
    (1.0, None, (3, 40)),
    (0.1, None, (1, 1, 1)),
    (3.0, 2000, (3, 4)),
    (8.0, 30, (2, 500, 9)),
]


@pytest.mark.parametrize(("epsilon", "rounds", "features"), BUDGETS)
def test_row_budgets_follow_from_the_numbers_of_features(epsilon, rounds, features):
    assert_budgets_know_their_features(epsilon, rounds, features)


@pytest.mark.parametrize(("epsilon", "rounds", "features"), BUDGETS[2:])
def test_row_budgets_that_do_not_know_the_features_are_noticed(
    monkeypatch, epsilon, rounds, features
):
    usual = agreement._default_budget
    monkeypatch.setattr(
        agreement, "_default_budget", lambda proposal, rounds, _: usual(proposal, rounds, 10**6)
    )
    with pytest.raises(AssertionError):
        assert_budgets_know_their_features(epsilon, rounds, features)


def test_no_party_is_asked_more_often_than_any_has_features():
    public = {"n_rows": 10**6, "epsilon": 3.0, "delta": 1e-9}
    few, many = ({"a": 2, "b": count} for count in (3, 500))
    assert agree(few, "a", **public).rounds == 2 * 3 < agree(many, "a", **public).rounds


def test_few_features_have_less_noise():
    public = {"n_rows": 10_000, "epsilon": 1.0, "delta": 1e-8, "rounds": 20}
    sigmas = [
        plan_of(agree({"a": count, "b": count}, "a", **public)).sketch_sigma
        for count in (1, 3, 10, 100)
    ]
    assert sigmas == sorted(sigmas) and sigmas[0] < 0.5 * sigmas[2]
    assert sigmas[3] < 1.05 * sigmas[2]  # rounds, not features, limit what is shared
