"""What is revealed is told, or refused."""

import json

import pytest

from commanding import COLUMNS, DECLARED, ROWS, problem, subprocess_of, write_svmlight
from dplasso import load
from dplasso.cli import train
from dplasso.privacy.statement import READ


@pytest.mark.parametrize(
    ("left_out", "said"),
    [("--features", "number of columns was read"), ("--classes", "classes were read")],
)
def test_facts_read_from_the_data_are_told_or_refused(tmp_path, text, run, left_out, said):
    place = DECLARED.index(left_out)
    given = (*DECLARED[:place], *DECLARED[place + 2 :])
    path = tmp_path / "model.dpl"
    done = run("train", text, "-o", path, *given)
    assert done.code == 0 and said in done.err and left_out in done.err
    name = {"--features": "n_features", "--classes": "classes"}[left_out]
    assert load(path).privacy_["public"][name]["source"] == READ
    path.unlink()
    done = run("train", text, "-o", path, *given, "--strict")
    assert done.code == 1 and said in done.err and not path.exists()


def test_what_is_declared_is_not_told(tmp_path, text, run):
    done = run("train", text, "-o", tmp_path / "m", *DECLARED, "--x-bound", 1, "-e", 10, "--strict")
    assert done.code == 0 and "warning" not in done.err
    public = load(tmp_path / "m").privacy_["public"]
    assert not [name for name, fact in public.items() if READ in fact["source"]]


def test_seeds_are_told_or_refused(tmp_path, text, run):
    done = run("train", text, "-o", tmp_path / "m", *DECLARED, "--seed", 1)
    assert done.code == 0 and "--seed" in done.err
    assert run("train", text, "-o", tmp_path / "m", *DECLARED, "--seed", 1, "--strict").code == 1


def test_undeclared_rows_are_refused_in_strict_mode(tmp_path, text, run):
    given = ("train", text, "-o", tmp_path / "m", *DECLARED[:4], "--x-bound", 1, "--strict")
    done = run(*given)
    assert done.code == 1 and "--rows" in done.err


def test_bounds_and_rows_that_are_left_out_are_told_once_by_their_options(tmp_path, text):
    known = ("train", text, "-o", tmp_path / "m", "--features", COLUMNS, "--classes", "-1,1", "-q")
    done = subprocess_of(*known, "--force")
    told = [line for line in done.err.splitlines() if "is not declared" in line]
    assert done.code == 0 and len(told) == 2
    for line, start, remedy in (
        (told[0], "warning: --x-bound is not", "pass --x-bound, a bound on entries"),
        (told[1], "warning: the number of rows is not", "pass --rows"),
    ):
        assert line.startswith(start) and remedy in line and "x_bound" not in line
    done = subprocess_of(*known, "--x-bound", 1, "--rows", ROWS, "--force")
    assert done.code == 0 and "is not declared" not in done.err


def test_figures_of_private_rows_are_told_or_refused(model, text, run):
    done = run("evaluate", model, text)
    assert done.code == 0 and "guarantee does not cover" in done.err and "accuracy" in done.out
    done = run("evaluate", model, text, "--strict")
    assert done.code == 1 and done.out == ""
    done = run("evaluate", model, text, "--strict", "--public")
    assert done.code == 0 and done.err == ""


def test_rows_to_test_on(tmp_path, text, run):
    X, y = problem(seed=1)
    new, path = write_svmlight(tmp_path / "new.svm", X, y), tmp_path / "model.dpl"
    done = run("train", text, "-o", path, *DECLARED, "--test", new, "--json")
    assert done.code == 0 and "guarantee does not cover" in done.err
    assert "training data" not in done.err
    assert json.loads(done.out)["test"]["accuracy"] == load(path).score(X, y)
    assert f"On {new}" in run("train", text, "-o", path, *DECLARED, "--test", new, "--force").out
    (tmp_path / "link.svm").symlink_to(text)
    done = run("train", text, "-o", path, *DECLARED, "--test", tmp_path / "link.svm", "--force")
    assert done.code == 0 and "link.svm is the training data" in done.err


@pytest.mark.parametrize("test", [("--test", "rows.svm", "--strict"), ("--test", "none.svm")])
def test_rows_to_test_on_are_refused_before_anything_is_read(
    tmp_path, text, run, monkeypatch, test
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(train, "read_rows", lambda *_, **__: pytest.fail("read"))
    assert run("train", text, "-o", "m", *DECLARED, *test).code == 1


@pytest.mark.parametrize(("epsilon", "said"), [(10, False), (10.5, True)])
def test_a_large_epsilon_is_told(tmp_path, text, run, epsilon, said):
    done = run("train", text, "-o", tmp_path / "m", *DECLARED, "-e", epsilon)
    assert done.code == 0 and ("protects little" in done.err) == said
