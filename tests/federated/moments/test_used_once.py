"""Masks, keys and noise serve once; a restart sends the same bytes; a share is charged once."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dplasso.federated import Refused
from dplasso.federated.moments import MomentParty, MomentServer
from dplasso.federated.moments.deal import Deal
from dplasso.federated.moments.noise import NoiseShare
from dplasso.federated.moments.used_once import UsedOnce
from moment_jobs import agreed, keys_of, parties_of, tables_of, without

TERMS = agreed((2, 3))
SECRET = bytes(range(32))


class Account:
    def __init__(self, full=False):
        self.charges, self.full = [], full

    def charge(self, event, **about):
        if self.full:
            raise RuntimeError("the budget is spent")
        self.charges.append((event, about))


def first_party(terms=TERMS, scale=1.0, secret=SECRET, **options):
    tables, _, _ = tables_of(TERMS)
    pairs = keys_of(terms)["p0"]
    return MomentParty(terms, "p0", scale * tables["p0"], pairs, secret=secret, **options)


def other_rows(seed=0):
    tables, y, _ = tables_of(TERMS)
    deals = MomentServer(TERMS, seed).deals()
    return deals, {"p1": parties_of(TERMS, tables, y)["p1"].masked(deals["p1"])}


def test_a_restarted_party_sends_the_same_bytes(tmp_path):
    deals, rows = other_rows()
    sent = []
    for _ in range(2):
        with UsedOnce(tmp_path / "used") as used:
            party = first_party(used=used)
            sent.append((party.masked(deals["p0"]), party.share(rows), party.share(rows)))
    assert sent[0] == sent[1] and sent[0][1] == sent[0][2]


def test_a_deal_is_not_used_for_another_table_or_with_another_secret(tmp_path):
    deals, _ = other_rows()
    with UsedOnce(tmp_path / "used") as used:
        first_party(used=used).masked(deals["p0"])
        with pytest.raises(Refused, match="another process"):
            UsedOnce(tmp_path / "used")
    for changed in ({"scale": 0.5}, {"secret": bytes(32)}):
        with UsedOnce(tmp_path / "used") as used, pytest.raises(Refused, match="used before"):
            first_party(used=used, **changed).masked(deals["p0"])


def test_an_attempt_has_one_deal():
    used = UsedOnce()
    first_party(used=used).masked(other_rows(0)[0]["p0"])
    with pytest.raises(Refused, match="used before"):
        first_party(used=used).masked(other_rows(1)[0]["p0"])


def test_a_seed_serves_no_second_attempt():
    used, again = UsedOnce(), agreed((2, 3), attempt=1)
    deals, _ = other_rows()
    first_party(used=used).masked(deals["p0"])
    dealt = Deal.from_bytes(TERMS, "p0", deals["p0"])
    with pytest.raises(Refused, match="used before"):
        first_party(again, used=used).masked(Deal(again, "p0", dealt.seed, dealt.before).to_bytes())
    first_party(again, used=UsedOnce()).masked(MomentServer(again, 0).deals()["p0"])


def test_a_seed_makes_other_masks_in_another_job_and_at_another_party():
    """A server that deals a seed twice would show the difference of two tables."""
    dealt = Deal.from_bytes(TERMS, "p0", other_rows()[0]["p0"])
    for terms, party in ((agreed((2, 3), job="other"), "p0"), (TERMS, "p1")):
        again = Deal(terms, party, dealt.seed, dealt.before)
        assert not np.isin(again.mask, dealt.mask).any()
        assert not np.isin(again.after, dealt.after).any()


@pytest.mark.parametrize("changed", ["masked rows", "share"])
def test_what_was_sent_is_never_made_in_another_way(monkeypatch, changed):
    """As by another version of a library: noise would differ from what was sent, or a cipher."""
    deals, rows = other_rows()
    used = UsedOnce()
    party = first_party(used=used)
    party.masked(deals["p0"])
    party.share(rows)
    again = first_party(used=used)
    if changed == "share":
        again.masked(deals["p0"])
        drawn = NoiseShare.drawn
        monkeypatch.setattr(NoiseShare, "drawn", lambda *given: drawn(*given) + 1)
    else:
        monkeypatch.setattr("dplasso.federated.moments.party.encrypted", lambda *given: bytes(9))
    with pytest.raises(Refused, match="used before, with other data"):
        again.share(rows) if changed == "share" else again.masked(deals["p0"])


def test_an_attempt_has_one_share():
    tables, y, _ = tables_of(TERMS)
    deals, rows = other_rows()
    party = first_party(accountant=(account := Account()))
    party.masked(deals["p0"])
    party.share(rows)
    changed = parties_of(TERMS, {**tables, "p1": -tables["p1"]}, y)["p1"].masked(deals["p1"])
    with pytest.raises(Refused, match="used before"):
        party.share({"p1": changed})
    assert len(account.charges) == 1


def test_a_share_is_charged_once_and_before_it_is_drawn(tmp_path):
    deals, rows = other_rows()
    account = Account()
    for _ in range(2):
        with UsedOnce(tmp_path / "used") as used:
            party = first_party(used=used, accountant=account)
            party.masked(deals["p0"])
            party.share(rows)
    ((_, about),) = account.charges
    assert about["delta"] == TERMS.delta and about["neighboring"] == "add_remove"
    party = first_party(accountant=Account(full=True))
    party.masked(deals["p0"])
    with pytest.raises(RuntimeError, match="spent"):
        party.share(rows)


def test_noise_and_masks_differ_between_attempts():
    """Two attempts on the same data are two releases: nothing of the noise is repeated."""
    shares = []
    tables, y, _ = tables_of(TERMS)
    for attempt in range(2):
        terms = agreed((2, 3), attempt=attempt)
        parties = parties_of(terms, tables, y, secret={"p0": SECRET, "p1": bytes(32)})
        deals = MomentServer(terms, 0).deals()
        masked = {name: party.masked(deals[name]) for name, party in parties.items()}
        given = {name: party.share(without(masked, name)) for name, party in parties.items()}
        shares.append(MomentServer(terms).opened(given).products)
    assert (shares[0] != shares[1]).all()


def test_a_share_needs_a_deal_first():
    with pytest.raises(Refused, match="deal"):
        first_party().share(other_rows()[1])


def test_a_closed_file_grants_nothing(tmp_path):
    used = UsedOnce(tmp_path / "used")
    used.claim(b"a", b"1")
    used.close()
    with pytest.raises(Refused, match="is closed"):
        used.claim(b"b", b"2")


def test_a_damaged_file_is_noticed(tmp_path):
    with UsedOnce(tmp_path / "used") as used:
        used.claim(b"a", b"1")
        used.claim(b"b", b"2")
    content = bytearray((tmp_path / "used").read_bytes())
    content[len(content) // 4] ^= 1
    (tmp_path / "used").write_bytes(content)
    with pytest.raises(Refused, match="has lost some"):
        UsedOnce(tmp_path / "used")


def test_of_many_claims_at_once_one_content_is_granted():
    used, granted = UsedOnce(), []

    def claim(k):
        with contextlib.suppress(Refused):
            granted.append((k, used.claim(b"name", bytes([k]))))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(claim, range(64)))
    assert len({k for k, _ in granted}) == 1 and sum(new for _, new in granted) == 1


def test_a_short_secret_is_refused():
    with pytest.raises(ValueError, match="32 random bytes"):
        first_party(secret=b"")
