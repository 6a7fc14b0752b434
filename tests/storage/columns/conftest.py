"""Where tests of column stores build, and how to build in little memory."""

import pytest

from dplasso.storage import column_builder, column_runs
from stores import OURS


@pytest.fixture
def path(tmp_path):
    return tmp_path / OURS


@pytest.fixture
def tiny(monkeypatch):
    """Memory for seven entries: several runs, ranges and fillings of long columns."""
    monkeypatch.setattr(column_builder, "_room", lambda memory, columns, per_column: 7)
    monkeypatch.setattr(column_runs, "BLOCK", 3)
