"""Parties that write down the noise that they add, so that a test can take it off again."""

import json
from functools import partial

import numpy as np

from dplasso.federated import service
from dplasso.federated.moments import Moments, fit_moments, moment_plan
from dplasso.federated.moments.rows import RowMap, labels_of
from dplasso.mechanisms.grid_gaussian import GridGaussian
from moment_jobs import noise_matrix

NOISE = "noise.jsonl"


class Recorded:
    """Noise that is appended to a file, one draw per line."""

    def __init__(self, path, sigma):
        self._path, self._inner = path, GridGaussian(sigma)

    def add_to(self, values, generator, threads=None):
        before = values.copy()
        self._inner.add_to(values, generator)
        with open(self._path, "a") as file:
            file.write(json.dumps((values - before).tolist()) + "\n")


def open_party(settings, job):
    """Open a party as ever, and record its noise."""
    noise_of = partial(Recorded, settings.state / job / NOISE)
    return service.open_party(settings, job, noise_of=noise_of)


def open_coordinator(proposal, folder):
    """Open a server's side as ever, and record the noise that it adds to the matrix."""
    return service.open_coordinator(proposal, folder, partial(Recorded, folder / NOISE))


def share_noise(folder, terms, party=None):
    """The noise of a party's last share, or that of the server."""
    draws = 1 if party is None else 3
    lines = (folder / NOISE).read_text().splitlines()[-draws:]
    whole = noise_matrix(terms, party, *map(json.loads, lines))
    return whole + np.triu(whole, 1).T


def expected_model(terms, rows, noise):
    """The model that follows from the exact matrix of the parties' rows, plus all noise."""
    people = sorted({one for own in rows.values() for one in own.identifiers})
    place = {one: k for k, one in enumerate(people)}
    blocks = []
    for name in terms.names:
        own = rows[name]
        ranges = [tuple(ends) for ends in own.ranges.tolist()]
        whole = RowMap(terms, name, ranges).whole(own.in_own_units)
        if name == terms.label_holder:
            plan = moment_plan(terms)
            y = (own.y + 1) / 2 if terms.n_classes == 2 else own.y
            ones = np.full((len(whole), 1), plan.entry)
            whole = np.hstack([whole, ones, labels_of(y, terms, plan.label_entry)])
        table = np.zeros((len(people), whole.shape[1]), np.int64)
        table[[place[one] for one in own.identifiers]] = whole
        blocks.append(table)
    table = np.hstack(blocks)
    matrix = table.T @ table + sum(noise.values())
    return fit_moments(Moments.read(moment_plan(terms), matrix), radius=terms.radius)
