"""Signals in the middle of learning: no row is learned twice, and no sum gets another's noise."""

import signal

import numpy as np
import pytest

from dplasso import PrivateOnlineClassifier
from dplasso.estimators import online_by_name
from dplasso.online import few_columns, stream_learner

pytestmark = pytest.mark.filterwarnings("ignore:.*seed.*")
# Where rows are added to the sum, for each way of learning.
STEPS = {
    "many rows": (stream_learner.stream_steps, "learn_steps", {}),
    "one row": (stream_learner.stream_steps, "learn_row", {}),
    "oracle": (stream_learner.stream_steps, "add_rows", {"learner": "oracle"}),
    "blocks": (few_columns.blocks, "learn_in_block", {"n_features": 1 << 14}),
}


def begun(options):
    options = {"n_features": 3, "window": 100, "classes": [0, 1], "random_state": 0, **options}
    model = PrivateOnlineClassifier(**options)
    return model.partial_fit(np.eye(2, model.n_features), [0, 1])


def learn(model, way):
    if way == "one row":
        model.learn_one({"a": 1.0}, 1)
    else:
        model.partial_fit(np.eye(6, model.n_features), [0, 1] * 3)


@pytest.mark.parametrize("way", STEPS)
@pytest.mark.parametrize("before", [True, False], ids=["rows not added", "rows added"])
def test_rows_of_an_interrupted_call_are_counted(tmp_path, monkeypatch, way, before):
    """A program that continues after ``rows_seen_`` would otherwise learn from them twice."""
    where, name, options = STEPS[way]
    model, plain = begun(options), getattr(where, name)

    def interrupted(*args):
        if not before:
            plain(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(where, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(model, way)
    monkeypatch.undo()
    assert model.rows_seen_ == model.stream_.total.position == (3 if way == "one row" else 8)
    model.save_state(tmp_path / "state")
    loaded = PrivateOnlineClassifier(**model.get_params()).load_state(tmp_path / "state")
    assert loaded.rows_seen_ == model.rows_seen_


@pytest.mark.parametrize("way", STEPS)
def test_a_signal_handler_can_neither_learn_nor_save_while_rows_are_learned(
    tmp_path, monkeypatch, way
):
    where, name, options = STEPS[way]
    model, wanted, plain = begun(options), begun(options), getattr(where, name)
    learn(wanted, way)
    handled = []

    def interrupted(*args):
        for use in (
            lambda: model.partial_fit(np.eye(1, model.n_features), [1]),
            lambda: model.learn_one({"b": 1.0}, 1),
            lambda: model.save_state(tmp_path / "state"),
        ):
            with pytest.raises(RuntimeError, match="signal handler"):
                use()
        handled.append(True)
        return plain(*args)

    monkeypatch.setattr(where, name, interrupted)
    learn(model, way)
    monkeypatch.undo()
    assert handled and not (tmp_path / "state").exists()
    assert np.array_equal(model.coef_, wanted.coef_)


def test_an_interrupt_by_a_real_signal_loses_no_count():
    """Compiled loops take nearly all of the time: signals are handled just after they end."""
    X = np.random.default_rng(0).uniform(-1, 1, (200_000, 8))
    model = PrivateOnlineClassifier(window=1000, classes=[0, 1], n_features=8)
    model.partial_fit(X[:5000], np.arange(5000) % 2)  # compiled by now

    def interrupt(*_):
        raise KeyboardInterrupt

    usual = signal.signal(signal.SIGALRM, interrupt)
    try:
        for k in range(10):
            signal.setitimer(signal.ITIMER_REAL, 0.02 * (k + 1))
            with pytest.raises(KeyboardInterrupt):
                model.partial_fit(X, np.arange(len(X)) % 2)
                signal.pause()
            assert model.stream_.total.position <= model.rows_seen_
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
    model.partial_fit(X[:1], [1])


ONE = np.array([[0.5, 0.0, 1.0]])
CALLS = {
    "learn_one": lambda model: model.learn_one({"a": 1.0}, 1),
    "partial_fit of one row": lambda model: model.partial_fit(ONE, [1]),
    "predict_one": lambda model: model.predict_one({"a": 1.0}),
    "predict": lambda model: model.predict(ONE),
    "predict_proba_one": lambda model: model.predict_proba_one({"a": 1.0}),
}


@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_inside_compiled_code_is_raised_itself(monkeypatch, call):
    """Python reports it as a SystemError, which programs that stop at Ctrl-C do not expect."""

    def interrupted(*_):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    def broken(*_):
        raise SystemError("of another cause")

    model = begun({})
    names = {
        stream_learner.stream_steps: ("learn_row", "learn_steps"),
        stream_learner.stream_rows: ("one_row", "margins_of"),
        online_by_name: ("one_margin",),
    }
    for way, error in ((interrupted, KeyboardInterrupt), (broken, SystemError)):
        with monkeypatch.context() as patch, pytest.raises(error):
            for where, each in names.items():
                for name in each:
                    patch.setattr(where, name, way)
            CALLS[call](model)
