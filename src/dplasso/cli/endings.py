"""What an interrupted command says: what it has charged, and what it has written."""

import os
from dataclasses import dataclass
from pathlib import Path

from dplasso.ledger import Budget
from dplasso.ledger.errors import LedgerError
from dplasso.privacy.accountant import Accountant, Receipt
from dplasso.privacy.events import Event
from dplasso.privacy.unit import ROW


class NotedBudget(Budget):
    """A budget that notes its charge, so that an interrupted command can state it."""

    what = "fit"  # that is charged
    begun: str | None = None  # the label of a charge that was begun
    receipt: Receipt | None = None

    def charge(
        self, event: Event, *, delta: float, neighboring: str, label: str, unit: str = ROW
    ) -> Receipt:
        self.begun = f"{self._label}: {label}" if self._label else label
        self._before = self._now().head.sequence
        self.receipt = super().charge(
            event, delta=delta, neighboring=neighboring, label=label, unit=unit
        )
        return self.receipt

    @property
    def charged(self) -> str:
        """Whether this command has charged the ledger, in words."""
        if self.begun is None:
            return "nothing was charged"
        entry = None if self.receipt is None else self.receipt.entry
        if entry is None:  # the charge may be durable although it has not returned
            try:
                entries = self.open(self._store.address).entries()
            except (LedgerError, OSError):
                return f"whether it was charged is not known; see dplasso budget show {self.shown}"
            later = [charge for charge in entries if charge.sequence > self._before]
            ours = [charge.sequence for charge in later if charge.label == self.begun]
            entry = ours[0] if ours else None
        if entry is None:
            return "nothing was charged"
        return f"the {self.what} was charged, and the receipt is entry {entry} of {self.shown}"


@dataclass(frozen=True)
class _Work:
    """The file that a command writes, what is there before, and the ledger that it charges."""

    output: Path | None
    what: str
    before: object
    ledger: NotedBudget | None


_work: _Work | None = None


def begin(output: Path | None, what: str, ledger: Accountant | None = None) -> None:
    """Note what a command is about to write and to charge."""
    global _work
    noted = ledger if isinstance(ledger, NotedBudget) else None
    if noted is not None and output is None:
        noted.what = what
    _work = None
    if output is not None or noted is not None:
        _work = _Work(output, what, _state(output), noted)


def forget() -> None:
    """A new command begins."""
    begin(None, "")


def account() -> str:
    """What the command that was interrupted has charged and written."""
    if _work is None:
        return "nothing half-written was left"
    output, what = _work.output, _work.what
    if output is None:
        assert _work.ledger is not None
        return _work.ledger.charged
    written = _state(output) != _work.before
    place = f"{output} was written" if written else f"no {what} was written"
    kept = f", and {output} is as it was" if not written and _work.before is not None else ""
    if what != "model":
        return f"{place}{kept}; nothing half-written was left"
    if _work.ledger is None:
        charged = "nothing was charged, since no --budget was given"
    else:
        charged = _work.ledger.charged
    return f"{charged}; {place}{kept}"


def _state(path: Path | None) -> object:
    """What changes when a file or folder of this name is replaced."""
    if path is None:
        return None
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns
