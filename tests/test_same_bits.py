"""A fit has the same bits on any number of threads, on a card, and on any number of shards.

The card is its twin, which runs the same kernels on the processor. Actors of Ray are in
tests/cluster/test_ray.py.
"""

import pytest

from dplasso.kernels.cuda import card
from dplasso.solvers.table import rows as table_rows
from sharded import assert_same, ball_problems, cuts, problems, table_problems
from twin import Twin

pytestmark = pytest.mark.filterwarnings("ignore:random_state makes the fit repeatable")
GRADIENT = [problem for problem in problems() if problem.parameters["solver"] == "gradient"]
NAMES = {"presence", "real values", "softmax", "squared", "few nonzeros", "dense"}
assert {problem.name for problem in GRADIENT} == {p.name for p in table_problems()} == NAMES
BLOCK = 16  # rows that a thread takes at a time, instead of more than there are


def named(problem):
    return f"{problem.parameters['solver']}, {problem.name}"


@pytest.mark.parametrize("problem", GRADIENT + table_problems(), ids=named)
def test_gradient_and_table_have_the_same_bits_everywhere(problem, tmp_path, monkeypatch):
    one = problem.fitted(tmp_path, n_jobs=1)
    assert one.coef_.any() and one.solver_ == problem.parameters["solver"]
    with monkeypatch.context() as patch:
        patch.setattr(table_rows, "BLOCK", BLOCK)
        for threads in (1, 2, 4):
            assert_same(one, problem.fitted(tmp_path, n_jobs=threads))
    with monkeypatch.context() as patch:
        device = Twin()
        patch.setattr(card, "checked_card", lambda: device)
        assert_same(one, problem.fitted(tmp_path, device="cuda"))
        assert device.launched
    for name, cut in cuts().items():
        shards = problem.write(tmp_path / name, cut)
        assert_same(one, problem.model(n_jobs=2).fit(shards))


@pytest.mark.parametrize("problem", ball_problems(), ids=named)
def test_frank_wolfe_has_the_same_bits_on_any_number_of_threads(problem, tmp_path):
    one, *others = (problem.fitted(tmp_path, n_jobs=threads) for threads in (1, 2, 4))
    assert one.coef_.any()
    for other in others:
        assert_same(one, other)
