"""`Follower`: a ledger as last seen, which detects a ledger reset to an earlier state."""

import os

from dplasso.ledger import chain, checkpoint
from dplasso.ledger.admission import admitted
from dplasso.ledger.chain import Chain, Position
from dplasso.ledger.entry import Charge, Genesis, parse
from dplasso.ledger.errors import LedgerError
from dplasso.ledger.export import read_lines
from dplasso.ledger.stores import Store


class Follower:
    """A store and its last verified entry, from which new entries are verified."""

    def __init__(self, store: Store, seen: Position | None = None) -> None:
        self._store, self._seen = store, seen

    @property
    def shown(self) -> str:
        """Where the ledger is, without a password."""
        return self._store.shown

    def verify(self, against: str | os.PathLike[str] | None = None) -> Chain:
        """Walk the whole ledger, or raise LedgerError; compare it with an earlier export.

        Only an export shows that entries are missing at the end, or that all were rewritten.
        """
        earlier = None if against is None else _chain_of(read_lines(against), os.fsdecode(against))
        seen, lines = self._seen, self._store.lines()
        found = _chain_of(lines, self.shown)
        seen = seen or Position(found.genesis, found.head)
        self._advanced(seen, lines[_start(seen) :])
        if earlier is not None:
            chain.check_continues(found, earlier)
        return found

    def _append(self, asked: Charge) -> Position:
        """Add a charge as the next entry if it is admitted; returns once it is durable.

        A ledger not seen before is verified first, so that the lock is held only while entries that
        are new since then are verified.
        """
        seen = self._seen or self._now()
        line = self._store.append(
            asked.id,
            _start(seen),
            lambda lines: admitted(asked, self._advanced(seen, lines), self.shown),
        )
        self._seen = Position(self._genesis(), parse(line))
        return self._seen

    def _genesis(self) -> Genesis:
        return (self._seen or self._now()).genesis

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
            position = _walked(lines) if seen is None else chain.advanced(seen, lines[1:])
        except LedgerError as error:
            raise LedgerError(f"the ledger {self.shown} cannot be trusted: {error}") from None
        self._seen = position
        return position


def _walked(lines: list[str]) -> Position:
    """Walk all lines of a ledger except those that were verified before and have not changed."""
    begun = chain.begun(lines)
    known = checkpoint.lines_known(begun.genesis, lines)
    start = Position(begun.genesis, parse(lines[known - 1])) if known else begun
    position = chain.advanced(start, lines[known or 1 :])
    checkpoint.keep(begun.genesis, lines, known)
    return position


def _start(seen: Position | None) -> int:
    """The sequence number to read from."""
    return 0 if seen is None else seen.head.sequence


def _chain_of(lines: list[str], shown: str) -> Chain:
    try:
        return chain.verified(lines)
    except LedgerError as error:
        raise LedgerError(f"{shown}: {error}") from None
