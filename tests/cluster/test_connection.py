"""Exact sums leave a machine only by a network that is encrypted or declared to be trusted."""

from types import SimpleNamespace

import pytest

from dplasso import Cluster
from dplasso.base.wording import ParameterError
from dplasso.cluster.connection import Connection

HERE, V6, ELSEWHERE = "127.0.0.1", "::1", "10.0.0.7"


def check(addresses, *, gone=(), trusted=False):
    """Check the network of a cluster whose nodes have these addresses."""
    nodes = [{"NodeManagerAddress": address, "Alive": True} for address in addresses]
    nodes += [{"NodeManagerAddress": address, "Alive": False} for address in gone]
    connection = SimpleNamespace(ray=SimpleNamespace(nodes=lambda: nodes))
    Connection._check_network(connection, Cluster(trusted_network=trusted))


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.delenv("RAY_USE_TLS", raising=False)


@pytest.mark.parametrize("setting", [None, "", "0", "false", "no", "2"])
def test_a_network_without_encryption_is_rejected(setting, monkeypatch):
    if setting is not None:
        monkeypatch.setenv("RAY_USE_TLS", setting)
    for addresses in ([ELSEWHERE], [HERE, ELSEWHERE], ["fd00::1"], ["node-7.example"]):
        with pytest.raises(ParameterError, match="without encryption; set RAY_USE_TLS=1"):
            check(addresses)


@pytest.mark.parametrize("setting", ["1", "true", "True"])
def test_an_encrypted_network_is_taken(setting, monkeypatch):
    """Ray reads the setting in the same way, and then answers nobody without a certificate."""
    monkeypatch.setenv("RAY_USE_TLS", setting)
    check([HERE, ELSEWHERE])


def test_one_machine_or_a_trusted_network_needs_no_encryption():
    check([HERE, V6, "localhost"], gone=[ELSEWHERE])
    check([HERE, ELSEWHERE], trusted=True)
