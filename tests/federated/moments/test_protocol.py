"""Shares add up to the exact matrix plus the noises of parties and server, to the last bit."""

import math

import numpy as np
import pytest

from dplasso.base.wording import ParameterError
from dplasso.federated import Refused
from dplasso.federated.moments import MomentParty, MomentServer, moment_plan, simulate_moments
from dplasso.federated.moments.rows import RowMap, labels_of
from dplasso.federated.moments.sealing import SealedPairs
from dplasso.federated.moments.server import opened, opened_matrix
from dplasso.federated.pairwise_keys import PartyKey
from moment_jobs import (
    Recording,
    agreed,
    exchanged,
    keys_of,
    parties_of,
    server_key,
    tables_of,
)

JOBS = [
    ({"widths": (4,)}, 0.0),
    ({"widths": (1, 1)}, 0.0),
    ({"widths": (2, 3), "colluders": 0}, 0.3),
    ({"widths": (5, 1, 2), "n_classes": 2}, 0.3),
    ({"widths": (3, 4, 1, 2, 6, 1, 1), "n_classes": 4, "n_rows": 700}, 0.5),
    ({"widths": (2,) * 20, "colluders": 19, "neighboring": "replace_one"}, 0.1),
    ({"widths": (1, 2), "n_rows": 1}, 0.0),
    ({"widths": (2, 2, 3), "y_bound": 7.5, "epsilon": 40.0}, 1.0),  # nobody has a row
]


def exact(terms, tables, y, places):
    """M'M from whole numbers, person by person, in the order of the opened matrix."""
    plan = moment_plan(terms)
    features = {name: np.zeros((terms.n_rows, tables[name].shape[1]), np.int64) for name in tables}
    for name, table in tables.items():
        features[name][places[name]] = RowMap(terms, name, 1.0).whole(table)
    own = np.zeros((terms.n_rows, 1 + terms.n_targets), np.int64)
    own[places[terms.label_holder], 0] = plan.entry
    own[places[terms.label_holder], 1:] = labels_of(y, terms, plan.label_entry)
    whole = np.hstack([*(features[name] for name in terms.names), own])
    return whole.T @ whole


def in_order(terms, matrix):
    """The 1 and the labels, which lie behind the features of their holder, come last."""
    order = np.arange(terms.n_columns)
    labels = slice(terms.columns(terms.label_holder).stop - 1 - terms.n_targets, None)
    labels = slice(labels.start, labels.start + 1 + terms.n_targets)
    order = np.concatenate([np.delete(order, labels), order[labels]])
    return matrix[np.ix_(order, order)]


def is_opened(terms):
    """All products but those of labels with labels, in order."""
    found = np.ones((terms.n_columns, terms.n_columns), bool)
    found[-terms.n_targets :, -terms.n_targets :] = False
    return found


@pytest.mark.parametrize(("job", "missing"), JOBS)
def test_the_opened_matrix_is_the_exact_one_plus_all_noise(job, missing):
    terms = agreed(**job)
    tables, y, places = tables_of(terms, missing=missing)
    noise = {name: Recording() for name in terms.names}
    parties = parties_of(terms, tables, y, places, noise_of=noise)
    _, _, shares = exchanged(terms, parties)
    key, of_server = server_key(), Recording()
    found = in_order(terms, opened_matrix(terms, shares, key, of_server))
    upper = sum(one.matrix(terms, name) for name, one in noise.items()) + of_server.matrix(terms)
    expected = exact(terms, tables, y, places) + in_order(terms, upper + np.triu(upper, 1).T)
    assert np.array_equal(found, expected * is_opened(terms))
    assert all(np.any(one.matrix(terms, name)) for name, one in noise.items())
    assert np.any(of_server.matrix(terms)) == (terms.colluders > 0)
    plan, moments = moment_plan(terms), opened(terms, shares, key)
    units = np.full(terms.n_columns, plan.entry)
    units[-terms.n_targets :] = plan.label_entry
    owner = np.repeat(np.arange(len(terms.names)), [terms.width(name) for name in terms.names])
    draws = np.where(owner == owner[:, None], 1, len(terms.names) + (terms.colluders > 0))
    read = moments.products * np.outer(units, units) - in_order(terms, draws) / 2
    assert np.array_equal(np.rint(read[is_opened(terms)]), expected[is_opened(terms)])
    assert np.isnan(moments.products[~is_opened(terms)]).all()


def test_a_server_adds_its_noise_once():
    """The same shares give the same matrix: two noises would average out."""
    terms = agreed((2, 3, 1))
    tables, y, places = tables_of(terms)
    server = MomentServer(terms, 7)
    shares = exchanged(terms, parties_of(terms, tables, y, places))[2]
    once, twice = (server.opened(shares).products for _ in range(2))
    assert np.array_equal(once, twice, equal_nan=True)
    other = MomentServer(terms, 8).opened(shares).products
    moved = np.triu(once != other)[:-1]
    own = np.triu(in_order(terms, np.equal.outer(*[[0, 0, 1, 1, 1, 1, 1, 2]] * 2)))[:-1]
    assert np.array_equal(moved, np.triu(np.ones((8, 8), bool))[:-1] & ~own)


def test_a_server_opens_no_second_set_of_shares():
    """Its noise on two sums would cancel in their difference. What is no share claims nothing."""
    terms = agreed((2, 3, 1))
    tables, y, places = tables_of(terms)
    shares, others = (
        exchanged(terms, parties_of(terms, tables, y, places, seed=seed))[2] for seed in (0, 50)
    )
    server = MomentServer(terms, 7)
    with pytest.raises(Refused, match="p1 sent no share"):
        server.opened({**shares, "p1": b""})
    first = server.opened(shares).products
    with pytest.raises(Refused, match="used before, with other data"):
        server.opened({**shares, "p1": others["p1"]})
    with pytest.raises(Refused, match="used before, with other data"):
        server.opened(others)
    assert np.array_equal(first, server.opened(shares).products, equal_nan=True)


def test_one_key_gives_each_attempt_noise_of_its_own():
    """And other shares of the same attempt the same noise: several draws could be averaged."""
    drawn = []
    for attempt, seed in ((0, 0), (0, 50), (1, 0)):
        terms, of_server = agreed((2, 3, 1), attempt=attempt), Recording()
        tables, y, places = tables_of(terms)
        shares = exchanged(terms, parties_of(terms, tables, y, places, seed=seed))[2]
        opened_matrix(terms, shares, server_key(), of_server)
        drawn.append(np.concatenate(of_server.added))
    assert np.array_equal(drawn[0], drawn[1])
    assert np.all(drawn[0] != drawn[2])


def test_without_privacy_the_matrix_is_exact():
    terms = agreed((2, 3), epsilon=math.inf)
    tables, y, places = tables_of(terms, missing=0.2)
    outcome = simulate_moments(terms, tables, y, places=places)
    plan = moment_plan(terms)
    units = np.array([plan.entry] * 6 + [plan.label_entry])
    found = np.rint(outcome.moments.products * np.outer(units, units))
    shown = is_opened(terms)
    assert np.array_equal(found[shown], exact(terms, tables, y, places)[shown])
    assert outcome.moments.sigma == 0.0


def test_a_row_that_a_party_lacks_counts_as_zeros_there():
    terms = agreed((2, 3), epsilon=math.inf)
    tables, y, places = tables_of(terms)
    absent = {**tables, "p0": np.delete(tables["p0"], 4, axis=0)}
    kept = {**places, "p0": np.delete(places["p0"], 4)}
    zeros = {**tables, "p0": tables["p0"] * (np.arange(30) != 4)[:, None]}
    one, other = (
        simulate_moments(terms, given, y, places=where).moments.products
        for given, where in ((absent, kept), (zeros, places))
    )
    assert np.array_equal(one, other, equal_nan=True)


def test_a_job_runs_on_keys_that_parties_agree_on_without_the_server():
    terms = agreed((2, 3, 1), epsilon=math.inf)
    tables, y, places = tables_of(terms)
    own = {
        name: PartyKey(terms.job, name, bytes(32), bytes([place + 1]) * 32)
        for place, name in enumerate(terms.names)
    }
    parties = {}
    for name in terms.names:
        others = {other: own[other].introduction for other in terms.names if other != name}
        keys = own[name].agreed(others)
        pairs = SealedPairs(name, {other: keys.key(other, "moments") for other in others})
        labels = y if name == terms.label_holder else None
        parties[name] = MomentParty(terms, name, tables[name], pairs, y=labels, places=places[name])
    _, _, shares = exchanged(terms, parties)
    expected = exact(terms, tables, y, places) * is_opened(terms)
    assert np.array_equal(in_order(terms, opened_matrix(terms, shares, server_key())), expected)


def test_bytes_are_what_the_terms_imply():
    terms = agreed((2, 3, 4), n_rows=100)
    tables, y, _ = tables_of(terms)
    outcome = simulate_moments(terms, tables, y)
    for name in terms.names:
        rows, triangle = 8 * 100 * terms.width(name), 8 * 11 * 12 // 2
        assert 0 <= outcome.uplink_bytes[name] - rows - triangle <= 300


def test_a_place_is_for_one_row():
    terms = agreed((2, 3))
    tables, _, _ = tables_of(terms)
    for places in ([0] * 30, range(29), range(1, 31), [-1, *range(29)]):
        with pytest.raises(ValueError, match="places"):
            MomentParty(terms, "p0", tables["p0"], keys_of(terms)["p0"], places=places)


def test_labels_are_given_at_their_holder_only():
    terms = agreed((2, 3))
    tables, y, _ = tables_of(terms)
    for name, labels in (("p0", y), ("p1", None), ("p1", y[:-1])):
        with pytest.raises(ParameterError, match="y must be"):
            MomentParty(terms, name, tables[name], keys_of(terms)[name], y=labels)


def test_errors_do_not_quote_values():
    terms = agreed((1, 1), n_classes=3)
    pairs = keys_of(terms)
    for X, y in (([[math.nan]], [1]), ([[0.5]], [77]), ([[0.5]], [math.inf])):
        with pytest.raises(ParameterError) as refused:
            MomentParty(terms, "p1", X, pairs["p1"], y=y)
        assert "77" not in str(refused.value) and "0.5" not in str(refused.value)
