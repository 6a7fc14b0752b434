"""The command line in this process, for tests of one subcommand each."""

import sys
import warnings
from typing import NamedTuple

import pytest

from dplasso.cli import app
from dplasso.privacy import leaks


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def invoke(monkeypatch, capsys):
    """Run a command: its exit code, and what it wrote."""

    def command(*arguments):
        monkeypatch.setattr(leaks, "_setting", None)
        monkeypatch.setattr(leaks, "_told", set())
        monkeypatch.setattr(sys, "argv", ["dplasso", *map(str, arguments)])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as end:
            warnings.simplefilter("always", leaks.PrivacyLeakWarning)
            app.main()
        return Done(end.value.code or 0, *capsys.readouterr())

    return command
