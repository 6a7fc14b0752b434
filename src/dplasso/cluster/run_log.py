"""What a fit has released so far, stored before it is used, so that a restarted driver goes on.

The folder holds releases, which are public, and whether the fit was charged. It holds no secret: a
release that was not stored has left nobody's hands, and is drawn anew.
"""

import json
import os
import secrets
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.cluster.fingerprint import fingerprint
from dplasso.mechanisms.grid_gaussian import AddsNoise, NoiseOf
from dplasso.privacy.accountant import Receipt
from dplasso.storage.atomic import replace_file
from dplasso.storage.counted_journal import CountedJournal, JournalInUse, RecordsLost
from dplasso.storage.private_files import take_folder

_FORMAT, _ANY_FORMAT = "dplasso fit in progress 2", "dplasso fit in progress"
_README = """\
This folder is a fit in progress. A fit that is started again with it goes on where it stopped, and
is not charged twice. Delete it when the model is saved. A fit with other settings needs another.
"""
_STATE, _RELEASES, _LOCK, _ABOUT = "fit.json", "releases", "lock", "README.txt"


class RunLog:
    """The releases of one fit, in order, and its charge.

    Formal guarantees
    -----------------
    A release is durable before `add_to` of its noise returns, so nothing that depends on it has
    left the driver before. A driver that is started again uses the stored releases and draws only
    those that are missing: no release is drawn twice and seen twice. The charge is entered under an
    identity that is durable before, and looked up under it when it is not known whether it was
    entered: a fit is charged once. Without a folder, nothing is stored, and a fit cannot go on.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._stored: Iterator[bytes] = iter(())
        self._lengths: deque[int] = deque()  # of the stored releases that are not taken yet
        self._journal: CountedJournal | None = None
        self._state: dict[str, Any] = {}
        self._begun = False
        if folder is None:
            return
        self._folder = take_folder(Path(folder), _ours)
        try:
            self._journal = CountedJournal(self._folder / _RELEASES, self._folder / _LOCK)
        except JournalInUse:
            raise ValueError(
                f"{folder} is in use by another process; stop that one first"
            ) from None
        except RecordsLost:
            raise ValueError(
                f"{folder} has lost releases, and none is drawn twice; restore it from a copy, or "
                "give another folder, which is a fit of its own"
            ) from None
        self._lengths.extend(len(record) // 8 for record in self._journal.records())
        self._stored = self._journal.records()
        try:
            self._take_state()
        except BaseException:
            self.close()
            raise

    def begin(self, facts: dict[str, Any], rows: Callable[[bytes], bytes]) -> None:
        """Note which fit this is, or reject a folder of another fit.

        ``facts`` are public. ``rows`` is a keyed digest of all rows.
        """
        if self._journal is None:
            return
        if self._begun:
            raise ValueError("a checkpoint is of one fit; open the shards again for another one")
        self._begun = True
        key = bytes.fromhex(self._state.get("key", secrets.token_hex(32)))
        about = {"fit": fingerprint(facts), "rows": rows(key).hex()}
        if self._state:
            if {name: self._state.get(name) for name in about} != about:
                raise ValueError(
                    f"{self._folder} is of a fit with other settings or rows; give the same ones, "
                    "or another folder"
                )
            return
        replace_file(self._folder / _ABOUT, _README.encode())
        identity = secrets.token_hex(8)
        self._write({**about, "format": _FORMAT, "key": key.hex(), "identity": identity})

    def charged_once(
        self,
        charge: Callable[[str], Receipt | None],
        found: Callable[[str], Receipt | None] | None,
    ) -> Receipt | None:
        """Charge the fit, unless it has been charged.

        ``charge`` takes what is added to the label of the charge, and ``found`` looks up a charge
        with that; None if the accountant cannot be asked.
        """
        if self._journal is None:
            return charge("")
        label = f", fit {self._state['identity']}"
        if "receipt" not in self._state:
            receipt = self._entered(label, found)
            if receipt is None:
                self._write({**self._state, "charging": True})
                receipt = charge(label)
            self._write({**self._state, "receipt": receipt})
        elif found is not None and found(label) is None:
            raise ValueError(
                "the fit was charged to another ledger; give that one, or another folder"
            )
        stored = self._state["receipt"]
        return None if stored is None else Receipt(*stored)

    def _entered(self, label: str, found: Callable[[str], Receipt | None] | None) -> Receipt | None:
        """A charge that an earlier driver entered and could not note."""
        if "charging" not in self._state:
            return None
        if found is None:
            raise ValueError(
                f"a fit was stopped while it was charged, and its accountant cannot tell whether "
                f"it was; look it up, and delete {self._folder} to charge anew"
            )
        return found(label)

    def noise_of(self, noise_of: NoiseOf) -> NoiseOf:
        """The same noise, whose sums are stored before they are used."""
        if self._journal is None:
            return noise_of
        return lambda sigma: _Stored(self, noise_of(sigma))

    def pending(self, count: int = 1) -> Ints | None:
        """Zeros in the places of the next ``count`` releases; None if not all of them are stored.

        What is stored takes the place of the sums, so that they need not be computed again. A
        driver may have stopped between two parts of an answer, which is then computed again.
        """
        if len(self._lengths) < count:
            return None
        return np.zeros(sum(list(self._lengths)[:count]), np.int64)

    def taken(self) -> Ints | None:
        """The next release if it is stored."""
        if not self._lengths:
            return None
        self._lengths.popleft()
        return np.frombuffer(next(self._stored), "<i8").astype(np.int64)

    def keep(self, release: Ints) -> None:
        """Store a release if there is a folder; it is durable when this returns."""
        if self._journal is not None:
            self.append(release)

    def append(self, release: Ints) -> None:
        """Store a release; it is durable when this returns."""
        assert self._journal is not None
        self._journal.append(release.astype("<i8", copy=False).tobytes())

    def close(self) -> None:
        """Let go of the folder."""
        if self._journal is not None:
            self._journal.close()
        self._journal = None

    def _take_state(self) -> None:
        """Read which fit this is; releases of a fit that is not known belong to no other one."""
        if (self._folder / _STATE).exists():
            self._state = self._read()
        elif self._lengths:
            raise ValueError(
                f"{self._folder} has releases, and {_STATE} is lost, which tells of which fit; "
                "restore it from a copy, or give another folder"
            )

    def _read(self) -> dict[str, Any]:
        found = json.loads((self._folder / _STATE).read_text())
        if (of := str(found.get("format"))) != _FORMAT:
            whose = "of another version of dplasso" if of.startswith(_ANY_FORMAT) else "of no fit"
            raise ValueError(f"{self._folder} is {whose}; give another folder")
        return found  # type: ignore[no-any-return]

    def _write(self, state: dict[str, Any]) -> None:
        self._state = state
        replace_file(self._folder / _STATE, json.dumps(state).encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def discard(folder: str | os.PathLike[str]) -> None:
    """Delete the folder of a fit whose model is saved."""
    if (Path(folder) / _STATE).is_file():
        shutil.rmtree(folder)


class _Stored:
    """Noise whose sums are stored, or were stored by an earlier driver."""

    def __init__(self, log: RunLog, noise: AddsNoise) -> None:
        self._log, self._noise = log, noise

    def add_to(
        self, values: Ints, generator: np.random.Generator, threads: int | None = None
    ) -> None:
        stored = self._log.taken()
        if stored is None:
            self._noise.add_to(values, generator, threads)
            self._log.append(values)
            return
        if stored.shape != values.shape:
            raise ValueError("a stored release does not fit the fit; give another folder")
        # A seeded generator is left where the stored draw left it; a secure one does not mind.
        self._noise.add_to(np.zeros(1, np.int64), generator, 1)
        values[:] = stored


def _ours(name: str) -> bool:
    return name in (_STATE, _RELEASES, _LOCK, _ABOUT) or name.startswith(".dplasso-")
