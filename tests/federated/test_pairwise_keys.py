"""Keys of pairs: only two parties with the same secret have them, in one job, for one purpose."""

import itertools

import pytest

pytest.importorskip("cryptography")

from dplasso.federated import Refused  # noqa: E402
from dplasso.federated.pairwise_keys import PartyKey  # noqa: E402

NAMES = ("bank", "mill", "shop")
SECRET = b"of all parties, not the server's"


def keys(job="job", secrets=None, names=NAMES):
    return {
        name: PartyKey(job, name, (secrets or {}).get(name, SECRET), bytes([number]) * 32)
        for number, name in enumerate(names, 1)
    }


def introductions(found, but):
    return {name: key.introduction for name, key in found.items() if name != but}


def agreed(found):
    return {name: key.agreed(introductions(found, name)) for name, key in found.items()}


def test_both_ends_of_a_pair_have_one_key_and_nobody_else_has_it():
    pairs, seen = agreed(keys()), set()
    for one, other in itertools.combinations(NAMES, 2):
        for purpose in ("masks", "blocks"):
            key = pairs[one].key(other, purpose)
            assert key == pairs[other].key(one, purpose) and len(key) == 32
            seen.add(key)
    assert len(seen) == 6


def test_keys_are_of_one_job():
    """Even if both parties drew the same private keys twice."""
    one, other = agreed(keys("one")), agreed(keys("other"))
    assert one["bank"].key("shop", "masks") != other["bank"].key("shop", "masks")
    with pytest.raises(Refused, match="does not have the same secret as mill, shop"):
        keys("other")["bank"].agreed(introductions(keys("one"), "bank"))


def test_a_wrong_secret_is_noticed_by_every_party_and_named():
    found = keys(secrets={"mill": b"another secret of the same size"})
    for name, others in (("bank", "mill"), ("shop", "mill"), ("mill", "bank, shop")):
        with pytest.raises(Refused, match=f"{name} does not have the same secret as {others};"):
            found[name].agreed(introductions(found, name))


@pytest.mark.parametrize("place", [0, 31, 32, 63])
def test_an_introduction_that_the_server_changed_is_refused(place):
    found = keys()
    told = introductions(found, "bank")
    changed = bytearray(told["shop"])
    changed[place] ^= 1
    for letter in (bytes(changed), b"", told["shop"][:-1], told["mill"]):
        with pytest.raises(Refused, match="same secret as shop"):
            found["bank"].agreed({**told, "shop": letter})


def test_a_tag_is_of_one_sender_recipient_purpose_and_content():
    pairs = agreed(keys())
    tag = pairs["bank"].tag("shop", "terms", b"content")
    assert pairs["shop"].is_from("bank", "terms", b"content", tag)
    assert not pairs["shop"].is_from("bank", "terms", b"contents", tag)
    assert not pairs["shop"].is_from("bank", "term", b"content", tag)
    assert not pairs["shop"].is_from("mill", "terms", b"content", tag)
    assert not pairs["mill"].is_from("bank", "terms", b"content", tag)
    assert not pairs["bank"].is_from("shop", "terms", b"content", tag)  # sent back to its sender
    assert not pairs["shop"].is_from("bank", "terms", b"content", b"")
