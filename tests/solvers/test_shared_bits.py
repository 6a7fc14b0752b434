"""Runs that are handed the same random bits share no noise: in threads, and after a fork."""

import os
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import dplasso
from dplasso import PrivateLassoClassifier, PrivateOnlineClassifier, PrivateSearch
from dplasso.federated import agree, simulate
from dplasso.kernels import envelope as tiers
from dplasso.mechanisms.random_bits import random_bits
from dplasso.mechanisms.selection import lazy as lazy_rule
from dplasso.privacy import leaks
from dplasso.solvers.gradient import gradient_descent, plan_descent
from dplasso.streams import running_sum

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can not fork here")
LOSS = dplasso.LogisticLoss()
COLUMNS = 1 << 16
BOUNDS = {"classes": [0, 1], "x_bound": 1.0}


@pytest.fixture(scope="module")
def wide():
    """Rows that say next to nothing: a vertex is worth 17 random bits."""
    rng = np.random.default_rng(0)
    X = sp.random_array((100, COLUMNS), density=1e-4, rng=rng, format="csc")
    return X, rng.integers(0, 2, 100)


def walk(wide, generator, rounds, selection="lazy", progress=None):
    found = dplasso.frank_wolfe(
        *wide,
        loss=LOSS,
        radius=1.0,
        rounds=rounds,
        theta=1e-3,
        selection=selection,
        generator=generator,
        progress=progress,
        n_threads=1,
    )
    return 2 * found.columns + (found.signs > 0)


def triples(drawn):
    drawn = np.asarray(drawn).ravel().tolist()
    return set(zip(drawn, drawn[1:], drawn[2:], strict=False))


def at_once(*jobs):
    """Results of jobs that start together, each in its thread."""
    gate = threading.Barrier(len(jobs))

    def started(job):
        gate.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(started, jobs))


def in_child(job):
    """What a job returns in a forked child."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(job(), pipe)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        found = pickle.load(pipe)
    os.waitpid(child, 0)
    return found


@pytest.mark.parametrize(
    ("selection", "rounds"),
    [("lazy", 150_000), ("noisy_max", 40), ("big_step_little_step", 2_000)],
)
def test_threads_that_hold_the_same_secure_bits_release_other_vertices(wide, selection, rounds):
    bits = random_bits()
    one, other = at_once(*[lambda: walk(wide, bits, rounds, selection)] * 2)
    assert not triples(one) & triples(other)
    # The generator alone, without what says that it is secure, is no way round.
    again = walk(wide, bits.generator, 40, selection)
    assert not triples(again) & (triples(one) | triples(other))


def test_a_run_leaves_the_stream_of_secure_bits_where_it_was(wide):
    bits = random_bits()
    before = pickle.dumps(bits.generator.bit_generator.state)
    walk(wide, bits, 10)
    PrivateLassoClassifier(max_iter=5, random_state=bits, **BOUNDS).fit(*wide)
    running_sum(4, sensitivity=1.0, window=4, rho=1.0, seed=bits)
    assert pickle.dumps(bits.generator.bit_generator.state) == before


def _fitted(wide, bits, **options):
    model = PrivateLassoClassifier(random_state=bits, **{**BOUNDS, **options})
    return model.fit(*wide)


def _descent(wide, bits):
    plan = plan_descent(LOSS, epsilon=1.0, delta=1e-6, n_rows=100, n_columns=COLUMNS)
    return gradient_descent(*wide, loss=LOSS, plan=plan, generator=bits, n_threads=1).mass


def _stream(wide, bits):
    model = PrivateOnlineClassifier(1.0, window=10, classes=[0, 1], random_state=bits)
    return model.partial_fit(wide[0].tocsr()[:20], wide[1][:20]).coef_


def _search(wide, bits):
    model = PrivateLassoClassifier(n_rows=100, **BOUNDS)
    grid = {"radius": [1.0], "max_iter": [50]}
    search = PrivateSearch(model, grid, epsilon=1.0, trials=2.0, random_state=bits)
    return search.fit(*wide).best_estimator_.vertices_


def _federation(wide, bits):
    X = wide[0][:, :6].toarray()
    terms = agree({"a": 3, "b": 3}, "b", n_rows=100, epsilon=1.0, delta=1e-6, rounds=6)
    blocks = {"a": X[:, :3], "b": X[:, 3:]}
    return simulate(terms, blocks, wide[1], random_state=bits).margins(blocks)


def _key(wide, bits):
    total = running_sum(4, sensitivity=1.0, window=4, rho=1.0, seed=bits)
    return np.concatenate([total.add(np.zeros(4)) for _ in range(3)])


EVERYWHERE = {
    "estimator": lambda wide, bits: _fitted(wide, bits, max_iter=5_000).vertices_[:, 0],
    "gradient": _descent,
    "few columns": lambda wide, bits: _fitted(wide, bits, solver="auto", n_nonzero=2).intercept_,
    "stream": _stream,
    "search": _search,
    "running sum": _key,
    "federation": _federation,
}


@pytest.mark.parametrize("part", EVERYWHERE)
def test_no_part_of_the_product_shares_noise_between_threads(wide, part):
    bits = random_bits()
    one, other = at_once(*[lambda: EVERYWHERE[part](wide, bits)] * 2)
    assert np.any(one) and np.any(other)
    assert not np.array_equal(one, other)
    if one.size > 2:
        assert not triples(one[one != 0]) & triples(other[other != 0])


def test_a_seeded_generator_is_for_one_thread_at_a_time(wide):
    generator, inside, done = np.random.default_rng(0), threading.Event(), threading.Event()

    def wait(_):
        inside.set()
        assert done.wait(30)

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(walk, wide, generator, 2_000, progress=wait)
        assert inside.wait(30)
        try:
            for job in (lambda: walk(wide, generator, 10), lambda: _descent(wide, generator)):
                with pytest.raises(RuntimeError, match="in use by another thread.*seed of its own"):
                    job()
        finally:
            done.set()
        drawn = slow.result()
    alone = np.random.default_rng(0)
    assert np.array_equal(drawn, walk(wide, alone, 2_000))
    assert np.array_equal(walk(wide, generator, 50), walk(wide, alone, 50))


@needs_fork
@pytest.mark.parametrize("selection", ["lazy", "noisy_max", "big_step_little_step"])
def test_a_fork_within_a_fit_shares_nothing_that_was_drawn_ahead(wide, selection):
    """The child goes on with the fit from the callback; so does the parent."""
    rounds = 1_024 + (0 if selection == "noisy_max" else 1_000)
    pipes = os.pipe()
    forked = []

    def fork_once(done):
        if done < rounds and not forked:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                forked.append(os.fork())
            forked.append(done)

    if selection == "noisy_max":
        wide = (wide[0][:, :4096], wide[1])
    drawn = walk(wide, random_bits(), rounds, selection, progress=fork_once)
    child, done = forked
    if child == 0:
        try:
            with os.fdopen(pipes[1], "wb") as pipe:
                pickle.dump(drawn, pipe)
        finally:
            os._exit(0)
    os.close(pipes[1])
    with os.fdopen(pipes[0], "rb") as pipe:
        theirs = pickle.load(pipe)
    os.waitpid(child, 0)
    assert np.array_equal(drawn[:done], theirs[:done])
    # Place by place: words drawn ahead propose the same columns, even where coins differ.
    assert np.mean(drawn[done : done + 64] == theirs[done : done + 64]) < 0.1


@needs_fork
def test_a_trial_that_waits_for_its_score_is_dropped_in_a_forked_child(wide, monkeypatch):
    """Its ticket is drawn, and the parent has it."""
    rng = np.random.default_rng(1)
    X, y = sp.csc_array((rng.random((400, 8)) < 0.9).astype(float)), rng.integers(0, 2, 400)
    monkeypatch.setattr(lazy_rule.lazy_tiers, "LONG_COLUMN", 4)
    waiting = []
    right = lazy_rule.LazyDraw._score

    def scored_in_child(self, vertex):
        if not waiting:
            waiting.append(True)
            ticket = int(self.envelope.whole[tiers.PENDING_TICKET])

            def tier_of_child():
                self._forget_words_of_another_key()
                return int(self.envelope.whole[tiers.PENDING_TIER]), self.envelope.ring.copy()

            tier, ring = in_child(tier_of_child)
            assert ticket >= 0 and tier == -1
            assert not np.any(ring == self.envelope.ring)
            assert self.envelope.whole[tiers.PENDING_TIER] >= 0
        return right(self, vertex)

    monkeypatch.setattr(lazy_rule.LazyDraw, "_score", scored_in_child)
    dplasso.frank_wolfe(X, y, loss=LOSS, radius=1.0, rounds=200, theta=0.05)
    assert waiting


@needs_fork
def test_a_stream_refuses_to_learn_in_a_forked_child(wide):
    model = PrivateOnlineClassifier(1.0, window=10, classes=[0, 1])
    rows = wide[0].tocsr()[:5], wide[1][:5]
    model.partial_fit(*rows)

    def refused():
        try:
            model.partial_fit(*rows)
        except RuntimeError as error:
            return str(error)
        return ""

    assert "forked" in in_child(refused)


def test_threads_that_feed_one_stream_take_turns():
    """Every step's noise is handed out once, beside all rows until then."""
    total = running_sum(3, sensitivity=1.0, steps=4_000, epsilon=1.0, delta=1e-6)
    handed = []
    right = total.noise.at

    def noted(step):
        handed.append(step)
        return right(step)

    total.noise.at = noted
    at_once(*[lambda: [total.add(np.zeros(3)) for _ in range(500)]] * 4)
    assert handed == list(range(1, 2_001))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 2, 50)
    model = PrivateOnlineClassifier(1.0, window=100, classes=[0, 1], batch=7).partial_fit(X, y)
    at_once(*[lambda: [model.partial_fit(X, y) for _ in range(20)]] * 4)
    assert model.rows_seen_ == 50 * 81
    assert model.stream_.total.position == 50 * 81 // 7


@pytest.fixture(autouse=True)
def _quiet():
    leaks._told.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplasso.PrivacyLeakWarning)
        yield
