"""Files of the command: who may read them, what others have put in the way, and what ends it."""

import errno
import itertools
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

import killing
from commanding import COLUMNS, DECLARED, FEW, problem, write_svmlight
from dplasso import PrivateLassoClassifier, PrivateOnlineClassifier, load
from dplasso.cli import app as application
from dplasso.cli import rescue, signals
from dplasso.ledger import Budget
from dplasso.ledger.sqlite import SQLiteStore
from dplasso.privacy.events import Gaussian
from dplasso.session import StateFolder
from dplasso.storage import atomic, open_store, staging, temporary
from dplasso.storage.column_format import ColumnStoreError
from hostile_folders import SOMEBODY, mode_of, needs_root, planted_link, umask
from stores import build
from stores import problem as store_problem

STREAM = ("--features", COLUMNS, "--classes", "-1,1", "--window", 50, "-q")


# Who may read.


def closed(path):
    paths = [path, *path.rglob("*")] if path.is_dir() else [path]
    return all(mode_of(each) == (0o700 if each.is_dir() else 0o600) for each in paths)


@pytest.mark.parametrize("mask", [0o022, 0o000])
def test_what_tells_of_rows_is_for_its_owner_and_what_is_released_as_usual(
    tmp_path, text, good, monkeypatch, mask
):
    monkeypatch.chdir(tmp_path)
    with umask(mask):
        good("convert", text, "-o", "x.dpc", "--features", COLUMNS)
        good("convert", text, "-o", "x.dpc", "--features", COLUMNS, "--force")
        good("budget", "init", "b.sqlite", "--epsilon", 3, "--delta", 1e-6)
        good("train", text, "-o", "m.dpl", *DECLARED, "--budget", "b.sqlite")
        good("budget", "export", "b.sqlite", "-o", "b.jsonl")
        good("predict", "m.dpl", text, "-o", "p.txt")
        good("online", text, *STREAM, "--state", "s", "-o", "o.txt", "--model", "snap.dpl")
        good("report", "m.dpl", "-o", "page.html")
    for name in ("x.dpc", "b.sqlite", "b.jsonl", "p.txt", "s", "o.txt"):
        assert closed(tmp_path / name), name
    for name in ("m.dpl", "snap.dpl", "page.html"):
        assert mode_of(name) == 0o666 & ~mask, name


def test_replacing_a_private_file_leaves_it_private(tmp_path, text, model, good):
    page = tmp_path / "page.html"
    good("report", model, "-o", page)
    for path in (model, page):
        path.chmod(0o600)
    good("train", text, "-o", model, *DECLARED, "--force")
    good("report", model, "-o", page, "--force")
    assert mode_of(model) == mode_of(page) == 0o600


def test_the_journal_of_a_ledger_is_for_its_owner_too(tmp_path, monkeypatch):
    seen = {}
    ours = SQLiteStore._lines

    def noted(store, connection, start):
        connection.execute("CREATE TABLE more (x)")  # so that there is something to undo
        connection.execute("DROP TABLE more")
        seen.update({path.name: mode_of(path) for path in tmp_path.iterdir()})
        return ours(store, connection, start)

    with umask(0o000):
        budget = Budget(1.0, 1e-6, store=tmp_path / "b.sqlite")
        monkeypatch.setattr(SQLiteStore, "_lines", noted)
        budget.charge(Gaussian(10.0), delta=1e-6, neighboring="add_remove", label="x")
    assert seen == {"b.sqlite": 0o600, "b.sqlite-journal": 0o600}


def test_a_ledger_that_is_there_keeps_its_mode(tmp_path):
    Budget(1.0, 1e-6, store=tmp_path / "b.sqlite")
    (tmp_path / "b.sqlite").chmod(0o660)  # its owner shares it with a group
    Budget(1.0, 1e-6, store=tmp_path / "b.sqlite")
    assert mode_of(tmp_path / "b.sqlite") == 0o660


def test_wal_files_of_sqlite_have_the_mode_of_the_database(tmp_path):
    """Ours has none; whoever turns them on gains no readers."""
    path = tmp_path / "b.sqlite"
    with umask(0o000):
        Budget(1.0, 1e-6, store=path)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("SELECT count(*) FROM entries").fetchone()
        assert {mode_of(each) for each in tmp_path.iterdir()} == {0o600}
        assert len(list(tmp_path.iterdir())) == 3
        connection.close()


# What others have put in the way.


@pytest.mark.parametrize("name", ["state", "journal-1", "lock", "stream.json", "metrics.json"])
@pytest.mark.parametrize("kind", ["link", "second name"])
def test_a_state_folder_with_links_in_it_is_refused(tmp_path, text, run, name, kind):
    folder, victim = tmp_path / "s", tmp_path / "victim"
    victim.write_text("mine")
    folder.mkdir(mode=0o700)
    (folder / name).symlink_to(victim) if kind == "link" else os.link(victim, folder / name)
    done = run("online", text, *STREAM, "--state", folder, "-o", tmp_path / "out")
    assert done.code == 1 and "link" in done.err
    assert victim.read_text() == "mine" and os.listdir(folder) == [name]


@needs_root
def test_a_state_folder_or_output_that_another_user_prepared_is_refused(tmp_path, text, run):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir(mode=0o777)
    os.chown(theirs, SOMEBODY, SOMEBODY)
    planted_link(tmp_path / "link", ours)
    planted_link(tmp_path / "out", tmp_path / "victim")
    for folder in (theirs, tmp_path / "link"):
        done = run("online", text, *STREAM, "--state", folder, "-o", tmp_path / "o")
        assert done.code == 1 and "another user" in done.err
    for option in ("-o", "--model"):
        done = run("online", text, *STREAM, "--state", tmp_path / "s", option, tmp_path / "out")
        assert done.code == 1 and "another user" in done.err
    assert os.listdir(ours) == os.listdir(theirs) == [] and not (tmp_path / "victim").exists()


def test_a_folder_that_others_may_write_to_is_no_state_once_it_holds_something(
    tmp_path, text, run, good
):
    folder = tmp_path / "s"
    folder.mkdir()
    folder.chmod(0o777)
    command = ("online", text, *STREAM, "--state", folder, "-o", tmp_path / "out")
    good(*command)
    assert closed(folder)
    folder.chmod(0o770)
    done = run(*command)
    assert done.code == 1 and "others may write" in done.err


def test_a_journal_left_by_a_stranger_is_not_learned_from(tmp_path):
    """A new state begins a new journal, and takes no file for it that is there."""
    rows, labels = np.eye(4), [0, 1, 0, 1]
    model = PrivateOnlineClassifier(classes=[0, 1], window=10, n_features=4)
    model.partial_fit(rows, labels)
    with StateFolder(tmp_path / "s") as folder:
        folder.check({})
        (tmp_path / "s" / "journal-1").write_bytes(b"planted")
        with pytest.raises(FileExistsError):
            folder.save(model)


@needs_root
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_state_that_another_user_wrote_is_not_loaded(tmp_path, mode):
    """Whoever wrote it knows the noise."""
    model = PrivateOnlineClassifier(classes=[0, 1], window=10)
    model.partial_fit(np.eye(4), [0, 1, 0, 1])
    model.save_state(tmp_path / "state")
    os.chown(tmp_path / "state", SOMEBODY, SOMEBODY)
    (tmp_path / "state").chmod(mode)
    with pytest.raises(ValueError, match="another user"):
        PrivateOnlineClassifier(classes=[0, 1], window=10).load_state(tmp_path / "state")


@needs_root
@pytest.mark.parametrize("there", [True, False])
def test_a_ledger_is_not_reached_through_a_link_of_another_user(tmp_path, there):
    if there:
        Budget(1.0, 1e-6, store=tmp_path / "theirs.sqlite")
    planted_link(tmp_path / "b.sqlite", tmp_path / "theirs.sqlite")
    for take in (Budget.open, lambda store: Budget(1.0, 1e-6, store=store)):
        with pytest.raises(ValueError, match="link that another user"):
            take(tmp_path / "b.sqlite")
    assert (tmp_path / "theirs.sqlite").exists() == there


def leftover(target, what):
    return target.with_name(f".{target.name}.1-{'0' * 16}.{what}")


@needs_root
def test_leftovers_of_stores_are_taken_up_only_where_they_are_our_own(tmp_path):
    target = tmp_path / "x.dpc"
    for what in ("old", "tmp"):
        leftover(target, what).mkdir()
        os.chown(leftover(target, what), SOMEBODY, SOMEBODY)
    staging.clear_leftovers(target)
    assert not target.exists() and all(leftover(target, what).exists() for what in ("old", "tmp"))


def test_links_and_pipes_named_like_leftovers_are_left_alone(tmp_path):
    target, elsewhere = tmp_path / "x.dpc", tmp_path / "elsewhere"
    elsewhere.mkdir()
    leftover(target, "old").symlink_to(elsewhere)
    os.mkfifo(leftover(target, "tmp"))
    staging.clear_leftovers(target)
    assert elsewhere.is_dir() and not target.exists() and leftover(target, "tmp").exists()


def test_what_takes_the_place_of_a_store_while_it_is_replaced_is_not_deleted(tmp_path, monkeypatch):
    target = tmp_path / "x.dpc"
    build(target, *store_problem())
    checked = staging.check_replaceable

    def swapped(path, overwrite):
        checked(path, overwrite)
        shutil.rmtree(path)
        path.mkdir()
        (path / "thesis").write_text("mine")

    monkeypatch.setattr(staging, "check_replaceable", swapped)
    with pytest.raises(ColumnStoreError, match="no column store"):
        build(target, *store_problem(), overwrite=True)
    assert (target / "thesis").read_text() == "mine" and os.listdir(tmp_path) == ["x.dpc"]


def test_a_store_that_is_read_only_is_not_replaced(tmp_path):
    target = tmp_path / "x.dpc"
    build(target, *store_problem())
    target.chmod(0o500)
    with pytest.raises(ColumnStoreError, match="read-only"):
        build(target, *store_problem(), overwrite=True)
    assert open_store(target, verify=True)


# Before anything is charged, and after.


def impossible(tmp_path, model):
    """Outputs that cannot be written, and why."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "read-only.dpl").write_bytes(model.read_bytes())
    (tmp_path / "read-only.dpl").chmod(0o444)
    (tmp_path / "notes.txt").write_text("dear diary")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    return {
        tmp_path / "none" / "m.dpl": "No such file or directory",
        tmp_path / "folder": "is a folder",
        tmp_path / "file" / "m.dpl": "Not a directory",
        tmp_path / "read-only.dpl": "read-only",
        tmp_path / "notes.txt": "is no model",
        tmp_path / "pipe": "regular file",
        tmp_path / ("long" * 100): "File name too long",
        model: "--force",
    }


def test_nothing_is_charged_for_an_output_that_cannot_be_written(tmp_path, text, model, good, run):
    ledger = tmp_path / "b.sqlite"
    good("budget", "init", ledger, "--epsilon", 3, "--delta", 1e-6)
    for output, why in impossible(tmp_path, model).items():
        done = run("train", text, "-o", output, *DECLARED, "--budget", ledger)
        assert done.code == 1 and why in done.err, output
    assert Budget.open(ledger).entries() == []


def test_no_stream_is_charged_that_cannot_be_read_or_written(tmp_path, text, model, good, run):
    ledger = tmp_path / "b.sqlite"
    good("budget", "init", ledger, "--epsilon", 3, "--delta", 1e-6)
    before = ledger.read_bytes()
    outputs = impossible(tmp_path, model)
    command = ("online", text, *STREAM, "--state", tmp_path / "s", "--budget", ledger)
    for output, why in outputs.items():
        if why != "--force":
            assert run(*command, "--model", output, "-o", tmp_path / "out").code == 1, output
        if why not in ("--force", "is no model"):
            assert run(*command, "-o", output).code == 1, output
    assert run(*command, "-o", ledger).code == 1 and ledger.read_bytes() == before
    assert run(*command, "-o", tmp_path / "x", "--model", tmp_path / "x").code == 1
    gone = ("online", tmp_path / "none", *command[2:], "-o", tmp_path / "out")
    assert run(*gone).code == 1
    assert Budget.open(ledger).entries() == []


@pytest.mark.parametrize("taken", ["folder", "name"])
def test_a_model_that_was_paid_for_is_kept_where_its_file_cannot_be_written(
    tmp_path, text, good, run, monkeypatch, taken
):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    output = there / "m.dpl"
    good("budget", "init", "b.sqlite", "--epsilon", 3, "--delta", 1e-6)
    fit = PrivateLassoClassifier.fit

    def taken_away(model, *rows):
        fitted = fit(model, *rows)
        shutil.rmtree(there) if taken == "folder" else output.mkdir()
        return fitted

    monkeypatch.setattr(PrivateLassoClassifier, "fit", taken_away)
    done = run("train", text, "-o", output, *DECLARED, "--budget", "b.sqlite")
    assert done.code == 1 and str(output) in done.err
    (place,) = (here if taken == "folder" else there).glob("dplasso-rescued-*.dpl")
    assert str(place) in done.err.replace("\n", "")
    assert load(place).privacy_["ledger"]["entry"] == 1


def test_where_no_disk_has_room_the_reason_is_told(tmp_path):
    asked = []

    def full(place):
        asked.append(place)
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        rescue.kept(tmp_path / "m.dpl", full, "model")
    assert len(asked) == 4 and len({place.name for place in asked}) == 2


@pytest.mark.parametrize("command", ["predict", "online", "convert", "report", "export"])
def test_a_disk_that_fills_leaves_nothing_half_written(tmp_path, text, model, command):
    """Files may be 2,000 bytes long, in a process of its own."""
    commands = {
        "predict": ("predict", model, text, "--proba", "-o", "out"),
        "online": ("online", text, *STREAM, "-o", "out", "--state", "s", "--every", 10),
        "convert": ("convert", text, "-o", "out", "--features", COLUMNS),
        "report": ("report", model, "-o", "out"),
        "export": ("export", model, "-o", "out", "--format", "sklearn"),
    }
    folder = tmp_path / "full"
    folder.mkdir()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        sys.stderr = open(tmp_path / "said", "w", buffering=1)  # noqa: SIM115 (until the child ends)
        sys.argv = ["dplasso", *map(str, commands[command])]
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        try:
            application.main()
        except SystemExit as end:
            os._exit(end.code)
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    said = (tmp_path / "said").read_text()
    assert "File too large" in said or "in full" in said
    assert "Traceback" not in said and "defect" not in said
    left = set(os.listdir(folder))
    assert left == ({"s"} if command == "online" else set())


# What ends it.


@pytest.fixture(scope="module")
def long_rows(tmp_path_factory):
    return killing.write_rows(tmp_path_factory.mktemp("data") / "rows.svm", 5000)


def test_a_signal_that_ends_a_conversion_leaves_nothing(tmp_path, long_rows):
    process = subprocess.Popen(
        killing.convert(long_rows, tmp_path / "made"), stderr=subprocess.PIPE, text=True
    )
    patience = time.monotonic() + 60
    while not list(tmp_path.glob(".made*")) and time.monotonic() < patience:
        time.sleep(1e-3)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 143 and "nothing half-written" in said
    assert os.listdir(tmp_path) == []


def ending_at(moment, action):
    """Have SIGTERM come before the line of ours that is executed as the moment-th; whether it did.

    As in the command, what is unfinished is removed when the process ends. An exception that a
    trace raises within an except clause can leave the clause's own exception behind, as the context
    of all later ones. A generator has a state of its own, which ends with it.
    """
    return next(_ending_at(moment, action))


def _ending_at(moment, action):
    steps = itertools.count()

    def traced(frame, event, _):
        if "dplasso/storage" not in frame.f_code.co_filename.replace(os.sep, "/"):
            return traced
        if event == "line" and next(steps) == moment:
            signal.raise_signal(signal.SIGTERM)
        return traced

    before, ended = sys.gettrace(), False
    try:
        with signals.ended_by_signals():
            sys.settrace(traced)
            action()
    except SystemExit:
        ended = True
    finally:
        sys.settrace(before)
        temporary._remove_unfinished()
        temporary._unfinished.clear()
    yield ended


MAKERS = {  # of something whole, or of nothing
    "file": lambda target: atomic.replace_file(target, b"content"),
    "trial": lambda target: atomic.check_folder(str(target.parent)),
    "store": lambda target: build(target, *store_problem(rows=2)),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files left open
@pytest.mark.parametrize(("kind", "step"), [("file", 1), ("trial", 1), ("store", 13)])
def test_whenever_a_signal_comes_nothing_is_left_beside_what_is_whole(tmp_path, kind, step):
    for moment in itertools.count(step=step):
        target = tmp_path / str(moment) / "made"
        target.parent.mkdir()
        ended = ending_at(moment, lambda target=target: MAKERS[kind](target))
        assert os.listdir(target.parent) in ([], ["made"])
        if target.is_dir():
            open_store(target, verify=True)
        elif target.exists():
            assert target.read_bytes() == b"content"
        if not ended:
            break
    assert target.exists() == (kind != "trial") and moment > 20
    assert sys.exc_info() == (None, None, None)


@pytest.fixture
def heeded():
    """Signals that end a process, also where the tests themselves run under nohup."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in signals.ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_by_an_exception_once_and_are_as_before_afterwards(number, code, heeded):
    before = [signal.getsignal(number) for number in signals.ENDING]
    cleared = []
    with pytest.raises(SystemExit) as end, signals.ended_by_signals():
        try:
            signal.raise_signal(number)
        finally:
            for other in signals.ENDING:
                signal.raise_signal(other)  # comes while things are cleared away
            cleared.append(True)
    assert end.value.code == code and cleared
    assert [signal.getsignal(number) for number in signals.ENDING] == before


def test_who_ignores_hanging_up_goes_on_doing_so():
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals.ended_by_signals():
            signal.raise_signal(signal.SIGHUP)
            assert signals.heeded() == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_child_that_is_told_to_end_clears_nothing_of_its_parent(tmp_path):
    target = tmp_path / "x.dpc"
    with signals.ended_by_signals(), staging.workshop(target) as folder:
        child = os.fork()
        if child == 0:
            signal.raise_signal(signal.SIGTERM)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 143
        assert folder.is_dir()


def test_what_kill_9_left_is_cleared_by_the_next_run(tmp_path, text, good):
    output = tmp_path / "out.txt"
    child = os.fork()
    if child == 0:
        try:
            file = atomic._temporary(str(tmp_path), 0o600, "out.txt")
            with file, staging.workshop(tmp_path / "x.dpc"):
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)  # a child that fails must not run the rest of the tests
    os.waitpid(child, 0)
    left = {name for name in os.listdir(tmp_path) if name.startswith(".")}
    assert len(left) == 2
    X, y = problem()
    good("convert", text, "-o", tmp_path / "x.dpc", "--features", COLUMNS)
    good("train", write_svmlight(tmp_path / "r.svm", X, y), "-o", tmp_path / "m", *DECLARED, *FEW)
    good("predict", tmp_path / "m", text, "-o", output)
    assert not left & set(os.listdir(tmp_path))
