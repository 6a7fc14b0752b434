"""Federations for tests: synthetic data, recorded runs, and releases without their noise."""

from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from dplasso.federated import Coordinator, Party, agree, holdings
from dplasso.federated.holdings import Holdings
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest
from dplasso.mechanisms.random_bits import random_bits

SECRET = bytes(range(32))
FEATURES = {"bank": 4, "shop": 5}


def agreed(features=FEATURES, holder="bank", **options):
    """Terms of a small job."""
    usual = {"n_rows": 40, "epsilon": 2.0, "delta": 1e-6, "rounds": 6, "sketch_size": 16}
    return agree(features, holder, **{**usual, **options})


class Data(NamedTuple):
    """The data of all parties. The rows of a party may cover only some of the people."""

    blocks: dict
    identifiers: dict
    y: np.ndarray

    def without(self, person):
        """The same data without one person's rows, at all parties."""
        blocks, identifiers, y = {}, {}, self.y
        for name, block in self.blocks.items():
            kept = np.array([one != person for one in self.identifiers[name]], bool)
            blocks[name] = block[kept]
            identifiers[name] = [one for one in self.identifiers[name] if one != person]
            if len(kept) == len(self.y):
                y = self.y[kept]
        return Data(blocks, identifiers, y)


def made(rows=40, features=FEATURES, seed=0, bound=1.0):
    """Uniform entries, some beyond the bound, and labels of two features."""
    rng = np.random.default_rng(seed)
    blocks = {name: rng.uniform(-1.3, 1.3, (rows, k)) * bound for name, k in features.items()}
    first, last = list(blocks.values())[0], list(blocks.values())[-1]
    y = 0.5 * first[:, 0] - 0.7 * last[:, -1] + 0.1 * rng.normal(size=rows)
    return Data(blocks, dict.fromkeys(features, [f"person {k}" for k in range(rows)]), y)


def parties_of(terms, data, **options):
    """The parties of a job; each gets its own seed, derived from ``random_state``."""
    seed = options.pop("random_state", None)
    return {
        name: Party(
            terms,
            name,
            block,
            data.identifiers[name],
            SECRET,
            y=data.y if name == terms.label_holder else None,
            random_state=None if seed is None else seed * 1000 + number,
            **options,
        )
        for number, (name, block) in enumerate(data.blocks.items())
    }


class Message(NamedTuple):
    """One question and its answer."""

    party: str
    request: bytes
    answer: bytes

    @property
    def release(self):
        return PartyRelease.from_bytes(self.answer)


def recorded(coordinator, parties):
    """Run a job to its end; returns every message, as one list per round."""
    rounds = []
    while requests := coordinator.requests():
        answers = {name: parties[name].answer(request) for name, request in requests.items()}
        rounds.append([Message(name, requests[name], answers[name]) for name in answers])
        coordinator.receive(answers)
    return rounds


def run_job(terms, data, **options):
    """A recorded run, and its coordinator."""
    coordinator = Coordinator(terms)
    return recorded(coordinator, parties_of(terms, data, **options)), coordinator


def ask(terms, party, at, kind=Ask.SELECT, numbers=None, clip=1.0):
    """A request, as any coordinator may invent it."""
    given = np.ones(terms.sketch_size) if numbers is None else np.asarray(numbers, float)
    return PartyRequest(terms.digest, terms.number_of(party), at, kind, clip, given).to_bytes()


class Part(NamedTuple):
    """A released vector: its values before noise, and the size of its noise."""

    party: str
    kind: Gave
    exact: np.ndarray
    sigma: float


class _Recorder:
    """Stands in for the noise: records the exact values, and replaces them by the releases."""

    def __init__(self, log, sigma):
        self._log, self.sigma = log, sigma

    def add_to(self, values, generator):
        self._log.told.append((self.sigma, values.copy()))
        if len(values) == 1:  # a sum, not a sketch
            values[0] = self._log.total


class Replay:
    """The releases of a job on given data before noise, for the same features in the same order
    and the same totals."""

    def __init__(self, terms, data):
        self._patched = pytest.MonkeyPatch()
        with self._recording():
            self._held = {
                name: Holdings(
                    terms,
                    name,
                    block,
                    data.identifiers[name],
                    SECRET,
                    data.y if name == terms.label_holder else None,
                    random_bits(0),
                )
                for name, block in data.blocks.items()
            }
        self._full = {name: held._columns.left.copy() for name, held in self._held.items()}

    @contextmanager
    def _recording(self):
        with self._patched.context() as patched:
            patched.setattr(holdings, "GridGaussian", partial(_Recorder, self))
            yield

    def parts(self, releases):
        """The parts of (party, release) pairs, in order."""
        for name, held in self._held.items():
            held._columns.left[:] = self._full[name]
        found = []
        for name, release in releases:
            self.told, self.total = [], release.total
            with self._recording():
                if release.kind == Gave.LABELS:
                    self._held[name].labels()
                elif release.kind == Gave.SHARED:
                    self._held[name].shared(release.feature)
            found += [Part(name, release.kind, exact, sigma) for sigma, exact in self.told]
        return found


def moved(present, absent):
    """The exact sum of squared changes over squared noise: twice the rho of the releases."""
    total = Fraction(0)
    for one, other in zip(present, absent, strict=True):
        change = sum((int(a) - int(b)) ** 2 for a, b in zip(one.exact, other.exact, strict=True))
        assert one.sigma == other.sigma
        total += Fraction(change) / Fraction(one.sigma) ** 2
    return total
