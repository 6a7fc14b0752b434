"""A stream of a Python program survives any end, and its noise serves one stream of rows only."""

import numpy as np
import pytest

import durable_killing as killing
from dplasso import DurableStream, PrivateOnlineClassifier, PrivateOnlineRegressor, StreamSession
from dplasso.storage.journal import Journal

pytestmark = pytest.mark.filterwarnings("ignore:.*seed.*")


def learned(model, X, y, start=0):
    for kind, rows, labels in killing.calls(X, y, start):
        killing.learn(model, kind, rows, labels)
    return model


@pytest.mark.parametrize(
    "options", [{}, {"batch": 4}, {"batch": "call"}, {"window": None}], ids=str
)
def test_a_killed_program_releases_what_one_that_was_never_killed_does(tmp_path, options):
    X, y = killing.made_rows(400)
    whole = tmp_path / "whole"
    killed = tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    killing.live(whole, X, y, options)
    wanted = killing.releases((whole / "released").read_text().splitlines())
    found = killing.releases(killing.killed_often(killed, X, y, 8, 0, options))
    assert max(found) == len(y) and all(len(each) == 1 for each in found.values())
    if options.get("batch") != "call":  # a killed program may make its calls of other rows
        assert all(wanted.get(rows, each) == each for rows, each in found.items())
        assert found[len(y)] == wanted[len(y)]


def test_a_stream_continues_with_every_row_that_was_recorded(tmp_path):
    X, y = killing.made_rows(90)
    whole = learned(killing.new_model(), X, y)
    start = 0
    for stop in (1, 40, 41, 90):
        with DurableStream(tmp_path / "state", killing.new_model(), every=25) as model:
            assert model.rows_seen_ == start
            learned(model, X[:stop], y[:stop], start)
        start = stop
    assert np.array_equal(model.coef_, whole.coef_)


def test_the_accountant_is_charged_once(tmp_path):
    class Charges(list):
        def charge(self, event, delta, **facts):
            self.append(event)

    charges = Charges()
    for _ in range(3):
        model = killing.new_model(accountant=charges)
        with DurableStream(tmp_path / "state", model):
            model.partial_fit(np.ones((1, killing.COLUMNS)), [1])
    assert len(charges) == 1 and model.rows_seen_ == 3


def test_a_call_that_is_interrupted_after_its_rows_were_recorded_stops_the_stream(
    tmp_path, monkeypatch
):
    X, y = killing.made_rows(30)
    whole = learned(killing.new_model(), X[:11], y[:11])
    folder = DurableStream(tmp_path / "state", killing.new_model())
    with folder as model:
        learned(model, X[:10], y[:10])
        monkeypatch.setattr(model.stream_.learner, "learn", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[10:11], y[10:11])
        monkeypatch.undo()
        with pytest.raises(ValueError, match="open its folder again"):
            model.partial_fit(X[20:21], y[20:21])  # other rows would get the noise of row 10
        with pytest.raises(ValueError, match="open its folder again"):
            folder.save()  # the state would take the place of the journal, which has row 10
    with DurableStream(tmp_path / "state", killing.new_model()) as model:
        assert model.rows_seen_ == 11
        assert np.array_equal(model.coef_, whole.coef_)


def _interrupt(*_):
    raise KeyboardInterrupt


def test_rows_that_cannot_be_recorded_are_not_learned_from(tmp_path, monkeypatch):
    with DurableStream(tmp_path / "state", killing.new_model()) as model:
        model.partial_fit(np.ones((1, killing.COLUMNS)), [1])
        before = model.coef_

        def full(*_):
            raise OSError("no space left")

        monkeypatch.setattr(Journal, "append", full)
        with pytest.raises(OSError, match="no space"):
            model.partial_fit(np.ones((1, killing.COLUMNS)), [0])
        assert np.array_equal(model.coef_, before) and model.rows_seen_ == 1
        monkeypatch.undo()
        model.partial_fit(np.ones((1, killing.COLUMNS)), [0])
    with DurableStream(tmp_path / "state", killing.new_model()) as again:
        assert np.array_equal(again.coef_, model.coef_)


def test_one_model_at_a_time_learns_from_a_folder(tmp_path):
    row = np.ones((1, killing.COLUMNS))
    stream = DurableStream(tmp_path / "state", killing.new_model())
    with pytest.raises(ValueError, match="in use by another process"):
        DurableStream(tmp_path / "state", killing.new_model())
    with pytest.raises(ValueError, match="kept in a folder"):
        stream.model.partial_fit(row, [1]).save_state(tmp_path / "copy")
    stream.close()
    with pytest.raises(ValueError, match="was closed"):
        stream.model.partial_fit(row, [1])
    with pytest.raises(ValueError, match="was closed"):
        stream.model.learn_one({"x0": 1.0}, 1)
    assert stream.model.predict_one({"x0": 1.0}) in (0, 1)


def test_another_stream_is_refused_and_leaves_the_folder_as_it_was(tmp_path):
    with DurableStream(tmp_path / "state", killing.new_model()) as model:
        model.partial_fit(np.ones((1, killing.COLUMNS)), [1])
    for other, why in (
        (killing.new_model(epsilon=2.0), "epsilon is not what it was"),
        (killing.new_model(window=None), "window is not what it was"),
        (
            PrivateOnlineRegressor(y_bound=1.0, n_features=killing.COLUMNS),
            "feature_names is not what it was",
        ),
        (model, "must not be fitted"),
        (PrivateOnlineClassifier(n_features=3), "classes must be declared"),
    ):
        with pytest.raises(ValueError, match=why):
            DurableStream(tmp_path / "state", other)
    with pytest.raises(ValueError, match="n_features or feature_names"):
        DurableStream(tmp_path / "new", PrivateOnlineClassifier(classes=[0, 1]))
    with pytest.raises(ValueError, match="format is not what it was"):
        lines = PrivateOnlineClassifier(classes=[0, 1], n_features=killing.COLUMNS)
        StreamSession(tmp_path / "state", lines)
    with DurableStream(tmp_path / "state", killing.new_model()) as again:
        assert again.rows_seen_ == 1


def test_the_model_of_a_session_learns_from_its_lines_only(tmp_path):
    model = PrivateOnlineClassifier(classes=[0, 1], n_features=2)
    with StreamSession(tmp_path / "state", model) as session:
        session.learn(b"1 1:0.5\n")
        with pytest.raises(ValueError, match="the lines of the session only"):
            model.partial_fit([[1.0, 0.0]], [1])
        with pytest.raises(ValueError, match="kept in a folder"):
            model.save_state(tmp_path / "copy")
        session.learn(b"0 2:0.5\n")
    assert model.rows_seen_ == 2
