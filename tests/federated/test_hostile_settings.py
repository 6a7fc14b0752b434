"""Configuration files that are damaged or odd are refused by name, never by a stack trace."""

import pytest

from dplasso.federated.deployment.settings import (
    PARTY_FILE,
    SERVER_FILE,
    read_party_settings,
    read_server_settings,
    write_server_settings,
)
from dplasso.reading.plans import FeatureSpace, TablePlan


@pytest.mark.parametrize(
    "text",
    [b"patience = " + b"[" * 20_000, b"\xff\xfe", b"patience = 1979-05-27", b"= 1", b"", b"[[[["],
    ids=range(6),
)
def test_text_that_is_no_settings_is_refused(tmp_path, text):
    for name, read in (
        (PARTY_FILE, lambda: read_party_settings(tmp_path, "shop")),
        (SERVER_FILE, lambda: read_server_settings(tmp_path)),
    ):
        (tmp_path / name).write_bytes(text)
        with pytest.raises(ValueError, match=name):
            read()


@pytest.mark.parametrize("named", ["../..", "..:x", ".x:y", "os", "os:none", ":", "json.nothing:x"])
def test_a_function_that_is_not_installed_is_refused(tmp_path, named):
    write_server_settings(tmp_path)
    path = tmp_path / SERVER_FILE
    path.write_text(path.read_text().replace("dplasso.federated.service:open_coordinator", named))
    with pytest.raises(ValueError, match="names no function"):
        read_server_settings(tmp_path)


def test_buckets_beyond_64_bits_are_refused():
    assert len(FeatureSpace(TablePlan("y", hashed={"a": 2**62, "b": 2**61})).names) == 3 * 2**61
    with pytest.raises(ValueError, match="buckets of all columns must be at most"):
        TablePlan("y", hashed={"a": 2**62, "b": 2**62})
