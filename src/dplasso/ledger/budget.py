"""`Budget`: the privacy budget of one set of data, and its charges."""

import os
from collections.abc import Callable
from typing import Any, Self

from dplasso.base import checks
from dplasso.base.wording import Message, ParameterError, Setting
from dplasso.ledger import allowance, chain, checkpoint, fixed_point, search_cost
from dplasso.ledger.admission import admitted, raised
from dplasso.ledger.chain import Chain, Position
from dplasso.ledger.entry import (
    Charge,
    Entry,
    Genesis,
    Limits,
    Raised,
    new_id,
    now,
    parse,
    relation,
)
from dplasso.ledger.entry import label as checked_label
from dplasso.ledger.errors import LedgerError
from dplasso.ledger.event_form import from_form, to_form
from dplasso.ledger.export import read_lines, write_lines
from dplasso.ledger.stores import DEFAULT, store_of
from dplasso.privacy.accountant import Receipt
from dplasso.privacy.events import Event
from dplasso.privacy.unit import ROW, checked_name

_Path = str | os.PathLike[str]
_LONGEST_OWN_LABEL = 150  # out of 200 characters, so that the estimator's name fits after it


class Budget:
    """A budget (epsilon, delta) for all releases from one set of data, kept in a ledger.

    Pass it as ``accountant=`` to any number of estimators, in any number of threads and processes:
    each ``fit`` adds an entry before its first draw, and is rejected if that would exceed the
    budget. Copies, clones and pickles share the same ledger.

    Epsilons do not add; rho does. Two fits at epsilon 0.5 and delta 1e-6 together have epsilon
    0.72, not 1. The spent and the remaining epsilon do not add up to ``epsilon`` either, whereas
    ``spent_rho`` and ``remaining_rho`` add up to the cap in rho and show which share is spent.

    The first charge decides whom the budget protects: rows, or people by one identifier. Charges
    for others are rejected, because their costs do not add up.

    Parameters
    ----------
    epsilon, delta : float
        Budget of all releases together; both must be given. An existing ledger must have the same
        numbers; `Budget.open` does not ask for them.
    store : str or path
        The path of a SQLite file, or ``postgresql://user@host/database``.
    neighboring : "add_remove" or "replace_one", default "add_remove"
        Releases stated under the other relation are rejected.

    Formal guarantees
    -----------------
    Let releases from the same data be chosen adaptively, and let each be charged here before it is
    made, as an event whose cost it keeps. Together they are (``epsilon``, ``delta``)-DP under
    ``neighboring``, for the unit that all of them protect, rows or people. Costs add exactly in rho
    (zCDP), their sum never exceeds the cap, and it is converted once. A charge is on disk when
    `charge` returns; a crash can waste budget, but never lose a charge.

    Examples
    --------
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
    dplasso.ledger.errors.BudgetError: again: a noise multiplier of 1 costs rho 0.5, and rho 0.01...
    >>> round(budget.remaining(), 3), round(budget.remaining(fits=10), 3)
    (0.884, 0.26)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        epsilon: float,
        delta: float | None = None,
        store: _Path = DEFAULT,
        neighboring: str = "add_remove",
    ) -> None:
        if delta is None:
            raise ParameterError(
                "{delta} is missing: a budget is of {epsilon} and {delta}; give a {delta} well "
                "below 1 over the number of rows, or of people, such as 1e-6"
            )
        asked = Genesis(
            id=new_id(),
            time=now(),
            epsilon=checks.bound("epsilon", epsilon),
            delta=checks.probability("delta", delta),
            neighboring=relation(neighboring),
            cap=fixed_point.cap_of(epsilon, delta),
        )
        self._store, self._label = store_of(store), ""
        self._seen: Position | None = None  # the last entry that was verified
        self._store.create(asked)
        found = self._limits()
        for name in ("epsilon", "delta", "neighboring"):
            if getattr(found, name) != getattr(asked, name):
                raise LedgerError(
                    Message(
                        "the ledger {ledger} has {name} = {known!r}, not {asked!r}: see it with "
                        "{open}, or name another store",
                        ledger=self._store.shown,
                        name=name,
                        known=getattr(found, name),
                        asked=getattr(asked, name),
                        open=Setting("Budget.open"),
                    )
                )

    @classmethod
    def open(cls, store: _Path = DEFAULT) -> Self:
        """Open the budget of an existing ledger.

        Parameters
        ----------
        store : str or path, default="dplasso-budget.sqlite"
            Where the ledger is: see the class.

        Returns
        -------
        Budget
        """
        budget = cls._at(store, None)
        budget._limits()
        return budget

    @classmethod
    def _at(cls, address: _Path, seen: Position | None, label: str = "") -> Self:
        budget = cls.__new__(cls)
        budget._store, budget._seen, budget._label = store_of(address), seen, label
        return budget

    def labelled(self, label: str) -> Self:
        """Return the same ledger, whose charges carry this label before the estimator's name.

        Fits of ``accountant=budget.labelled("readmissions, March")``, and of its clones and
        pickles, are entered as "readmissions, March: PrivateLassoClassifier". A label is as public
        as the ledger; labelling again replaces the label.

        Parameters
        ----------
        label : str
            The text before the estimator's name.

        Returns
        -------
        Budget
        """
        own = checked_label(label, longest=_LONGEST_OWN_LABEL)
        return self._at(self._store.address, self._seen, own)

    def charge(
        self, event: Event, *, delta: float, neighboring: str, label: str, unit: str = ROW
    ) -> Receipt:
        """Enter a release before it happens; raise BudgetError if the budget does not allow it.

        Parameters
        ----------
        event : Event
            What will be released.
        delta : float
            The delta of the release.
        neighboring : {"add_remove", "replace_one"}
            The neighbouring relation, which must be that of the ledger.
        label : str
            What is charged, in words.
        unit : str, default="row"
            Whom the release protects.

        Returns
        -------
        Receipt
            Where the charge is in the ledger.
        """
        event = from_form(to_form(event))  # price exactly what will be read back
        asked = Charge(
            sequence=0,  # assigned when the entry is appended
            id=new_id(),
            time="",
            label=checked_label(f"{self._label}: {label}" if self._label else label),
            neighboring=relation(neighboring),
            delta=checks.probability("delta", delta),
            event=event,
            cost=fixed_point.price(event),
            total=0,
            previous="",
            beyond=search_cost.price_beyond(event),
            unit=checked_name(unit),
        )
        position = self._append(asked.id, lambda position: admitted(asked, position, self.shown))
        charge = position.head
        assert isinstance(charge, Charge)
        return self._receipt(charge)

    def raise_to(self, epsilon: float, delta: float | None = None) -> None:
        """Raise the budget. The new one is an entry of the ledger, and counts from then on.

        Parameters
        ----------
        epsilon, delta : float
            Budget of all releases together, those so far included. Neither may be smaller than it
            is, and one must be larger. ``delta`` stays as it is by default.

        Formal guarantees
        -----------------
        All releases charged here, before and after, are together (``epsilon``, ``delta``)-DP. What
        people were promised before is no longer what holds: raise a budget only if they are told.
        """
        at = self.delta if delta is None else checks.probability("delta", delta)
        asked = Raised(
            sequence=0,  # assigned when the entry is appended
            id=new_id(),
            time="",
            epsilon=checks.bound("epsilon", epsilon),
            delta=at,
            neighboring="",
            cap=fixed_point.cap_of(epsilon, at),
            total=0,
            previous="",
        )
        self._append(asked.id, lambda position: raised(asked, position))

    def receipt_of(self, mark: str) -> Receipt | None:
        """Find the receipt of the charge whose label ends in ``mark``; None if there is none.

        A fit that was stopped while it was charged finds its own charge in this way.

        Parameters
        ----------
        mark : str
            The end of a label.

        Returns
        -------
        Receipt or None
        """
        found = next((one for one in self.entries() if one.label.endswith(mark)), None)
        return None if found is None else self._receipt(found)

    def _receipt(self, charge: Charge) -> Receipt:
        limits = self._limits()
        spent = search_cost.epsilon_of(charge.total, charge.total_beyond, limits.delta)
        return Receipt(charge.sequence, charge.hash, spent, limits.epsilon, limits.delta)

    @property
    def shown(self) -> str:
        """Where the ledger is, without a password."""
        return self._store.shown

    @property
    def epsilon(self) -> float:
        """The cap."""
        return self._now().limits.epsilon

    @property
    def delta(self) -> float:
        """The delta at which the cap is stated and the spent rho is converted."""
        return self._now().limits.delta

    @property
    def neighboring(self) -> str:
        """The neighbouring relation of all charges."""
        return self._limits().neighboring

    @property
    def unit(self) -> str | None:
        """Whom all charges protect: "row", "person" or "person: " and a name; None without any."""
        return self._now().head.unit

    @property
    def spent_rho(self) -> float:
        """The sum of all charges in rho. Searches also cost an epsilon and part of delta."""
        return fixed_point.to_float(self._now().head.total)

    @property
    def remaining_rho(self) -> float:
        """The most that one more charge may cost."""
        return fixed_point.to_float(self._now().left)

    @property
    def spent_epsilon(self) -> float:
        """The epsilon of all charges together at the ledger's delta: less than their sum."""
        position = self._now()
        head, at = position.head, position.limits.delta
        return search_cost.epsilon_of(head.total, head.total_beyond, at)

    def remaining(self, fits: int = 1, delta: float | None = None) -> float:
        """Compute the largest epsilon that each of ``fits`` further fits may have.

        It is stated at ``delta``, by default the ledger's. A grid search makes candidates x folds
        fits, plus one to refit. Epsilons do not add: each of ten fits may have far more than a
        tenth of the epsilon of a single fit.

        Parameters
        ----------
        fits : int, default=1
            The number of further fits.
        delta : float or None, default=None
            The delta of these fits; None means that of the ledger.

        Returns
        -------
        float

        Formal guarantees
        -----------------
        ``fits`` fits calibrated to it are all admitted if nothing else is charged meanwhile; it is
        0.0 if too little is left.
        """
        position = self._now()
        at = position.limits.delta if delta is None else delta
        return allowance.epsilon_per_fit(position.left, fits, at)

    def verify(self, against: str | os.PathLike[str] | None = None) -> Chain:
        """Check the whole ledger, or raise LedgerError; compare it with an earlier export.

        Only an export shows that entries are missing at the end, or that all were rewritten.

        Parameters
        ----------
        against : str, path or None, default=None
            An earlier export, if there is one.

        Returns
        -------
        Chain
            All entries of the ledger.
        """
        earlier = None if against is None else _chain_of(read_lines(against), os.fsdecode(against))
        seen, lines = self._seen, self._store.lines()
        found = _chain_of(lines, self.shown)
        last = found.raises[-1] if found.raises else None
        seen = seen or Position(found.genesis, found.head, last)
        self._advanced(seen, lines[_start(seen) :])
        if earlier is not None:
            chain.check_continues(found, earlier)
        return found

    def entries(self) -> list[Charge]:
        """Return all charges in order, after the whole ledger was verified.

        Returns
        -------
        list of Charge
        """
        return self.verify().charges

    def export(self, path: _Path) -> Chain:
        """Verify the ledger and write it to a new file, one line of JSON per entry.

        Parameters
        ----------
        path : str or path
            The file to write.

        Returns
        -------
        Chain
            All entries of the ledger.
        """
        found = self.verify()
        write_lines(path, found.entries)
        return found

    def _append(self, id: str, made: Callable[[Position], Entry]) -> Position:
        """Add the entry that is made at the end of the ledger; returns once it is durable.

        A ledger not seen before is verified first, so that the lock is held only while entries that
        are new since then are verified.
        """
        seen = self._seen or self._now()
        line = self._store.append(id, _start(seen), lambda lines: made(self._advanced(seen, lines)))
        assert self._seen is not None
        self._seen = self._seen.after(parse(line))
        return self._seen

    def _limits(self) -> Limits:
        """The budget, as of the last entry that was seen. A later one may have raised it."""
        return (self._seen or self._now()).limits

    def _now(self) -> Position:
        seen = self._seen
        return self._advanced(seen, self._store.lines(_start(seen)))

    def _advanced(self, seen: Position | None, lines: list[str]) -> Position:
        """Verify all lines that are new since `seen`, the first of `lines`, and record that.

        A ledger that was reset to an earlier state, or replaced by a new one, would count less than
        was released, and is rejected.
        """
        if seen is not None and lines[:1] != [seen.head.line]:
            raise LedgerError(
                f"the ledger {self.shown} is not what it was: entry {seen.head.sequence}, which "
                "was seen before, is gone; restore the ledger, or open this one anew"
            )
        try:
            position = checkpoint.walked(lines) if seen is None else chain.advanced(seen, lines[1:])
        except LedgerError as error:
            raise LedgerError(f"the ledger {self.shown} cannot be trusted: {error}") from None
        self._seen = position
        return position

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return self._at, (self._store.address, self._seen, self._label)

    def __repr__(self) -> str:
        labelled = f".labelled({self._label!r})" if self._label else ""
        return f"Budget.open({self.shown!r}){labelled}"


def _start(seen: Position | None) -> int:
    """The sequence number to read from."""
    return 0 if seen is None else seen.head.sequence


def _chain_of(lines: list[str], shown: str) -> Chain:
    try:
        return chain.verified(lines)
    except LedgerError as error:
        raise LedgerError(f"{shown}: {error}") from None
