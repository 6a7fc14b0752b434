"""Weights computed where rows touch them: to the last bit those of all weights, step by step."""

import copy
import os
import signal
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso import DurableStream, PrivateOnlineClassifier
from dplasso.domains import L2Ball
from dplasso.kernels import stream_steps
from dplasso.losses import LogisticLoss
from dplasso.online import ProjectedLeader, StreamLearner, few_columns
from dplasso.online.few_columns import FEWEST
from dplasso.streams import running_sum
from dplasso.streams.blocks import STEPS

pytestmark = pytest.mark.filterwarnings("ignore:.*seed.*")
MU, START = 0.01, 4000.0


def stream(rows=126, columns=FEWEST, seed=0):
    rng = np.random.default_rng(seed)
    places = np.sort([rng.choice(columns, 6, replace=False) for _ in range(rows)], axis=1)
    X = sp.csr_array(
        (rng.normal(size=6 * rows) / 3.0, places.ravel(), np.arange(rows + 1) * 6),
        shape=(rows, columns),
    )
    return X, rng.integers(0, 2, rows).astype(float)


def learner(radius, averaging, outputs=1, columns=FEWEST, **more):
    settings = {"sensitivity": 1.0, "window": 100, "epsilon": 2.0, "delta": 1e-6, "seed": 3}
    settings |= {"construction": "blocks", **more}
    total = running_sum(outputs * columns, **settings)
    leader = ProjectedLeader(L2Ball(outputs * columns, radius), MU, START, averaging)
    return StreamLearner(leader, LogisticLoss(), total, clip=1.0, outputs=outputs), total


def all_weights(total, radius, averaging, exact, seen_at):
    """The weights after each release, from sums and noise of all columns."""
    weights, average, then = [np.zeros(total.settings.dimension)], None, 0
    average = weights[0]
    for step, (whole, seen) in enumerate(zip(exact, seen_at, strict=True), start=1):
        values, floors = total.noise.at(step)
        x = stream_steps.released(whole, values, floors, total.unit)
        x *= -(1.0 / (MU * (seen + START)))
        x = L2Ball(x.size, radius).project(x)
        share = stream_steps.fresh_share(averaging, float(seen), float(seen - then))
        weights.append(average + share * (x - average))
        if step % STEPS == 0:
            average, then = weights[-1], seen
    return weights


@pytest.mark.parametrize("averaging", [0.0, 0.003])
@pytest.mark.parametrize("radius", [1e6, 10.0], ids=["inside", "projected"])
@pytest.mark.parametrize("batch", [1, 3])
def test_margins_and_weights_are_those_of_all_columns(radius, averaging, batch):
    X, y = stream()
    few, total = learner(radius, averaging, batch=batch)
    assert few.leader is None
    exact, margins = [], []
    for first in range(0, len(y), batch):  # single steps, to see every exact sum
        part = X[first : first + batch]
        rows = (part.indptr, part.indices, part.data)
        margins.append(few.learn(rows, y[first : first + batch], batch))
        exact.append(total.total.copy())
    seen = [batch * (k + 1) for k in range(len(exact))]
    _, other = learner(radius, averaging, batch=batch)
    wanted = all_weights(other, radius, averaging, exact, seen)
    beyond = [np.linalg.norm(w) > 0.999 * radius for w in wanted]
    assert any(beyond) == (radius == 10.0)
    for step, found in enumerate(margins):
        part = X[step * batch : (step + 1) * batch]
        assert np.allclose(found[:, 0], part @ wanted[step], rtol=1e-12, atol=1e-12)
    assert np.array_equal(few.weights, wanted[-1])
    once, _ = learner(radius, averaging, batch=batch)
    assert np.array_equal(once.learn((X.indptr, X.indices, X.data), y, batch), np.vstack(margins))
    assert np.array_equal(once.weights, few.weights)


@pytest.mark.parametrize("stop", [0, 1, 40, STEPS, STEPS + 1, 2 * STEPS])
def test_looking_changes_nothing_and_a_state_continues_to_the_last_bit(stop):
    X, y = stream()
    rows = (X.indptr, X.indices, X.data)
    plain, _ = learner(1e6, 0.003)
    wanted = plain.learn(rows, y)
    few, total = learner(1e6, 0.003)
    first = (X.indptr[: stop + 1], X.indices, X.data)
    few.learn(first, y[:stop])
    few.margins(rows)  # looks at columns of all rows
    few.weights  # noqa: B018 (looks at all columns)
    learned, state = few.state(), total.state()
    resumed_total = type(total).from_state(state)
    resumed = StreamLearner(
        ProjectedLeader(L2Ball(FEWEST, 1e6), MU, START, 0.003),
        LogisticLoss(),
        resumed_total,
        clip=1.0,
    )
    resumed.resume(learned)
    rest = (X.indptr[stop:] - X.indptr[stop], X.indices[6 * stop :], X.data[6 * stop :])
    for other in (few, resumed):
        assert np.array_equal(other.learn(rest, y[stop:]), wanted[stop:])
        assert np.array_equal(other.weights, plain.weights)


def test_margins_of_several_outputs_are_products_with_all_weights():
    X, _ = stream(80, FEWEST // 4)
    y = np.arange(80) % 4
    few, _ = learner(1e6, 0.003, outputs=4, columns=FEWEST // 4)
    few.learn((X.indptr, X.indices, X.data), y.astype(float))
    margins = few.margins((X.indptr, X.indices, X.data))
    assert np.allclose(margins, X @ few.weights.reshape(4, -1).T, atol=1e-12)


def test_wide_streams_use_blocks_by_a_public_rule_and_dense_and_sparse_rows_learn_the_same():
    X, y = stream(70, 1 << 14)
    options = {"window": 500, "classes": [0.0, 1.0], "random_state": 1, "n_features": 1 << 14}
    models = [PrivateOnlineClassifier(**options) for _ in range(3)]
    predicted = models[0].predict_then_learn(X, y)
    assert np.array_equal(models[1].predict_then_learn(X.toarray(), y), predicted)
    names = [f"x{j}" for j in range(1 << 14)]
    models[2].set_params(feature_names=names)
    for row, label, told in zip(X, y, predicted, strict=True):
        named = {names[j]: v for j, v in zip(row.indices, row.data.tolist(), strict=True)}
        assert models[2].predict_one(named) == told
        models[2].learn_one(named, label)
    assert all(model.stream_.total.settings.construction == "blocks" for model in models)
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert np.array_equal(models[0].coef_, models[2].coef_)
    fewer = PrivateOnlineClassifier(**options, batch=2).partial_fit(X, y)
    assert fewer.stream_.total.settings.construction == "buffered"


@pytest.mark.parametrize(
    "given", [{"n_features": 1 << 21}, {"n_features": 1 << 14, "window": (1 << 24) + 1}], ids=str
)
def test_streams_for_which_blocks_do_not_fit_have_another_construction(given):
    model = PrivateOnlineClassifier(**{"window": 100, "classes": [0, 1], **given})
    model.begin()
    assert model.stream_.total.settings.construction in ("buffered", "tree")


@pytest.mark.parametrize("look", ["weights", "margins", "learn", "state"])
def test_a_signal_handler_cannot_look_at_a_sum_before_its_rows_are_added(monkeypatch, look):
    """The steps are taken by then: the same noise would be on two sums."""
    X, y = stream()
    few, _ = learner(1e6, 0.003)
    rows = (X.indptr, X.indices, X.data)
    looks = {
        "weights": lambda: few.weights,
        "margins": lambda: few.margins(rows),
        "learn": lambda: few.learn(rows, y),
        "state": few.state,
    }
    real = few_columns.blocks.learn_in_block

    def interrupted(*args):
        with pytest.raises(RuntimeError, match="learning"):
            looks[look]()
        return real(*args)

    monkeypatch.setattr(few_columns.blocks, "learn_in_block", interrupted)
    found = few.learn(rows, y)
    monkeypatch.undo()
    other, _ = learner(1e6, 0.003)
    assert np.array_equal(other.learn(rows, y), found)
    assert np.array_equal(other.weights, few.weights)


def test_rows_whose_count_an_interrupt_has_lost_still_count_for_the_bound(monkeypatch):
    """The sum leaves the ball with them, and whoever looks at few columns must see that."""
    rows = 3000
    X = sp.csr_array(np.ones((rows, 1)), shape=(rows, FEWEST))
    few, _ = learner(40.0, 0.0, batch=rows)
    few.margins((X.indptr[:2], X.indices[:1], X.data[:1]))  # the length of the sum is now known
    real = few_columns.blocks.learn_in_block

    def interrupted(*args):
        real(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(few_columns.blocks, "learn_in_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        few.learn((X.indptr, X.indices, X.data), np.zeros(rows), rows)
    monkeypatch.undo()
    one = (X.indptr[:2], X.indices[:1], X.data[:1])
    few.learn(one, np.zeros(1))
    assert few.margins(one)[0, 0] == few.weights[0]


@contextmanager
def another_thread_learns(model):
    begun, ends = threading.Event(), threading.Event()

    def hold():
        with model._one_thread:
            begun.set()
            ends.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        ends.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*")
@pytest.mark.parametrize(("construction", "told"), [("blocks", 1), ("buffered", 0)])
def test_a_child_forked_while_a_thread_learns_does_not_wait_for_that_thread(construction, told):
    """It predicts where weights are at hand, and is refused where noise would be drawn."""
    X, _ = stream(1)
    few, _ = learner(1e6, 0.003, construction=construction)
    with another_thread_learns(few):
        child = os.fork()
        if child == 0:  # nothing of the test's own machinery may run here
            signal.alarm(20)
            try:
                few.margins((X.indptr, X.indices, X.data))
            except RuntimeError:
                os._exit(1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == told


def test_an_interrupted_stream_shows_no_sum_that_its_journal_will_complete(tmp_path, monkeypatch):
    """Both would have the noise of the same step: their difference would be rows without noise."""
    X, y = stream(40, 1 << 14)

    def opened():
        model = PrivateOnlineClassifier(
            window=500, classes=[0.0, 1.0], n_features=1 << 14, random_state=1
        )
        return DurableStream(tmp_path / "stream", model)

    def interrupted(*_):
        raise KeyboardInterrupt

    with opened() as model:
        model.partial_fit(X[:10], y[:10])
        monkeypatch.setattr(few_columns.blocks, "learn_in_block", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[10:], y[10:])
        monkeypatch.undo()
        for look in (lambda: model.coef_, lambda: model.predict(X), lambda: copy.copy(model)):
            with pytest.raises(RuntimeError, match="interrupted"):
                look()
        with pytest.raises(ValueError, match="interrupted"):
            model.partial_fit(X[:1], y[:1])
    with opened() as model:
        assert model.rows_seen_ == 40 and model.coef_.shape == (1, 1 << 14)


def test_an_interrupted_stream_without_a_journal_goes_on_or_is_saved(tmp_path, monkeypatch):
    X, y = stream(40, 1 << 14)
    options = {"window": 500, "classes": [0.0, 1.0], "n_features": 1 << 14, "random_state": 1}
    model = PrivateOnlineClassifier(**options).partial_fit(X[:10], y[:10])

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(few_columns.blocks, "learn_in_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[10:], y[10:])
    monkeypatch.undo()
    model.save_state(tmp_path / "state")
    loaded = PrivateOnlineClassifier(**options).load_state(tmp_path / "state")
    loaded.partial_fit(X[:1], y[:1])
    assert np.isfinite(loaded.predict_proba(X)).all()


def test_a_signal_handler_cannot_look_while_noise_is_drawn(monkeypatch):
    """It would draw into the memory of a path that is not complete, or repeat a step of buffers."""
    X, _ = stream()
    few, total = learner(1e6, 0.003)
    few.learn((X.indptr[:3], X.indices, X.data), np.zeros(2))
    block, _ = total.open_block(2)
    real = block.meet

    def interrupted(*args):
        with pytest.raises(RuntimeError, match="signal handler"):
            few.weights  # noqa: B018
        return real(*args)

    monkeypatch.setattr(block, "meet", interrupted)
    few.margins((X.indptr, X.indices, X.data))
