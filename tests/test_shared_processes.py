"""Tests that share a federation or a cluster run in one process."""

import pytest


@pytest.mark.xdist_group("shared")
def test_marks_of_shared_processes_are_obeyed(request):
    """pytest-xdist names the group at the end of a test; versions that do not ignore the marks."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("not distributed by groups")
    assert request.node.nodeid.endswith("@shared")
