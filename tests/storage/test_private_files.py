"""Whose files are, who may read them, and what others may have put in the way."""

import errno
import os
import resource
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.storage import atomic, private_files
from dplasso.storage.atomic import NotReplaceableError, check_replaceable, replace_file
from dplasso.storage.journal import Journal
from dplasso.storage.private_files import UnsafeFileError, check_own, open_own, take_folder
from hostile_folders import SOMEBODY, as_somebody, mode_of, needs_root, planted_link, umask

modes = st.integers(0, 0o777)


@pytest.fixture
def open_folder():
    """A folder that other users reach.

    Every pytest that starts closes the folder above its tmp_path to others.
    """
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o755)
        yield Path(made)


@settings(max_examples=100, deadline=None)
@given(mask=modes, released=st.booleans())
def test_a_new_file_is_for_its_owner_or_as_the_umask_says_where_it_is_released(
    tmp_path_factory, mask, released
):
    path = tmp_path_factory.mktemp("new") / "file"
    with umask(mask):
        replace_file(path, b"content", released=released)
    assert mode_of(path) == (0o666 if released else 0o600) & ~mask


@settings(max_examples=200, deadline=None)
@given(mask=modes, before=modes, released=st.booleans())
def test_replacing_never_opens_a_file_to_more_people(tmp_path_factory, mask, before, released):
    path = tmp_path_factory.mktemp("old") / "file"
    path.write_bytes(b"old")
    path.chmod(before)
    with umask(mask):
        if not before & 0o222:
            with pytest.raises(NotReplaceableError, match="read-only"):
                replace_file(path, b"new", released=released)
            assert path.read_bytes() == b"old" and mode_of(path) == before
            return
        replace_file(path, b"new", released=released)
    assert path.read_bytes() == b"new"
    assert mode_of(path) == (0o666 if released else 0o600) & ~mask & before


def test_a_file_is_as_narrow_as_the_old_one_before_anything_is_in_it(tmp_path, monkeypatch):
    path, seen = tmp_path / "file", []
    path.write_bytes(b"old")
    path.chmod(0o600)

    def noted(*arguments, **options):
        seen.extend(mode_of(each) for each in tmp_path.glob("*.tmp"))
        return open(*arguments, **options)

    monkeypatch.setattr(atomic, "open", noted, raising=False)
    with umask(0o000):
        replace_file(path, b"new", released=True)
    assert seen == [0o600]


@needs_root
def test_rights_of_a_group_stay_with_that_group(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, -1, SOMEBODY)
    path.chmod(0o640)
    with umask(0o022):
        replace_file(path, b"new", released=True)
    assert mode_of(path) == 0o640 and path.stat().st_gid == SOMEBODY


@needs_root
def test_a_group_that_cannot_be_kept_has_no_rights(open_folder):
    open_folder.chmod(0o777)
    path = open_folder / "file"
    path.write_bytes(b"old")
    path.chmod(0o664)
    os.chown(path, SOMEBODY, 54321)

    def replaced():
        with umask(0o002):
            replace_file(path, b"new", released=True)
        assert mode_of(path) == 0o604 and path.read_bytes() == b"new"

    as_somebody(replaced)


@needs_root
@pytest.mark.parametrize("there", [True, False])
def test_a_link_of_another_user_is_not_followed(tmp_path, there):
    target, link = tmp_path / "victim", tmp_path / "link"
    if there:
        target.write_bytes(b"mine")
    planted_link(link, target)
    for write in (
        lambda: replace_file(link, b"rows"),
        lambda: check_replaceable(link),
        lambda: open_own(link),
        lambda: Journal(link),
        lambda: check_own(link),
        lambda: take_folder(link, bool),
        lambda: private_files.open_private(link),
    ):
        with pytest.raises(ValueError, match="link"):
            write()
    assert target.exists() == there and (not there or target.read_bytes() == b"mine")


def test_ones_own_link_stays_a_link_and_is_written_through(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    replace_file(link, b"content")
    assert link.is_symlink() and target.read_bytes() == b"content"


def test_a_journal_goes_through_no_link_whoever_made_it(tmp_path):
    (tmp_path / "victim").write_bytes(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    os.link(tmp_path / "victim", tmp_path / "second name")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "second name", "pipe"):
        with pytest.raises(UnsafeFileError):
            Journal(tmp_path / name)
    assert (tmp_path / "victim").read_bytes() == b"mine"


def test_a_journal_that_must_be_new_is_not_taken_from_what_is_there(tmp_path):
    (tmp_path / "rows").write_bytes(b"planted")
    with pytest.raises(FileExistsError):
        Journal(tmp_path / "rows", new=True)
    assert (tmp_path / "rows").read_bytes() == b"planted"


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_journals_are_for_their_owner_also_those_that_were_open_to_others(tmp_path, mask):
    with umask(mask):
        Journal(tmp_path / "new").close()
        (tmp_path / "old").write_bytes(b"")
    (tmp_path / "old").chmod(0o644)
    Journal(tmp_path / "old").close()
    assert mode_of(tmp_path / "new") == mode_of(tmp_path / "old") == 0o600


@needs_root
def test_files_and_folders_of_another_user_are_not_taken_up(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir(mode=0o700)
    for path in (tmp_path / "file", tmp_path / "folder"):
        os.chown(path, SOMEBODY, SOMEBODY)
    for take in (
        lambda: open_own(tmp_path / "file"),
        lambda: check_own(tmp_path / "file"),
        lambda: take_folder(tmp_path / "folder", bool),
    ):
        with pytest.raises(UnsafeFileError, match="another user"):
            take()


def test_a_folder_is_closed_to_others_unless_they_could_have_put_something_there(tmp_path):
    folder = tmp_path / "folder"
    for mode in (0o755, 0o777):
        folder.mkdir()
        folder.chmod(mode)
        assert take_folder(folder, bool) == folder and mode_of(folder) == 0o700
        folder.rmdir()
    folder.mkdir()
    (folder / "known").write_bytes(b"")
    folder.chmod(0o770)
    with pytest.raises(UnsafeFileError, match="others may write"):
        take_folder(folder, bool)
    assert mode_of(folder) == 0o770
    folder.chmod(0o755)
    with pytest.raises(ValueError, match="other files"):
        take_folder(folder, lambda name: name != "known")
    assert mode_of(folder) == 0o755  # it is something else, and left as it is
    take_folder(folder, bool)
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(UnsafeFileError, match="link"):
        take_folder(folder, bool)


def test_a_link_is_no_folder_to_keep_secrets_in_where_a_file_is_at_its_end(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        take_folder(tmp_path / "file", bool)


def test_what_a_killed_process_left_is_removed_by_the_next_write_and_nothing_else(tmp_path):
    left = tmp_path / f".dplasso-{'0' * 32}.tmp"
    others = [tmp_path / f".dplasso-{'0' * 31}.tmp", tmp_path / "mine.tmp", tmp_path / ".dplasso-x"]
    for path in (left, *others):
        path.write_bytes(b"half")
    in_use = tmp_path / f".dplasso-{'1' * 32}.tmp"
    with open(in_use, "wb") as file:
        assert private_files.lock(file.fileno())
        replace_file(tmp_path / "file", b"content")
        assert not left.exists() and in_use.exists() and all(path.exists() for path in others)
    replace_file(tmp_path / "file", b"content")
    assert not in_use.exists()


def test_those_who_write_to_one_folder_do_not_take_each_other_for_leftovers(tmp_path):
    failed = []

    def write(name):
        try:
            for number in range(150):
                replace_file(tmp_path / name, str(number).encode())
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(str(k),)) for k in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failed == [] and sorted(os.listdir(tmp_path)) == ["0", "1", "2", "3"]


@needs_root
def test_what_cannot_be_written_is_known_before_there_is_anything_to_write(open_folder):
    (open_folder / "read-only").mkdir(mode=0o755)
    (open_folder / "read-only" / "file").write_bytes(b"old")

    def refused():
        with pytest.raises(PermissionError):
            check_replaceable(open_folder / "read-only" / "new")
        with pytest.raises(NotReplaceableError, match="read-only"):
            check_replaceable(open_folder / "read-only" / "file")

    as_somebody(refused)
    with pytest.raises(FileNotFoundError):
        check_replaceable(open_folder / "none" / "file")
    with pytest.raises(NotReplaceableError, match="regular"):
        check_replaceable(open_folder / "read-only")
    check_replaceable(open_folder / "new")
    assert os.listdir(open_folder) == ["read-only"]


@contextmanager
def longest_file(size):
    """A disk that is full once a file is longer than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@settings(max_examples=50, deadline=None)
@given(
    before=st.lists(st.binary(max_size=60), max_size=4),
    record=st.binary(min_size=1, max_size=100),
    room=st.integers(0, 100),
)
def test_a_record_that_finds_no_room_leaves_the_journal_as_it_was(
    tmp_path_factory, before, record, room
):
    path = tmp_path_factory.mktemp("journal") / "rows"
    with Journal(path) as journal:
        for known in before:
            journal.append(known)
        size, fits = path.stat().st_size, room >= len(record) + 12
        with longest_file(size + room):
            if fits:
                journal.append(record)
            else:
                with pytest.raises(OSError):
                    journal.append(record)
        journal.append(b"after")
        kept = [*before, *([record] if fits else []), b"after"]
        assert list(journal.records()) == kept
    with Journal(path) as journal:
        assert list(journal.records()) == kept


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "file"
    replace_file(path, b"old")
    with longest_file(1000), pytest.raises(OSError) as failed:
        replace_file(path, b"new" * 1000)
    assert failed.value.errno == errno.EFBIG
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


def test_a_system_without_locks_still_writes_and_takes_nothing_for_a_leftover(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(private_files, "fcntl", None)
    left = tmp_path / f".dplasso-{'0' * 32}.tmp"
    left.write_bytes(b"half")
    replace_file(tmp_path / "file", b"content")
    assert (tmp_path / "file").read_bytes() == b"content" and left.exists()


def test_the_package_can_be_imported_where_there_are_no_such_locks():
    script = "import sys; sys.modules['fcntl'] = None; import dplasso, dplasso.storage.journal"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_old_file_with_a_list_of_people_does_not_open_the_new_one_to_its_group(
    tmp_path, monkeypatch
):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    monkeypatch.setattr(os, "listxattr", lambda *_: ["system.posix_acl_access"], raising=False)
    replace_file(path, b"new", released=True)
    assert mode_of(path) == 0o600


def test_temporary_files_are_made_anew_and_through_no_link(tmp_path, monkeypatch):
    asked = []
    opened = os.open

    def noted(path, flags, *rest, **options):
        asked.append((os.fspath(path), flags))
        return opened(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", noted)
    replace_file(tmp_path / "file", b"content")
    made = [flags for path, flags in asked if path.endswith(".tmp")]
    assert made and all(flags & os.O_EXCL and flags & os.O_NOFOLLOW for flags in made)
