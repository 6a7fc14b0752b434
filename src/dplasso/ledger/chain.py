"""Whether lines make up a ledger: in order, unbroken, added up, and within the cap.

Formal guarantees
-----------------
A line changed, added, left out or moved breaks a hash, unless all lines after it are written anew.
Lines missing at the end, and a history rewritten as a whole, leave a sound chain: they show against
an earlier export (`check_continues`), which is why exports should be kept elsewhere.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dplasso.ledger import fixed_point
from dplasso.ledger.entry import Charge, Entry, Genesis, Limits, Raised, parse
from dplasso.ledger.errors import LedgerError
from dplasso.ledger.search_cost import cap_with, price_beyond


class Position(NamedTuple):
    """How far a ledger was walked: its first entry, the last one that was verified, and the last
    one that raised the budget, if there is one."""

    genesis: Genesis
    head: Entry
    raised: Raised | None = None

    @property
    def limits(self) -> Limits:
        """The entry that states the budget of today."""
        return self.raised or self.genesis

    @property
    def left(self) -> int:
        """The remaining rho, in units."""
        return left_after(self.limits, self.head)

    def after(self, entry: Entry) -> "Position":
        """The position after one more entry."""
        raised = entry if isinstance(entry, Raised) else self.raised
        return Position(self.genesis, entry, raised)


class Chain(NamedTuple):
    """A ledger that was walked from end to end."""

    genesis: Genesis
    charges: list[Charge]
    raises: Sequence[Raised] = ()

    @property
    def entries(self) -> list[Entry]:
        """All entries, in order."""
        return sorted([self.genesis, *self.charges, *self.raises], key=lambda entry: entry.sequence)

    @property
    def head(self) -> Entry:
        """The last entry."""
        last: list[Entry] = [self.genesis, *self.charges[-1:], *self.raises[-1:]]
        return max(last, key=lambda entry: entry.sequence)

    @property
    def limits(self) -> Limits:
        """The entry that states the budget of today."""
        return self.raises[-1] if self.raises else self.genesis

    @property
    def left(self) -> int:
        """The remaining rho, in units."""
        return left_after(self.limits, self.head)

    @staticmethod
    def rho_of(units: int) -> float:
        """An amount in units as a double."""
        return fixed_point.to_float(units)


def left_after(limits: Limits, entry: Entry) -> int:
    """The rho left after an entry, in units; negative if the cap is exceeded."""
    cap = cap_with(limits.cap, limits.epsilon, limits.delta, entry.total_beyond)
    return cap - entry.total


def unit_after(head: Entry, asked: str) -> str:
    """Whom the next charge must protect: the same as the one before, or anyone if it is the first.

    Costs for rows and for people, or for people by different identifiers, do not add up.
    """
    return asked if head.unit is None else head.unit


def taken_by(limits: Limits, charge: Charge) -> int:
    """How much a charge reduced the remaining rho: its cost, if it is not a search."""
    before = charge.total_beyond.plus(charge.beyond, -1)
    caps = [
        cap_with(limits.cap, limits.epsilon, limits.delta, beyond)
        for beyond in (before, charge.total_beyond)
    ]
    return charge.cost + caps[0] - caps[1]


def verified(lines: Sequence[object]) -> Chain:
    """The entries of all lines of a ledger; a LedgerError names the faulty line."""
    position = begun(lines)
    others = [new.head for new in _walk(position, lines[1:])]
    if len({position.genesis.id, *(entry.id for entry in others)}) <= len(others):
        raise LedgerError("an id occurs twice")
    charges = [entry for entry in others if isinstance(entry, Charge)]
    return Chain(position.genesis, charges, [one for one in others if isinstance(one, Raised)])


def begun(lines: Sequence[object]) -> Position:
    """Where a walk begins: at the cap."""
    if not lines:
        raise LedgerError("there is no entry in it")
    try:
        first = parse(lines[0])
        if not isinstance(first, Genesis):
            raise LedgerError("a ledger must begin with its cap")
        _check_cap(first)
    except LedgerError as error:
        raise LedgerError(f"entry 0 is not to be trusted: {error}") from None
    return Position(first, first)


def advanced(position: Position, lines: Iterable[object]) -> Position:
    """The position after some more lines; a LedgerError names the faulty line."""
    last = position
    for last in _walk(position, lines):  # noqa: B007  (where it ends is what is wanted)
        pass
    return last


def _walk(position: Position, lines: Iterable[object]) -> Iterator[Position]:
    for line in lines:
        try:
            position = position.after(_next(position.limits, position.head, parse(line)))
        except LedgerError as error:
            number = position.head.sequence + 1
            raise LedgerError(f"entry {number} is not to be trusted: {error}") from None
        yield position


def check_continues(chain: Chain, earlier: Chain) -> None:
    """Raise LedgerError unless a ledger still begins with all lines of an earlier export."""
    before, after = earlier.entries, chain.entries
    for old, new in zip(before, after, strict=False):
        if old.line != new.line:
            raise LedgerError(
                f"entry {old.sequence} is not the one that was exported: history was rewritten, "
                "or this is another ledger"
            )
    if len(after) < len(before):
        raise LedgerError(
            f"entries {len(after)} to {len(before) - 1} were exported and are gone: the ledger was "
            "cut short"
        )


def _next(limits: Limits, head: Entry, entry: Entry) -> Charge | Raised:
    if isinstance(entry, Genesis):
        raise LedgerError("a second cap stands in it")
    if entry.sequence != head.sequence + 1:
        raise LedgerError("it is out of order")
    if entry.previous != head.hash:
        raise LedgerError("it does not follow from the entry before")
    if entry.neighboring != limits.neighboring:
        raise LedgerError("its neighbouring relation is not the ledger's")
    if isinstance(entry, Raised):
        _check_raised(limits, head, entry)
    else:
        _check_charge(limits, head, entry)
    return entry


def _check_charge(limits: Limits, head: Entry, entry: Charge) -> None:
    if entry.cost != fixed_point.price(entry.event):
        raise LedgerError("its rho is not what its event costs")
    if entry.total != head.total + entry.cost:
        raise LedgerError("its total does not add up")
    if entry.beyond != price_beyond(entry.event):
        raise LedgerError("its cost in addition to rho is not what its event costs")
    if entry.total_beyond != head.total_beyond.plus(entry.beyond):
        raise LedgerError("its total in addition to rho does not add up")
    if _exceeds(limits, entry):
        raise LedgerError("it exceeds the cap")
    if entry.unit != unit_after(head, entry.unit):
        raise LedgerError("it protects others than the charges before it do")


def _check_raised(limits: Limits, head: Entry, entry: Raised) -> None:
    if (entry.total, entry.total_beyond) != (head.total, head.total_beyond):
        raise LedgerError("it changes what was charged")
    if entry.unit != head.unit:
        raise LedgerError("it protects others than the charges before it do")
    if not raises(limits, entry):
        raise LedgerError("it does not raise the budget")
    _check_cap(entry)


def raises(limits: Limits, entry: Raised) -> bool:
    """Whether an entry states a larger budget: neither number is smaller, and one is larger."""
    before, after = (limits.epsilon, limits.delta), (entry.epsilon, entry.delta)
    return after != before and all(a >= b for a, b in zip(after, before, strict=True))


def _exceeds(limits: Limits, entry: Charge) -> bool:
    """Whether the cap does not allow it.

    A cap that is not written down is recomputed. Its last digits may differ from those of an
    earlier version, within the margin by which `zcdp.rho_of` stays below the largest valid rho.
    """
    left = left_after(limits, entry)
    return left < 0 and (not any(entry.total_beyond) or -left * 10**13 > entry.total)


def _check_cap(limits: Limits) -> None:
    """Check the written cap, which fixes the last digits of a root for later versions."""
    expected = fixed_point.to_float(fixed_point.cap_of(limits.epsilon, limits.delta))
    if not math.isclose(fixed_point.to_float(limits.cap), expected, rel_tol=1e-13):
        raise LedgerError("its cap is not what its epsilon and delta allow")
