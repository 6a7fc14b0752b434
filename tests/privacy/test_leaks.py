"""Undeclared facts: a warning, or an error in strict mode."""

import warnings

import pytest

from dplasso.privacy import leaks


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.delenv("DPLASSO_STRICT", raising=False)
    yield
    leaks.set_strict(None)


def test_a_leak_warns_and_names_the_callers_line():
    with pytest.warns(leaks.PrivacyLeakWarning, match="labels") as caught:
        leaks.report("labels were read")
    assert caught[0].filename == __file__


def test_quiet_facts_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        leaks.report("rows", warn=False)


@pytest.mark.parametrize("value, strict", [("1", True), ("yes", True), ("0", False), ("", False)])
def test_the_environment_decides(monkeypatch, value, strict):
    monkeypatch.setenv("DPLASSO_STRICT", value)
    assert leaks.is_strict() is strict


def test_the_setting_beats_the_environment(monkeypatch):
    monkeypatch.setenv("DPLASSO_STRICT", "1")
    leaks.set_strict(False)
    assert not leaks.is_strict()
    leaks.set_strict(True)
    with pytest.raises(leaks.PrivacyLeakError, match="rows.*strict"):
        leaks.report("rows", warn=False)


def test_once_is_once_but_never_in_strict_mode():
    with pytest.warns(leaks.PrivacyLeakWarning):
        leaks.report_once("a seed, for this test")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        leaks.report_once("a seed, for this test")
    leaks.set_strict(True)
    with pytest.raises(leaks.PrivacyLeakError):
        leaks.report_once("a seed, for this test")


def test_strict_is_a_bool():
    with pytest.raises(ValueError, match="strict must be"):
        leaks.set_strict("yes")
