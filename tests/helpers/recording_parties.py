"""Parties that write down the noise that they add, so that a test can take it off again."""

import contextlib
import json
from functools import partial

import numpy as np

from dplasso.federated import service
from dplasso.federated.moments import Moments, fit_moments, moment_plan
from dplasso.federated.moments.rows import RowMap, Units, labels_of, whole_rows
from dplasso.mechanisms.grid_gaussian import GridGaussian
from moment_jobs import noise_matrix

NOISE = "noise.jsonl"


class Recorded:
    """Noise that is appended to a file, one draw per line, with its standard deviation."""

    def __init__(self, path, sigma):
        self._path, self._sigma, self._inner = path, sigma, GridGaussian(sigma)

    def add_to(self, values, generator, threads=None):
        before = values.copy()
        self._inner.add_to(values, generator)
        with open(self._path, "a") as file:
            file.write(json.dumps([self._sigma, (values - before).tolist()]) + "\n")


def draws(folder):
    """All draws by their standard deviation; equal ones count once. Lines of a process that was
    killed while it wrote are left out."""
    found = {}
    for line in (folder / NOISE).read_text().splitlines():
        with contextlib.suppress(ValueError):
            sigma, values = json.loads(line)
            known = found.setdefault(sigma, [])
            known += [] if values in known else [values]
    return found


def drawn_once(folder, sigma):
    """The draw of a standard deviation, if there was one, or the same again."""
    (values,) = draws(folder)[sigma]
    return np.array(values)


def open_party(settings, job):
    """Open a party as ever, and record its noise."""
    noise_of = partial(Recorded, settings.state / job / NOISE)
    return service.open_party(settings, job, noise_of=noise_of)


def open_coordinator(proposal, folder):
    """Open a server's side as ever, and record the noise that it adds to the matrix."""
    return service.open_coordinator(proposal, folder, partial(Recorded, folder / NOISE))


def share_noise(folder, terms, party=None):
    """The noise of a party's share, or that of the server."""
    plan = moment_plan(terms)
    sigmas = [plan.sigma, plan.sigma_on_diagonal, plan.share_sigma]
    if party is None:
        sigmas = [plan.server_sigma]
    whole = noise_matrix(terms, party, *(drawn_once(folder, sigma) for sigma in sigmas))
    return whole + np.triu(whole, 1).T


def expected_centre(terms, own, party, folder):
    """What a party's rows are centred about: their exact sums, plus the noise that was drawn."""
    plan, ranges = moment_plan(terms), [tuple(ends) for ends in own.ranges.tolist()]
    cells = Units(ranges, len(ranges)).of(own.in_own_units)
    rows = whole_rows(cells, plan.entry, plan.mean_limit(party))
    sums = np.append(rows.sum(axis=0), len(rows) * plan.entry)
    *sums, people = (sums + drawn_once(folder, plan.mean_sigma)) / plan.entry
    sigma = plan.mean_sigma / plan.entry
    people = max(people, sigma, 1.0)
    return np.clip(np.array(sums) * people / (people**2 + 10.0 * sigma**2), -1.0, 1.0)


def expected_model(terms, rows, noise, folders):
    """The model that follows from the exact matrix of the parties' rows, plus all noise. The
    ``folders`` of parties have the noise on their means."""
    people = sorted({one for own in rows.values() for one in own.identifiers})
    place = {one: k for k, one in enumerate(people)}
    blocks = []
    for name in terms.names:
        own = rows[name]
        ranges = [tuple(ends) for ends in own.ranges.tolist()]
        centre = expected_centre(terms, own, name, folders[name])
        whole = RowMap(terms, name, ranges, centre).whole(own.in_own_units)
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
