"""A folder's stream has one user: no fork, thread, handler or interrupt gives noise to other rows.

Every test ends by opening the folder again: the stream must then be the one that released weights.
A row that was released and is in neither the state nor the journal would leave its noise to the
next row.
"""

import os
import threading

import numpy as np
import pytest

from dplasso import DurableStream, PrivateOnlineClassifier, StreamSession
from dplasso.session import folder as folders

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*seed.*"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can not fork here")


def new_model(**options):
    return PrivateOnlineClassifier(1.0, window=1000, classes=[0, 1], n_features=3, **options)


class Python:
    """A stream of rows."""

    def __init__(self, folder, **options):
        self.stream = DurableStream(folder, new_model(), **options)
        self.model = self.stream.model

    def learn(self, place):
        self.model.partial_fit(np.eye(3)[[place]], [place % 2])


class Lines:
    """A stream of lines."""

    def __init__(self, folder, **options):
        self.stream = StreamSession(folder, new_model(), **options)
        self.stream.start()
        self.model = self.stream.model

    def learn(self, place):
        self.stream.learn(b"%d %d:1\n" % (place % 2, place + 1))


@pytest.fixture(params=[Python, Lines])
def kind(request):
    return request.param


def same_after_opening_again(kind, folder, user):
    """Whether the folder holds the stream whose weights ``user`` has."""
    user.stream.close()
    again = kind(folder)
    again.stream.close()
    rows = again.model.rows_seen_ == user.model.rows_seen_
    return rows and np.array_equal(again.model.coef_, user.model.coef_)


def in_a_fork(do):
    """Whether a forked process could do it."""
    child = os.fork()
    if not child:
        try:
            do()
        except RuntimeError as error:
            os._exit(1 if "forked process" in str(error) else 2)
        except BaseException:
            os._exit(2)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 1)
    return status == 0


@forking
def test_a_forked_process_records_no_rows(tmp_path, kind):
    user = kind(tmp_path / "state")
    user.learn(0)
    assert not in_a_fork(lambda: user.learn(1))
    user.learn(2)
    assert same_after_opening_again(kind, tmp_path / "state", user)


@forking
def test_a_forked_process_saves_no_state(tmp_path, kind):
    """It has the state of the moment of the fork; its parent has released more by then."""
    user = kind(tmp_path / "state")
    user.learn(0)
    told, tell = os.pipe()

    def save():
        os.read(told, 1)
        user.stream.save()

    parent = threading.Timer(0.2, lambda: (user.learn(1), os.write(tell, b"x")))
    parent.start()
    assert not in_a_fork(save)
    parent.join()
    user.learn(2)
    assert same_after_opening_again(kind, tmp_path / "state", user)


@forking
def test_a_forked_process_can_close_what_it_has_of_a_folder(tmp_path, kind):
    user = kind(tmp_path / "state")
    assert in_a_fork(user.stream.close)
    user.learn(1)
    with pytest.raises(ValueError, match="in use by another process"):
        kind(tmp_path / "state")
    assert same_after_opening_again(kind, tmp_path / "state", user)
    user.stream.close()  # once more does nothing


def while_saving(monkeypatch, do):
    """Do something between the state of a stream and the journal that follows it."""
    plain = folders.save_state

    def interrupted(*args):
        plain(*args)
        do()

    monkeypatch.setattr(folders, "save_state", interrupted)


def test_a_signal_handler_learns_nothing_while_a_state_is_saved(tmp_path, kind, monkeypatch):
    user = kind(tmp_path / "state")
    user.learn(0)
    refused = []

    def handler():
        for call in (lambda: user.learn(1), user.stream.save, user.stream.close):
            with pytest.raises(RuntimeError, match="signal handler set a flag"):
                call()
            refused.append(call)

    while_saving(monkeypatch, handler)
    user.stream.save()
    monkeypatch.undo()
    assert len(refused) == 3
    user.learn(2)
    assert same_after_opening_again(kind, tmp_path / "state", user)


def test_a_thread_that_learns_waits_for_a_state_that_is_saved(tmp_path, kind, monkeypatch):
    user = kind(tmp_path / "state")
    user.learn(0)
    other = threading.Thread(target=user.learn, args=(1,))
    seen = []

    def meanwhile():
        other.start()
        other.join(0.2)
        seen.append(user.model.rows_seen_)

    while_saving(monkeypatch, meanwhile)
    user.stream.save()
    monkeypatch.undo()
    other.join()
    assert seen == [1] and user.model.rows_seen_ == 2
    assert same_after_opening_again(kind, tmp_path / "state", user)


def test_a_folder_is_released_when_no_thread_saves(tmp_path, kind, monkeypatch):
    """A state that is written after that would take the place of another process's."""
    user = kind(tmp_path / "state")
    user.learn(0)
    other = threading.Thread(target=user.stream.close)

    def meanwhile():
        other.start()
        other.join(0.2)
        with pytest.raises(ValueError, match="in use by another process"):
            kind(tmp_path / "state")

    while_saving(monkeypatch, meanwhile)
    user.stream.save()
    monkeypatch.undo()
    other.join()
    assert same_after_opening_again(kind, tmp_path / "state", user)


def test_rows_of_another_thread_do_not_pass_with_the_lines_of_a_session(tmp_path):
    """They would be in no journal."""
    user = Lines(tmp_path / "state")
    user.learn(0)
    told = []

    def learn():
        try:
            user.model.partial_fit(np.eye(3)[:1], [1])
        except ValueError as error:
            told.append(str(error))

    with user.stream._gate:  # as it is while lines are learned from
        other = threading.Thread(target=learn)
        other.start()
        other.join()
    assert len(told) == 1 and "the lines of the session only" in told[0]
    assert same_after_opening_again(Lines, tmp_path / "state", user)


def test_threads_that_fill_a_declared_stream_leave_a_folder_that_opens(tmp_path, monkeypatch):
    """Rows that no step is left for, once recorded, would be refused at every opening."""

    def made():
        return PrivateOnlineClassifier(1.0, n_rows=1, classes=[0, 1], n_features=3)

    stream = DurableStream(tmp_path / "state", made())
    before, refused = stream.before, []

    def learn():
        try:
            stream.model.partial_fit(np.eye(3)[:1], [1])
        except ValueError as error:
            refused.append(str(error))

    other = threading.Thread(target=learn)

    def slow(*rows):
        if not other.is_alive() and not refused:
            other.start()
            other.join(0.2)
        before(*rows)

    monkeypatch.setattr(stream, "before", slow)
    learn()
    other.join()
    stream.close()
    assert len(refused) == 1 and "n_rows must not be exceeded" in refused[0]
    with DurableStream(tmp_path / "state", made()) as again:
        assert again.rows_seen_ == 1


def interrupt(*_, **__):
    raise KeyboardInterrupt


def full(*_, **__):
    raise OSError("no space left")


@pytest.mark.parametrize("end", [interrupt, full])
def test_a_stream_whose_journal_is_not_that_of_its_state_stops(tmp_path, kind, monkeypatch, end):
    """Rows would go to the journal of the earlier state, which the next opening removes."""
    user = kind(tmp_path / "state")
    user.learn(0)
    while_saving(monkeypatch, end)
    with pytest.raises((KeyboardInterrupt, OSError)):
        user.stream.save()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="open its folder again"):
        user.learn(1)
    with pytest.raises(ValueError, match="open its folder again"):
        user.stream.save()
    assert user.model.rows_seen_ == 1
    assert same_after_opening_again(kind, tmp_path / "state", user)


@pytest.mark.parametrize("end", [interrupt, full])
def test_a_stream_whose_state_was_not_replaced_goes_on(tmp_path, kind, monkeypatch, end):
    user = kind(tmp_path / "state")
    user.learn(0)
    monkeypatch.setattr(folders, "save_state", end)
    with pytest.raises((KeyboardInterrupt, OSError)):
        user.stream.save()
    monkeypatch.undo()
    user.learn(1)
    user.stream.save()
    user.learn(2)
    assert same_after_opening_again(kind, tmp_path / "state", user)


def test_a_session_that_was_interrupted_while_it_caught_up_stops(tmp_path, monkeypatch):
    """New lines would get the noise of those that it has not learned from again."""
    before = Lines(tmp_path / "state")
    for place in (0, 1, 2):
        before.learn(place)
    before.stream.close()
    again = StreamSession(tmp_path / "state", new_model())
    monkeypatch.setattr(again, "_learn", interrupt)
    with pytest.raises(KeyboardInterrupt):
        again.start()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="open its folder again"):
        again.learn(b"1 3:1\n")
    again.close()
    assert same_after_opening_again(Lines, tmp_path / "state", before)


def test_a_session_whose_output_cannot_be_opened_has_not_started(tmp_path):
    options = {"output": tmp_path / "missing" / "predictions"}
    session = StreamSession(tmp_path / "state", new_model(), **options)
    for _ in range(2):
        with pytest.raises(OSError):
            session.learn(b"1 1:1\n")
    (tmp_path / "missing").mkdir()
    assert len(session.learn(b"1 1:1\n")) == 1
    session.close()
    assert len(options["output"].read_text().splitlines()) == 1


def test_no_other_stream_takes_the_place_of_the_one_in_a_folder(tmp_path, kind):
    """It would be in no journal, and a state of it would make it continue with noise in use."""
    other = new_model().partial_fit(np.eye(3)[:1], [1])
    other.save_state(tmp_path / "other")
    user = kind(tmp_path / "state")
    user.learn(0)
    for call in (
        lambda: user.model.fit(np.eye(3), [0, 1, 0]),
        lambda: user.model.load_state(tmp_path / "other"),
    ):
        with pytest.raises(ValueError, match="kept in a folder"):
            call()
    user.learn(1)
    assert same_after_opening_again(kind, tmp_path / "state", user)
    with pytest.raises(ValueError, match="kept in a folder"):
        user.model.fit(np.eye(3), [0, 1, 0])  # closed: another model may continue from the folder
    assert new_model().load_state(tmp_path / "other").rows_seen_ == 1
