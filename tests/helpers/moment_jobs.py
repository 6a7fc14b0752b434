"""Jobs of secret-shared moments for tests: tables, parties, and the noise that they draw."""

from itertools import combinations

import numpy as np

from dplasso.federated.moments import MomentParty, MomentServer, agree_moments
from dplasso.federated.moments.entries import cross_entries, opened_entries, own_entries
from dplasso.federated.moments.sealing import SealedPairs
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey


def agreed(widths=(2, 3), **options):
    """Terms of a small job; the second party, or the only one, holds the labels."""
    names = [f"p{k}" for k in range(len(widths))]
    usual = {"n_rows": 30, "epsilon": 1.0, "delta": 1e-6, "centring": 0.0}
    holder = names[min(1, len(names) - 1)]
    return agree_moments(dict(zip(names, widths, strict=True)), holder, **{**usual, **options})


def keys_of(terms):
    """A key for each pair, made of their numbers."""
    keys = {name: {} for name in terms.names}
    for (i, one), (j, other) in combinations(enumerate(terms.names), 2):
        keys[one][other] = keys[other][one] = bytes([i + 1]) * 16 + bytes([j + 1]) * 16
    return {name: SealedPairs(name, own) for name, own in keys.items()}


def tables_of(terms, seed=0, missing=0.0):
    """Entries from -2 to 2 (bounds are 1), labels, and places; some rows are missing."""
    rng = np.random.default_rng(seed)
    tables, places = {}, {}
    for block in terms.parties:
        places[block.name] = np.flatnonzero(rng.random(terms.n_rows) >= missing)
        rng.shuffle(places[block.name])
        tables[block.name] = rng.uniform(-2, 2, (len(places[block.name]), block.n_features))
    rows = len(places[terms.label_holder])
    if terms.n_classes:
        return tables, rng.integers(0, terms.n_classes, rows), places
    return tables, rng.uniform(-1.5, 1.5, rows) * terms.y_bound, places


def server_key(seed=0):
    """What the server's noise follows from."""
    return NoiseKey(bytes([seed % 256]) * 32, secure=False)


class Recording:
    """Noise that remembers what it has added."""

    def __init__(self):
        self.added = []

    def __call__(self, sigma):
        inner, added = GridGaussian(sigma), self.added

        class Adds:
            def add_to(self, values, generator, threads=None):
                before = values.copy()
                inner.add_to(values, generator, threads)
                added.append(values - before)

        return Adds()

    def matrix(self, terms, party=None):
        """The noise of one party, or of the server: upper triangle."""
        return noise_matrix(terms, party, *self.added)


def noise_matrix(terms, party, *drawn):
    """Noise on what is opened, in place: of a party, or of the server.

    A party draws that on products of its own columns first, off the diagonal and on it, and then
    that on products of two parties, which is all that the server draws.
    """
    whole = np.zeros((terms.n_columns, terms.n_columns), np.int64)
    rows, columns = opened_entries(terms)
    places = [cross_entries(terms)]
    if party is not None:
        own = own_entries(terms, party)
        places = [own & (rows != columns), own & (rows == columns), *places]
    for values, where in zip(drawn, places, strict=True):
        whole[rows[where], columns[where]] = values
    return whole


def parties_of(terms, tables, y, places=None, seed=0, **options):
    """All parties of a job; ``options`` go to each of them."""
    pairs = keys_of(terms)
    return {
        name: MomentParty(
            terms,
            name,
            tables[name],
            pairs[name],
            y=y if name == terms.label_holder else None,
            places=None if places is None else places[name],
            random_state=seed + place,
            **{key: value[name] for key, value in options.items()},
        )
        for place, name in enumerate(terms.names)
    }


def exchanged(terms, parties, seed=0):
    """The deals, the masked rows and the shares of a job."""
    deals = MomentServer(terms, seed).deals()
    masked = {name: party.masked(deals[name]) for name, party in parties.items()}
    shares = {name: party.share(without(masked, name)) for name, party in parties.items()}
    return deals, masked, shares


def without(messages, name):
    """The messages of all others."""
    return {sender: message for sender, message in messages.items() if sender != name}
