"""Options by their former names work, hidden, with a warning that names the new one."""

import json
import warnings

import pytest

from commanding import COLUMNS, ROWS
from dplasso import load

PUBLIC = ("--classes", "-1,1", "--rows", ROWS, "--x-bound", 1)


@pytest.fixture
def told(run):
    """Run the command, which succeeds and warns; returns its output and its warnings."""

    def command(*arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("always", FutureWarning)
            done = run(*arguments)
        assert done.code == 0, done.err
        return done.out, done.err

    return command


@pytest.mark.parametrize(
    ("former", "name", "value", "parameter"),
    [("--rounds", "--max-iter", 7, "max_iter"), ("--keep", "--n-nonzero", 3, "n_nonzero")],
)
def test_train_takes_a_former_option(tmp_path, text, told, former, name, value, parameter):
    path = tmp_path / "model.dpl"
    _, said = told("train", text, "-o", path, *PUBLIC, former, value, "--quiet")
    assert f"warning: {former} is now called {name};" in said
    assert load(path).get_params()[parameter] == value


def test_the_former_flag_of_train_and_convert_replaces_an_output(tmp_path, text, told, good):
    model, store = tmp_path / "model.dpl", tmp_path / "rows.dpc"
    for command in (
        ("train", text, "-o", model, *PUBLIC, "-q"),
        ("convert", text, "-o", store, "--features", COLUMNS, "-q"),
    ):
        good(*command)
        assert "warning: --overwrite is now called --force;" in told(*command, "--overwrite")[1]


@pytest.mark.parametrize(
    ("former", "name", "value", "fact"),
    [("--rounds", "--max-iter", 7, "rounds"), ("--rows", "--row-map", "sqrt", "row_map")],
)
def test_audit_takes_a_former_option(told, former, name, value, fact):
    few = ("--estimator", "classifier", "--solver", "frank_wolfe", "--check", "accounting")
    out, said = told("audit", *few, former, value, "--json")
    assert f"warning: {former} is now called {name};" in said
    assert {found[fact] for found in json.loads(out)["estimators"]} == {value}


def test_a_former_option_is_checked_as_the_new_one_is(text, tmp_path, run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        done = run("train", text, "-o", tmp_path / "model.dpl", "--keep", 0)
    assert done.code == 1 and "--n-nonzero must be" in done.err


def test_a_former_and_a_new_option_together_are_rejected(text, tmp_path, run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        both = ("--keep", 3, "--n-nonzero", 4)
        done = run("train", text, "-o", tmp_path / "model.dpl", *PUBLIC, *both)
        assert done.code == 1 and "give --n-nonzero alone" in done.err
    done = run("train", text, "-o", tmp_path / "model.dpl", *PUBLIC, "--n-nonzero", 4, "-q")
    assert done.code == 0, done.err


@pytest.mark.parametrize("command", ["train", "audit"])
def test_former_options_are_not_shown(good, command):
    shown = good(command, "--help").split()
    assert "--max-iter" in " ".join(shown)
    assert not {"--rounds", "--keep", "--overwrite"} & {word.strip(",") for word in shown}
