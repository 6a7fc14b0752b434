"""One federation for all tests of this folder that need a running one."""

import pytest


@pytest.fixture(scope="session")
def federation(tmp_path_factory):
    pytest.importorskip("nvflare")
    from federation import Federation

    running = Federation(tmp_path_factory.mktemp("running"))
    try:
        running.start_all()
        yield running
    finally:
        running.close()
