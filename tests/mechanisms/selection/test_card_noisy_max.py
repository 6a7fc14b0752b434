"""The standard rule on a card releases what it releases on the processor, bit for bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.base.wording import ParameterError
from dplasso.losses import LogisticLoss, number_on_card
from dplasso.losses.encoded import EncodedLabels
from dplasso.mechanisms.selection.card_noisy_max import CardNoisyMax
from dplasso.mechanisms.selection.noisy_max import NoisyMax
from dplasso.solvers import frank_wolfe
from reference import LOSSES, make_problem, make_walk, seeded, small
from twin import Twin


def large(rows=5000, columns=1500):
    """More than one block, empty columns and a column too long for a block."""
    rng = seeded(2)
    X = sp.random_array((rows, columns), density=0.0015, rng=rng, format="lil")
    X[:, columns // 2] = rng.uniform(-1, 1, rows)
    X[:, -columns // 30 :] = 0.0
    return sp.csc_array(X), rng.integers(0, 2, rows)


def walks(loss, theta, data, device, rounds=60, step=0.0):
    """The walk of either rule, after its rounds."""
    found = []
    for rule in (NoisyMax, CardNoisyMax):
        problem = make_problem(*data, loss, theta=theta, step=step)
        walk = make_walk(problem, rounds)
        more = {} if rule is NoisyMax else {"device": device, "residual": number_on_card(loss)}
        rule(problem, walk, seeded(3), 1, **more).advance(rounds)
        found.append(walk)
    return found


def assert_same(one, other):
    assert np.array_equal(one.vertices, other.vertices)
    assert np.array_equal(one.signs, other.signs)
    assert np.array_equal(one.counters, other.counters)
    assert one.scalars[0] == other.scalars[0]


@pytest.mark.parametrize("theta", [1e-5, 0.3, 10.0])
@pytest.mark.parametrize("name", LOSSES)
def test_a_card_selects_as_the_processor_does(name, theta):
    loss = LOSSES[name]
    assert_same(*walks(loss, theta, small(loss), Twin()))


@pytest.mark.parametrize("theta", [1e-2, 3.0])
@pytest.mark.parametrize("lanes", [False, True])
def test_many_blocks_long_and_empty_columns(theta, lanes):
    device = Twin(lanes=lanes)
    rounds = 3 if lanes else 40
    one, other = walks(LogisticLoss(), theta, large(), device, rounds)
    assert_same(one, other)
    assert "scores_pieces_32" in device.launched


def test_entries_of_ones_and_of_double_precision():
    X, y = large()
    ones = X.copy()
    ones.data = np.ones_like(ones.data)
    for data in (ones, X.astype(np.float32)):
        assert_same(*walks(LogisticLoss(), 0.1, (data, y), Twin()))


def test_data_that_do_not_fit_stream_through_the_card():
    device = Twin(room=20_000)
    assert_same(*walks(LogisticLoss(), 0.3, large(), device, rounds=20))


def test_a_common_factor_of_the_margins_is_multiplied_out():
    device = Twin()
    assert_same(*walks(LogisticLoss(), 0.3, large(300, 40), device, rounds=700, step=0.9))
    assert "multiply" in device.launched


def test_weights_of_rows(monkeypatch):
    monkeypatch.setattr("dplasso.kernels.cuda.card.checked_card", Twin)
    X, y = large(800, 300)
    labels = EncodedLabels(y.astype(float), seeded(1).random(800))
    given = {"loss": LogisticLoss(), "radius": 5.0, "rounds": 30, "theta": 0.1, "generator": 3}
    models = [
        frank_wolfe(X, labels, **given, selection="noisy_max", device=device)
        for device in ("cuda", "cpu")
    ]
    assert np.array_equal(models[0].columns, models[1].columns)
    assert (models[0].weights != models[1].weights).nnz == 0


def test_other_rules_are_not_on_a_card():
    given = {"loss": LogisticLoss(), "radius": 5.0, "rounds": 30, "theta": 0.1}
    with pytest.raises(ParameterError, match="device='cuda' is for selection='noisy_max'"):
        frank_wolfe(*large(50, 50), **given, device="cuda")
