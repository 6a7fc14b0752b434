"""``dplasso federated``: what it makes, and what it refuses before it asks anything of a server."""

import sys

import pytest
from typer.testing import CliRunner

from dplasso.base.extras import MissingExtraError
from dplasso.cli.app import app
from dplasso.cli.federated_terms import check_terms
from dplasso.federated.roles import Proposal

TERMS = Proposal(1.0, 1e-6, 100, "a", 1.0, 5, 5, 50)
KNOWN = ("a", "b", "c")


def run(*words):
    return CliRunner().invoke(app, ["federated", *map(str, words)])


@pytest.mark.parametrize(
    ("change", "parties", "message"),
    [
        ({"epsilon": 0.0}, KNOWN, "--epsilon must be a finite number above 0"),
        ({"epsilon": float("inf")}, KNOWN, "--epsilon must be a finite number above 0"),
        ({"delta": 1.0}, KNOWN, "--delta must be below 1"),
        ({"radius": -1.0}, KNOWN, "--radius"),
        ({"sketch_size": 0}, KNOWN, "--sketch-size must be 1 or more, got 0"),
        ({"rounds": 0}, KNOWN, "--rounds"),
        ({"labels": "d"}, KNOWN, "--labels must be a party that takes part"),
        ({"labels": "c"}, ("a", "b"), "--labels must be a party that takes part"),
        ({}, ("a", "d"), "--party d is not of this federation"),
        ({}, ("a",), "two different parties"),
        ({}, ("a", "a"), "two different parties"),
    ],
)
def test_terms_that_no_party_could_agree_to(change, parties, message):
    check_terms(TERMS, KNOWN, KNOWN)
    with pytest.raises(ValueError, match=message):
        check_terms(Proposal(**{**vars(TERMS), **change}), parties, KNOWN)


def test_without_nvflare_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "nvflare", None)
    done = run("server", tmp_path)
    assert isinstance(done.exception, MissingExtraError)
    assert "pip install 'dplasso[federated]'" in str(done.exception)


def test_init_makes_kits_that_the_other_commands_know(tmp_path):
    pytest.importorskip("nvflare")
    done = run("init", tmp_path / "new", "--server", "localhost", "--party", "a", "--party", "b")
    assert done.exit_code == 0
    for word in ("server", "admin", "party", "authority", "party.toml"):
        assert word in done.output
    for role, name, message in (
        ("party", "server", "is the kit of the server"),
        ("party", "a", "must be"),  # nothing is set yet
        ("server", "a", "is the kit of the party a"),
        ("status", "b", "is the kit of the party b"),
    ):
        done = run(role, tmp_path / "new" / name)
        assert message in str(done.exception)
    done = run("status", tmp_path / "new" / "admin")
    assert "cannot be reached; is it running" in str(done.exception)
