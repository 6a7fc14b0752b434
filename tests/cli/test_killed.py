"""A command that is killed leaves a whole file under the final name, or none."""

import shutil

import pytest

import killing


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return killing.write_rows(tmp_path_factory.mktemp("data") / "rows.svm", 5000)


def removed(target):
    shutil.rmtree(target) if target.is_dir() else target.unlink()


@pytest.mark.parametrize(("made", "seed"), [(killing.train, 1), (killing.convert, 2)])
def test_killed_commands_leave_something_whole_or_nothing(tmp_path, data, made, seed):
    target = tmp_path / "made"
    assert killing.kill_often(made, data, target, 6, seed) > 0  # some at work
    if made is killing.convert:
        assert [path.name for path in tmp_path.iterdir()] == [target.name]  # cleared away


@pytest.mark.parametrize("made", [killing.train, killing.convert])
def test_a_first_run_that_is_killed_leaves_no_half_of_it(tmp_path, data, made):
    target = tmp_path / "made"
    for _ in range(2):
        killing.kill_while_writing(made(data, target), tmp_path)
        if target.exists():
            killing.CHECKS[made](target)
            removed(target)
    killing.seconds_of(made(data, target))
    killing.CHECKS[made](target)
