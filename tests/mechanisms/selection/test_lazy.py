"""Lazy selection draws from the exponential mechanism, exactly."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.kernels import envelope as tiers
from dplasso.kernels import head as head_kernels
from dplasso.kernels import lazy as kernels
from dplasso.kernels.problem import PATH
from dplasso.mechanisms.selection import lazy_tiers
from dplasso.mechanisms.selection.lazy import LazyDraw
from lazy_draws import draws_from, frozen, labels_for, mixed_matrix, thaw
from reference import (
    LOSSES,
    chi_square,
    law,
    make_problem,
    make_walk,
    margins,
    outcome,
    scores,
    seeded,
    solver,
)


def started(loss, theta, *, rows=300, columns=40, signed=False, rounds=5000, seed=0, step=0.0):
    rng = seeded(seed)
    X = mixed_matrix(rng, rows, columns, signed)
    y = labels_for(loss, rng, rows)
    problem = make_problem(X, y, loss, theta=theta, step=step)
    return LazyDraw(problem, make_walk(problem, rounds), seeded(seed + 1), 2)


@pytest.mark.parametrize("theta", [1e-5, 3e-3, 0.03, 0.2, 10.0])
@pytest.mark.parametrize("name", LOSSES)
def test_law_of_a_round(name, theta):
    loss = LOSSES[name]
    rule = started(loss, theta, signed=name == "huber")
    for rounds in (0, 1, 7, 400):
        rule.advance(rounds)
        counts = draws_from(rule, 10_000, seed=rounds)
        exact = law(scores(rule.problem, rule.walk, loss), theta)
        assert chi_square(counts, exact) > 1e-5, (name, theta, rounds)


def test_law_after_thousands_of_rounds():
    for theta in (0.02, 0.2):
        rule = started(LOSSES["logistic"], theta)
        rule.advance(4000)
        counts = draws_from(rule, 20_000, seed=5)
        exact = law(scores(rule.problem, rule.walk, LOSSES["logistic"]), theta)
        assert chi_square(counts, exact) > 1e-5


def test_law_where_long_columns_are_scored_by_all_cores():
    rule = started(LOSSES["logistic"], 0.2)
    rule.envelope.whole[tiers.LONG_COLUMN] = 10
    for rounds in (1, 50):
        rule.advance(rounds)
        counts = draws_from(rule, 10_000, seed=rounds)
        exact = law(scores(rule.problem, rule.walk, LOSSES["logistic"]), 0.2)
        assert chi_square(counts, exact) > 1e-5


def test_law_where_long_columns_are_scored_by_rows_that_are_alike():
    rng, loss, theta = seeded(0), LOSSES["logistic"], 0.2
    X = (mixed_matrix(rng, 300, 40) != 0).astype(float)
    problem = make_problem(X, labels_for(loss, rng, 300), loss, theta=theta)
    rule = LazyDraw(problem, make_walk(problem, 100), seeded(1), 2)
    rule.envelope.whole[tiers.LONG_COLUMN] = 10
    for rounds in (1, 50):
        rule.advance(rounds)
        counts = draws_from(rule, 10_000, seed=rounds)
        exact = law(scores(problem, rule.walk, loss), theta)
        assert chi_square(counts, exact) > 1e-5
    assert rule.alike.worth_it
    assert len(rule.alike.marks) > 3


def alike(columns, nats):
    """A head of equal columns, each of which has a score worth so many nats at first."""
    y = np.arange(400) % 2
    problem = make_problem(np.tile(y[:, None], columns), y, LOSSES["logistic"], theta=nats / 100.0)
    return LazyDraw(problem, make_walk(problem, 10), seeded(0), 1)


def test_law_where_many_columns_of_the_head_are_alike():
    """Each has few enough tickets, but all have more than a word of 53 bits could draw from."""
    rule = alike(300, nats=31.0)
    for rounds in (0, 1):
        rule.advance(rounds)
        counts = draws_from(rule, 1000, seed=rounds)
        exact = law(scores(rule.problem, rule.walk, LOSSES["logistic"]), rule.problem.theta)
        groups = [one.reshape(20, -1).sum(axis=1) for one in (counts, exact)]
        assert chi_square(*groups) > 1e-5, rounds
    assert len(rule.head.vertices) == 300


@pytest.mark.parametrize("nats", [28.0, 60.0])
def test_tickets_of_the_largest_head_fit_into_a_word(nats):
    rule = alike(lazy_tiers.HEAD_SIZE, nats)
    rule.advance(1)
    assert len(rule.head.vertices) == lazy_tiers.HEAD_SIZE
    assert rule.head.whole[head_kernels.HEAD_TICKETS] <= 1 << 53


def test_the_head_takes_no_more_columns_than_it_has_room_for(monkeypatch):
    monkeypatch.setattr(lazy_tiers, "HEAD_SIZE", 8)
    problem = make_problem(np.ones((400, 30)), np.arange(400) % 2, LOSSES["logistic"], theta=1.0)
    dense = lazy_tiers.dense_ones(problem, np.repeat([150.0, 200.0], 15))
    assert np.flatnonzero(dense).tolist() == list(range(15, 23))


def test_law_where_bounds_follow_bends():
    """Steps must be short for that: a small radius, and many rounds."""
    rng, loss, theta = seeded(0), LOSSES["logistic"], 0.4
    X = (mixed_matrix(rng, 300, 40) != 0).astype(float)
    problem = make_problem(X, labels_for(loss, rng, 300), loss, theta=theta, radius=5.0)
    rule = LazyDraw(problem, make_walk(problem, 400), seeded(1), 2)
    for rounds in (60, 300):
        rule.advance(rounds)
        assert np.count_nonzero(rule.head.bends.count) > 3
        assert_envelope_dominates(rule, loss)
        counts = draws_from(rule, 20_000, seed=rounds)
        exact = law(scores(problem, rule.walk, loss), theta)
        assert chi_square(counts, exact) > 1e-5


@pytest.mark.parametrize("theta", [0.004, 0.015])
def test_law_where_blocks_are_idle(theta):
    loss = LOSSES["logistic"]
    rule = started(loss, theta)
    rule.heavy.block_ahead[:] = np.inf
    rule.envelope.whole[tiers.MOST_WORK] = 1 << 62
    for rounds in (0, 7, 100):
        tiers.choose_unit(rule.problem, rule.walk, rule.envelope, rule.heavy)
        tiers.aim_words(rule.envelope)
        rule.advance(rounds)
        assert_envelope_dominates(rule, loss)
        assert np.all(np.isinf(rule.heavy.block_horizon))
        counts = draws_from(rule, 10_000, seed=rounds)
        exact = law(scores(rule.problem, rule.walk, loss), theta)
        assert chi_square(counts, exact) > 1e-5, rounds


def test_blocks_are_idle_where_norms_claim_little():
    """One full column among thousands claims next to nothing if it is worth few nats, all else if
    it is worth many."""
    rows, columns, loss = 1000, 5000, LOSSES["logistic"]
    X = sp.csc_array((np.ones(rows), (np.arange(rows), np.zeros(rows, int))), (rows, columns))
    for nats, idle in ((1.0, True), (20.0, False)):
        problem = make_problem(X, np.zeros(rows), loss, theta=nats / rows)
        rule = LazyDraw(problem, make_walk(problem, 10), seeded(0), 1)
        assert rule.heavy.vertices.tolist() == [0]
        assert np.isinf(rule.heavy.block_ahead).tolist() == [idle]


@pytest.mark.parametrize("theta", [0.03, 0.2])
@pytest.mark.parametrize("name", ["logistic", "softmax"])
@pytest.mark.parametrize("most_work", [0, 500])
def test_law_where_stock_is_taken_and_the_standard_rule_helps_out(
    name, theta, most_work, monkeypatch
):
    monkeypatch.setattr(lazy_tiers, "LEAST_NATS", lazy_tiers.HEAD_NATS)  # more columns are heavy
    loss = LOSSES[name]
    rule = started(loss, theta)
    rule.envelope.whole[tiers.MOST_WORK] = most_work
    taken = []
    rule._take_stock = lambda: (taken.append(rule.done), LazyDraw._take_stock(rule))
    for rounds in (0, 1, 50):
        rule.advance(rounds)
        counts = draws_from(rule, 4_000, seed=rounds)
        exact = law(scores(rule.problem, rule.walk, loss), theta)
        assert chi_square(counts, exact) > 1e-5, rounds
    assert len(taken) > 3
    assert (rule.plain is None) == (len(rule.head.vertices) > 0)
    assert len(rule.head.vertices) > 0 or rule.plain.done > 0


def test_stock_taking_scores_all_heavy_vertices():
    for name, loss in LOSSES.items():
        rule = started(loss, 0.05)
        rule.advance(30)
        rule._take_stock()
        exact = scores(rule.problem, rule.walk, loss)[rule.heavy.vertices]
        np.testing.assert_allclose(rule.heavy.score, exact, atol=1e-7, err_msg=name)
        assert np.all(rule.heavy.score_path == rule.walk.scalars[PATH])
        assert_envelope_dominates(rule, loss)


def test_law_of_whole_transcripts():
    """Two columns, three rounds: all 64 transcripts against their exact probabilities."""
    rng = seeded(3)
    X, y, theta, loss = rng.uniform(-1, 1, (40, 2)), rng.integers(0, 2, 40), 0.2, LOSSES["logistic"]
    problem = make_problem(X, y, loss, theta=theta)
    runs, counts, exact = 6000, np.zeros(64), np.zeros(64)
    for _ in range(runs):
        rule = LazyDraw(problem, make_walk(problem, 3), rng, 1)
        rule.advance(3)
        place = 0
        for vertex, sign in zip(rule.walk.vertices, rule.walk.signs, strict=True):
            place = 4 * place + outcome(vertex, sign)
        counts[place] += 1
    for place in range(64):
        w, probability = np.zeros(2), 1.0
        for t, step in enumerate((place // 16, place // 4 % 4, place % 4), start=1):
            gradient = loss.gradient((X @ w)[:, None], problem.labels)
            probability *= law((X.T @ gradient).ravel(), theta)[step]
            eta = 2.0 / (t + 2.0)
            w *= 1.0 - eta
            w[step // 2] -= eta * problem.radius * (1 - 2 * (step % 2))
        exact[place] = probability
    assert exact.sum() == pytest.approx(1.0)
    assert chi_square(counts, exact) > 1e-5


def test_all_three_tiers_are_at_work():
    """The laws above would prove little if small problems never left one tier."""
    rule = started(LOSSES["logistic"], 0.25)
    head, heavy = len(rule.head.vertices), len(rule.heavy.vertices)
    assert head > 1
    assert heavy > 5
    assert head + heavy < len(rule.problem.indptr) - 3
    rule.advance(300)
    assert rule.head.whole[head_kernels.ACTIVE] > 1


@pytest.mark.parametrize("bug", ["short tickets", "wrong drift", "sign read", "refresh instead"])
def test_the_test_of_the_law_catches(bug):
    """Planted bugs: the chi-square test must see each of them."""
    theta, loss = 0.1, LOSSES["logistic"]
    rule = started(loss, theta)
    rule.envelope.whole[tiers.MOST_WORK] = 1 << 62  # taking stock would mend some of them
    rule.advance(20)
    if bug == "short tickets":  # an envelope below the target
        rule.heavy.limit[:] *= 0.002
    if bug == "wrong drift":
        rule.heavy.drift[:] *= 1e-3
    if bug in ("short tickets", "wrong drift"):
        rule.heavy.block_horizon[:] = rule.envelope.real[tiers.NEXT_HORIZON] = -1.0
    counts = draws_from(rule, 30_000 if bug == "wrong drift" else 12_000, seed=1)
    if bug == "sign read":
        pairs = counts.reshape(-1, 2)
        exact_sign = scores(rule.problem, rule.walk, loss) >= 0
        counts = np.stack(
            [np.where(exact_sign, pairs.sum(1), 0), np.where(exact_sign, 0, pairs.sum(1))], axis=1
        ).ravel()
    if bug == "refresh instead":
        counts = _draws_with_cancelled_trials(rule, 12_000)
    exact = law(scores(rule.problem, rule.walk, loss), theta)
    assert chi_square(counts, exact) < 1e-5


def _draws_with_cancelled_trials(rule, count):
    """Refresh a proposed stale column instead of deciding its trial: a known way to bias."""
    saved, done = frozen(rule), rule.done
    counts = np.zeros(2 * (len(rule.problem.indptr) - 1))
    rng = seeded(9)
    rule.envelope.whole[tiers.LONG_COLUMN] = -1
    saved[1] = [np.copy(array) for array in rule.envelope]
    for _ in range(count):
        thaw(rule, saved, rng, done)
        while rule.done == done:
            arguments = (rule.problem, rule.walk, rule.envelope, rule.heavy, rule.head)
            rule.done, wanted = kernels.advance(*arguments, rng, done, done + 1)
            if wanted >= 0:  # the trial is thrown away, its score kept
                tier = rule.envelope.whole[tiers.PENDING_TIER]
                slot = rule.envelope.whole[tiers.PENDING_SLOT]
                found = rule._score(int(wanted))
                if tier == kernels.HEAD:
                    head_kernels.refer(rule.problem, rule.walk, rule.head, slot, found)
                else:
                    rule.heavy.score[slot] = found
                    rule.heavy.score_path[slot] = rule.walk.scalars[PATH]
                    tiers.count_block(*arguments[:4], slot // tiers.BLOCK)
                    tiers.aim_words(rule.envelope)
                rule.envelope.whole[tiers.PENDING_TIER] = -1
        counts[outcome(rule.walk.vertices[done], rule.walk.signs[done])] += 1
    thaw(rule, saved, rng, done)
    return counts


def assert_envelope_dominates(rule, loss):
    """No bound below the score it bounds, no ticket short of the weight it stands for."""
    problem, walk, theta = rule.problem, rule.walk, rule.problem.theta
    if walk.scalars[PATH] > rule.envelope.real[tiers.NEXT_HORIZON]:
        tiers.keep_up(problem, walk, rule.envelope, rule.heavy)
    if len(rule.head.vertices) and walk.scalars[PATH] > rule.head.real[head_kernels.HORIZON]:
        head_kernels.measure(problem, walk, rule.head)
    alpha = scores(problem, walk, loss)
    room = 1e-9 * (1.0 + np.abs(alpha).max())
    log_weight = np.logaddexp(theta * alpha, -theta * alpha)
    path, length = walk.scalars[PATH], np.linalg.norm(margins(problem, walk)) * (1 + 1e-9)
    listed = np.zeros(len(alpha), bool)
    for slot, vertex in enumerate(rule.heavy.vertices):
        low, high = tiers.heavy_interval.py_func(rule.heavy, slot, path, length)
        assert low - room <= alpha[vertex] <= high + room
        covered = np.log(rule.heavy.tickets[slot]) + rule.envelope.real[tiers.LOG_UNIT]
        assert covered >= log_weight[vertex] - 1e-9
        listed[vertex] = True
    for slot, vertex in enumerate(rule.head.vertices):
        low, high = head_kernels.head_interval.py_func(rule.head, slot, path)
        assert low - room <= alpha[vertex] <= high + room
        covered = np.log(rule.head.tickets[slot]) + rule.head.real[head_kernels.HEAD_UNIT]
        assert covered >= log_weight[vertex] - 1e-9
        listed[vertex] = True
    light = rule.envelope.whole[tiers.LIGHT_SHIFT] * np.log(2) + rule.envelope.real[tiers.LOG_UNIT]
    assert np.all(light >= log_weight[~listed] - 1e-9)
    assert rule.heavy.block_tickets.sum() == rule.envelope.whole[tiers.HEAVY_TICKETS]
    assert rule.heavy.tickets.sum() == rule.envelope.whole[tiers.HEAVY_TICKETS]
    assert rule.head.tickets.sum() == rule.head.whole[head_kernels.HEAD_TICKETS]


@st.composite
def matrices(draw):
    """Small matrices of every odd kind: empty rows and columns, repeats, one huge column."""
    rows, columns = draw(st.integers(1, 60)), draw(st.integers(1, 100))
    rng = seeded(draw(st.integers(0, 2**32 - 1)))
    X = rng.uniform(-1, 1, (rows, columns)) * (
        rng.random((rows, columns)) < draw(st.sampled_from([0.02, 0.2, 0.9]))
    )
    if draw(st.booleans()):
        X = np.sign(X) * 0.5  # repeated values
    if draw(st.booleans()):
        X = (X != 0).astype(float)  # held without values
    if draw(st.booleans()):
        X[:, draw(st.integers(0, columns - 1))] = 1.0  # one huge column
    if draw(st.booleans()):
        X[draw(st.integers(0, rows - 1))] = 0.0
        X[:, draw(st.integers(0, columns - 1))] = 0.0
    return X


@settings(max_examples=120, deadline=None)
@given(
    X=matrices(),
    name=st.sampled_from(sorted(LOSSES)),
    theta=st.sampled_from([1e-5, 1e-2, 0.3, 3.0, 50.0]),
    radius=st.sampled_from([0.1, 5.0, 100.0]),
    step=st.sampled_from([0.0, 0.05, 0.9]),
    seed=st.integers(0, 1000),
)
def test_envelope_is_never_below_the_target(X, name, theta, radius, step, seed):
    loss, rng = LOSSES[name], seeded(seed)
    y = labels_for(loss, rng, len(X))
    problem = make_problem(X, y, loss, theta=theta, radius=radius, step=step)
    rule = LazyDraw(problem, make_walk(problem, 300), rng, 1)
    for until in (0, 1, 2, 3, 5, 10, 40, 300):
        rule.advance(until)
        assert_envelope_dominates(rule, loss)


@pytest.mark.parametrize(
    ("name", "theta"), [("logistic", 0.01), ("logistic", 0.3), ("softmax", 0.03), ("huber", 0.2)]
)
def test_cuts_and_threads_do_not_show(name, theta):
    def run(cuts, threads):
        rule = started(LOSSES[name], theta, rounds=2000)
        rule.threads = threads
        rule.envelope.whole[tiers.LONG_COLUMN] = 40
        for until in cuts:
            rule.advance(until)
        return rule.walk.vertices, rule.walk.signs, rule.walk.margins

    whole = run([2000], 1)
    for other in (run([*range(1, 60), 1999, 2000], 1), run([2000], 2)):
        for a, b in zip(whole, other, strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("step", [0.0, 0.3])
def test_margins_and_weights_after_400_000_rounds(step):
    loss = LOSSES["logistic"]
    rule = started(loss, 0.1, rounds=400_000, step=step)
    rule.advance(400_000)
    problem, walk = rule.problem, rule.walk
    solution = solver._solution(problem, walk, len(problem.indptr) - 1, False)
    t = np.arange(1, 400_001)
    if step:
        share = step * (1 - step) ** np.minimum(400_000.0 - t, 2000.0)
        share[t < 398_000] = 0.0
    else:
        share = 2.0 * (t + 1) / (400_001.0 * 400_002.0)
    plain = np.zeros(len(problem.indptr) - 1)
    np.add.at(plain, walk.vertices, -problem.radius * share * walk.signs)
    assert np.allclose(solution.weights.toarray()[0], plain, rtol=1e-9, atol=1e-12)
    X = sp.csc_array(
        (problem.values, problem.indices, problem.indptr), shape=(len(problem.labels), len(plain))
    )
    assert np.allclose(margins(problem, walk)[:, 0], X @ plain, rtol=1e-7, atol=1e-9)
    assert np.abs(plain).sum() <= problem.radius * (1 + 1e-9)
