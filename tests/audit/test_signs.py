"""The test of signs given their columns: its law, and the power that it has."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from dplasso import audit
from dplasso.audit.selection.law import SignTally
from planted import BUGS

COLUMNS = 5


def drawn_signs(rng, draws, share, nats):
    """Laws of (+, -) of a few columns and outcomes whose signs are read in a share of the draws."""
    scores = rng.normal(0.0, nats, (draws, COLUMNS))
    laws = log_softmax(np.stack([scores, -scores], axis=2).reshape(draws, -1), axis=1)
    column = rng.integers(0, COLUMNS, draws)
    score = scores[np.arange(draws), column]
    positive = rng.random(draws) < expit(2.0 * score)
    read = rng.random(draws) < share
    positive[read] = score[read] >= 0.0
    return laws, 2 * column + ~positive


def tallied(laws, drawn):
    tally = SignTally()
    for part in np.array_split(np.arange(len(drawn)), 3):
        tally.add(laws[part], drawn[part])
    assert tally.draws == len(drawn)
    return tally.p_value()


@pytest.mark.parametrize("nats", [0.01, 0.5, 3.0, 300.0])
def test_p_values_of_drawn_signs_are_uniform(nats):
    rng = np.random.default_rng(0)
    found = np.sort([tallied(*drawn_signs(rng, 2000, 0.0, nats)) for _ in range(400)])
    if nats < 100.0:
        uniform = (np.arange(400) + 0.5) / 400
        assert np.max(np.abs(found - uniform)) < 0.1  # Kolmogorov: 2e-4
    else:
        assert np.min(found) > 1e-4  # nothing is left to chance, and nothing to find


def test_signs_read_in_a_twentieth_of_the_draws_are_found():
    rng = np.random.default_rng(1)
    found = [tallied(*drawn_signs(rng, 30_000, 0.05, 0.3)) < 1e-6 for _ in range(50)]
    assert np.mean(found) >= 0.9


def test_the_opposite_sign_is_found_where_it_is_all_but_impossible():
    laws, drawn = drawn_signs(np.random.default_rng(2), 100, 0.0, 100.0)
    assert tallied(laws, drawn) > 1e-3
    assert tallied(laws, drawn ^ 1) < 1e-12


def test_a_quick_audit_finds_signs_that_are_read_now_and_then(monkeypatch):
    bug = BUGS["signs read in 5 % of rounds"]
    bug.plant(monkeypatch)
    report = audit.run(bug.estimator(), checks=list(bug.found_by), seed=0, seconds=600.0)
    alarms = {verdict.tested: verdict.figure for verdict in report.alarms}
    assert alarms["signs given columns: p"] < 1e-6  # a whole audit allows each test that much
