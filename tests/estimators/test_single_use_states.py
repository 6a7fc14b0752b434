"""A state of a stream is learned on from once: by the model that saved it, or by one that loads it.

Two that learn on share their noise, and the difference of their weights is a row.
"""

import copy
import os
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dplasso
from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor
from dplasso.estimators import online_saving
from dplasso.session import StateFolder
from dplasso.storage import ModelFileError, atomic, read, single_use
from dplasso.storage.single_use import UsedStateError

KINDS = {
    "classifier": lambda: PrivateOnlineClassifier(1.0, window=50, classes=[0, 1]),
    "regressor": lambda: PrivateOnlineRegressor(window=50, y_bound=1.0),
}


def rows(count=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 6))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture(params=KINDS)
def made(request):
    return KINDS[request.param]


@pytest.fixture
def saved(made, tmp_path):
    """A model, where its state is, and one that could load it."""
    model = made().partial_fit(*rows())
    model.save_state(tmp_path / "state")
    return model, tmp_path / "state", made()


def one_row(model, seed):
    return model.partial_fit(*rows(1, seed)).coef_


def test_what_was_learned_on_from_before_a_crash_is_not_loaded_again(saved):
    """Save, learn, publish, crash, load: the state is gone before the first release."""
    model, path, other = saved
    key = model.stream_.total.place[0].encode()
    assert key in path.read_bytes()
    one_row(model, 1)
    assert key not in b"".join(file.read_bytes() for file in path.parent.iterdir())
    with pytest.raises(UsedStateError, match="was used or moved.*saved last, or start a new"):
        other.load_state(path)


def test_a_state_is_loaded_once(saved, made):
    _, path, first = saved
    one_row(first.load_state(path), 1)
    for _ in range(2):
        with pytest.raises(UsedStateError):
            made().load_state(path)


def test_who_saved_a_state_that_another_has_loaded_learns_no_more(saved):
    model, path, other = saved
    before = model.coef_.copy()
    other.load_state(path)
    for _ in range(2):
        with pytest.raises(UsedStateError):
            one_row(model, 1)
    with pytest.raises(UsedStateError):
        model.save_state(path.with_name("elsewhere"))
    assert not path.with_name("elsewhere").exists()
    assert np.array_equal(model.coef_, before)
    assert model.rows_seen_ == 20
    one_row(other, 2)
    other.save_state(path)
    with pytest.raises(UsedStateError):
        one_row(model, 1)


def test_saving_again_hands_over_again(saved, made):
    model, path, _ = saved
    model.save_state(path)
    one_row(model, 1)
    model.save_state(path)
    second = made().load_state(path)
    assert np.array_equal(second.coef_, model.coef_)
    assert second.rows_seen_ == 21
    one_row(second, 2)
    second.save_state(path)
    assert one_row(made().load_state(path), 3).shape == second.coef_.shape


def test_of_two_saved_states_the_later_one_counts(saved, made):
    model, path, other = saved
    model.save_state(path.with_name("later"))
    with pytest.raises(UsedStateError):
        other.load_state(path)
    one_row(made().load_state(path.with_name("later")), 1)


def test_a_state_that_was_moved_stops_who_saved_it(saved, made):
    model, path, _ = saved
    os.rename(path, path.with_name("moved"))
    with pytest.raises(UsedStateError, match="used or moved"):
        one_row(model, 1)
    one_row(made().load_state(path.with_name("moved")), 2)


def test_what_cannot_be_taken_back_is_not_learned_on_from(saved, monkeypatch):
    """Where the disk refuses, the state is as it was, and so is the model."""
    model, path, other = saved

    def full(*_):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(single_use, "leave_note", full)
        with pytest.raises(OSError, match="no space"):
            one_row(model, 1)
        with pytest.raises(OSError, match="no space"):
            other.load_state(path)
    assert model.rows_seen_ == 20
    assert not hasattr(other, "coef_")
    assert [file.name for file in path.parent.iterdir()] == ["state"]
    one_row(other.load_state(path), 2)


def test_parameters_that_differ_do_not_use_a_state_up(saved, made):
    _, path, other = saved
    with pytest.raises(ValueError, match="epsilon is not what it was"):
        made().set_params(epsilon=3.0).load_state(path)
    other.load_state(path)


def test_nothing_waits_and_nothing_is_released_without_rows(saved):
    """A call of no rows takes nothing back."""
    model, path, other = saved
    model.stream_.learn(model.stream_.form.of_dicts([]), np.empty(0))
    other.load_state(path)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_copies_and_pickles_neither_learn_nor_save(saved, copied):
    model, path, _ = saved
    twin = copied(model)
    assert np.array_equal(twin.coef_, model.coef_)
    with pytest.raises(ValueError, match="a copy or was loaded"):
        one_row(twin, 1)
    with pytest.raises(ValueError, match="a copy or was loaded"):
        twin.save_state(path)
    assert read(path)[0]["kind"] == online_saving.STATE


def test_of_threads_that_load_a_state_at_once_one_wins(saved, made):
    _, path, _ = saved
    gate = threading.Barrier(4)

    def load(_):
        gate.wait()
        try:
            return made().load_state(path)
        except (UsedStateError, FileNotFoundError):
            return None

    with ThreadPoolExecutor(4) as pool:
        found = [model for model in pool.map(load, range(4)) if model is not None]
    assert len(found) == 1


def test_a_new_stream_leaves_the_old_one_to_its_state(saved, made):
    model, path, other = saved
    model.fit(*rows(5, seed=4))
    one_row(model, 5)
    assert other.load_state(path).rows_seen_ == 20


def test_a_state_of_the_command_is_for_the_command(tmp_path, made):
    """Its journal has rows that were released after the state."""
    model = made().partial_fit(*rows())
    with StateFolder(tmp_path / "folder") as folder:
        folder.save(model)
    with pytest.raises(ModelFileError, match="belongs to a stream session"):
        made().load_state(tmp_path / "folder" / "state")
    with StateFolder(tmp_path / "folder") as folder:
        assert folder.resume(made()) == []


def test_a_state_of_earlier_code_is_used_once_too(saved, made):
    """It says nothing of being used once, and need not."""
    _, path, _ = saved
    header, _ = read(path)
    assert set(header) - {"classes_source"} == {  # which earlier code left out
        *("class", "written_by", "parameters", "classes", "feature_names", "n_features"),
        *("kind", "version", "state", "receipt", "more"),
    }
    made().load_state(path)
    with pytest.raises(UsedStateError):
        made().load_state(path)


class Interrupted(BaseException):
    pass


@pytest.fixture
def interrupting(monkeypatch):
    """Interrupt the write of a file when it has its name already; how many come before it."""

    def at(place):
        left, real = iter(range(place)), atomic.sync_directory

        def sync(directory):
            if next(left, None) is None:
                monkeypatch.setattr(atomic, "sync_directory", real)
                raise Interrupted
            real(directory)

        monkeypatch.setattr(atomic, "sync_directory", sync)

    return at


def test_a_first_save_that_is_interrupted_leaves_no_state(made, tmp_path, interrupting):
    """The file was there when it was interrupted: the model would learn on beside it."""
    model = made().partial_fit(*rows())
    interrupting(0)
    with pytest.raises(Interrupted):
        model.save_state(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []
    one_row(model, 1)
    model.save_state(tmp_path / "state")
    made().load_state(tmp_path / "state")


@pytest.mark.parametrize(("name", "write"), [("state", 0), ("elsewhere", 0), ("elsewhere", 1)])
def test_a_later_save_that_is_interrupted_leaves_one_state(saved, made, interrupting, name, write):
    model, path, _ = saved
    interrupting(write)
    with pytest.raises(Interrupted):
        model.save_state(path.with_name(name))
    key = model.stream_.total.place[0].encode()
    assert [file.name for file in path.parent.iterdir() if key in file.read_bytes()] == ["state"]
    if name == "state":
        made().load_state(path)
        with pytest.raises(UsedStateError):
            one_row(model, 1)
    else:
        one_row(model, 1)
        with pytest.raises(UsedStateError):
            made().load_state(path)


def die(*_):
    os._exit(9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can not fork here")
@pytest.mark.parametrize("step", ["renamed", "noted", "learned"])
def test_a_kill_at_any_moment_leaves_no_state_and_a_release(tmp_path, step):
    path = tmp_path / "state"
    KINDS["classifier"]().partial_fit(*rows()).save_state(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            model = KINDS["classifier"]().load_state(path)
            model.save_state(path)
            if step == "renamed":
                single_use.leave_note = die
            elif step == "noted":
                os.unlink = die
            one_row(model, 1)
            (tmp_path / "released").write_text(str(model.coef_))
            die()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert (tmp_path / "released").exists() == (step == "learned")
    with pytest.raises((UsedStateError, FileNotFoundError)):
        KINDS["classifier"]().load_state(path)
    left = [file for file in tmp_path.iterdir() if file.suffix == ".taken"]
    # What nobody has learned on from may be left over, and nothing else.
    assert len(left) == (step != "learned")


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplasso.PrivacyLeakWarning)
        yield


def test_a_model_that_learns_on_from_a_state_states_and_saves_as_before(saved, tmp_path):
    model, path, other = saved
    stated = dict(model.privacy_)
    assert dict(other.load_state(path).privacy_) == stated
    other.partial_fit(*rows(3, seed=2)).save(tmp_path / "snapshot")
    snapshot = dplasso.load(tmp_path / "snapshot")
    assert np.array_equal(snapshot.coef_, other.coef_)
    assert np.array_equal(pickle.loads(pickle.dumps(other)).coef_, other.coef_)


def test_a_stream_is_not_copied_apart_from_its_model(made):
    """Its copy would not know of a saved state, and leave it to be loaded by a second model."""
    model = made().partial_fit(*rows())
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="can not be copied"):
            copied(model.stream_)
