"""`Budget`: what may be spent on one set of data, and who has spent it."""

import os
from typing import Any, Self

from dplasso.ledger import amount, chain
from dplasso.ledger.admission import admitted
from dplasso.ledger.chain import Chain, Position
from dplasso.ledger.entry import Charge, Genesis, new_id, now, parse, relation
from dplasso.ledger.entry import label as checked_label
from dplasso.ledger.errors import LedgerError
from dplasso.ledger.event_form import from_form, to_form
from dplasso.ledger.export import read_lines, write_lines
from dplasso.ledger.stores import DEFAULT, store_of
from dplasso.privacy import checks, zcdp
from dplasso.privacy.accountant import Receipt
from dplasso.privacy.events import Event

_Path = str | os.PathLike[str]


class Budget:
    """A budget (epsilon, delta) for all releases from one set of data, kept in a ledger.

    Pass it as ``accountant=`` to any number of estimators, in any number of threads and processes:
    each ``fit`` adds an entry before its first draw, and is refused if that would exceed the
    budget. Copies, clones and pickles are the same ledger.

    Parameters
    ----------
    epsilon, delta : what all releases together may cost. A ledger that is there already must have
        the same numbers; `Budget.open` does not ask for them.
    store : where the ledger is: the path of a SQLite file, or ``postgresql://user@host/database``.
    neighboring : "add_remove" or "replace_one"; releases stated under the other are refused.

    Formal guarantees
    -----------------
    Releases from the same data, chosen adaptively, each charged here first as an event that it
    keeps, are together (``epsilon``, ``delta``)-DP under ``neighboring``: costs add exactly in rho
    (zCDP), their sum never exceeds the cap, and it is converted once. A charge is on disk when
    `charge` returns; a crash can waste budget, never lose a charge.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = Budget(epsilon=1.0, delta=1e-6, store=f"{folder.name}/budget.sqlite")
    >>> from dplasso.privacy.events import Gaussian
    >>> receipt = budget.charge(Gaussian(10.0), delta=1e-6, neighboring="add_remove", label="mean")
    >>> receipt.entry, round(budget.spent_rho, 6), round(budget.spent_epsilon, 3)
    (1, 0.005, 0.43)
    >>> budget.charge(  # doctest: +ELLIPSIS
    ...     Gaussian(1.0), delta=1e-6, neighboring="add_remove", label="again"
    ... )
    Traceback (most recent call last):
        ...
    dplasso.ledger.errors.BudgetError: again asks for epsilon 5.22 (rho 0.5) at delta 1e-06, ...
    >>> folder.cleanup()
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        store: _Path = DEFAULT,
        neighboring: str = "add_remove",
    ) -> None:
        asked = Genesis(
            id=new_id(),
            time=now(),
            epsilon=checks.bound("epsilon", epsilon),
            delta=checks.probability("delta", delta),
            neighboring=relation(neighboring),
            cap=amount.cap_of(epsilon, delta),
        )
        self._store = store_of(store)
        self._seen: Position | None = None
        self._store.create(asked)
        found = self._genesis()
        for name in ("epsilon", "delta", "neighboring"):
            if getattr(found, name) != getattr(asked, name):
                raise LedgerError(
                    f"the ledger {self._store.shown} has {name} = {getattr(found, name)!r}, not "
                    f"{getattr(asked, name)!r}: use dplasso.Budget.open, or another store"
                )

    @classmethod
    def open(cls, store: _Path = DEFAULT) -> Self:
        """The budget of a ledger that exists."""
        budget = cls._at(store, None)
        budget._genesis()
        return budget

    @classmethod
    def _at(cls, address: _Path, seen: Position | None) -> Self:
        budget = cls.__new__(cls)
        budget._store, budget._seen = store_of(address), seen
        return budget

    def charge(self, event: Event, *, delta: float, neighboring: str, label: str) -> Receipt:
        """Enter a release that is about to happen; raise BudgetError if it may not.

        Parameters are those of `dplasso.privacy.accountant.Accountant.charge`.
        """
        event = from_form(to_form(event))  # what is priced is what will be read back
        asked = Charge(
            sequence=0,  # where it stands is decided when it is its turn
            id=new_id(),
            time="",
            label=checked_label(label),
            neighboring=relation(neighboring),
            delta=checks.probability("delta", delta),
            event=event,
            cost=amount.price(event),
            total=0,
            previous="",
        )
        seen = self._seen
        line = self._store.append(
            asked.id,
            _start(seen),
            lambda lines: admitted(asked, self._advanced(seen, lines), self.shown),
        )
        charge, genesis = parse(line), self._genesis()
        self._seen = Position(genesis, charge)
        spent = zcdp.epsilon_of(amount.to_float(charge.total), genesis.delta)
        return Receipt(charge.sequence, charge.hash, spent, genesis.epsilon, genesis.delta)

    @property
    def shown(self) -> str:
        """Where the ledger is, without a password."""
        return self._store.shown

    @property
    def epsilon(self) -> float:
        """The cap."""
        return self._genesis().epsilon

    @property
    def delta(self) -> float:
        """The probability at which the cap is stated, and all that was spent is converted."""
        return self._genesis().delta

    @property
    def neighboring(self) -> str:
        """The relation that all charges are stated for."""
        return self._genesis().neighboring

    @property
    def spent_rho(self) -> float:
        """The sum of all charges."""
        return amount.to_float(self._now().head.total)

    @property
    def remaining_rho(self) -> float:
        """The most that one more charge may cost."""
        genesis, head = self._now()
        return amount.to_float(genesis.cap - head.total)

    @property
    def spent_epsilon(self) -> float:
        """The epsilon of all charges together at the ledger's delta."""
        return zcdp.epsilon_of(self.spent_rho, self.delta)

    def remaining(self) -> float:
        """The largest epsilon of one more fit at the ledger's delta."""
        return zcdp.epsilon_of(self.remaining_rho, self.delta)

    def entries(self) -> list[Charge]:
        """All charges in order, after the whole ledger was verified."""
        return self.verify().charges

    def verify(self, against: _Path | None = None) -> Chain:
        """Walk the whole ledger, or raise LedgerError; compare it with an earlier export.

        Only an export shows that entries are missing at the end, or that all were rewritten.
        """
        earlier = None if against is None else _chain_of(read_lines(against), os.fsdecode(against))
        seen, lines = self._seen, self._store.lines()
        found = _chain_of(lines, self._store.shown)
        seen = seen or Position(found.genesis, found.head)
        self._advanced(seen, lines[_start(seen) :])
        if earlier is not None:
            chain.check_continues(found, earlier)
        return found

    def export(self, path: _Path) -> Chain:
        """Verify the ledger and write it to a new file, a line of JSON an entry."""
        found = self.verify()
        write_lines(path, [found.genesis, *found.charges])
        return found

    def _genesis(self) -> Genesis:
        return (self._seen or self._now()).genesis

    def _now(self) -> Position:
        seen = self._seen
        return self._advanced(seen, self._store.lines(_start(seen)))

    def _advanced(self, seen: Position | None, lines: list[str]) -> Position:
        """Verify all lines that are new since `seen`, the first of `lines`, and remember that.

        A ledger that was put back to an earlier state, or replaced by a new one, would count less
        than was released.
        """
        shown = self._store.shown
        if seen is not None and lines[:1] != [seen.head.line]:
            raise LedgerError(
                f"the ledger {shown} is not what it was: entry {seen.head.sequence}, which was "
                "seen before, is gone; restore the ledger, or open this one with Budget.open"
            )
        try:
            position = chain.advanced(seen or chain.begun(lines), lines[1:])
        except LedgerError as error:
            raise LedgerError(f"the ledger {shown} cannot be trusted: {error}") from None
        self._seen = position
        return position

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return self._at, (self._store.address, self._seen)

    def __repr__(self) -> str:
        return f"Budget.open({self._store.shown!r})"


def _start(seen: Position | None) -> int:
    """The sequence number to read from."""
    return 0 if seen is None else seen.head.sequence


def _chain_of(lines: list[str], shown: str) -> Chain:
    try:
        return chain.verified(lines)
    except LedgerError as error:
        raise LedgerError(f"{shown}: {error}") from None
