"""Does a party's noise cover the effect of a row, and does storage affect its releases?"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dplasso.audit.check import Check
from dplasso.audit.federation import (
    BOUNDS,
    COLUMNS,
    NEIGHBOURS,
    ROWS,
    SECRET,
    shares_of_charges,
    terms_of_job,
)
from dplasso.audit.representation.check import compared
from dplasso.audit.representation.holder import Holder, quietly
from dplasso.audit.session import Session
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import ROUNDING, Verdict
from dplasso.base.arrays import Floats
from dplasso.federated import Coordinator, Party
from dplasso.federated.columns import Columns, labels_of
from dplasso.federated.simulation import run as run_job


class Parties(Check[Subject]):
    """Stores the rows of a federation's party in every possible way, as `Representation` does.

    A job of two parties, with bounds that are not exact in single precision, is run with fixed
    noise. All answers of the party must be the same, byte for byte, however its rows and labels are
    stored; and where one of its rows makes a loader store all of them differently, the integers
    that it holds for every other row must stay the same. Then tables with and without one person's
    row are given the same forged releases: the sums to which a party adds noise may differ by at
    most the noise standard deviation divided by the charged multiplier, and the log-weights of its
    draws by at most the charged range. The account of all parties is recomputed.
    """

    name = "parties"
    once = True

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        holders = [PartyHolder(name) for name in ("a", "b", "a")]

        def labels(rows: int) -> Floats:
            return session.rng.normal(size=rows).astype(np.float32).astype(np.float64)

        with tempfile.TemporaryDirectory() as folder:
            yield from compared(self, session, holders, labels, Path(folder))
        shares = shares_of_charges(session.rng)
        limits = {tested: (share, ROUNDING) for tested, share in shares.items()}
        yield from self.limited(session, limits, NEIGHBOURS)


class PartyHolder(Holder):
    """One of the two parties of a small job; the other one has empty rows."""

    columns, rows = COLUMNS, ROWS

    def __init__(self, name: str) -> None:
        other = "b" if name == "a" else "a"
        self.named, self._name, self._other = f"party {name}", name, other
        self.bound = BOUNDS[name]
        self._terms = terms_of_job(name)

    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        empty, people = np.zeros((ROWS, COLUMNS)), range(ROWS)
        with quietly():
            party = Party(self._terms, self._name, X, people, SECRET, y=y, random_state=seed)
            other = Party(self._terms, self._other, empty, people, SECRET, random_state=seed + 1)
        told = _Noted(party)
        coordinator = Coordinator(self._terms)
        run_job(coordinator, {self._name: told, self._other: other})  # type: ignore[dict-item]
        return {"answers": b"".join(told.answers), "card": coordinator.card().to_json().encode()}

    def held(self, X: Any, y: Any) -> Floats:
        own = self._terms.parties[self._terms.number_of(self._name)]
        columns = Columns(X, own.x_bound, own.row_budget)
        held = [columns.column(feature) for feature in range(COLUMNS)]
        labels = labels_of(y, self._terms.y_bound, columns.n_rows)
        return np.column_stack([*held, labels]).astype(np.float64)


class _Noted:
    """A party whose answers are recorded."""

    def __init__(self, party: Party) -> None:
        self._party, self.answers = party, list[bytes]()

    def answer(self, request: bytes) -> bytes:
        self.answers.append(self._party.answer(request))
        return self.answers[-1]
