"""What a party sends shows nothing of its table to those who lack the mask or the pairs' keys."""

import math

import numpy as np
import pytest
from scipy import stats

from dplasso.federated import Refused
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest
from dplasso.federated.moments import MomentServer, messages, ring
from dplasso.federated.moments.coordinator import MomentCoordinator
from dplasso.federated.moments.deal import Deal
from dplasso.federated.moments.entries import cross_entries, opened_entries
from dplasso.federated.moments.layout import SLICE, sliced
from dplasso.federated.moments.messages import Kind
from dplasso.federated.moments.sealing import SealedPairs
from moment_jobs import agreed, exchanged, keys_of, parties_of, server_key, tables_of, without

HEAD = 41  # bytes before the body of a message
TERMS = agreed((30, 3, 4), n_rows=400)


def uniform(content):
    """Chance of counts of bytes as uneven as these, if all are equally likely."""
    counts = np.bincount(np.frombuffer(content, np.uint8), minlength=256)
    return stats.chisquare(counts).pvalue


def alike(content, other):
    """Chance of two counts of bytes as different as these, if their laws are the same."""
    counts = [np.bincount(np.frombuffer(one, np.uint8), minlength=256) for one in (content, other)]
    return stats.chi2_contingency(counts).pvalue


def sent(terms, tables, y, seed):
    """What other parties see of the first one, and what the server sees."""
    parties = parties_of(terms, tables, y, seed=seed)
    _, masked, shares = exchanged(terms, parties, seed)
    seen = parties["p1"]._opened("p0", masked["p0"])
    return ring.to_bytes(seen), shares["p0"][HEAD:-32]


def test_masked_rows_and_shares_are_uniform_whatever_the_table():
    tables, y, _ = tables_of(TERMS)
    constant = {**tables, "p0": np.ones_like(tables["p0"])}
    again = agreed((30, 3, 4), n_rows=400, attempt=1)  # so that the pairs' masks are others
    first, second = sent(TERMS, tables, y, seed=0), sent(again, constant, y, seed=10)
    for one, other in zip(first, second, strict=True):
        assert min(uniform(one), uniform(other), alike(one, other)) > 1e-4
    # The test has power: rows without their mask fail it, and so does a share without pairs.
    whole = parties_of(TERMS, tables, y)["p0"]._table
    assert uniform(ring.to_bytes(whole)) < 1e-30
    alone = agreed((12,), n_rows=400)
    only, labels, _ = tables_of(alone)
    _, _, shares = exchanged(alone, parties_of(alone, only, labels))
    assert uniform(shares["p0"][HEAD:-32]) < 1e-30


def test_any_table_fits_the_masked_rows():
    """For every table there is one mask that gives the same masked rows: they tell nothing."""
    tables, y, _ = tables_of(TERMS)
    others = {**tables, "p0": -0.5 * tables["p0"]}
    one, other = (parties_of(TERMS, given, y) for given in (tables, others))
    deals = MomentServer(TERMS, 0).deals()
    seen = one["p1"]._opened("p0", one["p0"].masked(deals["p0"]))
    dealt = Deal.from_bytes(TERMS, "p0", deals["p0"])
    mask = dealt.mask + other["p0"]._table - one["p0"]._table
    assert np.array_equal(other["p0"]._table - mask, seen)
    assert not np.array_equal(mask, dealt.mask)


def test_under_one_mask_the_difference_of_two_tables_is_in_clear():
    """Why a mask serves once."""
    tables, y, _ = tables_of(TERMS)
    deals = MomentServer(TERMS, 0).deals()
    seen = []
    for scale in (1.0, 0.5):
        parties = parties_of(TERMS, {**tables, "p0": scale * tables["p0"]}, y)
        masked = parties["p0"].masked(deals["p0"])
        seen.append((parties["p1"]._opened("p0", masked), parties["p0"]._table))
    assert np.array_equal(seen[0][0] - seen[1][0], seen[0][1] - seen[1][1])


def test_the_server_and_one_party_together_read_every_table():
    """The limit that docs/explanation/federated_moments.md states: they add what each knows."""
    tables, y, _ = tables_of(TERMS)
    parties = parties_of(TERMS, tables, y)
    deals, masked, _ = exchanged(TERMS, parties)
    known_to_server = Deal.from_bytes(TERMS, "p2", deals["p2"]).mask
    known_to_party = parties["p0"]._opened("p2", masked["p2"])
    assert np.array_equal(known_to_server + known_to_party, parties["p2"]._table)


def test_the_dealer_cannot_take_the_masks_of_pairs_off_a_share():
    """It knows all U and z. What is left of a share without noise, less the exact products, is
    uniform; over all parties it adds up to 0."""
    terms = agreed((6, 3, 4), n_rows=50, epsilon=math.inf)
    tables, y, _ = tables_of(terms)
    parties = parties_of(terms, tables, y)
    deals, masked, shares = exchanged(terms, parties)
    left = {}
    for name, party in parties.items():
        opened = {other: party._opened(other, masked[other]) for other in without(masked, name)}
        products = party._products(Deal.from_bytes(terms, name, deals[name]), opened)
        upper = products[opened_entries(terms)]
        share = ring.from_bytes(shares[name][HEAD:-32], upper.shape)
        left[name] = share - upper
    assert not np.any(sum(left.values()))
    assert min(uniform(ring.to_bytes(one)) for one in left.values()) > 1e-4


def test_masked_rows_do_not_open_without_the_keys_of_a_pair():
    tables, y, _ = tables_of(TERMS)
    parties = parties_of(TERMS, tables, y)
    deals = MomentServer(TERMS, 0).deals()
    masked = {name: party.masked(deals[name]) for name, party in parties.items()}
    strangers = SealedPairs("p1", {"p0": bytes(32), "p2": bytes(32)})
    with pytest.raises(Refused, match="another key"):
        strangers.open("p0", masked["p0"][HEAD : HEAD + 48], masked["p0"][:HEAD])
    keys_of(TERMS)["p1"].open("p0", masked["p0"][HEAD : HEAD + 48], masked["p0"][:HEAD])
    parties["p1"]._pairs = strangers
    with pytest.raises(Refused, match="another key"):
        parties["p1"].share(without(masked, "p1"))


class Fixed:
    """Noise that is known beforehand."""

    def __init__(self, values):
        self._values = values

    def __call__(self, sigma):
        return self

    def add_to(self, values, generator, threads=None):
        values += self._values


def leaves(terms, shares, noise):
    """All requests of a server after a job is paid for, and its card."""
    alignment, uplink = {"people": 9.0}, dict.fromkeys(terms.names, 0)
    server = MomentCoordinator(terms, uplink, alignment, server_key(), Fixed(noise))
    sent = []
    while requests := server.requests():
        sent.append(requests)
        answers = {}
        for number, name in enumerate(terms.names):
            asked = PartyRequest.from_bytes(requests[name])
            about = terms.digest, number, asked.round
            if asked.kind is Ask.SHARE:
                content = sliced(shares[name], asked.round, SLICE)
                answers[name] = PartyRelease(*about, Gave.PART, content=content).to_bytes()
            else:
                answers[name] = PartyRelease(*about, Gave.STORED).to_bytes()
        server.receive(answers)
    return sent, server.card().to_json()


@pytest.mark.parametrize("size", [2**20, 2**61])
def test_nothing_that_leaves_the_server_is_computed_without_its_noise(size):
    """Two matrices that are the same with the server's noise, and not without it, give the same
    requests and the same card, to the byte; also if one of them is larger than any matrix."""
    terms = agreed((3, 2, 4), n_rows=50, n_classes=2)
    tables, y, _ = tables_of(terms)
    shares = exchanged(terms, parties_of(terms, tables, y))[2]
    cross = cross_entries(terms)
    noise = np.random.default_rng(0).integers(-size, size, int(cross.sum()))
    body = ring.from_bytes(shares["p2"][HEAD:-32], cross.shape).copy()
    body[cross] -= noise.view(np.uint64)
    shifted = messages.packed(Kind.SHARE, terms, "p2", ring.to_bytes(body))
    usual = leaves(terms, shares, np.zeros_like(noise))
    assert leaves(terms, {**shares, "p2": shifted}, noise) == usual
    assert len(usual[0]) == 2
    if size == 2**20:
        assert leaves(terms, shares, noise)[1] != usual[1]


@pytest.mark.parametrize("place", [0, 5, 30, 41, 100, 5000, -1])
def test_changed_messages_are_refused(place):
    tables, y, _ = tables_of(TERMS)
    parties = parties_of(TERMS, tables, y)
    deals, masked, shares = exchanged(TERMS, parties)

    def changed(message):
        content = bytearray(message)
        content[place if abs(place) < len(message) else 50] ^= 1
        return bytes(content)

    with pytest.raises(Refused):
        parties["p0"].masked(changed(deals["p0"]))
    with pytest.raises(Refused):
        parties["p1"].share({**without(masked, "p1"), "p0": changed(masked["p0"])})
    with pytest.raises(Refused):
        MomentServer(TERMS).opened({**shares, "p0": changed(shares["p0"])})


def test_messages_of_the_version_before_are_refused(monkeypatch):
    """Its masks are others: what it opens would be noise."""
    tables, y, _ = tables_of(TERMS)
    parties = parties_of(TERMS, tables, y)
    with monkeypatch.context() as before:
        before.setattr(messages, "VERSION", 3)
        deals, _, shares = exchanged(TERMS, parties_of(TERMS, tables, y))
    with pytest.raises(Refused, match="another kind, version"):
        parties["p0"].masked(deals["p0"])
    with pytest.raises(Refused, match="another kind, version"):
        MomentServer(TERMS).opened(shares)


def test_messages_of_others_and_of_other_jobs_are_refused():
    tables, y, _ = tables_of(TERMS)
    parties = parties_of(TERMS, tables, y)
    deals, masked, shares = exchanged(TERMS, parties)
    again = agreed((30, 3, 4), n_rows=400, attempt=1)
    with pytest.raises(Refused, match="another"):
        parties["p0"].masked(deals["p1"])
    with pytest.raises(Refused, match="another"):
        parties_of(again, tables, y)["p0"].masked(deals["p0"])
    with pytest.raises(Refused, match="another"):
        parties["p1"].share({"p0": masked["p2"], "p2": masked["p0"]})
    with pytest.raises(Refused, match="every other party"):
        parties["p1"].share({"p0": masked["p0"]})
    with pytest.raises(Refused, match="all parties"):
        MomentServer(TERMS).opened(without(shares, "p0"))
