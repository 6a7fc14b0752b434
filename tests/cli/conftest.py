"""The command in this process, and a model that it trained."""

import sys
import warnings

import pytest

from commanding import DECLARED, Done, problem, write_svmlight
from dplasso.cli import app as application
from dplasso.privacy import leaks


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process."""

    def command(*arguments):
        monkeypatch.setattr(leaks, "_setting", None)
        monkeypatch.setattr(leaks, "_told", set())
        monkeypatch.setattr(sys, "argv", ["dplasso", *map(str, arguments)])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as end:
            warnings.simplefilter("always", leaks.PrivacyLeakWarning)
            warnings.simplefilter("always", leaks.OwnerWarning)
            application.main()
        return Done(end.value.code or 0, *capsys.readouterr())

    return command


@pytest.fixture
def good(run):
    """Run the command, which succeeds; returns its standard output."""

    def command(*arguments):
        done = run(*arguments)
        assert done.code == 0, done.err
        return done.out

    return command


@pytest.fixture
def text(tmp_path):
    return write_svmlight(tmp_path / "rows.svm", *problem())


@pytest.fixture
def model(tmp_path, text, good):
    path = tmp_path / "model.dpl"
    good("train", text, "-o", path, *DECLARED, "--quiet")
    return path
