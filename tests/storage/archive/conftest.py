"""Where tests of model files write."""

import pytest


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.dpl"


@pytest.fixture(scope="module")
def shared_path(tmp_path_factory):
    return tmp_path_factory.mktemp("shared") / "model.dpl"
