"""Progress bars: absent without rich, and no error."""

import sys

import pytest

from dplasso.base.progress import checks_bar, rounds_bar


@pytest.fixture(params=["not asked for", "rich is missing"])
def shown(request, monkeypatch):
    if request.param == "rich is missing":
        monkeypatch.setitem(sys.modules, "rich", None)
    return request.param == "rich is missing"


def test_no_bar_is_shown(shown, capfd):
    with rounds_bar(3, shown=shown) as progress:
        assert progress is None
    with checks_bar(3, shown=shown) as progress:
        progress("law", 1, 0.5)
    assert capfd.readouterr() == ("", "")


def test_a_bar_takes_what_is_done(capfd):
    with rounds_bar(3, shown=True) as progress:
        progress(2)
    with checks_bar(3, shown=True) as progress:
        progress("law", 1, 0.5)
    assert capfd.readouterr().out == ""  # it goes to standard error, if that is a terminal
