"""Selection over blocks of columns: the law of the exponential mechanism, whoever holds them."""

import numpy as np
import pytest

from dplasso.data import ColumnMatrix
from dplasso.mechanisms.selection import block_draws
from dplasso.mechanisms.selection.block_draws import draw_trial, edges
from dplasso.solvers.column_walk import ColumnWalk, Terms, cut
from reference import LOSSES, chi_square, law, make_problem, make_walk, outcome, scores, small

DRAWS, ROUNDS, RADIUS = 4000, 40, 5.0


class Holders:
    """Processes that hold blocks of columns, and a driver, in as few lines as possible."""

    def __init__(self, X, y, loss, theta, count):
        matrix, columns = ColumnMatrix.of(X), X.shape[1]
        terms = Terms(loss, RADIUS, theta, ROUNDS, matrix.x_bound, columns)
        ends = edges(columns)
        blocks = np.linspace(0, len(ends) - 1, count + 1).astype(int)
        self.walks = [
            ColumnWalk(terms, [cut(matrix, ends[a], ends[b])], loss.encode(y), None, a, b)
            for a, b in zip(blocks, blocks[1:], strict=False)
        ]
        self.owners = np.repeat(np.arange(count), np.diff(blocks))

    def draw(self, secret):
        """The outcome of a round, and its column; nothing is changed."""
        found = [walk.standing() for walk in self.walks]
        tickets = np.concatenate([own.tickets for own in found])
        exponents = np.concatenate([own.exponents for own in found])
        for number in range(1000):
            trial = draw_trial(secret, self.walks[0].done, number, tickets, exponents)
            if trial is not None:
                own = self.walks[self.owners[trial.block]]
                decided = own.first_of([trial])
                if decided is not None:
                    return decided, own.column(decided.vertex)
        raise AssertionError("bounds are far too loose")

    def step(self, drawn):
        decided, column = drawn
        for walk in self.walks:
            given = [] if walk.holds(decided.vertex) else [column]
            walk.move([(decided.vertex, decided.sign)], given)
            assert walk._walk.scalars[2] == decided.path
        return decided.vertex, decided.sign


def secret_of(k):
    return int(k).to_bytes(32, "little")


@pytest.mark.parametrize(("theta", "steps"), [(0.003, 0), (0.05, 9), (0.4, 9), (3.0, 30)])
@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_draws_have_the_law_of_the_exponential_mechanism(name, theta, steps, monkeypatch):
    monkeypatch.setattr(block_draws, "BLOCKS", 3)  # blocks of several columns
    loss = LOSSES[name]
    X, y = small(loss)
    holders = Holders(X, y, loss, theta, 2)
    problem = make_problem(X, y, loss, radius=RADIUS, theta=theta)
    walk = make_walk(problem, ROUNDS)
    for t in range(steps):
        vertex, sign = holders.step(holders.draw(secret_of(t)))
        solver_release(problem, walk, vertex, sign, t)
    expected = law(scores(problem, walk, loss), theta)
    counts = np.zeros(len(expected))
    for k in range(DRAWS):
        decided, _ = holders.draw(secret_of(1000 + k))
        counts[outcome(decided.vertex, decided.sign)] += 1
    assert chi_square(counts, expected) > 1e-4


def solver_release(problem, walk, vertex, sign, t):
    from dplasso.kernels.steps import release, step_size

    release(problem, walk, vertex, sign, step_size(0.0, t + 1), t)


@pytest.mark.parametrize("name", LOSSES)
def test_vertices_do_not_depend_on_the_number_of_holders(name):
    loss = LOSSES[name]
    X, y = small(loss, columns=300)
    found = []
    for count in (1, 2, 5):
        holders = Holders(X, y, loss, 0.3, count)
        found.append([holders.step(holders.draw(b"0" * 32)) for _ in range(ROUNDS)])
    assert found[0] == found[1] == found[2]
    assert len({vertex for vertex, _ in found[0]}) > 5


def test_repeated_steps_lead_to_the_same_state():
    """A holder that is built again is worth the same, ticket for ticket."""
    loss = LOSSES["logistic"]
    X, y = small(loss, columns=300)
    holders, again = (Holders(X, y, loss, 1.0, 2) for _ in range(2))
    for t in range(ROUNDS):
        drawn = holders.draw(secret_of(t))
        holders.step(drawn)
        again.step(drawn)
    first, second = holders.walks[1].standing(), again.walks[1].standing()
    assert all(np.array_equal(*pair) for pair in zip(first, second, strict=True))
    holders.walks[1].restart()
    assert holders.walks[1].done == 0
    assert not np.array_equal(holders.walks[1].standing().tickets, first.tickets)


def test_trials_of_a_round_use_bits_of_their_own():
    keys = {
        block_draws.key_for(b"s" * 32, round_, trial, purpose)
        for round_ in range(5)
        for trial in range(5)
        for purpose in (block_draws.BLOCK, block_draws.DECISION)
    }
    assert len(keys) == 50
