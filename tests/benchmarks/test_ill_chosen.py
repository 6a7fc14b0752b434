"""Input that is chosen badly: it is honest, and answers are held against the trivial one."""

import ill_chosen
import numpy as np
import pytest


@pytest.mark.parametrize("name", [n for n, case in ill_chosen.CASES.items() if not case.is_large])
def test_ill_chosen_input_is_honest(name):
    """Every entry and label lies within what is declared, but for a few labels of wide tails."""
    case = ill_chosen.CASES[name]
    made = case.make(np.random.default_rng(0))
    low, high = np.array(made.ranges).T
    assert np.array_equal(made.X, np.clip(made.X, low, high))
    if made.n_classes:
        assert set(made.y) <= {0, 1}
    else:
        assert np.mean(np.abs(made.y) <= made.y_bound) > 0.999
    rows = ill_chosen.split(made, case.n_train)
    assert len(rows.labels) == case.n_train and len(rows.truth) == ill_chosen.TESTED


def test_one_label_in_a_thousand_is_of_the_second_class():
    case = ill_chosen.CASES["unbalanced, classes"]
    shares = [case.make(np.random.default_rng(seed)).y.mean() for seed in range(20)]
    assert np.mean(shares) == pytest.approx(1e-3, rel=0.15)


def test_a_verdict_is_held_against_the_trivial_answer():
    found = [ill_chosen.verdict(difference) for difference in (0.02, 0.0, -0.02)]
    assert found == ["better", "as good", "WORSE"]
